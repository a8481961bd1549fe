package import PeerAuth
package import ShamirKit
package import Sodium
package import WireCodec

/// A change of a secret's sharing: a proposal, and exactly as many dealings as its parent's threshold. The new sharing
/// follows from it and its parent; nobody needs to have signed it.
package struct SharingRecord: WireValue, Hashable, Sendable {
  package static let version: UInt8 = 1
  package static let byteLimit = 1 + Proposal.byteLimit + 1 + 255 * HolderDealing.byteLimit

  package let proposal: Proposal
  /// Ascending.
  package let dealings: [HolderDealing]

  package init(_ proposal: Proposal, _ dealings: [HolderDealing]) {
    self.proposal = proposal
    self.dealings = dealings.sorted { $0.index < $1.index }
  }

  package func encode(into writer: inout Writer) throws(WireError) {
    try writer.u8(Self.version)
    try proposal.encode(into: &writer)
    guard let count = UInt8(exactly: dealings.count) else { throw .limitExceeded(field: "dealings", limit: 255) }
    try writer.u8(count)
    for dealing in dealings { try dealing.encode(into: &writer) }
  }

  package init(from reader: inout Reader) throws(WireError) {
    try reader.version(Self.version, "record version")
    proposal = try Proposal(from: &reader)
    dealings = try values(Int(try reader.u8("dealings")), from: &reader) { reader throws(WireError) in
      try HolderDealing(from: &reader)
    }
  }

  /// BLAKE2b-256("vault/record/v1", proposal digest, dealing digests).
  package func digest() throws(ProtocolError) -> Digest {
    var digests: [Digest] = []
    for dealing in dealings { digests.append(try dealing.digest()) }
    return try RecordName.digest(try proposal.digest(), digests)
  }

  /// Checks everything against the sharing before, and computes the new one.
  package func verified(
    after parent: Epoch
  ) throws(ProtocolError) -> (epoch: Epoch, redistribution: Redistribution) {
    let scheme = try proposal.check(parent)
    guard dealings.count == parent.scheme.threshold else { throw .foreignProposal("dealings") }
    var points: [UInt8: [RistrettoPoint]] = [:]
    var last: UInt8 = 0
    for dealing in dealings {
      guard dealing.index > last else { throw .foreignProposal("dealings") }
      last = dealing.index
      try dealing.verify(proposal, parent)
      points[dealing.index] = dealing.points
    }
    let digest = try digest()
    do throws(ShamirError) {
      let redistribution = try Redistribution(of: parent.commitments, to: scheme, points: points)
      return (
        Epoch(self, of: parent.header, digest: digest, scheme: scheme, commitments: redistribution.commitments),
        redistribution
      )
    } catch { throw .rejected(error) }
  }

  /// Takes over the share of one row from its boxes, in the order of the dealings. Throws
  /// ``ProtocolError/rejected(_:)`` with ``ShamirError/invalidShares(indices:)`` naming the dealers whose boxes are
  /// bad.
  package func takeOver(
    _ row: Proposal.Row, boxes: [[UInt8]], with key: AgreementKeyPair, _ redistribution: Redistribution
  ) throws(ProtocolError) -> KeyShare {
    guard boxes.count == dealings.count else { throw .foreignProposal("boxes") }
    let digest = try proposal.digest()
    var takeover: ShareTakeover
    do throws(ShamirError) { takeover = try ShareTakeover(redistribution, index: row.index) } catch {
      throw .rejected(error)
    }
    var bad: [UInt8] = []
    for (dealing, box) in zip(dealings, boxes) {
      do {
        let subshare = try SubshareBox.open(box, with: key, from: dealing.index, to: row, proposal: digest)
        try takeover.add(subshare, from: dealing.index)
      } catch { bad.append(dealing.index) }
    }
    guard bad.isEmpty else { throw .rejected(.invalidShares(indices: bad)) }
    do throws(ShamirError) { return try takeover.share() } catch { throw .rejected(error) }
  }
}
