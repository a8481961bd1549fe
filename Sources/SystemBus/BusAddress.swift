import Glibc

/// Where a message bus listens, from a text such as `unix:path=/run/dbus/system_bus_socket,guid=…;unix:…` (D-Bus
/// Specification, "Server Addresses").
package enum BusAddress {
  static let byteLimit = 4096
  package static let usual = "/run/dbus/system_bus_socket"

  /// The paths of the sockets, in order; other kinds of address are passed over. Nil if the text breaks the rules.
  package static func paths(_ text: String) -> [String]? {
    guard text.utf8.count <= byteLimit else { return nil }
    var paths: [String] = []
    for address in text.utf8.split(separator: UInt8(ascii: ";")) {
      guard let colon = address.firstIndex(of: UInt8(ascii: ":")) else { return nil }
      let isLocal = address[..<colon].elementsEqual("unix".utf8)
      for pair in address[address.index(after: colon)...].split(separator: UInt8(ascii: ",")) {
        guard let equals = pair.firstIndex(of: UInt8(ascii: "=")), equals > pair.startIndex,
          let value = unescaped(pair[pair.index(after: equals)...])
        else { return nil }
        guard isLocal, pair[..<equals].elementsEqual("path".utf8) else { continue }
        guard value.first == UInt8(ascii: "/"), !value.contains(0), let path = String(validating: value, as: UTF8.self)
        else { return nil }
        paths.append(path)
      }
    }
    return paths
  }

  /// Bytes behind a percent sign are two hexadecimal digits.
  private static func unescaped(_ text: Substring.UTF8View) -> [UInt8]? {
    var bytes: [UInt8] = []
    var rest = text[...]
    while let next = rest.popFirst() {
      guard next == UInt8(ascii: "%") else {
        bytes.append(next)
        continue
      }
      guard let high = rest.popFirst().flatMap(digit), let low = rest.popFirst().flatMap(digit) else { return nil }
      bytes.append(high << 4 | low)
    }
    return bytes
  }

  /// The places of the system's bus, as the process's environment or custom has them.
  package static var system: [String] {
    guard let given = getenv("DBUS_SYSTEM_BUS_ADDRESS") else { return [usual] }
    return String(validatingCString: given).flatMap { paths($0) } ?? []
  }

  private static func digit(_ byte: UInt8) -> UInt8? { Character(UnicodeScalar(byte)).hexDigitValue.map { UInt8($0) } }
}
