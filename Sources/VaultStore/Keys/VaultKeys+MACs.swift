import ShamirKit
import Sodium

/// What a MAC is over: each part goes in with its length.
protocol MACPart {
  func append(to hash: inout DomainHash)
}

extension [UInt8]: MACPart {
  func append(to hash: inout DomainHash) { hash.append(self) }
}

extension String: MACPart {
  func append(to hash: inout DomainHash) { hash.append(self) }
}

extension Digest: MACPart {
  func append(to hash: inout DomainHash) { hash.append(self) }
}

extension SecretID: MACPart {
  func append(to hash: inout DomainHash) { hash.append(bytes) }
}

extension UInt64: MACPart {
  func append(to hash: inout DomainHash) { hash.append(self) }
}

extension Int64: MACPart {
  func append(to hash: inout DomainHash) { hash.append(UInt64(bitPattern: self)) }
}

extension VaultKeys {
  /// ``mac(_:_:)`` for rows that always have the same parts.
  func mac<each Part: MACPart>(_ label: StaticString, _ parts: repeat each Part) throws(StoreError) -> [UInt8] {
    do throws(SodiumError) {
      var hash = try beginMAC(label)
      repeat (each parts).append(to: &hash)
      return hash.digest().bytes
    } catch { throw .sodium(error) }
  }

  /// `body` and its MAC: what stands in a file that nobody else can write.
  func authenticated(_ body: [UInt8], _ label: StaticString) throws(StoreError) -> [UInt8] {
    body + (try mac(label, body))
  }

  /// The body of such a file. Throws ``StoreError/damaged(_:)`` if anything in it isn't as it was written.
  func readAuthenticated(_ path: String, limit: Int, _ label: StaticString) throws(StoreError) -> [UInt8] {
    let bytes = try AtomicFile.read(path, limit: limit)
    let body = Array(bytes.dropLast(Digest.byteCount))
    let mac = try mac(label, body)
    guard bytes.count > Digest.byteCount, macsMatch(Array(bytes.suffix(Digest.byteCount)), mac) else {
      throw .damaged(path)
    }
    return body
  }
}

/// Compares two MACs in constant time.
func macsMatch(_ left: [UInt8], _ right: [UInt8]) -> Bool { constantTimeEqual(left.span.bytes, right.span.bytes) }
