import PeerAuth
package import ShamirKit
package import Sodium

/// One sharing of a secret: what a request, proof or drill names, and what its shares are checked against. The first is
/// the dealer's header; each later one follows from a ``SharingRecord`` and the one before.
package struct Sharing: Hashable, Sendable {
  package let secret: SecretID
  /// The header's or the record's.
  package let digest: Digest
  /// 0 for the header's: the epoch of its shares.
  package let number: UInt32
  /// The threshold, and the header's number of fragments: an index is that of a fragment.
  package let scheme: ThresholdScheme
  package let commitments: Commitments
  /// Card digests of the holders by their indices; nil for the header's, whose rows only their holders can open.
  package let holders: [UInt8: Digest]?

  package init(_ header: SecretHeader) {
    secret = header.id
    digest = header.digest
    number = 0
    scheme = header.scheme
    commitments = header.commitments
    holders = nil
  }

  init(_ record: SharingRecord, digest: Digest, scheme: ThresholdScheme, commitments: Commitments) {
    let proposal = record.proposal
    secret = proposal.secret
    self.digest = digest
    number = proposal.number
    self.scheme = scheme
    self.commitments = commitments
    holders = Dictionary(uniqueKeysWithValues: proposal.rows.map { ($0.index, $0.joining.keys.digest) })
  }

  /// Whether this card holds share `index`; `salt` opens the header's rows, and says nothing about later ones.
  func isHolder(_ card: Digest, _ index: UInt8, salt: [UInt8], _ header: SecretHeader) -> Bool {
    if let holders { return holders[index] == card }
    return (try? header.verifyHolder(index: index, card: card, salt: salt.span.bytes)) != nil
  }
}
