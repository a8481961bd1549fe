import Foundation
import Testing

@Suite("Certificates of groups' servers")
struct GroupCertificateTests {
  @Test("a certificate that this machine doesn't trust is named as the reason, by create, sync and status")
  func unknown() async throws {
    try await Bench.run { bench in
      let alice = try await bench.peer("alice")
      let (certificate, key) = (bench.folder + "/certificate.pem", bench.folder + "/key.pem")
      let made = try await alice.shell(
        "openssl req -x509 -newkey rsa:2048 -nodes -keyout '\(key)' -out '\(certificate)' -days 2 -subj /CN=test "
          + "-addext subjectAltName=IP:\(bench.host)")
      try #require(made.status == 0, "\(made)")
      var servers: [ShareServer] = []
      for _ in 0..<3 {
        servers.append(try await ShareServer(bench, "--tls-certificate", certificate, "--tls-key", key))
      }
      let reason = "its certificate is not trusted"
      let refused = try await alice.run(["group", "create", "Family"] + servers.options)
      #expect(refused.status == 5 && refused.complaint.contains(reason), "\(refused)")
      // What this machine trusts is its own affair: only for the one command it is this certificate.
      guard Mounting.isPossible else { return }
      let words = (["group", "create", "Family"] + servers.options).joined(separator: " ")
      let trusted = try await alice.shell(
        "exec unshare -m sh -c 'mount --bind \(certificate) /etc/ssl/certs/ca-certificates.crt && exec \"$VAULT\" \(words)'"
      )
      try #require(trusted.status == 0, "\(trusted)")
      let sync = try await alice.run("group", "sync")
      #expect(sync.status == 6 && sync.complaint.contains("\(servers[0].address): \(reason)"), "\(sync)")
      let status = try await alice.succeed("group", "status", "--json").json()
      let reasons = status["servers"].array.compactMap { $0["error"].string }
      #expect(reasons.count == 3 && reasons.allSatisfy { $0.contains(reason) }, "\(status)")
    }
  }
}
