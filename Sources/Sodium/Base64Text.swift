import CSodium

/// Base64 (RFC 4648, section 4, with padding, on one line) by libsodium's codec, which takes no branch and no index from
/// secrets.
package enum Base64Text {
  private static let variant = sodium_base64_VARIANT_ORIGINAL

  /// The text of `bytes`: four characters for each three, the last ones filled up with `=`.
  package static func encode(_ bytes: RawSpan) throws(SodiumError) -> SecretBytes {
    try SodiumLibrary.ready()
    // With the NUL that C writes behind it.
    let room = sodium_base64_encoded_len(bytes.byteCount, variant)
    var text = try SecretBytes(zeros: room)
    bytes.withUnsafeBytes { source in
      text.withUnsafeMutableBytes { target in
        _ = sodium_bin2base64(
          target.octets.withMemoryRebound(to: CChar.self, capacity: room) { $0 }, room, source.octets, source.count,
          variant)
      }
    }
    return try SecretBytes(copying: text.bytes.extracting(first: room - 1))
  }

  /// The bytes of `text`, or nil if it is not the one encoding of anything: other characters, missing or superfluous
  /// padding, bits left over.
  package static func decode(_ text: RawSpan) throws(SodiumError) -> SecretBytes? {
    try SodiumLibrary.ready()
    guard isASCII(text) else { return nil }
    let room = text.byteCount / 4 * 3 + 3
    var bytes = try SecretBytes(zeros: room)
    var count = 0
    let isValid = text.withUnsafeBytes { source in
      bytes.withUnsafeMutableBytes { target in
        let characters = UnsafeRawPointer(source.octets).assumingMemoryBound(to: CChar.self)
        return sodium_base642bin(target.octets, room, characters, source.count, nil, &count, nil, variant) == 0
      }
    }
    guard isValid else { return nil }
    return try SecretBytes(copying: bytes.bytes.extracting(first: count))
  }

  /// libsodium takes some bytes above 127 for digits: it compares them as negative numbers.
  private static func isASCII(_ text: RawSpan) -> Bool {
    text.withUnsafeBytes { bytes in bytes.reduce(0) { $0 | $1 } } < 0x80
  }

  /// The same for what is not secret.
  package static func decodePublic(_ text: RawSpan) throws(SodiumError) -> [UInt8]? {
    try SodiumLibrary.ready()
    guard isASCII(text) else { return nil }
    let room = text.byteCount / 4 * 3 + 3
    var isValid = false
    let bytes = [UInt8](unsafeUninitializedCapacity: room) { buffer, count in
      isValid = text.withUnsafeBytes { source in
        let characters = UnsafeRawPointer(source.octets).assumingMemoryBound(to: CChar.self)
        return sodium_base642bin(buffer.octets, room, characters, source.count, nil, &count, nil, variant) == 0
      }
      if !isValid { count = 0 }
    }
    return isValid ? bytes : nil
  }

  /// The bytes of `text`, or nil if it isn't the one encoding of anything or has more than `limit` bytes.
  package static func decodePublic(_ text: String, limit: Int) -> [UInt8]? {
    let characters = Array(text.utf8)
    guard characters.count <= (limit + 2) / 3 * 4 else { return nil }
    let bytes = try? decodePublic(characters.span.bytes)
    return bytes.flatMap { $0.count <= limit ? $0 : nil }
  }

  package static func encodePublic(_ bytes: [UInt8]) -> [UInt8] {
    let room = sodium_base64_encoded_len(bytes.count, variant)
    return [UInt8](unsafeUninitializedCapacity: room) { buffer, count in
      buffer.withMemoryRebound(to: CChar.self) { text in
        if let start = text.baseAddress { _ = sodium_bin2base64(start, room, bytes, bytes.count, variant) }
      }
      // Behind the text is C's NUL.
      count = room - 1
    }
  }
}
