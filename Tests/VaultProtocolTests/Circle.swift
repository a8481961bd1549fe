import PeerAuth
import ShamirKit
import Sodium
import Testing
import WireCodec

@testable import VaultProtocol

/// Somebody with a share, or with none yet.
final class CirclePerson {
  let identity: Identity
  var share: [UInt8]?
  var index: UInt8 = 0
  /// Opens its row in the header.
  var salt: [UInt8]?
  var receiving: AgreementKeyPair

  init() throws {
    identity = try Identity.generate()
    receiving = try AgreementKeyPair.generate()
  }

  func held() throws -> KeyShare { try KeyShare(index: index, bytes: secret(#require(share))) }
}

/// A secret among people, and how its sharing changed.
struct Circle {
  let header: SecretHeader
  let key: [UInt8]
  var people: [CirclePerson]
  var epoch: Epoch

  init(_ threshold: Int, _ count: Int) throws {
    people = try (0..<count).map { _ in try CirclePerson() }
    let dealing = try Dealing.fresh(ThresholdScheme(threshold: threshold, shareCount: count))
    let dealer = people[0].identity
    let nonce = try Randomness.bytes(16)
    let id = try SecretHeader.id(dealerKey: dealer.keys.signing, nonce: nonce)
    var rows: [Digest] = []
    for (place, person) in people.enumerated() {
      let salt = try Randomness.bytes(32)
      (person.salt, person.index) = (salt, UInt8(place + 1))
      let share = try dealing.share(person.index)
      person.share = exposed(share.bytes)
      rows.append(
        try HolderRow.digest(secret: id, index: person.index, card: person.identity.keys.digest, salt: salt.span.bytes))
    }
    header = try SecretHeader.sign(
      .init(
        nonce: nonce, kind: 1, scheme: dealing.scheme, createdAt: 5, ciphertextByteCount: 100, description: "",
        labels: nil, commitments: dealing.commitments, roots: try people.map { _ in try randomDigest() }, rows: rows),
      by: dealer)
    let fileKey = try dealing.fileKey(for: header.id)
    key = exposed(fileKey)
    epoch = Epoch(header)
  }

  func joining(_ person: CirclePerson, isNew: Bool = false) throws -> Joining {
    try Joining.sign(
      secret: header.id, record: epoch.digest, index: isNew ? 0 : person.index, salt: isNew ? nil : person.salt,
      receivingKey: person.receiving.publicKey, by: person.identity)
  }

  /// Rows for all who hold a share now, under the indices that they have.
  func rows() throws -> [Proposal.Row] {
    try people.map { Proposal.Row(index: $0.index, joining: try joining($0)) }
  }

  /// A proposal by the first of the people, with whatever fault a test wants.
  func proposal(
    _ rows: [Proposal.Row], threshold: Int, number: UInt32? = nil, parent: Digest? = nil, secret: SecretID? = nil
  ) throws -> Proposal {
    let asker = people[0].identity
    let proposal = try Proposal(
      secret: secret ?? header.id, parent: parent ?? epoch.digest, number: number ?? epoch.number + 1,
      threshold: UInt8(threshold), rows: rows, asker: asker.keys, nonce: Randomness.bytes(32), expiresAt: 100,
      signature: [])
    return proposal.signed(with: try asker.sign(proposal.digest()))
  }

  /// What `dealers` deal: the record, and their boxes by their indices, in the order of the rows.
  func dealt(_ proposal: Proposal, by dealers: [CirclePerson]) throws -> (SharingRecord, [UInt8: [[UInt8]]]) {
    var dealings: [HolderDealing] = []
    var boxes: [UInt8: [[UInt8]]] = [:]
    for person in dealers {
      let made = try HolderDealing.deal(
        person.held(), salt: epoch.number == 0 ? person.salt : nil, proposal, epoch, by: person.identity)
      dealings.append(made.dealing)
      boxes[person.index] = made.boxes
    }
    return (SharingRecord(proposal, dealings), boxes)
  }

  /// Hands the secret on to those who are kept and to new people at their indices, all of whom take over.
  mutating func change(
    to threshold: Int, keeping kept: [CirclePerson], adding new: [UInt8: CirclePerson], by dealers: [CirclePerson]
  ) throws {
    var rows = try kept.map { Proposal.Row(index: $0.index, joining: try joining($0)) }
    for (index, person) in new { rows.append(.init(index: index, joining: try joining(person, isNew: true))) }
    let proposal = try proposal(rows.sorted { $0.index < $1.index }, threshold: threshold)
    let (record, boxes) = try dealt(proposal, by: dealers)
    let (next, redistribution) = try record.verified(after: epoch)
    for (place, row) in proposal.rows.enumerated() {
      let person = try #require((kept + new.values).first { $0.identity.keys == row.joining.keys })
      let mine = try record.dealings.map { try #require(boxes[$0.index])[place] }
      let share = try record.takeOver(row, boxes: mine, with: person.receiving, redistribution)
      person.share = exposed(share.bytes)
      (person.index, person.receiving) = (row.index, try AgreementKeyPair.generate())
    }
    people = kept + new.values
    epoch = next
  }

  /// The key that the shares of these people rebuild.
  func recovered(by people: [CirclePerson]) throws -> [UInt8] {
    var collector = try ShareCollector(scheme: epoch.scheme, commitments: epoch.commitments)
    for person in people { try collector.add(person.held()) }
    try collector.verify()
    let key = try collector.fileKey(for: header.id)
    return exposed(key)
  }
}
