import Sodium
import Testing

@testable import ShamirKit

/// A random secret's id.
func randomSecretID() throws -> SecretID { try SecretID(Randomness.bytes(16)) }

func randomDigest() throws -> Digest { try Digest(Randomness.bytes(32)) }

/// 64-byte strings, one per coefficient, that reduce to the given small numbers: f's, then g's.
func wideCoefficients(_ value: [UInt8], _ mask: [UInt8]) throws -> SecretBytes {
  var wide: [UInt8] = []
  for number in value + mask { wide += [number] + [UInt8](repeating: 0, count: 63) }
  return try SecretBytes(copying: wide.span.bytes)
}

/// The public bytes of a share, for tests that compare or damage them.
func exposed(_ share: borrowing KeyShare) -> [UInt8] { share.bytes.withUnsafeBytes { Array($0) } }

func exposed(_ secret: borrowing SecretBytes) -> [UInt8] { secret.withUnsafeBytes { Array($0) } }

func share(_ index: UInt8, _ bytes: [UInt8]) throws -> KeyShare {
  try KeyShare(index: index, bytes: SecretBytes(copying: bytes.span.bytes))
}

/// A collector with the shares of `indices`, not verified yet.
func collector(_ dealing: borrowing Dealing, _ indices: some Sequence<UInt8>) throws -> ShareCollector {
  var collector = try ShareCollector(scheme: dealing.scheme, commitments: dealing.commitments)
  for index in indices { try collector.add(dealing.share(index)) }
  return collector
}

/// Runs `body` and returns what it threw.
func shamirError(_ body: () throws(ShamirError) -> Void) -> ShamirError? {
  do throws(ShamirError) {
    try body()
    return nil
  } catch {
    return error
  }
}

/// What a collector says to a share that it doesn't take.
func refusal(of share: consuming KeyShare, by collector: inout ShareCollector) -> ShamirError? {
  do throws(ShamirError) {
    try collector.add(share)
    return nil
  } catch {
    return error
  }
}
