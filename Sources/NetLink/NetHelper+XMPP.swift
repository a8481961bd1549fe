package import Sodium
package import XMPPRequests

extension NetHelper {
  /// Connects and logs in. The server has to encrypt, with a certificate for the account's domain, and to do without
  /// the password itself (SCRAM). `resource` names this device; nil leaves that to the server. The password stays here.
  package func connect(
    _ account: XMPPAccount, password: borrowing SecretBytes, resource: String? = nil
  ) async throws(XMPPError) -> XMPPConnection {
    if let resource { _ = try account.address.with(resource: resource) }
    let message = try ConnectMessage(account, isRegistration: false, resource: resource)
    let connection = NetConnection(account.address, try PasswordProver(account, password))
    let address = try await begin(connection, message, secret: nil)
    return XMPPConnection(connection, address: address, events: connection.events)
  }

  /// Makes the account on its server, if that takes new ones (XEP-0077). It isn't logged in by this.
  ///
  /// The password goes to the server, inside the encryption. It has to be printable ASCII.
  package func register(_ account: XMPPAccount, password: borrowing SecretBytes) async throws(XMPPError) {
    let message = try ConnectMessage(account, isRegistration: true)
    let secret = try NetConnection.body(try Password(password))
    let connection = NetConnection(account.address, nil)
    _ = try await begin(connection, message, secret: secret)
    connection.logout()
  }

  private func begin(
    _ connection: NetConnection, _ message: ConnectMessage, secret: SecretBody?
  ) async throws(XMPPError) -> JID {
    do throws(NetFault) {
      _ = try begin(connection) { NetFrame(.connect, $0, message.encoded).behind(secret, .password) }
    } catch { throw XMPPError(error) }
    return try await connection.beginning.value { connection.close() }
  }
}
