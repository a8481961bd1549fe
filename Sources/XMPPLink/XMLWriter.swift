import XMPPRequests

/// Writes a stanza. What is not allowed in XML is refused before, by ``check(_:limit:)``.
struct XMLWriter {
  private(set) var bytes: [UInt8] = []
  private var isTagOpen = false
  private var open: [String] = []

  /// Begins an element. All names are of this package.
  mutating func begin(_ name: String, _ namespace: String? = nil, _ attributes: [(String, String?)] = []) {
    closeTag()
    bytes.append(UInt8(ascii: "<"))
    bytes += name.utf8
    open.append(name)
    isTagOpen = true
    for (name, value) in [("xmlns", namespace)] + attributes {
      guard let value else { continue }
      bytes.append(UInt8(ascii: " "))
      bytes += name.utf8
      bytes += "='".utf8
      append(escaped: value)
      bytes.append(UInt8(ascii: "'"))
    }
  }

  mutating func end() {
    guard let name = open.popLast() else { return }
    if isTagOpen {
      bytes += "/>".utf8
      isTagOpen = false
    } else {
      bytes += "</\(name)>".utf8
    }
  }

  mutating func endAll() { while !open.isEmpty { end() } }

  /// An element without children.
  mutating func element(
    _ name: String, _ namespace: String? = nil, _ attributes: [(String, String?)] = [], text: String? = nil
  ) {
    begin(name, namespace, attributes)
    if let text { self.text(text) }
    end()
  }

  mutating func text(_ text: String) {
    closeTag()
    append(escaped: text)
  }

  /// Text that has nothing to escape, like Base64.
  mutating func plain(_ text: [UInt8]) {
    closeTag()
    bytes += text
  }

  private mutating func closeTag() {
    guard isTagOpen else { return }
    bytes.append(UInt8(ascii: ">"))
    isTagOpen = false
  }

  private mutating func append(escaped text: String) {
    for byte in text.utf8 {
      switch byte {
      case UInt8(ascii: "&"): bytes += "&amp;".utf8
      case UInt8(ascii: "<"): bytes += "&lt;".utf8
      case UInt8(ascii: ">"): bytes += "&gt;".utf8
      case UInt8(ascii: "'"): bytes += "&apos;".utf8
      case UInt8(ascii: "\""): bytes += "&quot;".utf8
      // Parsers turn it into a line feed otherwise.
      case UInt8(ascii: "\r"): bytes += "&#13;".utf8
      default: bytes.append(byte)
      }
    }
  }

  /// How many bytes a text has as it is written.
  static func byteCount(of text: String) -> Int {
    var writer = XMLWriter()
    writer.append(escaped: text)
    return writer.bytes.count
  }

  /// Refuses what XML can't carry, and what is too long.
  static func check(_ text: String, limit: Int) throws(XMPPError) {
    guard text.utf8.count <= limit else { throw .invalidContent("longer than \(limit) bytes") }
    for scalar in text.unicodeScalars {
      switch scalar.value {
      case 0x9, 0xA, 0xD, 0x20...0xD7FF, 0xE000...0xFFFD, 0x10000...0x10FFFF: continue
      default: throw .invalidContent("it has a character that XML doesn't allow")
      }
    }
  }
}
