import CSodium

/// SHA-2, HMAC and HKDF exactly as standardised, without labels: what the Noise framework, CPace and age are built from.
package enum PlainHashes {
  /// SHA-256 of the concatenation of two byte strings.
  package static func sha256(_ first: RawSpan, _ second: RawSpan) throws(SodiumError) -> Digest {
    try SodiumLibrary.ready()
    var state = crypto_hash_sha256_state()
    crypto_hash_sha256_init(&state)
    for part in 0..<2 {
      (part == 0 ? first : second).withUnsafeBytes { bytes in
        _ = crypto_hash_sha256_update(
          &state, bytes.octets, UInt64(bytes.count))
      }
    }
    return Digest(
      unchecked: [UInt8](unsafeUninitializedCapacity: 32) { buffer, initialized in
        _ = crypto_hash_sha256_final(&state, buffer.octets)
        initialized = 32
      })
  }

  /// HMAC-SHA256 of `data` under `key`, in secret memory (32 bytes).
  package static func hmacSHA256(key: RawSpan, _ first: RawSpan, _ second: RawSpan) throws(SodiumError) -> SecretBytes {
    var result = try SecretBytes(zeros: 32)
    var state = crypto_auth_hmacsha256_state()
    defer {
      withUnsafeMutableBytes(of: &state) { sodium_memzero($0.baseAddress, $0.count) }
      SodiumLibrary.wipeStack()
    }
    key.withUnsafeBytes { key in
      _ = crypto_auth_hmacsha256_init(&state, key.octets, key.count)
    }
    for part in 0..<2 {
      (part == 0 ? first : second).withUnsafeBytes { bytes in
        _ = crypto_auth_hmacsha256_update(
          &state, bytes.octets, UInt64(bytes.count))
      }
    }
    result.withUnsafeMutableBytes { output in
      _ = crypto_auth_hmacsha256_final(&state, output.octets)
    }
    return result
  }

  /// The first block of HKDF-SHA-256 (RFC 5869), in secret memory (32 bytes).
  package static func hkdfSHA256(_ material: RawSpan, salt: RawSpan, info: RawSpan) throws(SodiumError) -> SecretBytes {
    let (nothing, number): ([UInt8], [UInt8]) = ([], [1])
    let key = try hmacSHA256(key: salt, material, nothing.span.bytes)
    return try hmacSHA256(key: key.bytes, info, number.span.bytes)
  }

  /// SHA-512 of `data`, in secret memory (64 bytes).
  package static func sha512(_ data: RawSpan) throws(SodiumError) -> SecretBytes {
    var result = try SecretBytes(zeros: 64)
    result.withUnsafeMutableBytes { output in
      data.withUnsafeBytes { _ = crypto_hash_sha512(output.octets, $0.octets, UInt64($0.count)) }
    }
    SodiumLibrary.wipeStack()
    return result
  }

  /// HMAC-SHA512 of `data` under `key`, in secret memory (64 bytes).
  package static func hmacSHA512(key: RawSpan, _ data: RawSpan) throws(SodiumError) -> SecretBytes {
    var result = try SecretBytes(zeros: 64)
    var state = crypto_auth_hmacsha512_state()
    defer {
      withUnsafeMutableBytes(of: &state) { sodium_memzero($0.baseAddress, $0.count) }
      SodiumLibrary.wipeStack()
    }
    key.withUnsafeBytes { _ = crypto_auth_hmacsha512_init(&state, $0.octets, $0.count) }
    data.withUnsafeBytes { _ = crypto_auth_hmacsha512_update(&state, $0.octets, UInt64($0.count)) }
    result.withUnsafeMutableBytes { _ = crypto_auth_hmacsha512_final(&state, $0.octets) }
    return result
  }
}
