package import ShamirKit
import Sodium
import WireCodec

/// f(k, n): one message becomes n blobs, of which k give it back and k − 1 nothing, not even to a member's thief.
///
/// A fresh random key is shared k of n (Shamir, "How to share a secret", 1979; with Pedersen's commitments) and mixed with
/// the group's key; the message, padded, is encrypted with crypto_secretbox under the result and dispersed by an erasure
/// code (Krawczyk, "Secret sharing made short", CRYPTO 1993). So reading takes both: membership, and what k servers
/// held. The nonce of the encryption is zeros: each key encrypts once.
package struct MessageDealing: Sendable {
  /// Longest message, with its signature.
  package static let messageByteLimit = 576 << 10
  static let ciphertextByteLimit = 640 << 10
  /// Before a message and its padding: how long it is.
  static let lengthByteCount = 4

  package let id: DealingID
  /// Blob i is at place i − 1.
  package let blobs: [[UInt8]]

  package init(_ message: [UInt8], scheme: ThresholdScheme, key: EpochKey) throws(GroupError) {
    let id = try sodium(DealingID.random())
    let nonces = try sodium(Randomness.bytes(scheme.shareCount * SecretBox.nonceByteCount))
    let dealing = try sharing(Dealing.fresh(scheme))
    try self.init(message, id: id, dealing: dealing, nonces: nonces, key: key)
  }

  /// Called with fixed randomness only by the walked example.
  init(
    _ message: [UInt8], id: DealingID, dealing: borrowing Dealing, nonces: [UInt8], key: EpochKey
  ) throws(GroupError) {
    guard dealing.scheme.shareCount <= Roster.serverLimit else { throw .invalid("too many servers") }
    guard message.count <= Self.messageByteLimit else { throw .invalid("the message is too large") }
    let scheme = dealing.scheme
    let secretID = try sharing(SecretID(id.bytes))
    let encryption = try key.encryptionKey(dealing: id, shared: sharing(dealing.fileKey(for: secretID)))
    let padded = try Self.pad(message)
    let ciphertext = try sodium(SecretBox.seal(padded.span.bytes, key: encryption, nonce: Self.nonce))
    let fragments = try Self.fragments(of: ciphertext, scheme: scheme)
    var digests: [Digest] = []
    for (place, fragment) in fragments.enumerated() {
      let index = UInt8(truncatingIfNeeded: place + 1)
      digests.append(try GroupBlob.digest(of: fragment, group: key.group, dealing: id, index: index))
    }
    let common = BlobHeader.Common(
      dealing: id, scheme: scheme, ciphertextByteCount: ciphertext.count, commitments: dealing.commitments,
      fragmentDigests: digests)
    var blobs: [[UInt8]] = []
    for (place, fragment) in fragments.enumerated() {
      let header = BlobHeader(common, index: UInt8(truncatingIfNeeded: place + 1))
      let nonce = Array(nonces[(place * SecretBox.nonceByteCount)..<((place + 1) * SecretBox.nonceByteCount)])
      let share = try sharing(dealing.share(header.index))
      blobs.append(try GroupBlob.seal(header: header, share: share, fragment: fragment, nonce: nonce, key: key))
    }
    self.id = id
    self.blobs = blobs
  }

  static let nonce = [UInt8](repeating: 0, count: SecretBox.nonceByteCount)

  private static func fragments(of ciphertext: [UInt8], scheme: ThresholdScheme) throws(GroupError) -> [[UInt8]] {
    do throws(ShamirError) {
      let plan = try DispersalPlan(
        dataCount: scheme.threshold, fragmentCount: scheme.shareCount, byteCount: UInt64(ciphertext.count))
      let encoder = try StripeEncoder(plan)
      var fragments = [[UInt8]](repeating: [], count: scheme.shareCount)
      var offset = 0
      for stripe in 0..<plan.stripeCount {
        let count = plan.stripeDataByteCount(stripe)
        let piece = plan.pieceByteCount(stripe)
        let pieces = try filledBytes(piece * scheme.shareCount) { (pieces) throws(ShamirError) in
          try ciphertext.span.bytes.withUnsafeBytes { (data) throws(ShamirError) in
            try encoder.encode(
              stripe: stripe, data: UnsafeRawBufferPointer(rebasing: data[offset..<(offset + count)]), into: pieces)
          }
        }
        for place in fragments.indices { fragments[place] += pieces[(place * piece)..<((place + 1) * piece)] }
        offset += count
      }
      return fragments
    } catch { throw .sharing(error) }
  }
}
