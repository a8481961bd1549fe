import PeerAuth
package import ShamirKit
package import Sodium

/// One sharing of a secret: what a request, proof or drill names, and what its shares are checked against. The first is
/// the dealer's header; each later one follows from a ``SharingRecord`` and the one before.
package struct Epoch: Hashable, Sendable {
  /// The dealer's: id, fragments and their roots are of it for ever.
  package let header: SecretHeader
  /// The header's or the record's.
  package let digest: Digest
  /// 0 for the header's.
  package internal(set) var number: UInt32
  /// The threshold, and the header's number of fragments: an index is that of a fragment.
  package let scheme: ThresholdScheme
  package let commitments: Commitments
  /// Card digests of the holders by their indices; nil for the header's, whose rows only their holders can open.
  package let holders: [UInt8: Digest]?

  package init(_ header: SecretHeader) {
    self.header = header
    digest = header.digest
    number = 0
    scheme = header.scheme
    commitments = header.commitments
    holders = nil
  }

  init(
    _ record: SharingRecord, of header: SecretHeader, digest: Digest, scheme: ThresholdScheme, commitments: Commitments
  ) {
    self.header = header
    self.digest = digest
    number = record.proposal.number
    self.scheme = scheme
    self.commitments = commitments
    holders = Dictionary(
      record.proposal.rows.map { ($0.index, $0.joining.keys.digest) }, uniquingKeysWith: { first, _ in first })
  }

  package var secret: SecretID { header.id }

  /// Checks that this card holds share `index`. `salt` opens the header's rows; for later ones it must be zeros.
  package func verifyHolder(index: UInt8, card: Digest, salt: RawSpan) throws(ProtocolError) {
    guard let holders else { return try header.verifyHolder(index: index, card: card, salt: salt) }
    guard holders[index] == card, salt.byteCount == HolderRow.saltByteCount,
      salt.withUnsafeBytes({ !$0.contains { $0 != 0 } })
    else { throw .foreignShare("row") }
  }

  /// Whether this card holds share `index`; `salt` says nothing about rows that are open.
  package func isHolder(_ card: Digest, _ index: UInt8, salt: [UInt8]) -> Bool {
    if let holders { return holders[index] == card }
    return (try? header.verifyHolder(index: index, card: card, salt: salt.span.bytes)) != nil
  }
}
