import Dispatch
import Glibc
import Grouper
import Sodium
import Synchronization
import HTTPLink
import HTTPRequests
import Testing

@testable import GroupLink

/// Against servers that answer wrongly; the real one is in `ShareServer`'s own tests and in the tests of the program.
@Suite(.timeLimit(.minutes(5))) struct HTTPGroupServerTests {
  private static let group = String(repeating: "0a", count: 16)
  private static let user = String(repeating: "0b", count: 16)

  private func access(_ kind: ServerKey.Kind = .access) throws -> GroupAccess {
    let group = try #require(ServerGroupID(hexadecimal: Self.group))
    let bytes = [UInt8](repeating: 0x5c, count: 32)
    return GroupAccess(group: group, key: try ServerKey(SecretBytes(copying: bytes.span.bytes), kind))
  }

  private func client(_ server: ScriptedServer) throws -> HTTPGroupServer {
    HTTPGroupServer(try ServerAddress(server.address), try HTTPConnections())
  }

  private static func page(_ shares: [(id: UInt8, cursor: Int)], next: Int) -> String {
    let list = shares.map { share in
      let id = hexadecimal([UInt8](repeating: share.id, count: 16))
      return "{\"share\":\"\(id)\",\"cursor\":\(share.cursor),\"sender\":\"\(user)\",\"expires\":9,\"data\":\"AAEC\"}"
    }
    return "{\"shares\":[\(list.joined(separator: ","))],\"next\":\(next),\"more\":false}"
  }

  @Test func `a share goes with its key, its recipients and its bytes`() async throws {
    let server = try ScriptedServer { _, _ in ScriptedServer.answer(201, "{\"cursor\":7,\"expires\":99}") }
    let share = try #require(ServerShareID([UInt8](repeating: 0xc3, count: 16)))
    let user = try #require(ServerUserID(hexadecimal: Self.user))
    let receipt = try await client(server).put(share, bytes: Array("bytes".utf8), recipients: [user, user], access())
    #expect(receipt == PutReceipt(cursor: 7, expires: 99))
    let request = try #require(server.requests.first)
    #expect(request.hasPrefix("PUT /v1/groups/\(Self.group)/shares/\(share) HTTP/1.1\r\n"))
    #expect(request.contains("\r\nAuthorization: Bearer vga_\(String(repeating: "5c", count: 32))\r\n"))
    #expect(request.contains("\r\nRecipients: \(Self.user),\(Self.user)\r\n"))
    #expect(request.hasSuffix("\r\n\r\nbytes"))
  }

  @Test func `a page is read in order`() async throws {
    let server = try ScriptedServer { _, _ in ScriptedServer.answer(200, Self.page([(1, 5), (2, 6)], next: 6)) }
    let page = try await client(server).list(after: 4, limit: 10, wait: 0, access())
    #expect(page.shares.map(\.cursor) == [5, 6])
    #expect(page.shares.allSatisfy { $0.bytes == [0, 1, 2] && $0.sender.description == Self.user && $0.expires == 9 })
    #expect(page.next == 6 && !page.hasMore)
    let request = try #require(server.requests.first)
    #expect(request.hasPrefix("GET /v1/groups/\(Self.group)/shares?after=4&limit=10&wait=0 "))
  }

  @Test func `whoever lets connections go finds them closed`() async throws {
    let (isLetGo, (ends, ending)) = (DispatchSemaphore(value: 0), AsyncStream.makeStream(of: Bool.self))
    let listener = try LoopbackListener { connection in
      defer { ending.finish() }
      guard HTTPText(from: connection) != nil else { return }
      _ = LoopbackListener.send(ScriptedServer.answer(200, Self.page([], next: 4)), to: connection)
      isLetGo.wait()
      var byte: UInt8 = 0
      ending.yield(recv(connection, &byte, 1, Int32(MSG_DONTWAIT)) == 0)
    }
    do {
      defer { isLetGo.signal() }
      let server = HTTPGroupServer(try ServerAddress("http://127.0.0.1:\(listener.port)"), try HTTPConnections())
      _ = try await server.list(after: 4, limit: 2, wait: 0, access())
    }
    var end = ends.makeAsyncIterator()
    #expect(await end.next() == true)
  }

  @Test(arguments: [
    page([(1, 6), (2, 5)], next: 6), page([(1, 5), (2, 5)], next: 6), page([(1, 4)], next: 4), page([(1, 5)], next: 4),
    page([(1, 5), (2, 6), (3, 7)], next: 7), "{}", "", "[]", "{\"shares\":[{}],\"next\":1,\"more\":false}",
    "{\"shares\":[],\"next\":4,\"more\":true}", "{\"shares\":[],\"next\":-1,\"more\":false}",
    "{\"shares\":[],\"next\":3,\"more\":false}",
  ])
  func `a page that contradicts itself is refused`(_ body: String) async throws {
    let server = try ScriptedServer { _, _ in ScriptedServer.answer(200, body) }
    let client = try client(server)
    let access = try access()
    let error = await #expect(throws: GroupServerError.self) {
      try await client.list(after: 4, limit: 2, wait: 0, access)
    }
    guard case .malformed = error else {
      Issue.record("\(String(describing: error))")
      return
    }
  }

  @Test func `keys of a new group come back`() async throws {
    let (master, other) = (String(repeating: "a1", count: 32), String(repeating: "b2", count: 32))
    let server = try ScriptedServer { _, _ in
      ScriptedServer.answer(
        201,
        "{\"group\":\"\(Self.group)\",\"owner\":\"\(Self.user)\",\"masterKey\":\"vgm_\(master)\",\"accessKey\":\"vga_\(other)\",\"ttl\":60}"
      )
    }
    let token = CreationToken(try SecretBytes(copying: Array("let me in".utf8).span.bytes))
    let made = try await client(server).createGroup(ttl: 60, token: token)
    #expect(made.masterKey.kind == .master && made.accessKey.kind == .access && made.ttl == 60)
    #expect(made.masterKey.secret.withUnsafeBytes { $0.allSatisfy { $0 == 0xa1 } })
    #expect(made.accessKey.secret.withUnsafeBytes { $0.allSatisfy { $0 == 0xb2 } })
    let request = try #require(server.requests.first)
    #expect(request.contains("\r\nAuthorization: Bearer let me in\r\n") && request.hasSuffix("\r\n\r\n{\"ttl\":60}"))
  }

  @Test(arguments: [
    (401, "", GroupServerError.unauthorized), (413, "", .tooLarge), (507, "", .quota), (429, "", .busy(retryAfter: 17)),
    (404, "{\"error\":\"unknown_recipient\"}", .refused(status: 404, code: "unknown_recipient")),
    (503, "{\"error\":\"unavailable\"}", .unavailable(code: "unavailable", retryAfter: 17)),
    (302, "", .refused(status: 302, code: "unknown")), (500, "<html>", .refused(status: 500, code: "unknown")),
    (409, "{\"error\":\"\\u001b[31m\"}", .refused(status: 409, code: "unknown")),
  ])
  func `a refusal keeps its reason`(_ status: Int, _ body: String, _ expected: GroupServerError) async throws {
    let server = try ScriptedServer { _, _ in
      ScriptedServer.answer(status, body, lines: ["Retry-After: 17", "Location: http://127.0.0.1:1/"])
    }
    let client = try client(server)
    let access = try access(.master)
    await #expect(throws: expected) { try await client.rotateMaster(access) }
    #expect(server.requests.count == 1)
  }

  @Test func `an answer that is too long is cut off`() async throws {
    let server = try ScriptedServer { _, _ in
      Array("HTTP/1.1 200 X\r\nContent-Length: 100000000\r\n\r\n".utf8) + [UInt8](repeating: 0x20, count: 1 << 20)
    }
    let client = try client(server)
    let access = try access()
    await #expect(throws: GroupServerError.malformed(reason: "it is too long")) { try await client.info(access) }
  }

  @Test func `an answer that breaks off is no answer`() async throws {
    let server = try ScriptedServer { _, _ in Array("HTTP/1.1 200 X\r\nContent-Length: 100\r\n\r\n{\"cursor\":".utf8) }
    let client = try client(server)
    let access = try access()
    let task = Task { try await client.info(access) }
    await server.wasAsked()
    task.cancel()
    await #expect(throws: GroupServerError.self) { try await task.value }
  }

  @Test func `nobody at the address is named so`() async throws {
    let server = try ScriptedServer { _, _ in nil }
    server.end()
    let client = try client(server)
    let access = try access()
    let error = await #expect(throws: GroupServerError.self) { try await client.info(access) }
    guard case .unreachable = error else {
      Issue.record("\(String(describing: error))")
      return
    }
  }

  @Test func `a cancelled call ends at once, though the server is silent`() async throws {
    let server = try ScriptedServer { _, _ in nil }
    let client = try client(server)
    let access = try access()
    let task = Task { try await client.list(after: 0, limit: 1, wait: 60, access) }
    await server.wasAsked()
    task.cancel()
    await #expect(throws: GroupServerError.unreachable(reason: "nobody waits for it any more")) { try await task.value }
  }

  @Test func `many calls run at once over few connections`() async throws {
    let server = try ScriptedServer { _, _ in ScriptedServer.answer(201, "{\"cursor\":7,\"expires\":99}") }
    let client = try client(server)
    let access = try access()
    try await withThrowingTaskGroup(of: Void.self) { group in
      for _ in 0..<100 {
        group.addTask {
          _ = try await client.put(try ServerShareID.random(), bytes: [1], recipients: [], access)
        }
      }
      try await group.waitForAll()
    }
    #expect(server.requests.count == 100)
  }

  @Test func `a member's key isn't sent where the owner's is needed`() async throws {
    let server = try ScriptedServer { _, _ in ScriptedServer.answer(204) }
    let client = try client(server)
    let access = try access(.access)
    await #expect(throws: GroupServerError.unauthorized) { try await client.deleteGroup(access) }
    #expect(server.requests.isEmpty)
  }
}
