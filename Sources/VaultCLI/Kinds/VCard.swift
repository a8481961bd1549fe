import SecretVault
import Sodium

/// A contact as a vCard 3.0 (RFC 2426) or 4.0 (RFC 6350), taken apart without copying anything of it out of secret memory.
///
/// What is read: one card in UTF-8, without characters of control but tabs and the ends of lines, folded or not, at most
/// ``byteLimit`` bytes and ``propertyLimit`` properties, with the version that it says and a formatted name.
struct VCard: ~Copyable {
  /// Most bytes of a card, a picture in it included.
  static let byteLimit = 1 << 20
  static let propertyLimit = 500
  /// Most bytes of a property's name, its group included.
  static let nameByteLimit = 64

  /// A line of the card: a name, which is public, and where its value lies.
  struct Property: Equatable {
    /// In upper case, without a group.
    let name: String
    /// What stands between the name and the colon.
    let parameters: Range<Int>
    let value: Range<Int>
  }

  /// Why something is no card.
  enum Fault: Error, Equatable {
    case tooLarge, notUTF8, controlCharacter, tooManyProperties, noBegin, noEnd, trailing, version, noName
    /// A line that is no property; lines are counted from 1, after unfolding.
    case line(Int)
    case noMemory
  }

  /// The card with its folded lines put together.
  private let text: SecretBytes
  /// Its properties in order, without BEGIN, VERSION and END.
  let properties: [Property]
  /// 3 or 4.
  let version: Int

  init(_ bytes: RawSpan) throws(Fault) {
    guard bytes.byteCount <= Self.byteLimit else { throw .tooLarge }
    let text = try bytes.withUnsafeBytes { (bytes) throws(Fault) in
      try Self.check(bytes)
      return try Self.unfolded(bytes)
    }
    let parsed = try text.withUnsafeBytes { (bytes) throws(Fault) in try Self.properties(of: bytes) }
    self.text = text
    version = parsed.version
    properties = parsed.properties
  }

  /// The value of a property as it stands in the card.
  @_lifetime(borrow self)
  func value(of property: Property) -> RawSpan { text.bytes.extracting(property.value) }

  @_lifetime(borrow self)
  func parameters(of property: Property) -> RawSpan { text.bytes.extracting(property.parameters) }

  /// The value of a property for people: what was written with a backslash as what it stands for, and the parts of a name or
  /// an address with commas between.
  func plainValue(of property: Property) throws -> SecretBytes {
    var plain = try SecretText(capacity: property.value.count + 16)
    let isStructured = ["N", "ADR", "ORG", "GENDER"].contains(property.name)
    try text.withUnsafeBytes { bytes in
      var position = property.value.lowerBound
      var partBegins = plain.count
      var wantsComma = false
      while position < property.value.upperBound {
        var byte = bytes[position]
        position += 1
        if byte == UInt8(ascii: ";"), isStructured {
          wantsComma = wantsComma || plain.count > partBegins
          partBegins = plain.count
          continue
        }
        if byte == UInt8(ascii: "\\"), position < property.value.upperBound {
          byte = bytes[position]
          position += 1
          if byte == UInt8(ascii: "n") || byte == UInt8(ascii: "N") { byte = UInt8(ascii: "\n") }
        }
        if wantsComma {
          try plain.append(", ")
          partBegins = plain.count
          wantsComma = false
        }
        try plain.append(byte: byte)
      }
    }
    return try plain.finish()
  }

  // MARK: - Parsing

  /// UTF-8 without characters of control.
  private static func check(_ bytes: UnsafeRawBufferPointer) throws(Fault) {
    var decoder = UTF8()
    var rest = bytes.makeIterator()
    while true {
      switch decoder.decode(&rest) {
      case .emptyInput: return
      case .error: throw .notUTF8
      case .scalarValue(let scalar):
        let isAllowed = scalar == "\n" || scalar == "\r" || scalar == "\t"
        guard isAllowed || scalar.properties.generalCategory != .control else { throw .controlCharacter }
      }
    }
  }

  /// Puts folded lines together and ends each with a single newline.
  private static func unfolded(_ bytes: UnsafeRawBufferPointer) throws(Fault) -> SecretBytes {
    do {
      var text = try SecretText(capacity: bytes.count + 1)
      var position = 0
      // A mark of the byte order is no part of the text.
      if bytes.starts(with: [0xEF, 0xBB, 0xBF]) { position = 3 }
      while position < bytes.count {
        let byte = bytes[position]
        position += 1
        if byte == UInt8(ascii: "\r"), position < bytes.count, bytes[position] == UInt8(ascii: "\n") { continue }
        guard byte == UInt8(ascii: "\n") || byte == UInt8(ascii: "\r") else {
          try text.append(byte: byte)
          continue
        }
        let isFolded =
          position < bytes.count && (bytes[position] == UInt8(ascii: " ") || bytes[position] == UInt8(ascii: "\t"))
        if isFolded { position += 1 } else { try text.append(byte: UInt8(ascii: "\n")) }
      }
      return try text.finish()
    } catch {
      throw .noMemory
    }
  }

  private static func properties(
    of bytes: UnsafeRawBufferPointer
  ) throws(Fault) -> (version: Int, properties: [Property]) {
    var properties: [Property] = []
    var version: Int?
    var hasBegun = false
    var hasEnded = false
    var number = 0
    var start = 0
    while start < bytes.count {
      var end = start
      while end < bytes.count, bytes[end] != UInt8(ascii: "\n") { end += 1 }
      let line = start..<end
      start = end + 1
      number += 1
      if line.isEmpty { continue }
      guard !hasEnded else { throw .trailing }
      let property = try property(bytes, line, number)
      let value = UnsafeRawBufferPointer(rebasing: bytes[property.value])
      switch property.name {
      case "BEGIN":
        guard !hasBegun, isWord(value, "VCARD") else { throw .noBegin }
        hasBegun = true
      case _ where !hasBegun: throw .noBegin
      case "END":
        guard isWord(value, "VCARD") else { throw .noEnd }
        hasEnded = true
      case "VERSION":
        guard version == nil else { throw .version }
        version = isWord(value, "3.0") ? 3 : isWord(value, "4.0") ? 4 : nil
        guard version != nil else { throw .version }
      default:
        guard properties.count < propertyLimit else { throw .tooManyProperties }
        properties.append(property)
      }
    }
    guard hasBegun else { throw .noBegin }
    guard hasEnded else { throw .noEnd }
    guard let version else { throw .version }
    guard properties.contains(where: { $0.name == "FN" && !$0.value.isEmpty }) else { throw .noName }
    return (version, properties)
  }

  /// `[group.]NAME[;parameter…]:value`; a colon within quotes belongs to a parameter.
  private static func property(
    _ bytes: UnsafeRawBufferPointer, _ line: Range<Int>, _ number: Int
  ) throws(Fault) -> Property {
    var nameEnd = line.lowerBound
    var nameStart = line.lowerBound
    while nameEnd < line.upperBound, bytes[nameEnd] != UInt8(ascii: ":"), bytes[nameEnd] != UInt8(ascii: ";") {
      let byte = bytes[nameEnd]
      let isLetter = (byte | 0x20) >= UInt8(ascii: "a") && (byte | 0x20) <= UInt8(ascii: "z")
      let isDigit = byte >= UInt8(ascii: "0") && byte <= UInt8(ascii: "9")
      guard isLetter || isDigit || byte == UInt8(ascii: "-") || byte == UInt8(ascii: ".") else { throw .line(number) }
      nameEnd += 1
      if byte == UInt8(ascii: ".") { nameStart = nameEnd }
      guard nameEnd - line.lowerBound <= nameByteLimit else { throw .line(number) }
    }
    guard nameStart < nameEnd else { throw .line(number) }
    var colon = nameEnd
    var isQuoted = false
    while colon < line.upperBound, isQuoted || bytes[colon] != UInt8(ascii: ":") {
      if bytes[colon] == UInt8(ascii: "\"") { isQuoted.toggle() }
      colon += 1
    }
    guard colon < line.upperBound else { throw .line(number) }
    let name = String(decoding: bytes[nameStart..<nameEnd].map { upper($0) }, as: UTF8.self)
    return Property(name: name, parameters: min(nameEnd + 1, colon)..<colon, value: colon + 1..<line.upperBound)
  }

  private static func upper(_ byte: UInt8) -> UInt8 {
    byte >= UInt8(ascii: "a") && byte <= UInt8(ascii: "z") ? byte - 0x20 : byte
  }

  /// Whether a public value, such as a version, is a word, whatever its case.
  private static func isWord(_ value: UnsafeRawBufferPointer, _ word: StaticString) -> Bool {
    word.withUTF8Buffer { word in
      value.count == word.count && zip(value, word).allSatisfy { upper($0) == upper($1) }
    }
  }
}

extension VCard.Fault {
  /// What to tell the user about the card called `name`.
  func error(in name: String, _ code: VaultError.Code) -> VaultError {
    let reason =
      switch self {
      case .tooLarge: "is larger than \(Measures.size(UInt64(VCard.byteLimit)))"
      case .notUTF8: "is not UTF-8"
      case .controlCharacter: "has characters of control in it"
      case .tooManyProperties: "has more than \(VCard.propertyLimit) lines"
      case .noBegin: "does not begin with BEGIN:VCARD"
      case .noEnd: "does not end with END:VCARD"
      case .trailing: "has something behind END:VCARD: one contact at a time"
      case .version: "is neither version 3.0 nor 4.0"
      case .noName: "has no name (FN)"
      case .line(let number): "has a line that is none of a vCard: line \(number), counted without folding"
      case .noMemory: "does not fit into secret memory"
      }
    return VaultError(
      code, "\(name) \(reason)", hint: code == .usage ? "export the contact as a vCard 3.0 or 4.0" : nil)
  }
}
