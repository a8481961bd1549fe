import CSodium

/// The operating system's random number generator, through libsodium.
package enum Randomness {
  /// `count` fresh public random bytes (nonces, salts, identifiers). Secrets use ``SecretBytes/init(random:)``.
  package static func bytes(_ count: Int) throws(SodiumError) -> [UInt8] {
    try SodiumLibrary.ready()
    guard count > 0 else { return [] }
    return [UInt8](unsafeUninitializedCapacity: count) { buffer, initialized in
      randombytes_buf(buffer.octets, count)
      initialized = count
    }
  }
}
