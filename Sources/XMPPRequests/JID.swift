/// An address of XMPP: `local@domain/resource`, in its one normal form.
///
/// The rules for letters beyond ASCII (RFC 7622, PRECIS) need tables of Unicode that this package doesn't have, and a
/// wrong guess would take one person for another. So the local part and the domain are ASCII, lower-cased, and others
/// are refused. A resource names a device of somebody whom the rest names already: any text without control characters,
/// compared byte by byte.
package struct JID: Hashable, Sendable, CustomStringConvertible {
  /// Longest part in bytes, and the longest domain.
  package static let limits = (part: 1023, domain: 253, label: 63)

  /// Who; nil for a server itself.
  package let local: String?
  package let domain: String
  /// Which device; nil for all of them.
  package let resource: String?

  package init(_ text: String) throws(XMPPError) {
    let bytes = Array(text.utf8)
    guard bytes.count <= 3 * Self.limits.part + 2 else { throw .invalidAddress("too long") }
    let slash = bytes.firstIndex(of: UInt8(ascii: "/"))
    let name = bytes[..<(slash ?? bytes.endIndex)]
    let at = name.firstIndex(of: UInt8(ascii: "@"))
    local = try at.map { (at) throws(XMPPError) in try Self.local(name[..<at]) }
    domain = try Self.domain(at.map { name[($0 + 1)...] } ?? name)
    resource = try slash.map { (slash) throws(XMPPError) in try Self.resource(bytes[(slash + 1)...]) }
  }

  private init(local: String?, domain: String, resource: String?) {
    self.local = local
    self.domain = domain
    self.resource = resource
  }

  /// The same without the device.
  package var bare: JID { JID(local: local, domain: domain, resource: nil) }

  /// The server alone.
  package var server: JID { JID(local: nil, domain: domain, resource: nil) }

  package func with(resource: String) throws(XMPPError) -> JID {
    JID(local: local, domain: domain, resource: try Self.resource(Array(resource.utf8)[...]))
  }

  package var description: String { (local.map { $0 + "@" } ?? "") + domain + (resource.map { "/" + $0 } ?? "") }

  private static func local(_ bytes: ArraySlice<UInt8>) throws(XMPPError) -> String {
    guard !bytes.isEmpty else { throw .invalidAddress("nothing before the @") }
    guard bytes.count <= limits.part else { throw .invalidAddress("the part before the @ is too long") }
    let forbidden = Array("\"&'/:<>@".utf8)
    for byte in bytes where !(0x21...0x7E).contains(byte) || forbidden.contains(byte) {
      throw .invalidAddress(
        byte > 0x7E ? "letters beyond ASCII aren't supported" : "a character that no address may have before the @")
    }
    return String(decoding: bytes.map(lowered), as: UTF8.self)
  }

  private static func domain(_ bytes: ArraySlice<UInt8>) throws(XMPPError) -> String {
    let name = bytes.last == UInt8(ascii: ".") ? bytes.dropLast() : bytes
    guard !name.isEmpty else { throw .invalidAddress("no server is named") }
    guard name.count <= limits.domain else { throw .invalidAddress("the server's name is too long") }
    for label in name.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false) {
      guard (1...limits.label).contains(label.count), label.first != hyphen, label.last != hyphen,
        label.allSatisfy(isDomainCharacter)
      else {
        throw .invalidAddress(
          label.contains { $0 > 0x7E } ? "letters beyond ASCII aren't supported" : "the server's name isn't one")
      }
    }
    return String(decoding: name.map(lowered), as: UTF8.self)
  }

  private static func resource(_ bytes: ArraySlice<UInt8>) throws(XMPPError) -> String {
    guard (1...limits.part).contains(bytes.count) else {
      throw .invalidAddress("the part behind the / has a wrong length")
    }
    guard let text = String(validating: bytes, as: UTF8.self),
      text.unicodeScalars.allSatisfy({ $0.properties.generalCategory != .control })
    else { throw .invalidAddress("a control character behind the /") }
    return text
  }

  private static let hyphen = UInt8(ascii: "-")

  private static func isDomainCharacter(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"), hyphen:
      true
    default: false
    }
  }

  private static func lowered(_ byte: UInt8) -> UInt8 {
    (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte) ? byte | 0x20 : byte
  }
}
