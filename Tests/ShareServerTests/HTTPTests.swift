import Foundation
import GRDB
import TestTime
import Testing

@testable import ShareServer

@Suite struct HTTPTests {
  private func send(_ text: String, to service: Service) async throws -> Answer? {
    try await offTheCooperativePool { [place = service.place] in
      let connection = try Connection(place)
      connection.send(Array(text.utf8))
      return connection.receive()
    }
  }

  @Test func `the service is healthy as long as its store answers`() async throws {
    let clock = TestClock()
    try await Service.run(clock: clock) { service, _ in
      func health() async throws -> Answer {
        // It is found out once a second.
        clock.advance(by: .seconds(1))
        return try await service.ask("GET", "/health")
      }
      let answer = try await health()
      #expect(answer.status == 200 && answer.text == "{\"status\":\"ok\"}")
      // It can be read, but not written.
      try await service.files.pool.writeWithoutTransaction { db in try db.execute(sql: "PRAGMA query_only = ON") }
      #expect(try await health().status == 503)
      try await service.files.pool.writeWithoutTransaction { db in try db.execute(sql: "PRAGMA query_only = OFF") }
      #expect(try await health().status == 200)
      try service.files.pool.close()
      let ill = try await health()
      #expect(ill.status == 503 && ill.code == "unavailable" && ill.headers["retry-after"] != nil)
    }
  }

  @Test func `the description of the interface is the one in docs`() async throws {
    let path =
      URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent().path + "/docs/openapi.yaml"
    let document = try String(contentsOfFile: path, encoding: .utf8)
    try await Service.run { service, _ in
      let answer = try await service.ask("GET", "/openapi.yaml")
      #expect(answer.status == 200 && answer.text == document)
      #expect(answer.headers["content-type"] == "application/yaml")
    }
  }

  @Test(arguments: ["/health", "/openapi.yaml"])
  func `what needs no key has the limit of the address, too`(_ path: String) async throws {
    let clock = TestClock()
    try await Service.run(clock: clock) { options in
      options.limits.addressRate = 1
    } _: { service, _ in
      var statuses: [Int] = []
      for _ in 0..<3 { statuses.append(try await service.ask("GET", path).status) }
      #expect(statuses == [200, 200, 429])
    }
  }

  @Test func `who asks with a wrong key is answered while all readers are busy`() async throws {
    try await Service.run { service, _ in
      let group = try await service.makeGroup()
      let files = try service.files
      let (begun, busy) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
      let readers = (0..<4).map { _ in
        Task {
          try await offTheCooperativePool {
            try files.pool.read { _ in
              begun.signal()
              busy.wait()
            }
          }
        }
      }
      try await offTheCooperativePool { for _ in readers { begun.wait() } }
      let answer = try await service.ask("GET", group.path, key: "vga_" + String(repeating: "0", count: 64))
      #expect(answer.status == 401)
      for _ in readers { busy.signal() }
      for reader in readers { try await reader.value }
    }
  }

  @Test func `another method is refused, and those that there are are named`() async throws {
    try await Service.run { service, _ in
      let answer = try await service.ask("PATCH", "/v1/groups/\(freshID())/shares/\(freshID())")
      #expect(answer.status == 405 && answer.headers["allow"] == "PUT, GET, DELETE")
      #expect(try await service.ask("GET", "/v1/groups").headers["allow"] == "POST")
    }
  }

  @Test func `an answer to HEAD has no body that could be taken for the next answer`() async throws {
    try await Service.run { service, _ in
      let statuses = try await offTheCooperativePool { [place = service.place] in
        let connection = try Connection(place)
        connection.send(Ask(method: "HEAD", path: "/health").bytes)
        connection.send(Ask(path: "/health").bytes)
        return connection.receiveAll(2).filter { $0.hasPrefix("HTTP/1.1 ") }.map { String($0.prefix(12)) }
      }
      #expect(statuses == ["HTTP/1.1 405", "HTTP/1.1 200"])
    }
  }

  @Test func `what isn't there isn't found`() async throws {
    try await Service.run { service, _ in
      for path in ["/", "/v1", "/metrics", "/v2/groups", "/v1/groups/\(freshID())/other"] {
        let answer = try await service.ask("GET", path)
        #expect(answer.status == 404, "\(path)")
      }
    }
  }

  @Test func `a body of another type is refused`() async throws {
    try await Service.run { service, _ in
      let group = try await service.makeGroup()
      let answers = [
        try await service.ask("POST", "/v1/groups", body: Array("{\"ttl\":60}".utf8)),
        try await service.ask("PUT", "\(group.path)/shares/\(freshID())", key: group.accessKey, body: [1]),
        try await service.ask(
          "PUT", "\(group.path)/shares/\(freshID())", key: group.accessKey, headers: ["Content-Type": "text/plain"],
          body: [1]),
      ]
      for answer in answers { #expect(answer.status == 415 && answer.code == "media_type") }
    }
  }

  @Test func `a body of JSON has at most 4 KiB`() async throws {
    try await Service.run { service, _ in
      let body = Array("{\"ttl\":60".utf8) + [UInt8](repeating: 0x20, count: 4096) + Array("}".utf8)
      let answer = try await service.ask(
        "POST", "/v1/groups", headers: ["Content-Type": "application/json"], body: body)
      #expect(answer.status == 413)
    }
  }

  @Test func `a head has at most 16 KiB`() async throws {
    try await Service.run { service, _ in
      let small = String(repeating: "a", count: 15_000)
      let large = String(repeating: "a", count: 17_000)
      let fitting = try await service.ask("GET", "/health", headers: ["X-Filler": small])
      let tooLarge = try await service.ask("GET", "/health", headers: ["X-Filler": large])
      let many = (0..<200).map { "X-\($0): a\r\n" }.joined()
      let tooMany = try await send("GET /health HTTP/1.1\r\n\(many)\r\n", to: service)
      #expect(fitting.status == 200 && tooLarge.status == 400 && tooMany?.status == 400)
    }
  }

  @Test(arguments: [
    "\r\n\r\n\r\nnonsense\r\n\r\n", "GET\r\n\r\n", "GET /health HTTP/9.9\r\n\r\n", "\u{0}\u{1}\u{2}\r\n\r\n",
    "PUT /health HTTP/1.1\r\nContent-Length: -1\r\n\r\n",
    "PUT /health HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab",
    "PUT /health HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
  ])
  func `what isn't HTTP is refused and harms nobody`(_ text: String) async throws {
    try await Service.run { service, _ in
      let answer = try await send(text, to: service)
      #expect(answer.map { (400..<506).contains($0.status) } ?? true)
      #expect(try await service.ask("GET", "/health").status == 200)
    }
  }

  @Test(arguments: [
    "ffffffffffffffff", "FFFFFFFFFFFFFFFF;a=b", "fffffffffffffffe", "fffffffffffffffff", "8000000000000000",
    "7fffffffffffffff", "80000000", "-1", "+5", "0x5", "",
  ])
  func `a chunk of a length that nobody can mean is refused at once`(_ length: String) async throws {
    try await Service.run { service, _ in
      let head =
        "POST /v1/groups HTTP/1.1\r\nHost: t\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
      let answer = try await send(head + length + "\r\nhello\r\n", to: service)
      #expect(answer?.status == 400)
    }
  }

  @Test(arguments: [
    String(repeating: " ", count: 520), String(repeating: " \t", count: 5000), " " + String(repeating: ",", count: 520),
  ])
  func `a field that is longer than it has to be hides no length of a chunk`(_ filler: String) async throws {
    try await Service.run { service, _ in
      let head = "POST /v1/groups HTTP/1.1\r\nHost: t\r\nContent-Type: application/json\r\nTransfer-Encoding:"
      let answer = try await send(head + filler + "chunked\r\n\r\nffffffffffffffff\r\nhello\r\n", to: service)
      #expect(answer?.status == 400)
    }
  }

  @Test func `a line of blanks is no end of a head`() {
    var lengths = ChunkLengths()
    let request = "GET / HTTP/1.1\r\n  \r\nTransfer-Encoding: chunked\r\n\r\nffffffff\r\n"
    #expect(!Array(request.utf8).withUnsafeBytes { lengths.follow($0) })
  }

  @Test(arguments: ["18446744073709551615", "18446744073709551616", "99999999999999999999999", "-1", "5, 5"])
  func `a body of a length that nobody can mean is refused at once`(_ length: String) async throws {
    try await Service.run { service, _ in
      let head = "POST /v1/groups HTTP/1.1\r\nHost: t\r\nContent-Type: application/json\r\nContent-Length: "
      let answer = try await send(head + length + "\r\n\r\nhello", to: service)
      #expect(answer?.status == 400)
    }
  }

  @Test func `lengths of chunks are found in whatever pieces requests come`() {
    let requests =
      "\r\nPUT /a HTTP/1.1\r\ntransfer-encoding: gzip, Chunked\r\n\r\n00005;a=b\r\nfffff\r\na\r\nffffffff\r\n\r\n0\r\nX: y\r\n\r\n"
      + "PUT /b HTTP/1.1\r\nContent-Length: 8\r\n\r\nffffffffGET /c HTTP/1.1\r\n\r\nPUT /d HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n"
    for size in 1...20 {
      var lengths = ChunkLengths()
      func follow(_ text: String) -> Bool {
        let bytes = Array(text.utf8)
        return stride(from: 0, to: bytes.count, by: size).allSatisfy { place in
          bytes[place..<min(place + size, bytes.count)].withUnsafeBytes { lengths.follow($0) }
        }
      }
      #expect(follow(requests) && follow("7fffffff"), "\(size)")
      #expect(!follow("f"), "\(size)")
    }
  }

  @Test func `two keys in one request are no key`() async throws {
    try await Service.run { service, _ in
      let group = try await service.makeGroup()
      let field = "Authorization: Bearer \(group.accessKey)\r\n"
      let once = try await send("GET \(group.path) HTTP/1.1\r\nHost: t\r\n\(field)\r\n", to: service)
      let twice = try await send("GET \(group.path) HTTP/1.1\r\nHost: t\r\n\(field)\(field)\r\n", to: service)
      #expect(once?.status == 200)
      #expect(twice?.status == 401 || twice?.status == 400)
    }
  }

  @Test func `one address has only so many connections`() async throws {
    try await Service.run { options in
      options.limits.connectionsPerAddress = 3
    } _: { service, _ in
      var connections: [Connection] = []
      for _ in 0..<3 {
        let connection = try Connection(service.place)
        connection.send(Ask(path: "/health").bytes)
        #expect(try await offTheCooperativePool { connection.receive()?.status } == 200)
        connections.append(connection)
      }
      let refused = try Connection(service.place)
      #expect(try await offTheCooperativePool { refused.isEnded() })
      connections.removeAll()
      try await eventually("there is room again") {
        let connection = try Connection(service.place)
        connection.send(Ask(path: "/health").bytes)
        return try await offTheCooperativePool { connection.receive()?.status == 200 }
      }
    }
  }

  @Test func `a body that is only announced takes room from nobody`() async throws {
    try await Service.run { options in
      options.limits.bodyMemory = 1 << 20
    } _: { service, _ in
      let group = try await service.makeGroup()
      let head =
        "PUT \(group.path)/shares/\(freshID()) HTTP/1.1\r\nHost: t\r\nAuthorization: Bearer \(group.accessKey)\r\n"
        + "Content-Type: application/octet-stream\r\nContent-Length: 1000000\r\n\r\n"
      let slow = try (0..<8).map { _ in try Connection(service.place) }
      for connection in slow { connection.send(Array(head.utf8) + [1, 2, 3]) }
      // As much for each as is kept for a body before any of it has come.
      try await eventually("all of them are under way") { service.budget.taken >= 8 << 16 }
      let answer = try await group.put([UInt8](repeating: 1, count: 400_000), as: group.ownUser, at: service.place)
      #expect(answer.status == 201)
      withExtendedLifetime(slow) {}
    }
  }

  @Test func `bodies that would take more memory than there is are put off`() async throws {
    try await Service.run { options in
      options.limits.bodyMemory = 1 << 20
    } _: { service, _ in
      let group = try await service.makeGroup()
      let head =
        "PUT \(group.path)/shares/\(freshID()) HTTP/1.1\r\nHost: t\r\nAuthorization: Bearer \(group.accessKey)\r\n"
        + "Content-Type: application/octet-stream\r\nContent-Length: 1000000\r\n\r\n"
      // A request gives back what it had a moment after its answer.
      try await eventually("all memory is free") { service.budget.taken == 0 }
      let holder = try Connection(service.place)
      holder.send(Array(head.utf8) + [UInt8](repeating: 1, count: 999_999))
      try await eventually("one has almost all of it") { service.budget.taken == 1_000_000 }
      let answer = try await group.put([UInt8](repeating: 1, count: 60_000), as: group.ownUser, at: service.place)
      #expect(answer.status == 503 && answer.code == "busy" && answer.headers["retry-after"] == "1")
      holder.send([1])
      #expect(try await offTheCooperativePool { holder.receive()?.status } == 201)
      try await eventually("all memory is free again") { service.budget.taken == 0 }
      #expect(
        try await group.put([UInt8](repeating: 1, count: 60_000), as: group.ownUser, at: service.place).status == 201)
    }
  }
}
