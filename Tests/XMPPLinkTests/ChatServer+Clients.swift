import ChatServers
import Testing

@testable import XMPPLink
@testable import XMPPRequests

/// Why tests of real servers are left out.
let chatServerReason: Comment = "prosody and ejabberd aren't installed"

extension ChatServer {
  /// A new account and its connection.
  func newConnection(_ name: String) async throws -> TestClient {
    let name = name + "-" + String(XMPPConnection.freshID().prefix(8))
    let account = try account(name)
    try await XMPPConnection.register(account, password: password(name))
    return try await TestClient(account, name: name)
  }
}
