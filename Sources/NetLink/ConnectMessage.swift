import Glibc
package import WireCodec
package import XMPPRequests

/// Where to connect, and what for. The password of a new account goes ahead.
package struct ConnectMessage: Hashable, Sendable {
  package static let certificatesLimit = 1 << 20

  /// Without a file of certificates, which vault-net could not open.
  package let account: XMPPAccount
  /// What is in that file.
  package let certificates: [UInt8]?
  package let isRegistration: Bool
  package let resource: String?

  init(_ account: XMPPAccount, isRegistration: Bool, resource: String? = nil) throws(XMPPError) {
    certificates = try account.certificates.map { (path) throws(XMPPError) in try Self.content(path) }
    self.account = account
    self.isRegistration = isRegistration
    self.resource = resource
  }

  package var encoded: [UInt8] {
    var writer = BodyWriter()
    writer.address(account.address)
    writer.optional(account.host) { $0.text($1) }
    writer.optional(account.port) { $0.number($1) }
    writer.optional(certificates) { $0.block($1) }
    writer.flag(isRegistration)
    writer.optional(resource) { $0.text($1) }
    return writer.bytes
  }

  package init(encoded bytes: [UInt8]) throws(WireError) {
    var reader = Reader(bytes.span.bytes)
    let address = try reader.address("address")
    let host = try reader.optional("host") { reader throws(WireError) in try reader.words(limit: 1024, "host") }
    let port = try reader.optional("port") { reader throws(WireError) in try reader.u16("port") }
    do throws(XMPPError) { account = try XMPPAccount(address, host: host, port: port) } catch {
      throw .invalidValue(field: "account")
    }
    certificates = try reader.optional("certificates") { reader throws(WireError) in
      try reader.bytes32(limit: Self.certificatesLimit, "certificates")
    }
    isRegistration = try reader.flag("registration")
    resource = try reader.optionalText(limit: JID.limits.part, "resource")
    if let resource, (try? address.with(resource: resource)) == nil { throw .invalidValue(field: "resource") }
    try reader.finish()
  }

  private static func content(_ path: String) throws(XMPPError) -> [UInt8] {
    let file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
    guard file >= 0 else { throw unreadable(String(cString: strerror(errno)).lowercased()) }
    defer { Glibc.close(file) }
    var bytes: [UInt8] = []
    var piece = [UInt8](repeating: 0, count: 64 << 10)
    while true {
      let count = read(file, &piece, piece.count)
      if count < 0 && errno == EINTR { continue }
      guard count >= 0 else { throw unreadable(String(cString: strerror(errno)).lowercased()) }
      if count == 0 { return bytes }
      bytes += piece[..<count]
      guard bytes.count <= certificatesLimit else { throw unreadable("it is too long") }
    }
  }

  private static func unreadable(_ reason: String) -> XMPPError {
    .untrusted("the file of certificates can't be read: \(reason)")
  }
}
