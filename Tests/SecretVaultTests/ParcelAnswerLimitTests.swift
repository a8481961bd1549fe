import Sodium
import Testing
import VaultProtocol

@testable import SecretVault
@testable import VaultStore

extension VaultTests {
  /// Ada and ben are never online at the same time, and ben keeps as much for ada already as he may.
  @Suite struct ParcelAnswerLimits {
    @Test func `an answer beyond what is kept for a peer waits until another has gone`() async throws {
      let world = try TestWorld(2)
      try await world.prove()
      let office = try ParcelOffice(world)
      world.cutOff()
      let (ada, ben) = (world[0].vault, world[1].vault)
      let kept = try (0..<8).map { _ in try #require(ParcelID(randomBytes(16))) }
      for id in kept {
        let answer = ParcelRecord(
          id: id, direction: .answer, state: .posted, peer: ada.core.identity.keys.digest, createdAt: world.clock.now,
          expiresAt: world.clock.now + Post.parcelLifetime, ways: [])
        let content = [UInt8](repeating: 1, count: Post.answerBytesOfPeer / kept.count)
        #expect(try ben.core.database.addParcel(answer, content: content, replySecret: nil))
      }
      let id = try await world.share(randomBytes(1000), threshold: 2).id
      try await office.round()
      #expect(try ben.parcelRecords(.received).map(\.state) == [.waiting])
      #expect(try ben.parcelRecords(.answer).count == kept.count)
      #expect(try ben.overview.secrets().map(\.id) == [id], "what it asked for is done")
      try ben.core.database.removeParcels([kept[0]])
      world.clock.advance(milliseconds: 3_700_000)
      #expect(try await ben.answering.answerParcels())
      #expect(try ben.parcelRecords(.received).map(\.state) == [.answered])
      #expect(try ben.parcelRecords(.answer).count == kept.count)
    }
  }
}
