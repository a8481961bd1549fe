/// An account and how its server is reached.
package struct XMPPAccount: Hashable, Sendable {
  package let address: JID
  /// The server's host, if it isn't the one that DNS names for the domain. Its certificate is the domain's all the
  /// same.
  package let host: String?
  /// The port, if it isn't the one that DNS names or 5222.
  package let port: UInt16?
  /// A PEM file of certificates that are trusted, beside the system's.
  package let certificates: String?

  /// Refused without somebody before the @ or with a device behind it.
  package init(_ address: JID, host: String? = nil, port: UInt16? = nil, certificates: String? = nil) throws(XMPPError)
  {
    guard address.local != nil else { throw .invalidAddress("an account has a name before the @") }
    guard address.resource == nil else { throw .invalidAddress("an account has nothing behind a /") }
    guard host?.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) != false, host?.isEmpty != true else {
      throw .invalidAddress("the host isn't one")
    }
    self.address = address
    self.host = host
    self.port = port
    self.certificates = certificates
  }

  /// The host to connect to without asking DNS for the service; a port alone is one of the domain itself.
  package var namedHost: String? { host ?? port.map { _ in address.domain } }
}
