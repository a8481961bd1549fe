import CStropheShims
package import Sodium
package import XMPPRequests

/// Connections whose server this process itself speaks to, each by a thread of its own for as long as it lives.
extension XMPPConnection {
  /// Keeps what a connection needs and a program with more than a thousand open files has no more: for those that will open them. Costs four
  /// descriptors. The first connection does it, too.
  package static func prepare() { vault_strophe_keep_descriptors() }

  /// Connects and logs in. The server has to encrypt, with a certificate for the account's domain, and to do without
  /// the password itself (SCRAM). `resource` names this device; nil leaves that to the server.
  ///
  /// Nobody sees the account come until ``announce(_:status:priority:to:)``.
  package static func connect(
    _ account: XMPPAccount, password: borrowing SecretBytes, resource: String? = nil
  ) async throws(XMPPError) -> XMPPConnection {
    if let resource { _ = try account.address.with(resource: resource) }
    let loop = try Loop(account, .login(resource: resource), try PasswordProver(account, password))
    let address = try await loop.begin()
    return XMPPConnection(loop, address: address, events: loop.events)
  }

  /// Makes the account on its server, if that takes new ones (XEP-0077). It isn't logged in by this.
  ///
  /// The password goes to the server, inside the encryption. It has to be printable ASCII.
  package static func register(
    _ account: XMPPAccount, password: borrowing SecretBytes
  ) async throws(XMPPError) {
    let loop = try Loop(account, .registration(try Password(password)), nil)
    _ = try await loop.begin()
    loop.logout()
  }
}
