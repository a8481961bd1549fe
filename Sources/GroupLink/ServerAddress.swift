import CCurl
import Glibc

/// Where a server's interface begins: `https://HOST[:PORT][/PATH]`.
///
/// `http://` is taken for this machine itself only (a loopback address, or `localhost`): keys of access go with every request.
package struct ServerAddress: Hashable, Sendable, CustomStringConvertible {
  /// Longest text that is looked at.
  package static let textLimit = 512

  /// The address without a slash at its end.
  package let description: String
  /// Whether it is this machine.
  let isLocal: Bool

  /// Throws ``HTTPError/invalidAddress(_:)`` or ``HTTPError/insecureAddress``.
  package init(_ text: String) throws(HTTPError) {
    guard (1...Self.textLimit).contains(text.utf8.count), text.utf8.allSatisfy({ (0x21...0x7e).contains($0) }) else {
      throw .invalidAddress("an address is \(Self.textLimit) visible ASCII characters at most")
    }
    // libcurl would forgive a third slash.
    guard !text.contains(":///") else { throw .invalidAddress("it names no host") }
    guard let parts = curl_url() else { throw .noResources }
    defer { curl_url_cleanup(parts) }
    guard curl_url_set(parts, CURLUPART_URL, text, UInt32(CURLU_DISALLOW_USER)) == CURLUE_OK else {
      throw .invalidAddress("it is not of the form https://HOST[:PORT][/PATH], without a user name")
    }
    for (part, name) in [(CURLUPART_QUERY, "question mark"), (CURLUPART_FRAGMENT, "number sign")]
    where Self.part(part, of: parts) != nil {
      throw .invalidAddress("there is a \(name) in it")
    }
    guard let host = Self.part(CURLUPART_HOST, of: parts), !host.isEmpty else {
      throw .invalidAddress("it names no host")
    }
    isLocal = Self.isLoopback(host)
    switch Self.part(CURLUPART_SCHEME, of: parts) {
    case "https": break
    case "http": guard isLocal else { throw .insecureAddress }
    default: throw .invalidAddress("it does not begin with https://")
    }
    guard var whole = Self.part(CURLUPART_URL, of: parts) else { throw .noResources }
    while whole.hasSuffix("/") { whole.removeLast() }
    description = whole
  }

  private static func part(_ part: CURLUPart, of parts: OpaquePointer) -> String? {
    var text: UnsafeMutablePointer<CChar>?
    guard curl_url_get(parts, part, &text, 0) == CURLUE_OK, let text else { return nil }
    defer { curl_free(text) }
    return String(cString: text)
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
