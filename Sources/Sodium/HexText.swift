import CSodium

/// Lower-case hexadecimal text of secrets, by libsodium's codec, which takes no branch and no index from them.
package enum HexText {
  /// The text of `bytes`: two characters for each.
  package static func encode(_ bytes: RawSpan) throws(SodiumError) -> SecretBytes {
    try SodiumLibrary.ready()
    // With the NUL that C writes behind it.
    let room = 2 * bytes.byteCount + 1
    var text = try SecretBytes(zeros: room)
    bytes.withUnsafeBytes { source in
      text.withUnsafeMutableBytes { target in
        _ = sodium_bin2hex(
          target.octets.withMemoryRebound(to: CChar.self, capacity: room) { $0 }, room, source.octets, source.count)
      }
    }
    return try SecretBytes(copying: text.bytes.extracting(first: room - 1))
  }

  /// The bytes of `text`, or nil if it isn't the one encoding of anything: other characters, capitals, an odd number.
  package static func decode(_ text: RawSpan) throws(SodiumError) -> SecretBytes? {
    try SodiumLibrary.ready()
    guard text.byteCount.isMultiple(of: 2) else { return nil }
    let room = text.byteCount / 2
    var bytes = try SecretBytes(zeros: room)
    var count = 0
    let isValid = text.withUnsafeBytes { source in
      bytes.withUnsafeMutableBytes { target in
        let characters = UnsafeRawPointer(source.octets).assumingMemoryBound(to: CChar.self)
        return sodium_hex2bin(target.octets, room, characters, source.count, nil, &count, nil) == 0
      }
    }
    guard isValid, count == room else { return nil }
    let again = try encode(bytes.bytes)
    guard constantTimeEqual(again.bytes, text) else { return nil }
    return bytes
  }
}
