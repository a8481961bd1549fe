import Glibc
public import WireCodec

/// Where a peer listens: an IPv4 address, an IPv6 address or a name, and a TCP port.
///
/// The host is kept in one form: dotted numbers, the short form of RFC 5952, or a lower-case ASCII name (an
/// internationalised one in its `xn--` form). A name that a resolver would read as a number is refused.
public struct PeerAddress: WireValue, Hashable, Sendable, CustomStringConvertible {
  /// The port that is meant when none is given.
  package static let defaultPort = 4721
  /// Longest text that ``parse(_:allowsAnyPort:)`` looks at.
  package static let textLimit = 300
  /// Most bytes of a name (RFC 1035).
  package static let nameLimit = 253

  /// An address in number form, or a name.
  public let host: String
  /// 1 to 65535; 0 only in an address to listen at.
  public let port: Int

  enum Tag: UInt8 { case name = 0, four = 4, six = 6 }
  let tag: Tag
  private let hostBytes: [UInt8]

  /// Takes a host without brackets and a port from 1 to 65535. With `allowsAnyPort` the port may be 0: any free one.
  package init(host: String, port: Int = defaultPort, allowsAnyPort: Bool = false) throws(CardError) {
    guard host.utf8.count <= Self.nameLimit else { throw .tooLong(limit: Self.nameLimit) }
    guard (allowsAnyPort ? 0 : 1)...65535 ~= port, !host.utf8.contains(0) else { throw .invalidAddress }
    self.port = port
    if let bytes = Self.number(host, AF_INET) {
      (tag, hostBytes, self.host) = (.four, bytes, try Self.text(bytes, AF_INET))
    } else if let bytes = Self.number(host, AF_INET6) {
      (tag, hostBytes, self.host) = (.six, bytes, try Self.text(bytes, AF_INET6))
    } else {
      // Before lower-casing, which turns some characters outside ASCII into letters.
      guard host.utf8.allSatisfy({ $0 < 0x80 }) else { throw .invalidAddress }
      let name = host.lowercased()
      guard Self.isName(Array(name.utf8)) else { throw .invalidAddress }
      (tag, hostBytes, self.host) = (.name, Array(name.utf8), name)
    }
  }

  /// Reads `host:port`, `[v6]:port`, `host` or a bare IPv6 address; without a port it is 4721.
  package static func parse(_ text: String, allowsAnyPort: Bool = false) throws(CardError) -> PeerAddress {
    guard text.utf8.count <= textLimit else { throw .tooLong(limit: textLimit) }
    let host: Substring
    var port: Substring?
    if text.hasPrefix("[") {
      guard let end = text.firstIndex(of: "]") else { throw .invalidAddress }
      host = text[text.index(after: text.startIndex)..<end]
      guard number(String(host), AF_INET6) != nil else { throw .invalidAddress }
      let rest = text[text.index(after: end)...]
      if !rest.isEmpty {
        guard rest.first == ":" else { throw .invalidAddress }
        port = rest.dropFirst()
      }
    } else if text.utf8.count(where: { $0 == UInt8(ascii: ":") }) == 1, let colon = text.utf8.firstIndex(of: 58) {
      host = text[..<colon]
      port = text[text.utf8.index(after: colon)...]
    } else {
      host = text[...]
    }
    guard let port else { return try PeerAddress(host: String(host)) }
    guard (1...5).contains(port.utf8.count), port.utf8.allSatisfy({ 48...57 ~= $0 }), let number = Int(port) else {
      throw .invalidAddress
    }
    return try PeerAddress(host: String(host), port: number, allowsAnyPort: allowsAnyPort)
  }

  /// What somebody is known by who may come from any port: the host, or of an IPv6 address the network, a /64, as whoever has
  /// one address of it has them all. An IPv4 address that is written as one of IPv6 is the IPv4 address.
  package var place: String {
    guard tag == .six else { return host }
    let isMapped = hostBytes.starts(with: [UInt8](repeating: 0, count: 10) + [0xff, 0xff])
    if isMapped, let four = try? Self.text(Array(hostBytes[12...]), AF_INET) { return four }
    let network = hostBytes[..<8] + [UInt8](repeating: 0, count: 8)
    return (try? Self.text(Array(network), AF_INET6)).map { $0 + "/64" } ?? host
  }

  package var encodedByteCount: Int { (tag == .name ? 2 : 1) + hostBytes.count + 2 }

  /// Writes kind, host and port. An address to listen at with port 0 is refused.
  package func encode(into writer: inout Writer) throws(WireError) {
    guard port > 0 else { throw .invalidValue(field: "port") }
    try writer.bytes(encoding)
  }

  /// The encoding of an address whose port is not 0.
  var encoding: [UInt8] {
    var bytes = [tag.rawValue]
    if tag == .name { bytes.append(UInt8(truncatingIfNeeded: hostBytes.count)) }
    bytes += hostBytes
    bytes += [UInt8(truncatingIfNeeded: port >> 8), UInt8(truncatingIfNeeded: port)]
    return bytes
  }

  /// Reads an address in its one form: a number written as a name, or a name in upper case, is refused.
  package init(from reader: inout Reader) throws(WireError) {
    let tag: Tag = try reader.choice("address kind")
    let bytes: [UInt8]
    var text: String?
    switch tag {
    case .four:
      bytes = try reader.bytes(4, "address")
      text = try? Self.text(bytes, AF_INET)
    case .six:
      bytes = try reader.bytes(16, "address")
      text = try? Self.text(bytes, AF_INET6)
    case .name:
      let count = Int(try reader.u8("name length"))
      guard count <= Self.nameLimit else { throw .limitExceeded(field: "name", limit: Self.nameLimit) }
      bytes = try reader.bytes(count, "name")
      text = String(validating: bytes, as: UTF8.self)
    }
    let port = Int(try reader.u16("port"))
    guard let text, let address = try? PeerAddress(host: text, port: port), address.tag == tag,
      address.hostBytes == bytes
    else { throw .invalidValue(field: "address") }
    self = address
  }

  private static func number(_ text: String, _ family: Int32) -> [UInt8]? {
    var bytes = [UInt8](repeating: 0, count: family == AF_INET ? 4 : 16)
    return inet_pton(family, text, &bytes) == 1 ? bytes : nil
  }

  private static func text(_ bytes: [UInt8], _ family: Int32) throws(CardError) -> String {
    var text = [CChar](repeating: 0, count: Int(INET6_ADDRSTRLEN))
    guard inet_ntop(family, bytes, &text, socklen_t(text.count)) != nil else { throw .invalidAddress }
    return String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }

  private static func isName(_ name: [UInt8]) -> Bool {
    let labels = name.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
    let digits = UInt8(ascii: "0")...UInt8(ascii: "9")
    guard let last = labels.last, let first = last.first else { return false }
    // The C library reads "1.2.3", "0x7f" and "127.1" as numbers; so does whatever ends in one.
    if digits ~= first, last.allSatisfy({ digits ~= $0 }) || last.starts(with: [48, UInt8(ascii: "x")]) {
      return false
    }
    let hyphen = UInt8(ascii: "-")
    return labels.allSatisfy { label in
      (1...63).contains(label.count) && label.first != hyphen && label.last != hyphen
        && label.allSatisfy { 97...122 ~= $0 || digits ~= $0 || $0 == hyphen || $0 == UInt8(ascii: "_") }
    }
  }
}
