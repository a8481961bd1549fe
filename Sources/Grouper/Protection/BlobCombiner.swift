import ShamirKit
import Sodium

/// Any k blobs of one dealing give the message back.
package enum BlobCombiner {
  package struct Result: Sendable {
    package let message: [UInt8]
    /// Blobs whose share isn't what the commitments say, by index: their servers, or their sender, are at fault.
    package let faulty: [UInt8]
  }

  /// Combines blobs of one dealing that open under `key`; at least k of them must be sound.
  ///
  /// Throws ``GroupError/sharing(_:)`` with ``ShamirError/tooFewShares(have:need:)`` as long as there are fewer.
  package static func combine(_ blobs: [[UInt8]], key: EpochKey) throws(GroupError) -> Result {
    guard let first = blobs.first else { throw .sharing(.tooFewShares(have: 0, need: 2)) }
    let common = try GroupBlob.header(of: first, key: key).common
    var collector = try sharing(ShareCollector(scheme: common.scheme, commitments: common.commitments))
    var fragments: [UInt8: [UInt8]] = [:]
    for bytes in blobs {
      let blob = try GroupBlob.open(bytes, key: key)
      guard blob.header.common == common else { throw .forged("a blob of another dealing") }
      let index = blob.header.index
      guard fragments[index] == nil else { continue }
      fragments[index] = blob.fragment
      let share = blob.takeShare()
      do throws(ShamirError) { try collector.add(share) } catch { throw .sharing(error) }
    }
    var faulty: [UInt8] = []
    do throws(ShamirError) { try collector.verify() } catch .invalidShares(let indices) {
      faulty = indices
    } catch { throw .sharing(error) }
    for index in faulty { fragments[index] = nil }
    let shared = try sharing(collector.fileKey(for: SecretID(common.dealing.bytes)))
    let encryption = try key.encryptionKey(dealing: common.dealing, shared: shared)
    let ciphertext = try ciphertext(of: common, fragments)
    let padded: [UInt8]
    do throws(SodiumError) {
      padded = try filledBytes(ciphertext.count - SecretBox.overhead) { (padded) throws(SodiumError) in
        try ciphertext.span.bytes.withUnsafeBytes { (ciphertext) throws(SodiumError) in
          try SecretBox.open(ciphertext, key: encryption, nonce: MessageDealing.nonce, into: padded)
        }
      }
    } catch { throw error.forged("the message") }
    return Result(message: try MessageDealing.unpad(padded), faulty: faulty)
  }

  private static func ciphertext(
    of common: BlobHeader.Common, _ fragments: [UInt8: [UInt8]]
  ) throws(GroupError) -> [UInt8] {
    let count = common.scheme.threshold
    let chosen = Array(fragments.keys.sorted().prefix(count))
    do throws(ShamirError) {
      let plan = try DispersalPlan(
        dataCount: count, fragmentCount: common.scheme.shareCount, byteCount: UInt64(common.ciphertextByteCount))
      let decoder = try StripeDecoder(plan, available: chosen)
      let sources = chosen.map { fragments[$0] ?? [] }
      guard sources.allSatisfy({ UInt64($0.count) == plan.fragmentByteCount }) else {
        throw ShamirError.malformed(field: "fragment")
      }
      var ciphertext: [UInt8] = []
      ciphertext.reserveCapacity(common.ciphertextByteCount)
      for stripe in 0..<plan.stripeCount {
        let piece = plan.pieceByteCount(stripe)
        guard let offset = Int(exactly: plan.pieceOffset(stripe)) else { throw .malformed(field: "fragment") }
        var joined: [UInt8] = []
        for source in sources { joined += source[offset..<(offset + piece)] }
        let data = try filledBytes(piece * count) { (data) throws(ShamirError) in
          try joined.span.bytes.withUnsafeBytes { (joined) throws(ShamirError) in
            let pieces = (0..<count).map {
              UnsafeRawBufferPointer(rebasing: joined[($0 * piece)..<(($0 + 1) * piece)])
            }
            try decoder.decode(stripe: stripe, pieces: pieces, into: data)
          }
        }
        ciphertext += data.prefix(plan.stripeDataByteCount(stripe))
      }
      return ciphertext
    } catch { throw .sharing(error) }
  }
}

extension GroupBlob {
  /// Opens a blob for what it says of its dealing and of itself.
  static func header(of bytes: [UInt8], key: EpochKey) throws(GroupError) -> BlobHeader {
    let blob = try open(bytes, key: key)
    return blob.header
  }

  consuming func takeShare() -> KeyShare { share }
}
