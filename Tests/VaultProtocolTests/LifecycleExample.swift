import PeerAuth
import Sodium
import WireCodec

@testable import ShamirKit
@testable import VaultProtocol

/// The example of docs/formats/lifecycle.md, made again from its fixed inputs: the secret of protocol.md's example, of
/// which Bob and Cay deal their shares anew, 2 of 3, because Ann's device is lost and Dan is the new one.
struct LifecycleExample {
  /// Dan, Bob, Cay: rows 1 to 3.
  let people: [Identity]
  let receiving: [AgreementKeyPair]
  let epoch: Epoch
  let proposal: Proposal
  private let salts: [[UInt8]]
  private let shares: [[UInt8]]

  init() throws {
    let walked = try WalkedExample()
    let dan = try Identity(stored: secret([1] + [10, 11, 12].flatMap { [UInt8](repeating: $0, count: 32) }))
    people = [dan, walked.people[1], walked.people[2]]
    receiving = try [UInt8(0xb1), 0xb2, 0xb3].map {
      try AgreementKeyPair(secret: secret([UInt8](repeating: $0, count: 32)))
    }
    salts = walked.salts
    shares = try (1...3).map { try walked.shareBytes($0) }
    epoch = Epoch(walked.header)
    var rows: [Proposal.Row] = []
    for (place, person) in people.enumerated() {
      let isNew = place == 0
      let joining = try Joining.sign(
        secret: epoch.secret, record: epoch.digest, index: isNew ? 0 : UInt8(place + 1),
        salt: isNew ? nil : walked.salts[place], receivingKey: receiving[place].publicKey, by: person)
      rows.append(.init(index: UInt8(place + 1), joining: joining))
    }
    let unsigned = Proposal(
      secret: epoch.secret, parent: epoch.digest, number: 1, threshold: 2, rows: rows, asker: dan.keys,
      nonce: [UInt8](repeating: 0xd1, count: 32), expiresAt: 1_700_000_000_000 + Parcel.lifetimeLimit, signature: [])
    proposal = unsigned.signed(with: try dan.sign(unsigned.digest()))
  }

  func share(_ index: UInt8) throws -> KeyShare { try KeyShare(index: index, bytes: secret(shares[Int(index) - 1])) }

  /// What Bob (2) and Cay (3) draw: 64 bytes of 21 and 22, or of 31 and 32.
  func drawn(by dealer: UInt8) throws -> Dealing {
    let bytes = [0, 16 * dealer + 1, 0, 16 * dealer + 2].flatMap { [UInt8](repeating: $0, count: 64) }
    return try Dealing(
      ThresholdScheme(threshold: 2, shareCount: 3), dealing: share(dealer), wideCoefficients: secret(bytes))
  }

  /// Bob's or Cay's dealing, with other boxes and another proof each time.
  func dealt(by dealer: UInt8) throws -> (dealing: HolderDealing, boxes: [[UInt8]]) {
    let place = Int(dealer) - 1
    return try HolderDealing.deal(
      drawn(by: dealer), share(dealer), salt: salts[place], proposal, epoch, by: people[place])
  }

  func record() throws -> SharingRecord {
    SharingRecord(proposal, [try dealt(by: 2).dealing, try dealt(by: 3).dealing])
  }

  /// Dan's joining, field by field.
  func joiningFields() throws -> [(String, [UInt8])] {
    let joining = proposal.rows[0].joining
    return [
      ("version", [1]), ("secret id", joining.secret.bytes), ("record digest", joining.record.bytes),
      ("index", [joining.index]), ("card keys of Dan", try joining.keys.encoded()), ("salt", joining.salt),
      ("receiving key", joining.receivingKey), ("signature", joining.signature),
    ]
  }

  /// The proposal, field by field, and its digest.
  func proposalFields() throws -> [(String, [UInt8])] {
    [
      ("version", [1]), ("secret id", proposal.secret.bytes), ("parent", proposal.parent.bytes),
      ("number", bigEndian(proposal.number)), ("threshold", [proposal.threshold]),
      ("number of rows", [UInt8(proposal.rows.count)]),
    ]
      + (try zip(["Dan", "Bob", "Cay"], proposal.rows).map { name, row in
        ("row \(row.index), \(name)'s joining", [row.index] + (try row.joining.encoded()))
      }) + [
        ("card keys of Dan, the asker", try proposal.asker.encoded()), ("nonce", proposal.nonce),
        ("expires", bigEndian(UInt64(proposal.expiresAt))), ("signature", proposal.signature),
      ]
  }

  /// What Bob seals to Dan.
  func boxContents() throws -> [(String, [UInt8])] {
    let subshare = try drawn(by: 2).share(1)
    let plaintext = try SubshareBox.plaintext(subshare, from: 2, to: proposal.rows[0], proposal: proposal.digest())
    let bytes = exposed(plaintext)
    let names = [
      ("label", 19), ("proposal digest", 32), ("dealer", 1), ("row", 1), ("card digest of Dan", 32), ("subshare", 64),
    ]
    var rest = bytes[...]
    return names.map { name, count in
      defer { rest = rest.dropFirst(count) }
      return (name, Array(rest.prefix(count)))
    }
  }

  /// A dealing, field by field.
  func fields(_ dealing: HolderDealing) throws -> [(String, [UInt8])] {
    [
      ("version", [1]), ("proposal digest", dealing.proposal.bytes), ("index", [dealing.index]),
      ("card keys", try dealing.keys.encoded()), ("salt", dealing.salt),
      ("points", [UInt8(dealing.points.count)] + dealing.points.flatMap(\.bytes)),
      ("digest of the boxes", dealing.boxes.bytes), ("proof", try dealing.proof.encoded()),
      ("signature", dealing.signature),
    ]
  }
}
