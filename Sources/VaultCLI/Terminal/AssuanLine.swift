import SecretVault
import Sodium

/// A line that a server of the Assuan protocol answers with ("Developing with Assuan", section "Server responses"), without its
/// newline. What a client that asks for a PIN has no use for, such as an inquiry, is malformed.
enum AssuanLine: Hashable, Sendable {
  case ok
  /// The number of the error; its lower 16 bits say which it is (libgpg-error).
  case failure(UInt32)
  /// A part of the answer, still encoded, from the third byte on.
  case data
  /// A status or a comment.
  case note

  enum Fault: Error, Hashable { case tooLong, malformed }

  /// Bytes of a line, its newline not counted.
  static let byteLimit = 1000

  init(_ line: RawSpan) throws(Fault) {
    guard line.byteCount <= Self.byteLimit else { throw .tooLong }
    if Self.begins(line, with: "D ") {
      self = .data
    } else if Self.begins(line, with: "OK"), line.byteCount == 2 || Self.begins(line, with: "OK ") {
      self = .ok
    } else if Self.begins(line, with: "ERR ") {
      self = .failure(try Self.number(line, from: 4))
    } else if Self.begins(line, with: "S ") || Self.begins(line, with: "#") {
      self = .note
    } else {
      throw .malformed
    }
  }

  private static func begins(_ line: RawSpan, with word: StaticString) -> Bool {
    let count = word.utf8CodeUnitCount
    guard line.byteCount >= count else { return false }
    return line.withUnsafeBytes { bytes in
      (0..<count).allSatisfy { bytes[$0] == word.utf8Start[$0] }
    }
  }

  /// Decimal digits up to the end of the line or a blank.
  private static func number(_ line: RawSpan, from start: Int) throws(Fault) -> UInt32 {
    var number: UInt32 = 0
    var position = start
    while position < line.byteCount {
      let byte = Self.byte(line, position)
      if byte == UInt8(ascii: " ") { break }
      guard (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) else { throw .malformed }
      let (product, isTooLarge) = number.multipliedReportingOverflow(by: 10)
      let (sum, overflows) = product.addingReportingOverflow(UInt32(byte - UInt8(ascii: "0")))
      guard !isTooLarge, !overflows else { throw .malformed }
      number = sum
      position += 1
    }
    guard position > start else { throw .malformed }
    return number
  }

  /// Adds what a data line holds to `text`: a percent sign begins a byte of two hexadecimal digits. As with a line from a terminal,
  /// each byte is looked at.
  static func append(dataOf line: RawSpan, to text: inout SecretText) throws {
    var position = 2
    while position < line.byteCount {
      var byte = Self.byte(line, position)
      if byte == UInt8(ascii: "%") {
        guard position + 2 < line.byteCount,
          let high = digit(Self.byte(line, position + 1)),
          let low = digit(Self.byte(line, position + 2))
        else { throw Fault.malformed }
        byte = high << 4 | low
        position += 2
      } else {
        guard byte != 0, byte != UInt8(ascii: "\r"), byte != UInt8(ascii: "\n") else { throw Fault.malformed }
      }
      guard text.count < Passphrase.byteLimit else { throw Fault.tooLong }
      try text.append(byte: byte)
      position += 1
    }
  }

  private static func byte(_ line: RawSpan, _ position: Int) -> UInt8 { line.withUnsafeBytes { $0[position] } }

  private static func digit(_ byte: UInt8) -> UInt8? {
    switch byte {
    case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
    case UInt8(ascii: "A")...UInt8(ascii: "F"): byte - UInt8(ascii: "A") + 10
    case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
    default: nil
    }
  }
}
