import PeerAuth
import ShamirKit
import Sodium
import VaultProtocol
import VaultStore

@testable import SecretVault

/// A holder with a real share and real keys that says what isn't so. Others get it as if it had called them.
struct Liar {
  enum Lie: CaseIterable {
    /// That it has taken over shares that it may not have.
    case isReady
    /// Boxes of which one is spoilt, over a proof that holds.
    case spoilsBox
    /// Another dealing for each of the others.
    case dealsTwice
    /// A change that leaves out whom it likes.
    case proposes
    /// Two records of one proposal.
    case recordsTwice
    /// What others said, with a byte changed.
    case garbles
  }

  let member: Member
  let id: SecretID

  private var circles: Circles { member.vault.circles }
  private var identity: Identity { member.vault.core.identity }

  /// Tells the lie to the others. Each takes what it finds right, and refuses what contradicts what it knows.
  func tell(_ lie: Lie, to others: [Member], _ random: inout SplitMix) throws {
    guard let circle = try circles.circle(of: id) else { return }
    switch lie {
    case .isReady:
      for joining in try readiness(circle) { give([.joining(joining)], to: others) }
    case .spoilsBox:
      for digest in circle.open.keys { give(try dealings(1, of: digest, circle, spoilt: true, &random), to: others) }
    case .dealsTwice:
      for digest in circle.open.keys {
        for other in others { give(try dealings(2, of: digest, circle, spoilt: false, &random), to: [other]) }
      }
    case .proposes:
      guard let proposal = try proposal(circle, &random) else { return }
      let name = LifecycleRecord.Name(.decision, try proposal.digest())
      try member.vault.core.database.changeLifecycle(
        ofSecret: id,
        adding: [
          try circles.row(.proposal(proposal), of: id),
          LifecycleRecord(secretID: id, name: name, content: [1], addedAt: 0),
        ])
      give([.proposal(proposal)], to: others)
    case .recordsTwice: try recordTwice(circle, others, &random)
    case .garbles:
      for object in circle.objects() {
        var bytes = try object.encoded()
        bytes[Int.random(in: 0..<bytes.count, using: &random)] ^= 1 << UInt8.random(in: 0..<8, using: &random)
        if let garbled = try? LifecycleObject(object.kind, bytes) { give([garbled], to: others) }
      }
    }
  }

  private func give(_ objects: [LifecycleObject], to others: [Member]) {
    for other in others { _ = try? other.vault.circles.take(objects, of: id) }
  }

  private func readiness(_ circle: SecretVault.Circle) throws -> [Joining] {
    try circle.epochs.values.compactMap { epoch in
      guard let row = epoch.holders?.first(where: { $0.value == identity.keys.digest }) else { return nil }
      return try Joining.sign(
        secret: id, record: epoch.digest, index: row.key, salt: nil,
        receivingKey: AgreementKeyPair.generate().publicKey, by: identity)
    }
  }

  private func dealings(
    _ count: Int, of digest: Digest, _ circle: SecretVault.Circle, spoilt: Bool, _ random: inout SplitMix
  ) throws -> [LifecycleObject] {
    let own = try circles.held(circle)
    guard let proposal = circle.proposals[digest], let parent = own.first(where: { $0.digest == proposal.parent }),
      let held = try circles.share(of: parent)
    else { return [] }
    let salt = parent.holders == nil ? held.salt.withUnsafeBytes { Array($0) } : nil
    return try (0..<count).map { _ in
      let made = try HolderDealing.deal(held.share, salt: salt, proposal, parent, by: identity)
      guard spoilt else { return .dealing(made.dealing, boxes: made.boxes) }
      var boxes = made.boxes
      boxes[Int.random(in: 0..<boxes.count, using: &random)] = randomBytes(SubshareBox.byteCount)
      return try rewritten(made.dealing, boxes, held.share, proposal, parent)
    }
  }

  /// The same dealing over other boxes: proved and signed anew.
  private func rewritten(
    _ dealing: HolderDealing, _ boxes: [[UInt8]], _ share: borrowing KeyShare, _ proposal: Proposal, _ parent: Epoch
  ) throws -> LifecycleObject {
    let rest = Digest.byteCount + PossessionProof.byteCount + Ed25519.signatureByteCount
    let body = Array(try dealing.encoded().dropLast(rest)) + (try HolderDealing.digest(of: boxes).bytes)
    var binding = try DomainHash("vault/dealing-body/v1")
    binding.append(body)
    let proof = try PossessionProof.prove(
      share,
      PossessionStatement(
        purpose: .lifecycle, headerDigest: parent.digest, secretID: parent.secret, epoch: parent.number,
        index: dealing.index, evaluation: parent.commitments.evaluation(at: dealing.index),
        context: ProofContext(
          kind: .dealing, binding: binding.digest().bytes, proverCard: identity.keys.digest,
          verifierCard: proposal.asker.digest, role: .holder, verifierNonce: proposal.nonce)))
    var digest = try DomainHash("vault/dealing/v1")
    digest.append(body)
    digest.append(try proof.encoded())
    let signature = try identity.sign(digest.digest())
    return try LifecycleObject(
      .dealing, body + (try proof.encoded()) + signature + [UInt8(boxes.count)] + Array(boxes.joined()))
  }

  private func proposal(_ circle: SecretVault.Circle, _ random: inout SplitMix) throws -> Proposal? {
    guard let parent = circle.epochs.values.randomElement(using: &random) else { return nil }
    let rows = circle.holders(of: parent).compactMap { index, card in
      circle.joining(of: card, index, in: parent).map { Proposal.Row(index: index, joining: $0) }
    }.shuffled(using: &random)
    let least = circle.header.dispersal.dataCount
    guard rows.count >= least else { return nil }
    let kept = rows.prefix(Int.random(in: least...rows.count, using: &random))
    return try? Proposal.sign(
      parent: parent, number: parent.number + UInt32.random(in: 1...5, using: &random),
      threshold: UInt8(Int.random(in: least...kept.count, using: &random)), rows: Array(kept),
      expiresAt: member.environment.now() + Changing.proposalLifetime, by: identity)
  }

  /// Of its own proposals that have more dealings than they need, or two of one dealer, it tells one half one record and the other another.
  private func recordTwice(_ circle: SecretVault.Circle, _ others: [Member], _ random: inout SplitMix) throws {
    for (digest, proposal) in circle.proposals where proposal.asker.digest == identity.keys.digest {
      guard let parent = circle.epochs[proposal.parent] else { continue }
      let all = circle.dealings.values.filter { $0.dealing.proposal == digest }
      for other in others {
        var chosen: [UInt8: SecretVault.Circle.Dealt] = [:]
        for dealt in all.shuffled(using: &random) where chosen.count < parent.scheme.threshold {
          chosen[dealt.dealing.index] = dealt
        }
        guard chosen.count == parent.scheme.threshold else { continue }
        let dealt = chosen.sorted { $0.key < $1.key }.map(\.value)
        let name = try RecordName.sign(dealt.map { try $0.dealing.digest() }, of: digest, by: identity)
        give(dealt.map { .dealing($0.dealing, boxes: $0.boxes) } + [.record(name)], to: [other])
      }
    }
  }
}
