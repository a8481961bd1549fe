import PeerAuth
import Sodium
import Testing
import VaultProtocol

@testable import SecretVault
@testable import VaultStore

extension VaultTests {
  /// People who are never on at the same time show one another by parcel that they have their keys.
  @Suite struct ParcelProving {
    let world: TestWorld

    init() throws {
      world = try TestWorld(3)
      world.cutOff()
      try world[0].vault.logIn("ada@example.org", friends: [world[1]: "ben@example.org"])
      try world[1].vault.logIn("ben@example.org", friends: [world[0]: "ada@example.org"])
    }

    private var ada: Vault { world[0].vault }
    private var ben: Vault { world[1].vault }

    private func carry(from sender: Vault, to recipient: Vault) throws -> Int {
      let parcels = try sender.handOverToAccount()
      for bytes in parcels { _ = try recipient.intake.takeParcel(bytes, by: ParcelArrival(way: .account)) }
      return parcels.count
    }

    /// A share for ben waits at ada's, who hasn't seen ben's keys proved.
    private func shareThatWaits() async throws -> ShareReport {
      try ada.core.database.updatePeer(ben.core.identity.keys.digest) { $0.state = .proven }
      let report = try await world.share(randomBytes(20_000), threshold: 2, to: [1])
      try ada.core.database.updatePeer(ben.core.identity.keys.digest) { $0.state = .scanned }
      return report
    }

    @Test func `a message and its receipt prove a peer, and shares for it wait and go by parcel`() async throws {
      #expect(try ada.trust.peer("ben").state == .scanned)
      try ada.send("hello", to: "ben")
      #expect(try carry(from: ada, to: ben) == 1)
      #expect(try ada.trust.peer("ben").state == .scanned && ben.trust.peer("ada").state == .scanned)
      #expect(try carry(from: ben, to: ada) == 1)
      #expect(try ada.trust.peer("ben").state == .proven)
      #expect(try ada.overview.log(limit: 10).contains { $0.event == "peer-proven" && $0.detail == "by parcel" })
      // Ben has heard no receipt of Ada's so far.
      #expect(try ben.trust.peer("ada").state == .scanned)
      let report = try await world.share(randomBytes(20_000), threshold: 2, to: [1])
      #expect(report.deliveries.map(\.state) == [.unreachable] && report.leftOut.isEmpty)
      #expect(try carry(from: ada, to: ben) == 1)
      #expect(try await ben.answering.answerParcels())
      #expect(try carry(from: ben, to: ada) > 0)
      #expect(try ada.overview.secret(report.id).deliveries.map(\.state) == [.delivered])
    }

    @Test func `a share that waits sends a probe ahead by itself, and follows once that is answered`() async throws {
      let report = try await shareThatWaits()
      #expect(try carry(from: ada, to: ben) == 1)
      #expect(try ada.messages.outbox().parcels.map(\.kind) == ["probe"])
      let waiting = try #require(try ada.overview.secret(report.id).deliveries.first)
      #expect(waiting.state == .unreachable && waiting.onItsWay == nil && waiting.probe?.routes == ["account"])
      #expect(try ada.overview.status().peers.map(\.onItsWay) == [0, 0])
      // Nothing is shown to Ben, and nothing else goes out meanwhile.
      #expect(try ben.messages.messages().isEmpty && !ben.core.database.hasParcels([.waiting], direction: .received))
      #expect(try carry(from: ada, to: ben) == 0)
      #expect(try carry(from: ben, to: ada) == 1)
      #expect(try ada.trust.peer("ben").state == .proven)
      #expect(try carry(from: ada, to: ben) == 1)
      #expect(try ada.messages.outbox().parcels.map(\.kind) == ["deposit"])
      let sent = try #require(try ada.overview.secret(report.id).deliveries.first)
      #expect(sent.onItsWay != nil && sent.probe == nil)
      #expect(try await ben.answering.answerParcels())
      #expect(try carry(from: ben, to: ada) > 0)
      #expect(try ada.overview.secret(report.id).deliveries.map(\.state) == [.delivered])
    }

    @Test func `a probe that is lost goes again, and through a group where there is no account`() async throws {
      let office = try ParcelOffice(world)
      _ = try await shareThatWaits()
      #expect(try ada.handOverToAccount().count == 1)
      world.clock.advance(milliseconds: ParcelTimes.accountPatience + 1000)
      #expect(try ada.handOverToAccount().count == 1)
      world.clock.advance(milliseconds: ParcelTimes.patience)
      #expect(try office.post(by: 0).count == 1)
      try office.take(by: 1)
      try ben.core.database.setPeerAddress(ada.core.identity.keys.digest, nil)
      #expect(try office.post(by: 1).count == 1)
      try office.take(by: 0)
      #expect(try ada.trust.peer("ben").state == .proven)
    }

    @Test func `a receipt proves nothing unless the peer itself has signed for it`() async throws {
      try ada.send("hello", to: "ben")
      let record = try #require(try ada.post.ownParcels().first)
      let seed = try #require(record.seed.flatMap { ParcelSeed($0) })
      func receipt(_ proof: [UInt8], _ branch: UInt8 = 5) throws -> ParcelReceipt {
        ParcelReceipt(id: try seed.parcelID(), branch: branch, expiresAt: record.expiresAt, proof: proof)
      }
      func says(_ member: Int, _ receipt: ParcelReceipt) throws {
        let content = MessageContent.receipts(try MessageReceipts(delivered: [receipt], read: []))
        _ = try ada.intake.takeParcel(
          ForgedMessage(world[member], to: world[0]).sealed(content), by: ParcelArrival(way: .account))
        #expect(try ada.trust.peer("ben").state == .scanned && ada.trust.peer("cleo").state == .scanned)
      }
      let genuine = try seed.proof(branch: 5)
      // Signed by another peer; for another branch; with what everybody can see of it, and no more.
      try says(2, receipt(genuine))
      try says(1, receipt(genuine, 1))
      #expect(try ada.post.takeReceipt(receipt(genuine), handedOverBy: nil))
      #expect(try ada.trust.peer("ben").state == .scanned)
    }

    @Test func `an answer to a probe is no receipt`() async throws {
      _ = try await shareThatWaits()
      _ = try ada.handOverToAccount()
      let probe = try #require(try ada.post.ownParcels().first)
      let keys = ada.core.identity.keys
      let seed = try ParcelSeed.fresh()
      let now = world.clock.now
      let answer = try ParcelLetter.seal(
        seed: seed, createdAt: now, expiresAt: Parcel.expiry(createdAt: now, lifetime: Post.parcelLifetime),
        kind: .answer, inReplyTo: probe.id, frames: [Post.frame(Hello(services: []))],
        from: ben.core.identity, to: keys)
      #expect(try !ada.intake.takeParcel(answer.encoded(), by: ParcelArrival(way: .account)).isTaken)
      #expect(try ada.trust.peer("ben").state == .scanned)
      #expect(try ada.post.ownParcels().map(\.id) == [probe.id])
    }
  }
}
