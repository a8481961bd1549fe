import WireCodec

/// Reads a value and checks that it encodes to the bytes it was read from.
func canonical<Value: WireValue>(_ type: Value.Type, _ bytes: [UInt8], limit: Int) throws -> Value {
  let value = try Value.decode(bytes, limit: limit)
  require(encoding(of: value) == bytes, "\(type) encodes to the bytes it was read from")
  return value
}

/// The encoding of a value that was read, which can't fail.
func encoding(of value: some WireValue) -> [UInt8] {
  do throws(WireError) { return try value.encoded() } catch { violated("what was read encodes again: \(error)") }
}
