import CSodium
import Glibc

/// A ``DomainHash`` that was begun once, with its label and key, and is ended many times over different parts: for tables
/// with very many rows, where beginning each anew would take as long as hashing.
///
/// Not to be used by two threads at once.
package final class PreparedDomainHash {
  private let start: UnsafeMutableRawPointer
  private let working: UnsafeMutableRawPointer

  /// Begins under `label`, keyed with 16 to 64 bytes.
  package init(_ label: StaticString, key: borrowing SecretBytes) throws(SodiumError) {
    let hash = try DomainHash(label, key: key.bytes)
    start = try Self.allocate()
    do throws(SodiumError) { working = try Self.allocate() } catch {
      free(start)
      throw error
    }
    hash.copyState(to: start)
  }

  deinit {
    for memory in [start, working] {
      sodium_memzero(memory, crypto_generichash_statebytes())
      free(memory)
    }
    DomainHash.wash()
  }

  private static func allocate() throws(SodiumError) -> UnsafeMutableRawPointer {
    var allocated: UnsafeMutableRawPointer?
    guard posix_memalign(&allocated, 64, crypto_generichash_statebytes()) == 0, let allocated else {
      throw .outOfSecretMemory
    }
    return allocated
  }

  /// Whether the hash over `parts` is `expected`, 32 bytes; compared in constant time.
  package func matches(_ parts: UnsafeRawBufferPointer, _ expected: UnsafeRawBufferPointer) -> Bool {
    guard expected.count == Digest.byteCount else { return false }
    working.copyMemory(from: start, byteCount: crypto_generichash_statebytes())
    let state = OpaquePointer(working)
    _ = crypto_generichash_update(state, parts.octets, UInt64(parts.count))
    return withUnsafeTemporaryAllocation(byteCount: Digest.byteCount, alignment: 16) { found in
      _ = crypto_generichash_final(state, found.octets, Digest.byteCount)
      return sodium_memcmp(found.octets, expected.octets, Digest.byteCount) == 0
    }
  }
}

/// Parts of a hash's input as ``DomainHash`` takes them, each behind its length: for a ``PreparedDomainHash``.
package struct HashParts: Sendable {
  /// Room for parts. What stands behind ``byteCount`` is none of them.
  private var storage: [UInt8] = []
  /// Bytes of all parts and their lengths.
  package private(set) var byteCount = 0

  package init() {}

  /// The encoded parts.
  package func withUnsafeBytes<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result {
    storage.withUnsafeBytes { body(UnsafeRawBufferPointer(rebasing: $0[..<byteCount])) }
  }

  package mutating func append(_ part: UnsafeRawBufferPointer) {
    let end = byteCount + 8 + part.count
    if end > storage.count {
      storage.append(contentsOf: repeatElement(0, count: max(end, 2 * storage.count, 256) - storage.count))
    }
    storage.withUnsafeMutableBytes { bytes in
      bytes.storeBytes(of: UInt64(part.count).bigEndian, toByteOffset: byteCount, as: UInt64.self)
      if part.count > 0 { UnsafeMutableRawBufferPointer(rebasing: bytes[(byteCount + 8)..<end]).copyMemory(from: part) }
    }
    byteCount = end
  }

  package mutating func append(_ part: [UInt8]) { part.withUnsafeBytes { append($0) } }

  /// Forgets all parts and keeps the room.
  package mutating func removeAll() { byteCount = 0 }
}
