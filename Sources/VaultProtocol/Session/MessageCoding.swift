import ShamirKit
import Sodium
import WireCodec

// What several messages read and write in the same way.

/// Reads 32 bytes as a digest.
func digest(from reader: inout Reader, _ field: StaticString) throws(WireError) -> Digest {
  let bytes = try reader.bytes(Digest.byteCount, field)
  guard let digest = try? Digest(bytes) else { throw .invalidValue(field: field.description) }
  return digest
}

/// Reads one of an enumeration's numbers.
func choice<Value: RawRepresentable<UInt8>>(
  from reader: inout Reader, _ field: StaticString
) throws(WireError) -> Value {
  guard let value = Value(rawValue: try reader.u8(field)) else { throw .invalidValue(field: field.description) }
  return value
}

/// Reads so many values, one behind the other. Whoever calls has limited the number.
func values<Value>(
  _ count: Int, from reader: inout Reader, _ read: (inout Reader) throws(WireError) -> Value
) throws(WireError) -> [Value] {
  var values: [Value] = []
  for _ in 0..<count { values.append(try read(&reader)) }
  return values
}

/// Writes bytes whose number is fixed.
func write(_ bytes: [UInt8], count: Int, _ field: StaticString, into writer: inout Writer) throws(WireError) {
  guard bytes.count == count else { throw .invalidValue(field: field.description) }
  try writer.bytes(bytes)
}

/// Writes an optional reason as one byte, 0 for none.
func write(_ reason: RefusalReason?, into writer: inout Writer) throws(WireError) {
  try writer.u8(reason?.rawValue ?? 0)
}

/// Reads an optional reason; numbers of later versions count as ``RefusalReason/internalFailure``.
func reason(from reader: inout Reader) throws(WireError) -> RefusalReason? {
  let number = try reader.u8("reason")
  return number == 0 ? nil : RefusalReason(rawValue: number) ?? .internalFailure
}

/// Reads milliseconds since 1970.
func time(from reader: inout Reader, _ field: StaticString) throws(WireError) -> Int64 {
  guard let time = Int64(exactly: try reader.u64(field)), time <= Parcel.timeLimit else {
    throw .invalidValue(field: field.description)
  }
  return time
}

/// Writes what is secret, `count` bytes of it; behind what `body` writes are zeros.
func secretBytes(
  count: Int, _ body: (inout Writer) throws(WireError) -> Void
) throws(ProtocolError) -> SecretBytes {
  try SecretBytes(count: count, allocation: { ProtocolError.sodium($0) }) { (output) throws(ProtocolError) in
    do throws(WireError) { try write(into: &output, body) } catch { throw .malformed(error) }
  }
}

extension ProtocolError {
  /// What reading in secret memory ended with; `other` for what is none of this module's errors.
  init(_ error: any Error, other: ProtocolError) {
    self =
      switch error {
      case let error as WireError: .malformed(error)
      case let error as SodiumError: .sodium(error)
      case let error as ShamirError: .rejected(error)
      case let error as ProtocolError: error
      default: other
      }
  }
}
