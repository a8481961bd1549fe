import CSodium
import Glibc

/// A ``DomainHash`` that was begun once, with its label and key, and is ended many times over different parts: for tables
/// with very many rows, where beginning each anew would take as long as hashing.
///
/// Not to be used by two threads at once.
public final class PreparedDomainHash {
  private let start: UnsafeMutableRawPointer
  private let working: UnsafeMutableRawPointer

  /// Begins under `label`, keyed with 16 to 64 bytes.
  public init(_ label: StaticString, key: borrowing SecretBytes) throws(SodiumError) {
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
  public func matches(_ parts: UnsafeRawBufferPointer, _ expected: UnsafeRawBufferPointer) -> Bool {
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
public struct HashParts: Sendable {
  /// The encoded parts.
  public private(set) var bytes: [UInt8] = []

  /// No parts.
  public init() {}

  /// Adds one part.
  public mutating func append(_ part: UnsafeRawBufferPointer) {
    withUnsafeBytes(of: UInt64(part.count).bigEndian) { bytes.append(contentsOf: $0) }
    bytes.append(contentsOf: part)
  }

  /// Adds one part.
  public mutating func append(_ part: [UInt8]) { part.withUnsafeBytes { append($0) } }

  /// Forgets all parts and keeps the room.
  public mutating func removeAll() { bytes.removeAll(keepingCapacity: true) }
}
