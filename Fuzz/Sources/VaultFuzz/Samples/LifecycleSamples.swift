import PeerAuth
import ShamirKit
import Sodium
import VaultProtocol
import WireCodec

enum LifecycleSamples {
  private static let example = LifecycleTargets.example

  static func all() throws -> [Sample] { try joinings() + proposals() + dealings() + records() + objects() }

  private static func objects() throws -> [Sample] {
    func input(_ place: Int) -> [UInt8] {
      [LifecycleTargets.objects[place].kind.rawValue] + LifecycleTargets.objects[place].bytes
    }
    let (header, joining, dealing, bare, record) = (input(0), input(2), input(4), input(5), input(6))
    let boxes = dealing.count - bare.count
    return Sample.of(
      "lifecycle-object",
      [
        "valid-header": header, "valid-header-in-anothers-place": input(1), "valid-joining": joining,
        "valid-proposal": input(3), "valid-dealing-with-boxes": dealing, "dealing-without-boxes": bare,
        "valid-record": record, "empty": [], "unknown-kind": [6] + joining.dropFirst(),
        "kind-of-another": joining.with(0, [3]), "header-without-dealer": [1] + header.dropFirst(65),
        "truncated-in-header": header.without(last: 1), "forged-box": dealing.with(dealing.count - 1, [0xff]),
        "one-box-missing": dealing.without(last: boxes / 3).with(bare.count - 1, [2]),
        "more-boxes-than-there-are": bare.with(bare.count - 1, [255]), "trailing-byte": bare + [0],
        "record-of-another-version": record.with(1, [2]), "record-more-dealings-than-there-are": record.with(34, [9]),
      ])
  }

  private static func joinings() throws -> [Sample] {
    let new = try example.proposal.rows[0].joining.encoded()
    let kept = try example.proposal.rows[1].joining.encoded()
    let unsigned = new.without(last: 64)
    return Sample.of(
      "joining",
      [
        "valid-somebody-new": new, "valid-holder": kept, "empty": [], "truncated-in-signature": new.without(last: 1),
        "trailing-byte": new + [0], "unknown-version": new.with(0, [2]), "forged-index": new.with(49, [1]),
        "forged-signature": new.with(273, [new[273] ^ 1]), "signing-key-is-identity": new.with(50, [1] + many(0, 31)),
      ])
      + Sample.of(
        "joining-signed",
        [
          "valid-somebody-new": unsigned, "valid-holder": kept.without(last: 64), "empty": [],
          "truncated-in-receiving-key": unsigned.without(last: 1), "trailing-byte": unsigned + [0],
          "unknown-version": unsigned.with(0, [2]), "salt-of-somebody-new": unsigned.with(177, [1]),
          "receiving-key-of-small-order": unsigned.with(178, many(0, 32)),
          "receiving-key-not-canonical": unsigned.with(178, many(0xff, 32)),
          "receiving-key-is-the-box-key": unsigned.with(178, example.people[0].keys.box),
          "receiving-key-is-the-noise-key": unsigned.with(178, example.people[0].keys.noise),
        ])
  }

  private static func proposals() throws -> [Sample] {
    let proposal = try example.proposal.encoded()
    let unsigned = proposal.without(last: 64)
    let end = unsigned.count
    return Sample.of(
      "proposal",
      [
        "valid-two-of-three": proposal, "empty": [], "truncated-in-signature": proposal.without(last: 1),
        "truncated-in-row": Array(proposal.prefix(400)), "trailing-byte": proposal + [0],
        "forged-threshold": proposal.with(53, [3]),
      ])
      + Sample.of(
        "proposal-signed",
        [
          "valid-two-of-three": unsigned, "valid-threshold-of-all": unsigned.with(53, [3]),
          "valid-huge-number": unsigned.with(49, many(0xff, 4)),
          "valid-without-rows": Array(unsigned.prefix(54)) + [0] + unsigned.dropFirst(55 + 3 * 275), "empty": [],
          "unknown-version": unsigned.with(0, [2]), "more-rows-than-there-are": unsigned.with(54, [255]),
          "fewer-rows-than-there-are": unsigned.with(54, [2]), "row-of-another-index": unsigned.with(55 + 50, [2]),
          "expires-after-the-end-of-time": unsigned.with(end - 8, [0, 1, 0, 0, 0, 0, 0, 1]),
          "trailing-byte": unsigned + [0],
        ])
  }

  private static func dealings() throws -> [Sample] {
    let bob = try example.dealt(by: 2).dealing.encoded()
    let proof = bob.count - 160
    return Sample.of(
      "dealing",
      [
        "valid-bob": bob, "valid-cay": try example.dealt(by: 3).dealing.encoded(),
        "valid-forged-index": bob.with(33, [3]), "empty": [], "truncated-in-signature": bob.without(last: 1),
        "trailing-byte": bob + [0], "unknown-version": bob.with(0, [2]),
        "more-points-than-there-are": bob.with(162, [255]), "point-is-identity": bob.with(163, many(0, 32)),
        "point-not-canonical": bob.with(163, many(0xff, 32)), "proof-with-identity": bob.with(proof, many(0, 32)),
        "proof-over-the-order": bob.with(proof + 32, many(0xff, 32)),
        "signing-key-is-identity": bob.with(34, [1] + many(0, 31)),
      ])
  }

  private static func records() throws -> [Sample] {
    let record = try example.record()
    let bytes = try record.encoded()
    let proposal = try example.proposal.encoded()
    let dealings = try record.dealings.map { try $0.encoded() }
    let head = [1] + proposal
    return Sample.of(
      "record",
      [
        "valid-two-of-three": bytes, "empty": [], "truncated-in-signature": bytes.without(last: 1),
        "trailing-byte": bytes + [0], "unknown-version": bytes.with(0, [2]), "no-dealings": head + [0],
        "one-dealing": head + [1] + dealings[0], "one-dealing-twice": head + [2] + dealings[0] + dealings[0],
        "dealings-descending": head + [2] + dealings[1] + dealings[0],
        "more-dealings-than-there-are": head + [255] + dealings.joined(),
        "forged-dealing": bytes.with(bytes.count - 1, [bytes[bytes.count - 1] ^ 1]),
        "forged-index": bytes.with(head.count + 1 + 33, [1]),
      ])
  }
}
