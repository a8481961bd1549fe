import Sodium

/// The form of an item for mail: base64 in lines of 64 characters between a first and a last line, after RFC 7468's strict
/// form. It protects nothing by itself; the item does.
enum ItemArmor {
  static let begin = "-----BEGIN VAULT ITEM-----"
  static let end = "-----END VAULT ITEM-----"
  static let lineLength = 64
  /// Bytes that may stand before the first line, as the rest of a mail does, and longest line that is looked at.
  static let precedingLimit = 1 << 16
  static let lineLimit = 1024
}

/// Writes the armor of bytes that come in any cut.
struct ItemArmorWriter {
  /// Bytes that don't fill a line yet: 48 of them do.
  private var waiting: [UInt8] = []
  private var hasBegun = false
  private static let bytesPerLine = ItemArmor.lineLength / 4 * 3

  /// The first line, once.
  private mutating func front() -> [UInt8] {
    defer { hasBegun = true }
    return hasBegun ? [] : Array((ItemArmor.begin + "\n").utf8)
  }

  /// The lines that `bytes` complete, behind the first line of all.
  mutating func append(_ bytes: UnsafeRawBufferPointer) -> [UInt8] {
    var text = front()
    text.reserveCapacity((waiting.count + bytes.count) / 48 * 65 + 65)
    var rest = bytes[...]
    if !waiting.isEmpty {
      let part = rest.prefix(Self.bytesPerLine - waiting.count)
      waiting += part
      rest = rest.dropFirst(part.count)
      guard waiting.count == Self.bytesPerLine else { return text }
      Self.write(waiting[...], to: &text)
      waiting = []
    }
    while rest.count >= Self.bytesPerLine {
      Self.write(rest.prefix(Self.bytesPerLine), to: &text)
      rest = rest.dropFirst(Self.bytesPerLine)
    }
    waiting = Array(rest)
    return text
  }

  /// What is left, and the last line.
  mutating func finish() -> [UInt8] {
    var text = front()
    if !waiting.isEmpty { Self.write(waiting[...], to: &text) }
    waiting = []
    return text + Array((ItemArmor.end + "\n").utf8)
  }

  private static func write(_ bytes: some Collection<UInt8>, to text: inout [UInt8]) {
    text += Base64Text.encodePublic(Array(bytes))
    text.append(UInt8(ascii: "\n"))
  }
}

/// Reads what is in an armor. Lines before the first are skipped; spaces and carriage returns at the ends of lines don't count;
/// what stands behind the last line is not looked at. Every line but the last has 64 digits, and bits that aren't needed are
/// zero: an item has one armor.
final class ItemArmorInput: ByteInput {
  private let source: any ByteInput
  private let name: String
  private var buffer: [UInt8] = []
  private var position = 0
  private var decoded: ArraySlice<UInt8> = []
  private var hasBegun = false
  private var isLastLine = false
  private var hasEnded = false

  init(_ source: any ByteInput, name: String) {
    self.source = source
    self.name = name
  }

  func read(into target: UnsafeMutableRawBufferPointer) throws -> Int {
    if !hasBegun { try begin() }
    var done = 0
    while done < target.count {
      if decoded.isEmpty {
        guard !hasEnded else { break }
        try decodeLine()
        continue
      }
      let part = decoded.prefix(target.count - done)
      UnsafeMutableRawBufferPointer(rebasing: target[done...]).copyBytes(from: part)
      decoded = decoded.dropFirst(part.count)
      done += part.count
    }
    return done
  }

  private func begin() throws {
    var skipped = 0
    while skipped <= ItemArmor.precedingLimit, let line = try line() {
      if line.elementsEqual(ItemArmor.begin.utf8) {
        hasBegun = true
        return
      }
      skipped += line.count + 1
    }
    throw damaged("there is no line '\(ItemArmor.begin)' in it")
  }

  private func decodeLine() throws {
    guard let line = try line() else { throw damaged("its last line is missing: it was cut off") }
    if line.elementsEqual(ItemArmor.end.utf8) {
      hasEnded = true
      return
    }
    guard !isLastLine, !line.isEmpty, line.count <= ItemArmor.lineLength, line.count % 4 == 0 else {
      throw damaged("a line of it has a wrong length")
    }
    isLastLine = line.count < ItemArmor.lineLength || line.last == UInt8(ascii: "=")
    guard let bytes = try Base64Text.decodePublic(line.span.bytes) else { throw damaged("a line of it is no base64") }
    decoded = bytes[...]
  }

  /// The next line without its end and blanks there; nil at the end.
  private func line() throws -> ArraySlice<UInt8>? {
    while true {
      if let end = buffer[position...].firstIndex(of: UInt8(ascii: "\n")) {
        let line = buffer[position..<end]
        position = end + 1
        return Self.trimmed(line)
      }
      guard buffer.count - position <= ItemArmor.lineLimit else {
        guard !hasBegun else { throw damaged("a line of it is too long") }
        // Before the first line a long one is skipped in parts; none of them can be the one that is looked for.
        let line = buffer[position...]
        position = buffer.count
        return line
      }
      buffer.removeFirst(position)
      position = 0
      let more = try source.bytes(upTo: 65536)
      guard !more.isEmpty else {
        guard !buffer.isEmpty else { return nil }
        let line = buffer[...]
        position = buffer.count
        return Self.trimmed(line)
      }
      buffer += more
    }
  }

  private static func trimmed(_ line: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
    var line = line
    while let last = line.last, last == UInt8(ascii: "\r") || last == UInt8(ascii: " ") || last == UInt8(ascii: "\t") {
      line.removeLast()
    }
    return line
  }

  private func damaged(_ reason: String) -> VaultError {
    VaultError(.damaged, "\(name) is no whole item: \(reason)", hint: "have it sent again")
  }
}
