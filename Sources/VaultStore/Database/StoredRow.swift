import Foundation
import GRDB
import ShamirKit
import Sodium
import VaultProtocol
import WireCodec

/// A row of the database, read without trusting it: a missing, misplaced or malformed value is damage, not a trap.
struct StoredRow {
  let row: Row
  /// What the row is, for the error: "peer alice".
  let what: String

  func bytes(_ column: String, count: Int? = nil) throws(StoreError) -> [UInt8] {
    try required(optionalBytes(column, count: count))
  }

  func optionalBytes(_ column: String, count: Int? = nil) throws(StoreError) -> [UInt8]? {
    switch try storage(column) {
    case .null: return nil
    case .blob(let data):
      guard count == nil || data.count == count else { throw .damaged(what) }
      return [UInt8](data)
    default: throw .damaged(what)
    }
  }

  func digest(_ column: String) throws(StoreError) -> Digest {
    try required(optionalDigest(column))
  }

  func optionalDigest(_ column: String) throws(StoreError) -> Digest? {
    guard let bytes = try optionalBytes(column, count: Digest.byteCount) else { return nil }
    return try withSodium(try Digest(bytes))
  }

  func secretID(_ column: String) throws(StoreError) -> SecretID { try required(optionalSecretID(column)) }

  func optionalSecretID(_ column: String) throws(StoreError) -> SecretID? {
    try optionalBytes(column, count: SecretID.byteCount).flatMap { try? SecretID($0) }
  }

  func parcelID(_ column: String) throws(StoreError) -> ParcelID { try required(ParcelID(bytes(column))) }

  func integer(_ column: String) throws(StoreError) -> Int64 {
    try required(optionalInteger(column))
  }

  func optionalInteger(_ column: String) throws(StoreError) -> Int64? {
    switch try storage(column) {
    case .null: return nil
    case .int64(let number): return number
    default: throw .damaged(what)
    }
  }

  func number(_ column: String, in range: ClosedRange<Int>) throws(StoreError) -> Int {
    guard let number = Int(exactly: try integer(column)), range.contains(number) else { throw .damaged(what) }
    return number
  }

  func optionalNumber(_ column: String, in range: ClosedRange<Int>) throws(StoreError) -> Int? {
    try optionalInteger(column) == nil ? nil : number(column, in: range)
  }

  func count(_ column: String) throws(StoreError) -> Int { try number(column, in: 0...Int.max) }

  func flag(_ column: String) throws(StoreError) -> Bool { try number(column, in: 0...1) == 1 }

  func text(_ column: String) throws(StoreError) -> String {
    try required(optionalText(column))
  }

  func optionalText(_ column: String) throws(StoreError) -> String? {
    switch try storage(column) {
    case .null: return nil
    case .string(let text): return text
    default: throw .damaged(what)
    }
  }

  func value<Value: RawRepresentable<String>>(_ column: String, as type: Value.Type) throws(StoreError) -> Value {
    try required(Value(rawValue: text(column)))
  }

  func texts(_ column: String) throws(StoreError) -> [String] {
    let bytes = try bytes(column)
    do throws(WireError) { return try TextList.decode(bytes, limit: TextList.byteLimit).texts } catch {
      throw .damaged(what)
    }
  }

  /// Compares the row's MAC with the one that it should have.
  func verify(_ mac: [UInt8]) throws(StoreError) {
    guard macsMatch(try bytes("mac"), mac) else { throw .damaged(what) }
  }

  private func required<Value>(_ value: Value?) throws(StoreError) -> Value {
    guard let value else { throw .damaged(what) }
    return value
  }

  private func storage(_ column: String) throws(StoreError) -> DatabaseValue.Storage {
    // Nil for a column that isn't there, which no statement here leaves out.
    let value: DatabaseValue? = row[column]
    return value?.storage ?? .null
  }
}

/// A list of texts in one column: 16-bit count, then each with its 16-bit length.
struct TextList: WireValue {
  static let byteLimit = 65_536
  static let countLimit = 256

  let texts: [String]

  init(_ texts: [String]) { self.texts = texts }

  func encode(into writer: inout Writer) throws(WireError) {
    try writer.count16(texts.count)
    for text in texts { try writer.text16(text) }
  }

  init(from reader: inout Reader) throws(WireError) {
    let count = try reader.count16(limit: Self.countLimit, "text count")
    var texts: [String] = []
    for _ in 0..<count { texts.append(try reader.text16(limit: Self.byteLimit, "text")) }
    self.texts = texts
  }

  /// The encoding, checked so that it can be read again.
  func column(_ what: String) throws(StoreError) -> [UInt8] {
    let isStorable = texts.count <= Self.countLimit && encodedByteCount <= Self.byteLimit
    guard isStorable, !texts.contains(where: { $0.utf8.contains(0) }) else { throw .invalid(what) }
    do throws(WireError) { return try encoded() } catch { throw .invalid(what) }
  }
}

extension [UInt8] {
  /// As SQLite takes it. For ciphertext and public values.
  var blob: Data { Data(self) }
}

extension Digest {
  var blob: Data { Data(bytes) }
}

extension ParcelID {
  var blob: Data { Data(bytes) }
}

extension SecretID {
  var blob: Data { withUnsafeBytes { Data($0) } }
}

/// Text that SQLite keeps whole: a NUL would cut it short.
func checkedText(_ text: String, _ what: String, limit: Int = 65_536) throws(StoreError) -> String {
  guard !text.utf8.contains(0), text.utf8.count <= limit else { throw .invalid(what) }
  return text
}

/// Free text for people, made storable: NUL becomes a replacement character, and it is cut to a length.
func storableNote(_ text: String, limit: Int = 1000) -> String {
  String(text.prefix(limit).map { $0 == "\0" ? "\u{FFFD}" : $0 })
}
