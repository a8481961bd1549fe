import PeerAuth
import ShamirKit
import Sodium
import VaultProtocol
import WireCodec

/// What holders say to one another when a secret gets other holders.
enum LifecycleTargets {
  static let example = prepared { try LifecycleExample() }

  /// One of each kind, as devices hand them on.
  static let objects: [(kind: LifecycleObject.Kind, bytes: [UInt8])] = prepared {
    let bob = try example.dealt(by: 2)
    let record = try example.record()
    let name = try RecordName.sign(
      record.dealings.map { try $0.digest() }, of: example.proposal.digest(), by: example.people[0])
    let objects: [LifecycleObject] = [
      .header(example.epoch.header, dealer: example.people[1].keys.digest, former: nil),
      .header(
        example.epoch.header, dealer: example.people[1].keys.digest, former: example.people[2].keys.digest),
      .joining(example.proposal.rows[0].joining), .proposal(example.proposal),
      .dealing(bob.dealing, boxes: bob.boxes), .dealing(bob.dealing, boxes: []), .record(name),
    ]
    return try objects.map { ($0.kind, try $0.encoded()) }
  }

  static let all = [
    // Behind a byte for its kind.
    FuzzTarget("lifecycle-object", upTo: 70_000) { input in
      guard let first = input.first, let kind = LifecycleObject.Kind(rawValue: first) else { return false }
      let bytes = Array(input.dropFirst())
      let object = try LifecycleObject(kind, bytes)
      require(object.kind == kind, "an object is of the kind that it is read as")
      let again = prepared { try object.encoded() }
      require(again == bytes, "an object encodes to the bytes it was read from")
      if case .dealing(let dealing, let boxes) = object {
        require((try? HolderDealing.digest(of: boxes)) == dealing.boxes, "boxes are the dealing's")
      }
      _ = prepared { try object.digest() }
      return true
    },
    FuzzTarget("joining", upTo: 400) { bytes in
      check(try canonical(Joining.self, bytes, limit: Joining.byteCount))
      return true
    },
    // The unsigned bytes are the input, under Dan's card: what a hostile holder may say.
    FuzzTarget("joining-signed", upTo: 400) { input in
      var unsigned = input
      let dan = example.people[0]
      if unsigned.count >= 146 { unsigned.replaceSubrange(50..<146, with: encoding(of: dan.keys)) }
      let bytes = unsigned + (try signature("vault/joining/v1", unsigned, by: dan))
      check(try canonical(Joining.self, bytes, limit: Joining.byteCount))
      return true
    },
    FuzzTarget("proposal", upTo: 20_000) { bytes in
      check(try canonical(Proposal.self, bytes, limit: Proposal.byteLimit))
      return true
    },
    // The unsigned bytes are the input, with Dan for the asker.
    FuzzTarget("proposal-signed", upTo: 20_000) { input in
      var unsigned = input
      let dan = example.people[0]
      if unsigned.count >= 136 {
        unsigned.replaceSubrange((unsigned.count - 136)..<(unsigned.count - 40), with: encoding(of: dan.keys))
      }
      let bytes = unsigned + (try signature("vault/proposal/v1", unsigned, by: dan))
      check(try canonical(Proposal.self, bytes, limit: Proposal.byteLimit))
      return true
    },
    FuzzTarget("dealing", upTo: 10_000) { bytes in
      let dealing = try canonical(HolderDealing.self, bytes, limit: HolderDealing.byteLimit)
      guard (try? dealing.verify(example.proposal, example.epoch)) != nil else { return true }
      require(isOfItsHolder(dealing), "only a holder deals, and only its own share")
      require(dealing.points.count == Int(example.proposal.threshold) - 1, "a dealing has as many points as needed")
      return true
    },
    // What doesn't follow from the example's header is refused.
    FuzzTarget("record", upTo: 20_000) { bytes in
      let record = try canonical(SharingRecord.self, bytes, limit: SharingRecord.byteLimit)
      let (epoch, redistribution) = try record.verified(after: example.epoch)
      require(record.dealings.allSatisfy(isOfItsHolder), "a record is made by holders alone")
      require(redistribution.dealers == record.dealings.map(\.index), "a record's dealers are those who dealt")
      require(epoch.commitments.points[0] == example.epoch.commitments.points[0], "the secret stays the same")
      require(
        epoch.commitments.points.count == Int(record.proposal.threshold) && epoch.number > 0
          && epoch.holders?.count == record.proposal.rows.count && epoch.digest == (try? record.digest()),
        "an epoch is what its record says")
      return true
    },
  ]

  private static func signature(_ label: StaticString, _ unsigned: [UInt8], by signer: Identity) throws -> [UInt8] {
    var hash = try DomainHash(label)
    hash.append(unsigned)
    return try signer.sign(hash.digest())
  }

  private static func check(_ joining: Joining) {
    require(
      ![joining.keys.noise, joining.keys.box, [UInt8](repeating: 0, count: 32)].contains(joining.receivingKey),
      "a receiving key is one of its own")
    require(joining.index != 0 || joining.salt.allSatisfy { $0 == 0 }, "somebody new opens no row")
  }

  private static func check(_ proposal: Proposal) {
    for row in proposal.rows { check(row.joining) }
    guard let scheme = try? proposal.check(example.epoch) else { return }
    let header = example.epoch.header
    require(
      scheme.threshold == Int(proposal.threshold) && scheme.shareCount == header.scheme.shareCount
        && (header.dispersal.dataCount...proposal.rows.count).contains(scheme.threshold),
      "a scheme fits its rows and the header")
    for row in proposal.rows where row.isKept {
      require(
        row.joining.keys == example.people[Int(row.index) - 1].keys && row.index != 1, "only holders are kept")
    }
  }

  private static func isOfItsHolder(_ dealing: HolderDealing) -> Bool {
    (2...3).contains(dealing.index) && dealing.keys == example.people[Int(dealing.index) - 1].keys
  }
}
