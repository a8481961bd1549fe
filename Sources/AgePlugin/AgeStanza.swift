import Sodium

/// A stanza as age's header and its plugins have it (C2SP age.md, "Recipient stanza"): nothing in it is secret when it comes
/// from a client.
package struct AgeStanza: Hashable, Sendable {
  /// The first one says what it is.
  package let tag: String
  /// Those behind it.
  package let arguments: [String]
  package let body: [UInt8]

  package init(_ tag: String, _ arguments: [String] = [], body: [UInt8] = []) {
    self.tag = tag
    self.arguments = arguments
    self.body = body
  }

  /// Characters of a line of a body; a shorter one ends it.
  static let columns = 64

  /// As it is sent.
  package var text: [UInt8] {
    var text = Array((["->", tag] + arguments).joined(separator: " ").utf8) + [newline]
    var rest = Self.base64(body)[...]
    while rest.count >= Self.columns {
      text += rest.prefix(Self.columns) + [newline]
      rest = rest.dropFirst(Self.columns)
    }
    return text + rest + [newline]
  }

  /// Base64 without padding (RFC 4648, section 4).
  static func base64(_ bytes: [UInt8]) -> [UInt8] {
    bytes.isEmpty ? [] : Base64Text.encodePublic(bytes).filter { $0 != UInt8(ascii: "=") }
  }

  /// The bytes of canonical base64 without padding; nil for anything else.
  static func bytes(base64 text: some Collection<UInt8>) -> [UInt8]? {
    guard !text.isEmpty else { return [] }
    guard text.count % 4 != 1, !text.contains(UInt8(ascii: "=")) else { return nil }
    let padded = Array(text) + [UInt8](repeating: UInt8(ascii: "="), count: (4 - text.count % 4) % 4)
    return try? Base64Text.decodePublic(padded.span.bytes)
  }
}

let newline = UInt8(ascii: "\n")
