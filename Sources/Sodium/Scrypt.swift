import CSodium

/// scrypt (RFC 7914) with this program's fixed r = 8 and p = 1.
package enum Scrypt {
  /// Costs N that are ever accepted: powers of two from 2^15 to 2^20 (32 MiB to 1 GiB of memory).
  package static let acceptedLogarithms = 15...20
  /// Bytes of every salt.
  package static let saltByteCount = 32

  /// Bytes of memory that a derivation takes, besides a few.
  package static func memoryByteCount(logarithm: Int) -> UInt64 { 128 * 8 << UInt64(clamping: min(logarithm, 40)) }

  /// Derives 32 bytes from a password. `logarithm` is log2 of N; others than ``acceptedLogarithms`` are refused
  /// before any memory is taken. Takes 128 · N · 8 bytes of memory for the duration of the call.
  package static func deriveKey(
    password: RawSpan, salt: [UInt8], logarithm: Int
  ) throws(SodiumError) -> SecretBytes {
    guard acceptedLogarithms.contains(logarithm) else { throw .parametersRefused }
    guard salt.count == saltByteCount else { throw .invalidLength(expected: saltByteCount, actual: salt.count) }
    return try raw(password: password, salt: salt.span.bytes, n: 1 << UInt64(logarithm), r: 8, p: 1, count: 32)
  }

  /// The bare function, for the standard's vectors.
  static func raw(
    password: RawSpan, salt: RawSpan, n: UInt64, r: UInt32, p: UInt32, count: Int
  ) throws(SodiumError) -> SecretBytes {
    var output = try SecretBytes(zeros: count)
    let status = output.withUnsafeMutableBytes { output in
      password.withUnsafeBytes { password in
        salt.withUnsafeBytes { salt in
          crypto_pwhash_scryptsalsa208sha256_ll(
            password.octets, password.count, salt.octets, salt.count, n, r, p, output.octets, output.count)
        }
      }
    }
    SodiumLibrary.wipeStack()
    guard status == 0 else { throw .outOfSecretMemory }
    return output
  }
}
