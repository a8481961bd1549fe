import CSodium

/// Hexadecimal text of secrets, by libsodium's codec, which takes no branch and no index from them.
public enum HexadecimalText {
  /// The text of `bytes`: two lower-case characters for each.
  public static func encode(_ bytes: RawSpan) throws(SodiumError) -> SecretBytes {
    try SodiumLibrary.ready()
    // With the NUL that C writes behind it.
    let room = bytes.byteCount * 2 + 1
    var text = try SecretBytes(zeros: room)
    bytes.withUnsafeBytes { source in
      text.withUnsafeMutableBytes { target in
        _ = sodium_bin2hex(
          target.octets.withMemoryRebound(to: CChar.self, capacity: room) { $0 }, room, source.octets, source.count)
      }
    }
    return try SecretBytes(copying: text.bytes.extracting(first: room - 1))
  }

  /// The bytes of `text`, in either case, or nil if it is not two hexadecimal digits for each.
  public static func decode(_ text: RawSpan) throws(SodiumError) -> SecretBytes? {
    try SodiumLibrary.ready()
    guard text.byteCount % 2 == 0 else { return nil }
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
    return bytes
  }
}
