import PeerAuth
import ShamirKit
import Sodium
import Testing
import VaultProtocol
import VaultStore

@testable import SecretVault

/// A secret of so many holders that what they deal is more than one exchange brings.
@Suite struct ChangingManyTests {
  private static let count = 254
  private static let dealerCount = 90

  /// Holders 1 and 2 are ada and ben, who would take shares and know nothing else yet.
  private final class Crowd {
    let world: TestWorld
    let people: [Identity]
    let header: SecretHeader
    private let salts: [[UInt8]]
    private let dealing: Dealing

    init() throws {
      world = try TestWorld(2)
      people =
        world.members.map { $0.vault.core.identity }
        + (try (2..<ChangingManyTests.count).map { _ in try Identity.generate() })
      dealing = try Dealing.fresh(ThresholdScheme(threshold: 2, shareCount: ChangingManyTests.count))
      salts = try people.map { _ in try Randomness.bytes(HolderRow.saltByteCount) }
      let nonce = try Randomness.bytes(SecretHeader.nonceByteCount)
      let id = try SecretHeader.id(dealerKey: people[0].keys.signing, nonce: nonce)
      var rows: [Digest] = []
      for (place, person) in people.enumerated() {
        let salt = salts[place]
        rows.append(
          try HolderRow.digest(
            secret: id, index: UInt8(place + 1), card: person.keys.digest, salt: salt.span.bytes))
      }
      header = try SecretHeader.sign(
        SecretHeader.Content(
          nonce: nonce, kind: 1, scheme: dealing.scheme, createdAt: 5, ciphertextByteCount: 100, description: "",
          labels: nil, commitments: dealing.commitments,
          roots: try people.map { _ in try Digest(Randomness.bytes(Digest.byteCount)) }, rows: rows), by: people[0])
      for member in world.members {
        let row = try member.vault.circles.row(
          .header(header, dealer: people[0].keys.digest, former: nil), of: header.id)
        try member.vault.core.database.changeLifecycle(ofSecret: header.id, adding: [row])
        try member.vault.circles.sayWilling(header)
      }
    }

    /// All stay, by a proposal of ben's, for which many have dealt.
    func objects() throws -> [LifecycleObject] {
      let rows = try people.enumerated().map { place, person in
        Proposal.Row(
          index: UInt8(place + 1),
          joining: try Joining.sign(
            secret: header.id, record: header.digest, index: UInt8(place + 1), salt: salts[place],
            receivingKey: AgreementKeyPair.generate().publicKey, by: person))
      }
      let proposal = try Proposal.sign(
        parent: Epoch(header), number: 1, threshold: 2, rows: rows, expiresAt: world.clock.now + 86_400_000,
        by: people[1])
      let dealt = try (1...ChangingManyTests.dealerCount).map { index -> LifecycleObject in
        let share = try dealing.share(UInt8(index))
        let made = try HolderDealing.deal(
          share, salt: salts[index - 1], proposal, Epoch(header), by: people[index - 1])
        return .dealing(made.dealing, boxes: made.boxes)
      }
      return rows.map { .joining($0.joining) } + [.proposal(proposal)] + dealt
    }

    func dealingCount(_ member: Int) throws -> Int {
      try world[member].vault.core.database.lifecycle(ofSecret: header.id).count { $0.name.kind == .dealing }
    }
  }

  @Test func `what is more than an exchange brings goes on in the next one`() async throws {
    let crowd = try Crowd()
    let (ada, ben) = (crowd.world[0].vault, crowd.world[1].vault)
    #expect(try ben.circles.take(crowd.objects(), of: crowd.header.id))
    try #require(crowd.dealingCount(1) == Self.dealerCount)
    #expect(await ada.changing.gather(crowd.header.id, asksAll: true))
    let first = try crowd.dealingCount(0)
    #expect(first > 60 && first < Self.dealerCount)
    #expect(await ada.changing.gather(crowd.header.id, asksAll: true))
    #expect(try crowd.dealingCount(0) == Self.dealerCount)
  }
}
