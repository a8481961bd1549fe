import CSodium

/// Integers modulo the order ℓ = 2^252 + 27742317777372353535851937790883648493 of ristretto255, as 32 little-endian
/// bytes. Secret ones live in ``SecretBytes``. All operations take the same time whatever the values.
///
/// What this file derives is wiped, and so is the stack that libsodium's own arithmetic has used.
package enum RistrettoScalar {
  package static let byteCount = 32
  /// Bytes that are reduced to one scalar: twice as many, so that the result has no measurable bias.
  package static let wideByteCount = 64

  /// ℓ as 32 little-endian bytes.
  private static let order: [UInt8] = [
    0xed, 0xd3, 0xf5, 0x5c, 0x1a, 0x63, 0x12, 0x58, 0xd6, 0x9c, 0xf7, 0xa2, 0xde, 0xf9, 0xde, 0x14,
    0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x10,
  ]

  /// A uniform scalar, zero included, from 64 random bytes. (The library's own sampler leaves zero out.)
  package static func random() throws(SodiumError) -> SecretBytes {
    try reduced(SecretBytes(random: wideByteCount))
  }

  /// A number of 64 little-endian bytes modulo ℓ.
  package static func reduced(_ wide: borrowing SecretBytes) throws(SodiumError) -> SecretBytes {
    guard wide.count == wideByteCount else { throw .invalidLength(expected: wideByteCount, actual: wide.count) }
    var scalar = try SecretBytes(zeros: byteCount)
    scalar.withUnsafeMutableBytes { output in wide.withUnsafeBytes { reduce($0.octets, into: output.octets) } }
    SodiumLibrary.wipeStack()
    return scalar
  }

  /// Whether `bytes` are 32 bytes that encode a number below ℓ. Constant time: the bytes may be secret.
  package static func isCanonical(_ bytes: RawSpan) -> Bool {
    guard bytes.byteCount == byteCount else { return false }
    return bytes.withUnsafeBytes { bytes in
      // A borrow out of the subtraction bytes − ℓ means that bytes < ℓ.
      var borrow: UInt16 = 0
      for index in 0..<byteCount {
        borrow = (UInt16(bytes[index]) &- UInt16(order[index]) &- borrow) >> 15
      }
      return borrow == 1
    }
  }

  /// Writes the 64-byte number at `wide` modulo ℓ to `output`.
  package static func reduce(_ wide: UnsafePointer<UInt8>, into output: UnsafeMutablePointer<UInt8>) {
    crypto_core_ristretto255_scalar_reduce(output, wide)
  }

  /// Writes the product to `output`, which may be one of the factors.
  package static func multiply(
    _ left: UnsafePointer<UInt8>, _ right: UnsafePointer<UInt8>, into output: UnsafeMutablePointer<UInt8>
  ) {
    crypto_core_ristretto255_scalar_mul(output, left, right)
  }

  /// Writes the sum to `output`, which may be one of the terms.
  package static func add(
    _ left: UnsafePointer<UInt8>, _ right: UnsafePointer<UInt8>, into output: UnsafeMutablePointer<UInt8>
  ) {
    crypto_core_ristretto255_scalar_add(output, left, right)
  }

  /// Writes the negative to `output`.
  package static func negate(_ scalar: UnsafePointer<UInt8>, into output: UnsafeMutablePointer<UInt8>) {
    crypto_core_ristretto255_scalar_negate(output, scalar)
  }

  /// Writes the inverse to `output`. The inverse of zero is refused with ``SodiumError/nonCanonicalScalar``.
  package static func invert(
    _ scalar: UnsafePointer<UInt8>, into output: UnsafeMutablePointer<UInt8>
  ) throws(SodiumError) {
    guard crypto_core_ristretto255_scalar_invert(output, scalar) == 0 else { throw .nonCanonicalScalar }
  }

  /// Adds left · right to the scalar at `sum`. The product passes through memory that is wiped.
  package static func multiplyAdd(
    _ left: UnsafePointer<UInt8>, _ right: UnsafePointer<UInt8>, addingTo sum: UnsafeMutablePointer<UInt8>
  ) {
    withUnsafeTemporaryAllocation(byteCount: byteCount, alignment: 16) { product in
      multiply(left, right, into: product.octets)
      add(sum, product.octets, into: sum)
      sodium_memzero(product.baseAddress, product.count)
    }
    SodiumLibrary.wipeStack()
  }

  /// Lends `count` zeroed words of stack memory to `body` and wipes them afterwards.
  package static func withWipedWords<Result>(
    _ count: Int, _ body: (UnsafeMutableBufferPointer<UInt64>) -> Result
  ) -> Result {
    withUnsafeTemporaryAllocation(of: UInt64.self, capacity: count) { words in
      words.initialize(repeating: 0)
      let result = body(words)
      sodium_memzero(words.baseAddress, count * MemoryLayout<UInt64>.size)
      SodiumLibrary.wipeStack()
      return result
    }
  }
}
