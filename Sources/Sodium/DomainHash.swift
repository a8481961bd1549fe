import CSodium
import Glibc

/// BLAKE2b-256 over a domain label and length-prefixed parts.
///
/// The input is the concatenation, for the label and then for each part in turn, of its length in bytes as a
/// 64-bit big-endian number and the bytes themselves. Two different lists of parts therefore never hash the same
/// input, and neither do two purposes. The label has the form `vault/<purpose>/v1`.
///
/// The running state may depend on secrets; it lives in memory that is wiped when the value ends.
package struct DomainHash: ~Copyable {
  private let state: OpaquePointer
  private let memory: UnsafeMutableRawPointer

  /// Starts a hash under `label`, keyed with 16 to 64 secret bytes if `key` is given.
  package init(_ label: StaticString) throws(SodiumError) {
    try self.init(label, key: RawSpan())
  }

  /// Starts a hash under `label`, keyed with `key` (16 to 64 bytes; empty for none).
  package init(_ label: StaticString, key: RawSpan) throws(SodiumError) {
    try SodiumLibrary.ready()
    guard key.byteCount == 0 || (16...64).contains(key.byteCount) else {
      throw .invalidLength(expected: 32, actual: key.byteCount)
    }
    var allocated: UnsafeMutableRawPointer?
    guard posix_memalign(&allocated, 64, crypto_generichash_statebytes()) == 0, let allocated else {
      throw .outOfSecretMemory
    }
    memory = allocated
    state = OpaquePointer(allocated)
    let state = state
    key.withUnsafeBytes { key in
      _ = crypto_generichash_init(
        state, key.octets, key.count, Digest.byteCount)
    }
    label.withUTF8Buffer { append(UnsafeRawBufferPointer($0)) }
  }

  deinit {
    sodium_memzero(memory, crypto_generichash_statebytes())
    free(memory)
    Self.wash()
  }

  /// What was hashed last stays in vector registers, from where it may come to a stack at any later time, and on the stack.
  /// Hashing zeros goes the same way and puts zeros there.
  static func wash() {
    withUnsafeTemporaryAllocation(byteCount: 256, alignment: 64) { bytes in
      sodium_memzero(bytes.baseAddress, bytes.count)
      let octets = bytes.octets
      _ = crypto_generichash(octets, Digest.byteCount, octets + 64, 128, nil, 0)
    }
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

  /// Adds one part from memory. For callers inside this package that already hold a pointer.
  package mutating func append(_ part: UnsafeRawBufferPointer) {
    withUnsafeBytes(of: UInt64(part.count).bigEndian) { update($0) }
    update(part)
  }

  /// Adds parts that are behind their lengths already.
  package mutating func append(_ parts: HashParts) { parts.withUnsafeBytes { update($0) } }

  /// Copies the running state, for somebody who wipes it.
  borrowing func copyState(to target: UnsafeMutableRawPointer) {
    target.copyMemory(from: memory, byteCount: crypto_generichash_statebytes())
  }

  /// Ends the hash with a public result.
  package consuming func digest() -> Digest {
    Digest(
      unchecked: [UInt8](unsafeUninitializedCapacity: Digest.byteCount) { buffer, initialized in
        _ = crypto_generichash_final(state, buffer.octets, Digest.byteCount)
        initialized = Digest.byteCount
      })
  }

  /// Ends the hash with a secret result of 32 bytes: a derived key.
  package consuming func secret() throws(SodiumError) -> SecretBytes {
    var result = try SecretBytes(zeros: Digest.byteCount)
    result.withUnsafeMutableBytes { output in
      _ = crypto_generichash_final(
        state, output.octets, Digest.byteCount)
    }
    return result
  }

  private mutating func update(_ bytes: UnsafeRawBufferPointer) {
    guard bytes.count > 0 else { return }
    _ = crypto_generichash_update(
      state, bytes.octets, UInt64(bytes.count))
  }
}
