import Sodium
import WireCodec

/// The bytes of a value; `what` names it if it has none.
func encoded(_ value: some WireValue, _ what: String) throws(StoreError) -> [UInt8] {
  do throws(WireError) { return try value.encoded() } catch { throw .invalid(what) }
}

/// What a row says, or nil if it is damaged: lists leave it out.
func unlessDamaged<Value>(_ value: @autoclosure () throws(StoreError) -> Value) throws(StoreError) -> Value? {
  do throws(StoreError) { return try value() } catch .damaged { return nil }
}

/// The same of what is looked for, and may not be there.
func unlessDamaged<Value>(_ body: () throws -> Value?) throws -> Value? {
  do { return try body() } catch StoreError.damaged { return nil }
}

extension VaultKeys {
  /// A value as a row has it: sealed whole. `what` names it if it can't be encoded.
  func seal(_ value: some WireValue, _ name: RecordName, what: String) throws(StoreError) -> [UInt8] {
    let bytes = try encoded(value, what)
    let plain = try withSodium(try SecretBytes(copying: bytes.span.bytes))
    return try seal(plain, name)
  }

  /// The value that a row has in its column `sealed`.
  func open<Value: WireValue>(_ row: StoredRow, _ name: RecordName, limit: Int) throws(StoreError) -> Value {
    let opened = try open(try row.bytes("sealed"), name, what: row.what)
    do throws(WireError) { return try Value.decode(opened.bytes, limit: limit) } catch { throw .damaged(row.what) }
  }
}
