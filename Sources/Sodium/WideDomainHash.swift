import CSodium

/// SHA-512 over a domain label and length-prefixed parts, for challenges and nonces that are reduced modulo the group order.
///
/// Same input encoding as ``DomainHash``. Used where 512 bits are needed so that the reduction has no measurable bias.
package struct WideDomainHash: ~Copyable {
  // On the heap, because a value that moves leaves copies behind, and this state may depend on secrets.
  private let state: UnsafeMutablePointer<crypto_hash_sha512_state>

  /// Starts a hash under `label`, of the form `vault/<purpose>/v1`.
  package init(_ label: StaticString) throws(SodiumError) {
    try SodiumLibrary.ready()
    state = .allocate(capacity: 1)
    crypto_hash_sha512_init(state)
    label.withUTF8Buffer { append(UnsafeRawBufferPointer($0)) }
  }

  deinit {
    sodium_memzero(state, MemoryLayout<crypto_hash_sha512_state>.size)
    state.deallocate()
    SodiumLibrary.wipeStack()
  }

  package mutating func append(_ part: RawSpan) {
    part.withUnsafeBytes { append($0) }
  }

  package mutating func append(_ part: [UInt8]) {
    part.withUnsafeBytes { append($0) }
  }

  package mutating func append(_ part: Digest) { append(part.bytes) }

  /// Adds a number as one part of eight big-endian bytes.
  package mutating func append(_ number: UInt64) {
    withUnsafeBytes(of: number.bigEndian) { append($0) }
  }

  /// Adds a UTF-8 text as one part. For public text only.
  package mutating func append(_ text: String) {
    append(Array(text.utf8))
  }

  /// Adds one part from memory.
  package mutating func append(_ part: UnsafeRawBufferPointer) {
    withUnsafeBytes(of: UInt64(part.count).bigEndian) { update($0) }
    update(part)
  }

  /// Ends the hash with 64 bytes in secret memory.
  package consuming func secret() throws(SodiumError) -> SecretBytes {
    var result = try SecretBytes(zeros: 64)
    result.withUnsafeMutableBytes { output in
      _ = crypto_hash_sha512_final(state, output.octets)
    }
    return result
  }

  private mutating func update(_ bytes: UnsafeRawBufferPointer) {
    guard bytes.count > 0 else { return }
    _ = crypto_hash_sha512_update(
      state, bytes.octets, UInt64(bytes.count))
  }
}
