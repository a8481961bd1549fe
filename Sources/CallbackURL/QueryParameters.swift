import Sodium

/// The query of a URL, cut at `&` and `=`, with its values still escaped and where they were.
///
/// Cutting and unescaping branch on the text, as every parser of a URL does; nothing here is repeated on somebody
/// else's choice, so its time tells at most how long the parts are.
struct QueryParameters {
  /// Most parameters of a request: the protocol has ten.
  static let countLimit = 64

  /// Where each name and its value are. What stands for a name may be a secret: the rest of a plaintext in which
  /// somebody forgot to escape an `&`. So names are compared where they lie, and no string is made of them.
  private(set) var places: [(name: Range<Int>, value: Range<Int>)] = []

  /// Cuts `query`. Empty parts are left out, since clients put an `&` in front. A name with escapes in it is none that
  /// anybody here knows.
  init(_ query: RawSpan) throws(CallbackError) {
    var start = 0
    while start <= query.byteCount {
      var end = start
      var equals: Int?
      while end < query.byteCount {
        let byte = query.byte(end)
        if byte == UInt8(ascii: "&") { break }
        // A fragment, a blank or a line's end would mean that somebody forgot to escape what follows.
        guard byte > 0x20, byte != 0x7F, byte != UInt8(ascii: "#") else { throw .malformed }
        if equals == nil, byte == UInt8(ascii: "=") { equals = end }
        end += 1
      }
      if end > start {
        guard places.count < Self.countLimit else { throw .malformed }
        let nameEnd = equals ?? end
        places.append((start..<nameEnd, (equals.map { $0 + 1 } ?? end)..<end))
      }
      start = end + 1
    }
  }

  func value(_ name: String, in query: RawSpan) throws(CallbackError) -> SecretBytes? {
    let found = places.filter { Self.isName(query.extracting($0.name), name) }
    guard found.count <= 1 else { throw .duplicate(name) }
    guard let place = found.first else { return nil }
    return try Self.unescaped(query.extracting(place.value))
  }

  func contains(_ name: String, in query: RawSpan) -> Bool {
    places.contains { Self.isName(query.extracting($0.name), name) }
  }

  private static func isName(_ bytes: RawSpan, _ name: String) -> Bool {
    guard bytes.byteCount == name.utf8.count else { return false }
    return bytes.withUnsafeBytes { $0.elementsEqual(name.utf8) }
  }

  /// Replaces each `%` and its two hexadecimal digits by their byte. A plus is a plus.
  static func unescaped(_ text: RawSpan) throws(CallbackError) -> SecretBytes {
    var escapes = 0
    var position = 0
    while position < text.byteCount {
      if text.byte(position) == UInt8(ascii: "%") {
        guard position + 2 < text.byteCount, Sodium.value(hexadecimalDigit: text.byte(position + 1)) != nil,
          Sodium.value(hexadecimalDigit: text.byte(position + 2)) != nil
        else { throw .malformed }
        escapes += 1
        position += 3
      } else {
        position += 1
      }
    }
    let count = text.byteCount - 2 * escapes
    var bytes = try memory(count)
    bytes.withUnsafeMutableBytes { target in
      var position = 0
      for index in 0..<count {
        var byte = text.byte(position)
        position += 1
        if byte == UInt8(ascii: "%"), let high = Sodium.value(hexadecimalDigit: text.byte(position)),
          let low = Sodium.value(hexadecimalDigit: text.byte(position + 1))
        {
          byte = high << 4 | low
          position += 2
        }
        target[index] = byte
      }
    }
    return bytes
  }
}

func memory(_ count: Int) throws(CallbackError) -> SecretBytes {
  do throws(SodiumError) { return try SecretBytes(zeros: count) } catch { throw .outOfMemory }
}

extension RawSpan {
  func byte(_ position: Int) -> UInt8 { unsafeLoad(fromByteOffset: position, as: UInt8.self) }

  /// A part as text, what is no UTF-8 replaced: only for names.
  func text(_ part: Range<Int>) -> String {
    extracting(part).withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
  }
}
