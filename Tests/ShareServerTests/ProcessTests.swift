import ChatServers
import Foundation
import Glibc
import Synchronization
import Testing

@testable import ShareServer

@Suite struct ProcessTests {
  /// What was acknowledged.
  private final class Kept: Sendable {
    private let shares = Mutex<[String: [UInt8]]>([:])

    var all: [String: [UInt8]] { shares.withLock { $0 } }
    func add(_ id: String, _ bytes: [UInt8]) { shares.withLock { $0[id] = bytes } }
  }

  @Test func `what was acknowledged is there after the process was killed at any instant`() async throws {
    let folder = try Folder()
    let limits = ["--key-rate", "0", "--address-rate", "0"]
    var server = try await ServerProcess.start(folder, limits)
    let group = try await Group.make(at: server.place, ttl: 3600)
    var users: [User] = []
    for _ in 0..<6 { users.append(try await group.addUser(at: server.place)) }
    let kept = Kept()
    for round in 0..<3 {
      let place = server.place
      await withTaskGroup(of: Void.self) { tasks in
        for user in users {
          tasks.addTask {
            for number in 0..<10_000 {
              let id = freshID()
              let bytes = Array("\(round) \(number) \(id)".utf8)
              guard let answer = try? await group.put(bytes, as: user, id: id, at: place), answer.status == 201 else {
                return
              }
              kept.add(id, bytes)
            }
          }
        }
        let before = kept.all.count
        try? await eventually("some are kept") { kept.all.count > before + 40 }
        server.signal(SIGKILL)
      }
      #expect(try await server.end() == -SIGKILL)
      server = try await ServerProcess.start(folder, limits)
      var found: [String: [UInt8]] = [:]
      var after = 0
      while true {
        let page = try await group.list("after=\(after)&limit=500", as: group.ownUser, at: server.place)
        for share in page.shares { found[share.share] = Array(share.data) }
        after = page.next
        if !page.more { break }
      }
      let expected = kept.all
      #expect(expected.count > 40 * (round + 1))
      #expect(expected.allSatisfy { found[$0.key] == $0.value })
    }
    server.signal(SIGTERM)
    #expect(try await server.end() == 0)
  }

  @Test(arguments: [SIGTERM, SIGINT])
  func `told to stop, it answers who waits and ends within seconds`(_ signal: Int32) async throws {
    let folder = try Folder()
    let metrics = "127.0.0.1:\(try Loopback.freePort())"
    let server = try await ServerProcess.start(folder, ["--metrics", metrics])
    let group = try await Group.make(at: server.place)
    let connection = try Connection(server.place)
    let ask = Ask(path: group.path + "/shares?wait=60", headers: ["Authorization": "Bearer " + group.accessKey])
    connection.send(ask.bytes)
    let idle = try Connection(server.place)
    try await eventually("it waits") {
      let text = try? await Ask(path: "/metrics").send(to: metrics).text
      return text?.contains("vault_server_waiting_requests 1\n") == true
    }
    // The connection here waits for half as long as the request there.
    server.signal(signal)
    #expect(try await offTheCooperativePool { connection.receive()?.status } == 200)
    #expect(try await server.end() == 0)
    withExtendedLifetime(idle) {}
  }

  @Test func `two services don't share a folder`() async throws {
    let folder = try Folder()
    let server = try await ServerProcess.start(folder)
    let second = try ServerProcess(folder)
    #expect(try await second.end() == 1)
    #expect(second.log.contains("another vault-server uses"))
    #expect(try await Ask(path: "/health").send(to: server.place).status == 200)
  }

  @Test func `a place that is taken is named`() async throws {
    let folders = [try Folder(), try Folder()]
    let server = try await ServerProcess.start(folders[0])
    let second = try ServerProcess(folders[1], ["--listen", server.place])
    #expect(try await second.end() == 1)
    #expect(second.log.contains("cannot listen on \(server.place)"))
  }

  @Test(arguments: ["ENOSPC", "EIO"])
  func `when the disk fails, nothing is acknowledged that isn't kept`(_ error: String) async throws {
    let folder = try Folder()
    var server = try await ServerProcess.start(folder)
    let group = try await Group.make(at: server.place, ttl: 3600)
    let user = try await group.addUser(at: server.place)
    var kept: [String: [UInt8]] = [:]
    var refusals: [Int] = []
    server.signal(SIGTERM)
    _ = try await server.end()
    // From the thirtieth change of the disk on every one fails.
    for step in [30, 60, 90] {
      let faulty = try? await ServerProcess.start(
        folder,
        environment: [
          "LD_PRELOAD": ServerProcess.products + "/libFaultInjection.so", "VAULT_FAULT_BELOW": folder.data,
          "VAULT_FAULT_AT": "\(step)", "VAULT_FAULT_DEED": "failing", "VAULT_FAULT_ERROR": error,
        ])
      if let faulty {
        for number in 0..<30 {
          let id = freshID()
          let bytes = [UInt8](repeating: UInt8(number), count: 20_000)
          let answer = try await group.put(bytes, as: user, id: id, at: faulty.place)
          if answer.status == 201 { kept[id] = bytes } else { refusals.append(answer.status) }
        }
        faulty.signal(SIGKILL)
        _ = try await faulty.end()
      }
    }
    #expect(!refusals.isEmpty && !kept.isEmpty)
    #expect(Set(refusals).isSubset(of: [503, 507]))
    server = try await ServerProcess.start(folder)
    for (id, bytes) in kept {
      let answer = try await Ask(
        path: "\(group.path)/shares/\(id)", headers: ["Authorization": "Bearer " + user.accessKey]
      ).send(to: server.place)
      #expect(answer.status == 200 && answer.body == bytes)
    }
  }

  @Test func `nothing is acknowledged under a key that could not be written`() async throws {
    let folder = try Folder()
    // The first six changes make the file of keys, all others fail.
    let server = try await ServerProcess.start(
      folder,
      environment: [
        "LD_PRELOAD": ServerProcess.products + "/libFaultInjection.so", "VAULT_FAULT_BELOW": folder.data,
        "VAULT_FAULT_ONLY": "slots-", "VAULT_FAULT_AT": "7", "VAULT_FAULT_DEED": "failing", "VAULT_FAULT_ERROR": "EIO",
      ])
    let group = try await Group.make(at: server.place, ttl: 2_592_000)
    for _ in 0..<3 { #expect(try await group.put([1], as: group.ownUser, at: server.place).status == 503) }
  }

  @Test func `room that is to stay free is left free`() async throws {
    let folder = try Folder()
    let server = try await ServerProcess.start(folder, ["--keep-free", "4000000000"])
    let answer = try await Ask(
      method: "POST", path: "/v1/groups", headers: ["Content-Type": "application/json"],
      body: Array("{\"ttl\":60}".utf8)
    ).send(to: server.place)
    #expect(answer.status == 507 && answer.code == "full")
  }

  @Test func `the log says what was asked, but no key, no whole id and no content`() async throws {
    let folder = try Folder()
    let server = try await ServerProcess.start(folder, ["--log-level", "trace"])
    let group = try await Group.make(at: server.place)
    let user = try await group.addUser(at: server.place)
    let id = freshID()
    _ = try await group.put(Array("what nobody may see".utf8), as: user, id: id, at: server.place)
    _ = try await group.list(as: group.ownUser, at: server.place)
    server.signal(SIGTERM)
    _ = try await server.end()
    let log = server.log
    #expect(log.contains("route=/v1/groups/{group}/shares/{share} status=201"))
    #expect(log.contains("group=\(group.group.prefix(8)) "))
    for secret in [
      group.masterKey, group.accessKey, user.accessKey, group.group, group.owner, user.user, id, "what nobody may see",
    ] { #expect(!log.contains(secret)) }
  }

  @Test func `metrics count what happens and name nobody`() async throws {
    let folder = try Folder()
    let place = "127.0.0.1:\(try Loopback.freePort())"
    let server = try await ServerProcess.start(folder, ["--metrics", place])
    let group = try await Group.make(at: server.place)
    _ = try await group.put([1, 2, 3], as: group.ownUser, at: server.place)
    var text = ""
    try await eventually("metrics are served") {
      text = (try? await Ask(path: "/metrics").send(to: place).text) ?? ""
      return !text.isEmpty
    }
    let put =
      "vault_server_requests_total{method=\"PUT\",route=\"/v1/groups/{group}/shares/{share}\",status=\"201\"} 1\n"
    for line in [put, "vault_server_shares 1\n", "vault_server_share_bytes 259\n", "vault_server_groups 1\n"] {
      #expect(text.contains(line), "\(text)")
    }
    #expect(!text.contains(group.group.prefix(8)))
    #expect(try await Ask(path: "/metrics").send(to: server.place).status == 404)
  }

  @Test func `systemd is told when it is ready`() async throws {
    let folder = try Folder()
    let path = folder.path + "/notify"
    let descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue), 0)
    defer { close(descriptor) }
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
    let status = withUnsafePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
      }
    }
    try #require(status == 0)
    let server = try await ServerProcess.start(folder, environment: ["NOTIFY_SOCKET": path])
    var buffer = [UInt8](repeating: 0, count: 64)
    let count = recv(descriptor, &buffer, buffer.count, 0)
    #expect(String(decoding: buffer.prefix(max(0, count)), as: UTF8.self) == "READY=1")
    withExtendedLifetime(server) {}
  }

  @Test func `with a certificate it speaks TLS and nothing else`() async throws {
    let folder = try Folder()
    let (certificate, key) = (folder.path + "/certificate.pem", folder.path + "/key.pem")
    let made = try await Self.shell(
      "openssl req -x509 -newkey rsa:2048 -nodes -keyout \(key) -out \(certificate) -days 2 -subj /CN=localhost")
    try #require(made.status == 0, "\(made.output)")
    let server = try await ServerProcess.start(folder, ["--tls-certificate", certificate, "--tls-key", key])
    let answer = try await Self.shell(
      "printf 'GET /health HTTP/1.1\\r\\nHost: t\\r\\nConnection: close\\r\\n\\r\\n' | "
        + "timeout 30 openssl s_client -quiet -verify_return_error -CAfile \(certificate) -connect \(server.place) 2>&1; true"
    )
    #expect(answer.output.contains("200 OK") && answer.output.contains("{\"status\":\"ok\"}"), "\(answer.output)")
    let plain = try await offTheCooperativePool { [place = server.place] in
      let connection = try Connection(place)
      connection.send(Ask(path: "/health").bytes)
      return connection.receive()
    }
    #expect(plain == nil)
  }

  private static func shell(_ script: String) async throws -> (status: Int32, output: String) {
    try await offTheCooperativePool {
      let process = Process()
      let pipe = Pipe()
      process.executableURL = URL(fileURLWithPath: "/bin/sh")
      process.arguments = ["-c", script]
      process.standardOutput = pipe
      process.standardError = pipe
      try process.run()
      let output = (try? pipe.fileHandleForReading.readToEnd()) ?? Data()
      process.waitUntilExit()
      return (process.terminationStatus, String(decoding: output, as: UTF8.self))
    }
  }
}
