import Glibc

/// Where a server's interface begins: `https://HOST[:PORT][/PATH]`.
///
/// `http://` is taken for this machine itself only (a loopback address, or `localhost`): keys of access go with every
/// request. What libcurl would read in another way than it is written (a dot segment, a percent sign in a name) is
/// refused.
package struct ServerAddress: Hashable, Sendable, CustomStringConvertible {
  package static let textLimit = 512

  /// The address in its normal form, without a slash at its end.
  package let description: String
  package let isLocal: Bool

  /// Throws ``HTTPError/invalidAddress(_:)`` or ``HTTPError/insecureAddress``.
  package init(_ text: String) throws(HTTPError) {
    guard (1...Self.textLimit).contains(text.utf8.count), text.utf8.allSatisfy({ (0x21...0x7e).contains($0) }) else {
      throw .invalidAddress("an address is \(Self.textLimit) visible ASCII characters at most")
    }
    let form = HTTPError.invalidAddress("it is not of the form https://HOST[:PORT][/PATH], without a user name")
    guard let colon = text.firstIndex(of: ":"), text[colon...].hasPrefix("://") else { throw form }
    let rest = text[text.index(colon, offsetBy: 3)...]
    let end = rest.firstIndex { "/?#".contains($0) } ?? rest.endIndex
    var path = rest[end...]
    for (mark, name) in [("?", "question mark"), ("#", "number sign")] where path.contains(mark) {
      throw .invalidAddress("there is a \(name) in it")
    }
    guard !rest[..<end].contains("@") else { throw form }
    guard let (host, port) = Self.place(rest[..<end]) else { throw form }
    guard !host.isEmpty else { throw .invalidAddress("it names no host") }
    let segments = path.split(separator: "/").map { $0.lowercased().replacing("%2e", with: ".") }
    guard !segments.contains("."), !segments.contains("..") else {
      throw .invalidAddress("there is a dot in it that stands for a folder")
    }
    let scheme = text[..<colon].lowercased()
    isLocal = Self.isLoopback(host)
    switch scheme {
    case "https": break
    case "http": guard isLocal else { throw .insecureAddress }
    default: throw .invalidAddress("it does not begin with https://")
    }
    while path.last == "/" { path.removeLast() }
    description = scheme + "://" + host + (port.map { ":\($0)" } ?? "") + path
  }

  /// Host and port, the host in its normal form; nil if they aren't.
  private static func place(_ text: Substring) -> (host: String, port: UInt16?)? {
    let end = text.first == "[" ? text.firstIndex(of: "]").map(text.index(after:)) : text.firstIndex(of: ":")
    let name = text[..<(end ?? text.endIndex)]
    let rest = text[name.endIndex...]
    guard let host = name.first == "[" ? six(name) : self.name(name) else { return nil }
    guard let mark = rest.first else { return (host, nil) }
    let digits = rest.dropFirst()
    guard mark == ":", digits.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
    if digits.isEmpty { return (host, nil) }
    return UInt16(digits).map { (host, $0) }
  }

  /// An address of version 6 in brackets.
  private static func six(_ text: Substring) -> String? {
    var address = in6_addr()
    guard text.last == "]", inet_pton(AF_INET6, String(text.dropFirst().dropLast()), &address) == 1 else { return nil }
    var buffer = [CChar](repeating: 0, count: Int(INET6_ADDRSTRLEN))
    guard inet_ntop(AF_INET6, &address, &buffer, socklen_t(buffer.count)) != nil else { return nil }
    return "[" + String(decoding: buffer.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self) + "]"
  }

  /// A name, or an address of version 4, which may be written shorter or in another base.
  private static func name(_ text: Substring) -> String? {
    let isName = text.utf8.allSatisfy {
      switch $0 {
      case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
        UInt8(ascii: "~"):
        true
      default: false
      }
    }
    guard isName else { return nil }
    var address = in_addr()
    guard inet_aton(String(text), &address) != 0 else { return String(text) }
    return (0..<4).map { String(UInt32(bigEndian: address.s_addr) >> UInt32(24 - 8 * $0) & 255) }
      .joined(separator: ".")
  }

  private static func isLoopback(_ host: String) -> Bool {
    if host == "localhost" { return true }
    var four = in_addr()
    if inet_pton(AF_INET, host, &four) == 1 { return UInt32(bigEndian: four.s_addr) >> 24 == 127 }
    var six = in6_addr()
    guard host.hasPrefix("["), host.hasSuffix("]") else { return false }
    guard inet_pton(AF_INET6, String(host.dropFirst().dropLast()), &six) == 1 else { return false }
    return withUnsafeBytes(of: &six) { $0.dropLast().allSatisfy { $0 == 0 } && $0.last == 1 }
  }
}
