import PeerAuth
import ShamirKit
import Sodium
import VaultProtocol

extension LoadHome {
  /// A share that a peer offers: sealed, under a header whose first fragment consists of sevens.
  struct Offered: Sendable {
    let header: SecretHeader
    let sealed: [UInt8]
  }

  /// A share of a secret of `byteCount` bytes, dealt by `dealer` to this vault.
  func offer(from dealer: Person, byteCount: UInt64) throws -> Offered {
    let scheme = try ThresholdScheme(threshold: 2, shareCount: 2)
    let dealing = try Dealing.fresh(scheme)
    let nonce = try Randomness.bytes(SecretHeader.nonceByteCount)
    let id = try SecretHeader.id(dealerKey: dealer.identity.keys.signing, nonce: nonce)
    let plan = try DispersalPlan(dataCount: 2, fragmentCount: 2, byteCount: byteCount)
    let root = try Self.root(of: plan, id)
    let salt = try SecretBytes(random: HolderRow.saltByteCount)
    let row = try HolderRow.digest(secret: id, index: 1, card: keys.digest, salt: salt.bytes)
    let header = try SecretHeader.sign(
      SecretHeader.Content(
        nonce: nonce, kind: 1, scheme: scheme, createdAt: 1_700_000_000_000, ciphertextByteCount: byteCount,
        description: "", labels: nil, commitments: dealing.commitments, roots: [root, root], rows: [row, row]),
      by: dealer.identity)
    let share = try dealing.share(1)
    let sealed = try SealedShare.seal(
      share, salt: salt, header: header, dealer: dealer.identity.keys.digest, recipient: keys)
    return Offered(header: header, sealed: sealed)
  }

  private static func root(of plan: DispersalPlan, _ id: SecretID) throws -> Digest {
    var level: [Digest] = []
    for number in 0..<plan.stripeCount {
      let bytes = [UInt8](repeating: 7, count: plan.pieceByteCount(number))
      level.append(try MerkleLeaf.digest(secret: id, fragment: 1, piece: number, bytes: bytes.span.bytes))
    }
    while level.count > 1 {
      level = try stride(from: 0, to: level.count, by: 2).map { left in
        left + 1 < level.count ? try MerkleNode.digest(level[left], level[left + 1]) : level[left]
      }
    }
    return level[0]
  }
}
