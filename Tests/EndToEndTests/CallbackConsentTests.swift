import Foundation
import Glibc
import Testing

/// What other programs learn without a yes, and what the user is shown before it (C85–C92).
@Suite("Consent to requests of other programs") struct CallbackConsentTests {
  private static let client =
    URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    .deletingLastPathComponent().path + "/Examples/callback-client/callback-client"

  private let failed = "&x-error=client%3A%2F%2Ffailed%3F"

  private func url(_ action: String, _ parameters: (String, String)...) -> String {
    let query = parameters.map { "\($0)=\($1.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? "")" }
    return "coresecret://x-callback-url/\(action)?" + query.joined(separator: "&")
  }

  /// The encrypted data of an answer that was printed.
  private func data(_ outcome: Outcome) throws -> String {
    let url = try #require(URLComponents(string: outcome.line), "\(outcome)")
    return try #require(url.queryItems?.first { $0.name == "encryptedData" }?.value, "\(outcome)")
  }

  @Test("before a yes a program is told one and the same, whatever the reason") func oracle() async throws {
    try await Bench.run { bench in
      let (alice, bob, _) = try await bench.trio()
      try await alice.succeed("key", "create", "own", "--threshold", "2")
      try await alice.succeed("key", "create", "others", "--threshold", "2", "--no-own-share")
      func encrypted(_ peer: Peer, _ key: String) async throws -> String {
        let request = url("encrypt", ("plaintext", "abc"), ("x-success", "client://done"))
        return try data(try await peer.succeed("url", request, "--key", key, "--print"))
      }
      let own = url("decrypt", ("encryptedData", try await encrypted(alice, "own"))) + failed
      let others = url("decrypt", ("encryptedData", try await encrypted(bob, "others"))) + failed
      let needsYes = try await alice.run("url", own, "--print")
      let noShare = try await alice.run("url", others, "--print")
      let agreed = try await alice.run("url", others, "--print", "--yes")
      let damaged = try await alice.run("url", url("decrypt", ("encryptedData", "AAAA")) + failed, "--print")
      let faulty = try await alice.run("url", url("encrypt", ("store", "7")) + failed, "--print")
      let noKey = try await alice.run(
        "url", url("encrypt", ("plaintext", "a")) + failed, "--print", "--key", "nothing")
      let noVault = try await alice.run("url", own, "--print", "--home", alice.folder + "/nowhere")
      let all = [needsYes, noShare, agreed, damaged, faulty, noKey, noVault]
      #expect(all.map(\.status) == [64, 5, 5, 8, 64, 1, 1], "\(all)")
      #expect(Set(all.map(\.line)).count == 1, "\(all)")
      let told = URLComponents(string: needsYes.line)?.queryItems?.map { "\($0.name)=\($0.value ?? "")" }
      #expect(told == ["errorCode=1", "errorMessage=the request was not carried out"])
    }
  }

  @Test("keys of one name are told apart by id and dealer, in the list and in the question")
  func names() async throws {
    try await Bench.run { bench in
      let (alice, bob, carol) = try await bench.trio()
      let first = try await alice.succeed("key", "create", "family", "--threshold", "2", "--to", "carol").line
      let second = try await bob.succeed("key", "create", "family", "--threshold", "2", "--to", "carol").line
      let encrypt = url("encrypt", ("plaintext", "abc"), ("x-success", "client://done"), ("store", "1"))
      let choosing = try PseudoTerminal(carol, ["url", encrypt, "--print"])
      try await choosing.expect("\"family\" (\(first.prefix(12)), shared by \"alice\")")
      try await choosing.expect("\"family\" (\(second.prefix(12)), shared by \"bob\")")
      try await choosing.expect("[1-2]: ")
      let question = try #require(choosing.screen.split(whereSeparator: \.isNewline).last)
      #expect(question.contains("under which key") && question.contains("client://"), "\(question)")
      #expect(question.contains("kept here too"), "\(question)")
      choosing.type("q\n")

      let made = try await alice.succeed("url", encrypt, "--key", String(first), "--print")
      let decrypt = url(
        "decrypt", ("encryptedData", try data(made)), ("x-success", "Client://done"), ("store", "1"),
        ("x-source", "nobody" + String(repeating: " ", count: 900) + "\" wants no answer"))
      let asking = try PseudoTerminal(carol, ["url", decrypt, "--print"])
      try await asking.expect("Type yes to go on: ")
      let last = try #require(asking.screen.split(whereSeparator: \.isNewline).last)
      #expect(last.contains("with the key \"family\" (\(first.prefix(12)), shared by \"alice\")"), "\(last)")
      #expect(last.contains("client://") && last.contains("keep"), "\(last)")
      #expect(asking.screen.contains("\"nobody ' wants no answer\""), "\(asking.screen)")
      asking.type("no\n")
      #expect(try await asking.end() == 130)
      #expect(try await carol.succeed("item", "list", "--json").output == "[]\n")
    }
  }

  @Test("what a program says of itself is quoted and cut, and who hears of a failure is named")
  func announcement() async throws {
    try await Bench.run { bench in
      let (alice, _) = try await bench.pair()
      try await alice.succeed("key", "create", "family", "--threshold", "2")
      let request = url(
        "encrypt", ("plaintext", "abc"), ("x-source", "a\u{3000}\n\t  b" + String(repeating: "c", count: 900)),
        ("description", "\"); the answer goes to nobody"))
      let outcome = try await alice.succeed("url", request + failed, "--key", "family", "--print")
      #expect(outcome.complaint.contains("calls itself \"a b\(String(repeating: "c", count: 61))…\""), "\(outcome)")
      #expect(outcome.complaint.contains("\"'); the answer goes to nobody\""), "\(outcome)")
      #expect(outcome.complaint.contains("wants no answer, but to be told of a failure at client://"), "\(outcome)")
    }
  }

  @Test("of two requests in one command line none is carried out or shown") func several() async throws {
    try await Bench.run { bench in
      let (alice, _) = try await bench.pair()
      let one = url("encrypt", ("plaintext", "readable"))
      for line in [["url", one, one], ["url", one, "--key", one.uppercased()], ["list", one, one]] {
        let outcome = try await alice.run(line)
        #expect(outcome.status == 64, "\(outcome)")
        #expect(outcome.complaint.contains("2 requests"), "\(outcome)")
        #expect(!outcome.complaint.lowercased().contains("readable") && outcome.output.isEmpty, "\(outcome)")
      }
    }
  }

  @Test("the sample client uses no folder for answers that others may have made") func folder() async throws {
    try await Bench.run { bench in
      let alice = try Peer("alice", bench)
      let folder = alice.folder + "/callback-client-\(getuid())"
      func refused(_ why: String) async throws {
        for command in ["printf a | \"$0\" encrypt", "\"$0\" handle 'csclient://x?IACRequestID=00'"] {
          let outcome = try await alice.shell(
            "unset XDG_RUNTIME_DIR; export TMPDIR='\(alice.folder)' OPENER=/bin/false; "
              + command.replacing("\"$0\"", with: "'\(Self.client)'"))
          #expect(outcome.status == 1, "\(why): \(outcome)")
          #expect(outcome.complaint.contains("callback-client: \(folder) is not a folder of yours alone"), "\(outcome)")
        }
      }
      try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
      for mode: mode_t in [0o777, 0o750, 0o701] {
        #expect(chmod(folder, mode) == 0)
        try await refused("mode \(String(mode, radix: 8))")
      }
      #expect(chmod(folder, 0o700) == 0)
      if getuid() == 0 {
        #expect(chown(folder, 65534, 65534) == 0)
        try await refused("another owner")
      }
      #expect(rename(folder, folder + ".real") == 0 && symlink(folder + ".real", folder) == 0)
      try await refused("a link")
      #expect(unlink(folder) == 0)
      try Data().write(to: URL(fileURLWithPath: folder))
      try await refused("a file")
    }
  }
}
