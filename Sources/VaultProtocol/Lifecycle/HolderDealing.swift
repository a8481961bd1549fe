package import PeerAuth
package import ShamirKit
package import Sodium
package import WireCodec

/// A holder's part in a change of the sharing: it has dealt its share anew to the rows of a proposal, and proves that
/// it was its share.
///
/// The possession proof (purpose lifecycle) is bound to BLAKE2b-256("vault/dealing-body/v1", body) and speaks to the
/// proposal's asker with the proposal's nonce: everybody can check it, and it is good for nothing else. Signed over
/// BLAKE2b-256("vault/dealing/v1", body, proof), which is also the dealing's digest.
package struct HolderDealing: WireValue, Hashable, Sendable {
  package static let version: UInt8 = 1
  package static let byteLimit =
    1 + Digest.byteCount + 1 + 96 + HolderRow.saltByteCount + 1 + 254 * RistrettoPoint.byteCount + Digest.byteCount
    + PossessionProof.byteCount + Ed25519.signatureByteCount

  package let proposal: Digest
  /// Of the holder in the parent.
  package let index: UInt8
  package let keys: CardKeys
  /// Opens the holder's row in the header; zeros in later records.
  package let salt: [UInt8]
  /// D_1 … D_{t'−1}.
  package let points: [RistrettoPoint]
  /// ``digest(of:)`` of the boxes.
  package let boxes: Digest
  package let proof: PossessionProof
  package let signature: [UInt8]

  /// What a holder draws and says: the dealing, and a box for each row in their order. `share` is its share of the
  /// parent.
  package static func deal(
    _ share: borrowing KeyShare, salt: [UInt8]?, _ proposal: Proposal, _ parent: Epoch, by holder: Identity
  ) throws(ProtocolError) -> (dealing: HolderDealing, boxes: [[UInt8]]) {
    let scheme = try proposal.check(parent)
    do {
      try share.verify(against: parent.commitments)
      let dealing = try Dealing.again(share, to: scheme)
      return try deal(dealing, share, salt: salt, proposal, parent, by: holder)
    } catch { throw ProtocolError(error, other: .foreignProposal("dealing")) }
  }

  /// The same with what was drawn, which only walked examples choose.
  static func deal(
    _ dealing: borrowing Dealing, _ share: borrowing KeyShare, salt: [UInt8]?, _ proposal: Proposal, _ parent: Epoch,
    by holder: Identity
  ) throws(ProtocolError) -> (dealing: HolderDealing, boxes: [[UInt8]]) {
    let digest = try proposal.digest()
    do {
      var boxes: [[UInt8]] = []
      for row in proposal.rows {
        boxes.append(try SubshareBox.seal(dealing.share(row.index), from: share.index, to: row, proposal: digest))
      }
      let body = Body(
        proposal: digest, index: share.index, keys: holder.keys,
        salt: salt ?? [UInt8](repeating: 0, count: HolderRow.saltByteCount),
        points: Array(dealing.commitments.points.dropFirst()), boxes: try Self.digest(of: boxes))
      let proof = try PossessionProof.prove(share, body.statement(proposal, parent))
      let made = HolderDealing(body, proof, try holder.sign(body.digest(with: proof)))
      try made.verify(proposal, parent)
      return (made, boxes)
    } catch { throw ProtocolError(error, other: .foreignProposal("dealing")) }
  }

  private init(_ body: Body, _ proof: PossessionProof, _ signature: [UInt8]) {
    (proposal, index, keys, salt, points, boxes) =
      (body.proposal, body.index, body.keys, body.salt, body.points, body.boxes)
    (self.proof, self.signature) = (proof, signature)
  }

  private var body: Body {
    Body(proposal: proposal, index: index, keys: keys, salt: salt, points: points, boxes: boxes)
  }

  /// BLAKE2b-256("vault/dealing-boxes/v1", each box).
  package static func digest(of boxes: [[UInt8]]) throws(ProtocolError) -> Digest {
    do throws(SodiumError) {
      var hash = try DomainHash("vault/dealing-boxes/v1")
      for box in boxes { hash.append(box) }
      return hash.digest()
    } catch { throw .sodium(error) }
  }

  package func digest() throws(ProtocolError) -> Digest { try body.digest(with: proof) }

  /// Checks that it is dealt for this proposal by a holder of the parent, of its share, with as many points as needed.
  package func verify(_ proposal: Proposal, _ parent: Epoch) throws(ProtocolError) {
    guard try self.proposal == proposal.digest() else { throw .foreignProposal("dealing") }
    do { try parent.verifyHolder(index: index, card: keys.digest, salt: salt.span.bytes) } catch {
      throw .foreignProposal("dealer")
    }
    guard points.count == Int(proposal.threshold) - 1 else { throw .foreignProposal("points") }
    let signed = try digest()
    guard (try? Ed25519.verify(signature, of: signed, by: keys.signing)) != nil else { throw .foreignProposal("proof") }
    do { try proof.verify(body.statement(proposal, parent)) } catch {
      throw ProtocolError(error, other: .foreignProposal("proof"))
    }
  }

  package func encode(into writer: inout Writer) throws(WireError) {
    try body.encode(into: &writer)
    try proof.encode(into: &writer)
    try write(signature, count: Ed25519.signatureByteCount, "dealing signature", into: &writer)
  }

  package init(from reader: inout Reader) throws(WireError) {
    let body = try Body(from: &reader)
    let proof = try PossessionProof(from: &reader)
    self.init(body, proof, try reader.bytes(Ed25519.signatureByteCount, "dealing signature"))
  }

  /// All but proof and signature.
  private struct Body: WireValue {
    let proposal: Digest
    let index: UInt8
    let keys: CardKeys
    let salt: [UInt8]
    let points: [RistrettoPoint]
    let boxes: Digest

    func digest(with proof: PossessionProof) throws(ProtocolError) -> Digest {
      do {
        var hash = try DomainHash("vault/dealing/v1")
        hash.append(try encoded())
        hash.append(try proof.encoded())
        return hash.digest()
      } catch { throw ProtocolError(error, other: .foreignProposal("dealing")) }
    }

    func statement(_ proposal: Proposal, _ parent: Epoch) throws(ProtocolError) -> PossessionStatement {
      do {
        var hash = try DomainHash("vault/dealing-body/v1")
        hash.append(try encoded())
        return PossessionStatement(
          purpose: .lifecycle, headerDigest: parent.digest, secretID: parent.secret, epoch: parent.number, index: index,
          evaluation: try parent.commitments.evaluation(at: index),
          context: try ProofContext(
            kind: .dealing, binding: hash.digest().bytes, proverCard: keys.digest, verifierCard: proposal.asker.digest,
            role: .holder, verifierNonce: proposal.nonce))
      } catch { throw ProtocolError(error, other: .foreignProposal("dealing")) }
    }

    func encode(into writer: inout Writer) throws(WireError) {
      try writer.u8(HolderDealing.version)
      try writer.bytes(proposal.bytes)
      try writer.u8(index)
      try keys.encode(into: &writer)
      try write(salt, count: HolderRow.saltByteCount, "dealer salt", into: &writer)
      guard let count = UInt8(exactly: points.count) else { throw .limitExceeded(field: "points", limit: 255) }
      try writer.u8(count)
      for point in points { try writer.bytes(point.bytes) }
      try writer.bytes(boxes.bytes)
    }

    init(proposal: Digest, index: UInt8, keys: CardKeys, salt: [UInt8], points: [RistrettoPoint], boxes: Digest) {
      (self.proposal, self.index, self.keys) = (proposal, index, keys)
      (self.salt, self.points, self.boxes) = (salt, points, boxes)
    }

    init(from reader: inout Reader) throws(WireError) {
      try reader.version(HolderDealing.version, "dealing version")
      proposal = try VaultProtocol.digest(from: &reader, "proposal")
      index = try reader.u8("dealer index")
      keys = try CardKeys(from: &reader)
      salt = try reader.bytes(HolderRow.saltByteCount, "dealer salt")
      points = try values(Int(try reader.u8("points")), from: &reader) { reader throws(WireError) in
        let bytes = try reader.span(RistrettoPoint.byteCount, "point")
        do { return try RistrettoPoint(received: bytes) } catch { throw .invalidValue(field: "point") }
      }
      boxes = try VaultProtocol.digest(from: &reader, "boxes")
    }
  }
}
