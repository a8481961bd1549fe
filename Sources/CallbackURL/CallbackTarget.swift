package import Sodium

/// Where an answer goes: the URL of another program, which gets parameters put behind it.
package struct CallbackTarget: Hashable, Sendable {
  /// Most bytes of such a URL before the answer's parameters.
  package static let byteLimit = 8192

  /// The URL as the other program gave it: printable ASCII.
  package let text: String

  /// Takes a URL with a scheme of its own. `name` is the parameter it came in.
  init(_ bytes: RawSpan, name: String) throws(CallbackError) {
    guard bytes.byteCount <= Self.byteLimit else {
      throw .invalid(name, rule: "a URL of at most \(Self.byteLimit) bytes")
    }
    var isPrintable = true
    for position in 0..<bytes.byteCount where !(0x21...0x7E).contains(bytes.byte(position)) { isPrintable = false }
    let text = bytes.text(0..<bytes.byteCount)
    let rule = "a URL that begins with its program's scheme and ://"
    guard isPrintable, let colon = text.utf8.firstIndex(of: UInt8(ascii: ":")) else {
      throw .invalid(name, rule: rule)
    }
    let scheme = text[..<colon].lowercased()
    guard let first = scheme.utf8.first, (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(first),
      scheme.utf8.allSatisfy({ Self.isSchemeCharacter($0) }), scheme.utf8.count <= CallbackScheme.byteLimit
    else { throw .invalid(name, rule: rule) }
    guard !CallbackScheme.isForbidden(scheme), !Self.namesPage(text) else { throw .forbiddenTarget(name) }
    // Before a single colon stands a host as well as a scheme: what opens `example.org:443/` may go to the web.
    guard text[colon...].hasPrefix("://") else { throw .invalid(name, rule: rule) }
    self.text = text
  }

  /// Whether an address of the web stands in a URL, escaped once or not at all: whoever takes the URL may be a program
  /// that opens what stands in it, with the answer behind it. A client that goes on to a page can keep the page's
  /// address itself.
  private static func namesPage(_ text: String) -> Bool {
    var bytes: [UInt8] = []
    var rest = Array(text.utf8)[...]
    while var byte = rest.popFirst() {
      let digits = rest.prefix(2).compactMap { value(hexadecimalDigit: $0) }
      if byte == UInt8(ascii: "%"), digits.count == 2 {
        byte = digits[0] << 4 | digits[1]
        rest = rest.dropFirst(2)
      }
      // Browsers skip blanks and ends of lines within a scheme.
      guard byte > 0x20 else { continue }
      bytes.append((UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte) ? byte | 0x20 : byte)
    }
    return bytes.contains(Array("http:".utf8)) || bytes.contains(Array("https:".utf8))
  }

  private static func isSchemeCharacter(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"): true
    case UInt8(ascii: "+"), UInt8(ascii: "-"), UInt8(ascii: "."): true
    default: false
    }
  }

  /// The scheme, in small letters.
  package var scheme: String { text.prefix { $0 != ":" }.lowercased() }

  /// Who gets the answer, as it is said to the user: the scheme and `://`. What stands behind that, any program may
  /// write.
  package var receiver: String { scheme + "://" }

  /// The answer to a successful encryption: `encryptedData`, in base64.
  package func answer(encryptedData: RawSpan) throws(CallbackError) -> SecretBytes {
    let base64 = try Self.base64(encryptedData)
    var answer = try AnswerWriter(self, room: AnswerWriter.room("encryptedData", base64.count))
    try answer.add("encryptedData", base64.bytes)
    return try answer.finish()
  }

  /// The answer to a successful decryption. With a file name, empty or not, the content is sent in base64.
  package func answer(
    plaintext: RawSpan, fileName: borrowing SecretBytes?, description: String?
  ) throws(CallbackError) -> SecretBytes {
    let description = Array((description ?? "").utf8)
    var room = AnswerWriter.room("description", description.count)
    switch fileName {
    case .some(let fileName):
      let base64 = try Self.base64(plaintext)
      room += AnswerWriter.room("plaintext", base64.count) + AnswerWriter.room("filename", fileName.count)
      var answer = try AnswerWriter(self, room: room)
      if !description.isEmpty { try answer.add("description", description.span.bytes) }
      try answer.add("plaintext", base64.bytes)
      try answer.add("filename", fileName.bytes)
      return try answer.finish()
    case .none:
      room += AnswerWriter.room("plaintext", plaintext.byteCount)
      var answer = try AnswerWriter(self, room: room)
      if !description.isEmpty { try answer.add("description", description.span.bytes) }
      try answer.add("plaintext", plaintext)
      return try answer.finish()
    }
  }

  /// The answer to a request that failed, with the parameters that x-callback-url names for it.
  package func answer(errorCode: Int32, message: String) throws(CallbackError) -> SecretBytes {
    let code = Array("\(errorCode)".utf8)
    let message = Array(message.utf8)
    var answer = try AnswerWriter(
      self, room: AnswerWriter.room("errorCode", code.count) + AnswerWriter.room("errorMessage", message.count))
    try answer.add("errorCode", code.span.bytes)
    try answer.add("errorMessage", message.span.bytes)
    return try answer.finish()
  }

  /// The answer to a request that its user turned down: nothing is put behind the URL.
  package func answer() throws(CallbackError) -> SecretBytes {
    let answer = try AnswerWriter(self, room: 0)
    return try answer.finish()
  }

  private static func base64(_ bytes: RawSpan) throws(CallbackError) -> SecretBytes {
    do throws(SodiumError) { return try Base64Text.encode(bytes) } catch { throw .outOfMemory }
  }
}
