import Grouper
import Sodium
import HTTPLink
import HTTPRequests
import Testing

@testable import GroupLink

/// The client against the built `vault-server`.
@Suite(.serialized, .timeLimit(.minutes(5))) struct RealServerTests {
  @Test func `members exchange shares, and an owner has the say`() async throws {
    let server = try ServerProcess()
    let port = try #require(server.address.split(separator: ":").last.flatMap { Int($0) })
    let way = try Intermediary(before: port)
    let client = HTTPGroupServer(try ServerAddress(way.address), try HTTPConnections())
    let made = try await client.createGroup(ttl: 3600, token: nil)
    let owner = GroupAccess(group: made.group, key: made.masterKey)
    let first = GroupAccess(group: made.group, key: made.accessKey)
    let added = try await client.addUser(owner)
    var second = GroupAccess(group: made.group, key: added.accessKey)

    let (all, one) = (try ServerShareID.random(), try ServerShareID.random())
    let bytes = try Randomness.bytes(100_000)
    let receipt = try await client.put(all, bytes: bytes, recipients: [], first)
    #expect(try await client.put(all, bytes: bytes, recipients: [], first) == receipt)
    await #expect(throws: GroupServerError.self) { try await client.put(all, bytes: [1], recipients: [], first) }
    _ = try await client.put(one, bytes: [1, 2, 3], recipients: [added.user], first)

    let page = try await client.list(after: 0, limit: 500, wait: 0, second)
    #expect(page.shares.map(\.id) == [all, one] && page.shares.map(\.bytes) == [bytes, [1, 2, 3]] && !page.hasMore)
    #expect(page.shares.allSatisfy { $0.sender == made.owner && $0.expires >= receipt.expires })
    #expect(try await client.list(after: page.next, limit: 500, wait: 0, second).shares.isEmpty)
    #expect(try await client.list(after: 0, limit: 500, wait: 0, first).shares.isEmpty, "one's own don't come back")
    let info = try await client.info(owner)
    #expect(info.users == 2 && info.shares == 2 && info.ttl == 3600)

    let bell = way.bell(for: "wait=60")
    let waiter = Task { [second] in try await client.list(after: page.next, limit: 10, wait: 60, second) }
    for await _ in bell { break }
    _ = try await client.put(try ServerShareID.random(), bytes: [9], recipients: [], first)
    #expect(try await waiter.value.shares.map(\.bytes) == [[9]])

    let fresh = try await client.rotateKey(of: added.user, owner)
    _ = try await client.info(second)
    let old = second
    second = GroupAccess(group: made.group, key: fresh)
    _ = try await client.info(second)
    await #expect(throws: GroupServerError.unauthorized) { try await client.info(old) }
    try await client.remove(one, first)
    try await client.remove(one, first)
    try await client.removeUser(added.user, owner)
    await #expect(throws: GroupServerError.unauthorized) { try await client.info(second) }
    let master = GroupAccess(group: made.group, key: try await client.rotateMaster(owner))
    try await client.deleteGroup(master)
    await #expect(throws: GroupServerError.unauthorized) { try await client.info(first) }
  }
}
