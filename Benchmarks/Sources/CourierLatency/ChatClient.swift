import ChatServers
import XMPPLink
import XMPPRequests

/// A new account at the server, with a connection that stays open.
final class ChatClient: Sendable {
  let connection: XMPPConnection
  var address: JID { connection.address.bare }

  /// Logs in; `took` is told what comes, in order.
  init(_ name: String, on server: ChatServer, took: @escaping @Sendable (XMPPEvent) -> Void) async throws {
    let account = try server.account(name)
    try await XMPPConnection.register(account, password: password(name))
    connection = try await XMPPConnection.connect(account, password: password(name), resource: "latency")
    let events = connection.events
    Task { for await event in events { took(event) } }
    try await connection.announce()
    // The server has taken it when it answers what was asked behind it.
    try await connection.ping()
  }
}
