import Grouper
import Synchronization

/// What a device has put on servers and taken from them.
final class Traffic: Sendable {
  struct Totals: Encodable {
    var puts = 0
    var putBytes = 0
    var taken = 0
    var takenBytes = 0
  }

  private let totals = Mutex(Totals())

  var all: Totals { totals.withLock { $0 } }
  func reset() { totals.withLock { $0 = Totals() } }

  func put(_ bytes: Int) {
    totals.withLock {
      $0.puts += 1
      $0.putBytes += bytes
    }
  }

  func took(_ shares: [ListedShare]) {
    totals.withLock {
      $0.taken += shares.count
      for share in shares { $0.takenBytes += share.bytes.count }
    }
  }
}

/// Servers whose traffic is counted.
struct CountingConnector: GroupServerConnector {
  let servers: any GroupServerConnector
  let traffic: Traffic

  func server(at address: String) throws(GroupServerError) -> any GroupServer {
    CountingServer(server: try servers.server(at: address), traffic: traffic)
  }
}

/// Passes everything on.
private struct CountingServer: GroupServer {
  let server: any GroupServer
  let traffic: Traffic

  func put(
    _ share: ServerShareID, bytes: [UInt8], recipients: [ServerUserID], _ access: GroupAccess
  ) async throws(GroupServerError) -> PutReceipt {
    let receipt = try await server.put(share, bytes: bytes, recipients: recipients, access)
    traffic.put(bytes.count)
    return receipt
  }

  func list(
    after cursor: UInt64, limit: Int, wait: Int, _ access: GroupAccess
  ) async throws(GroupServerError) -> SharePage {
    let page = try await server.list(after: cursor, limit: limit, wait: wait, access)
    traffic.took(page.shares)
    return page
  }

  func remove(_ share: ServerShareID, _ access: GroupAccess) async throws(GroupServerError) {
    try await server.remove(share, access)
  }

  func info(_ access: GroupAccess) async throws(GroupServerError) -> ServerGroupInfo { try await server.info(access) }

  func createGroup(ttl: Int, token: CreationToken?) async throws(GroupServerError) -> CreatedGroup {
    try await server.createGroup(ttl: ttl, token: token)
  }

  func addUser(_ access: GroupAccess) async throws(GroupServerError) -> AddedUser { try await server.addUser(access) }

  func rotateKey(of user: ServerUserID, _ access: GroupAccess) async throws(GroupServerError) -> ServerKey {
    try await server.rotateKey(of: user, access)
  }

  func removeUser(_ user: ServerUserID, _ access: GroupAccess) async throws(GroupServerError) {
    try await server.removeUser(user, access)
  }

  func rotateMaster(_ access: GroupAccess) async throws(GroupServerError) -> ServerKey {
    try await server.rotateMaster(access)
  }

  func deleteGroup(_ access: GroupAccess) async throws(GroupServerError) { try await server.deleteGroup(access) }
}
