import PeerAuth
import ShamirKit
import Sodium
import TestTime
import Testing
import VaultProtocol

@testable import SecretVault
@testable import VaultStore

extension VaultTests {
  /// Ada, ben and cleo know one another and are never online at the same time.
  @Suite struct Parcels {
    let world: TestWorld
    let office: ParcelOffice

    init() async throws {
      world = try TestWorld(3)
      for member in 0..<3 { try await world.prove(by: member) }
      office = try ParcelOffice(world)
      world.cutOff()
    }

    private var ada: Vault { world[0].vault }
    private var ben: Vault { world[1].vault }

    /// Shares while nobody can be reached, and carries the shares there.
    private func share(_ bytes: [UInt8], threshold: Int = 2) async throws -> String {
      let report = try await world.share(bytes, threshold: threshold)
      #expect(report.deliveries.allSatisfy { $0.state == .unreachable })
      try await office.round()
      return report.id
    }

    @Test func `a share comes by parcel to a peer that is never reachable, and its dealer hears of it`() async throws {
      let report = try await world.share(randomBytes(300_000), threshold: 2)
      #expect(try ada.post.foldersWithParcels() == [office.folders[0]])
      let posted = try office.post(by: 0)
      #expect(posted.count == 2)
      let waiting = try ada.overview.secret(report.id)
      #expect(waiting.deliveries.allSatisfy { $0.state == .unreachable && $0.onItsWay?.folder == office.folders[0] })
      #expect(try ada.overview.status().peers.map(\.onItsWay) == [1, 1])
      try await office.round()
      for member in [1, 2] {
        #expect(try world[member].vault.overview.secret(report.id).summary.ownIndex == member + 1)
      }
      let done = try ada.overview.secret(report.id).deliveries
      #expect(done.allSatisfy { $0.state == .delivered && $0.onItsWay == nil })
      #expect(try ada.overview.status().peers.map(\.onItsWay) == [0, 0])
      let routes = try ada.core.database.deliveries(ofSecret: #require(SecretID(named: report.id))).map(\.route)
      #expect(routes == ["group", "group"])
      // Everything that was posted is out of the group again.
      try await office.round()
      #expect(office.posts.isEmpty)
      #expect(try ada.parcelRecords(.request).isEmpty)
    }

    @Test(arguments: [100, 300_000])
    func `a holder recovers from others that are never reachable`(byteCount: Int) async throws {
      let bytes = randomBytes(byteCount)
      let id = try await share(bytes, threshold: 3)
      #expect(try await office.recover(by: 1, id) == bytes)
      // Nothing is left that opens an answer, and nothing in the group.
      try await office.round()
      #expect(office.posts.isEmpty)
      #expect(try ben.parcelRecords(.request).isEmpty)
      #expect(try world[2].vault.overview.log(limit: 100).contains { $0.event == "share-released" && $0.peer == "ben" })
    }

    @Test func `two of three are enough, and the third one's parcel is withdrawn`() async throws {
      let bytes = randomBytes(50_000)
      let id = try await share(bytes, threshold: 2)
      // Cleo's mailbox is never emptied.
      let office = office
      ben.post.fetchParcels {
        for member in [0, 1] { _ = try? office.post(by: member) }
        for member in [0, 1] { _ = try? office.take(by: member) }
        _ = try? await office.world[0].vault.answering.answerParcels()
        for member in [0, 1] { _ = try? office.post(by: member) }
        _ = try? office.take(by: 1)
      }
      let path = world[1].desk + "/recovered"
      let vault = ben
      world.clock.pass(.seconds(5))
      _ = try await vault.recovering.patiently(for: 600_000, waits: { _, _ in }) { () async throws in
        try await vault.recovering.recover(
          id, to: .file(path: path, overwrites: true), passwords: Recovering.noPassword
        ) { _ in }
      }
      #expect(contents(path) == bytes)
      #expect(office.posts.count == 1)
      try office.post(by: 1)
      #expect(office.posts.isEmpty)
      #expect(try ben.parcelRecords(.request).isEmpty)
    }

    @Test func `an answer that comes before the pause has begun ends it`() async throws {
      let bytes = randomBytes(2000)
      let id = try await share(bytes)
      let (vault, office) = (ben, office)
      let path = world[1].desk + "/recovered"
      // No time passes.
      _ = try await vault.recovering.patiently(for: 600_000, waits: { _, _ in }) { () async throws in
        do {
          return try await vault.recovering.recover(
            id, to: .file(path: path, overwrites: true), passwords: Recovering.noPassword
          ) {
            _ in
          }
        } catch {
          try? await office.round()
          throw error
        }
      }
      #expect(contents(path) == bytes)
    }

    @Test func `without patience nobody is asked by parcel`() async throws {
      let id = try await share([1, 2, 3])
      let error = await refusal { try await world.recover(by: 1, id) }
      #expect(error?.code == .belowThreshold)
      #expect(try ben.parcelRecords(.request).isEmpty)
    }

    @Test func `a holder in no group isn't asked by parcel`() async throws {
      let id = try await share([1, 2, 3])
      for member in 0..<3 { try world[member].vault.post.leaveMailboxes(folder: office.folders[member]) }
      let vault = ben
      let path = world[1].desk + "/recovered"
      world.clock.pass(.milliseconds(100))
      let error = await refusal {
        try await vault.recovering.patiently(for: 100, waits: { _, _ in }) { () async throws in
          try await vault.recovering.recover(
            id, to: .file(path: path, overwrites: true), passwords: Recovering.noPassword
          ) { _ in }
        }
      }
      #expect(error?.code == .belowThreshold)
      #expect(try ben.parcelRecords(.request).isEmpty)
    }

    @Test func `an answer that came after the wait is used by the next recovery`() async throws {
      let bytes = randomBytes(2000)
      let id = try await share(bytes)
      let vault = ben
      let path = world[1].desk + "/recovered"
      world.clock.pass(.milliseconds(50))
      _ = await refusal {
        try await vault.recovering.patiently(for: 50, waits: { _, _ in }) { () async throws in
          try await vault.recovering.recover(
            id, to: .file(path: path, overwrites: true), passwords: Recovering.noPassword
          ) { _ in }
        }
      }
      #expect(try vault.post.foldersWithParcels() == [office.folders[1]])
      try office.post(by: 1)
      #expect(try vault.post.foldersAwaitingAnswers(since: 0) == [office.folders[1]])
      try await office.round()
      #expect(try vault.post.foldersAwaitingAnswers(since: 0).isEmpty)
      #expect(try await world.recover(by: 1, id).bytes == bytes)
      #expect(try ben.parcelRecords(.request).isEmpty)
    }

    @Test func `a session that delivers first withdraws the parcel`() async throws {
      _ = try await world.share(randomBytes(5000), threshold: 2, to: [1])
      try office.post(by: 0)
      #expect(office.posts.count == 1)
      world.set(.none, for: world[1])
      try await ada.tryDeliveries()
      #expect(try ada.post.foldersWithParcels() == [office.folders[0]])
      try office.post(by: 0)
      #expect(office.posts.isEmpty)
      #expect(try ada.post.foldersWithParcels().isEmpty)
    }

    @Test func `a share that came by session and by parcel is there once`() async throws {
      let report = try await world.share(randomBytes(5000), threshold: 2, to: [1])
      let posted = try #require(try office.post(by: 0).first)
      world.set(.none, for: world[1])
      try await ada.tryDeliveries()
      #expect(try ben.takeParcel(posted.bytes, folder: office.folders[1]).isTaken)
      #expect(try await ben.answering.answerParcels())
      let answer = try #require(try office.post(by: 1).first)
      #expect(try ada.takeParcel(answer.bytes, folder: office.folders[0]).isTaken)
      #expect(try ada.overview.secret(report.id).deliveries.map(\.state) == [.delivered])
    }

    @Test func `a parcel that comes twice is answered once, and its answer is posted again`() async throws {
      _ = try await world.share(randomBytes(5000), threshold: 2, to: [1])
      let posted = try #require(try office.post(by: 0).first)
      let folder = office.folders[1]
      #expect(try ben.takeParcel(posted.bytes, folder: folder).isTaken)
      #expect(try ben.takeParcel(posted.bytes, folder: folder).isTaken)
      #expect(try ben.parcelRecords(.received).count == 1)
      #expect(try await ben.answering.answerParcels())
      #expect(try await !ben.answering.answerParcels())
      let answer = try office.post(by: 1)
      #expect(answer.count == 1)
      #expect(try office.post(by: 1).isEmpty)
      // Anybody can bring it again and again.
      #expect(try ben.takeParcel(posted.bytes, folder: folder).isTaken)
      #expect(try office.post(by: 1).isEmpty)
      world.clock.advance(milliseconds: 86_400_000)
      #expect(try ben.takeParcel(posted.bytes, folder: folder).isTaken)
      #expect(try await !ben.answering.answerParcels())
      #expect(try office.post(by: 1) == answer)
      let received = try ben.overview.log(limit: 100).filter { $0.event == "share-received" }
      #expect(received.count == 1)
    }

    @Test func `an unanswered parcel is posted again after a day, and a new one is made when it has expired`()
      async throws
    {
      _ = try await world.share(randomBytes(5000), threshold: 2, to: [1])
      let first = try office.post(by: 0)
      #expect(first.count == 1)
      world.clock.advance(milliseconds: 86_400_000 - 60_000)
      #expect(try office.post(by: 0).isEmpty)
      world.clock.advance(milliseconds: 60_000)
      #expect(try office.post(by: 0) == first)
      world.clock.advance(milliseconds: Post.parcelLifetime)
      #expect(try office.post(by: 0).isEmpty)
      world.clock.advance(milliseconds: Post.sweepDelay)
      let second = try office.post(by: 0)
      #expect(second.count == 1 && second != first)
      #expect(office.posts == second)
    }

    @Test func `what is too large for a parcel waits for a session, and says so`() async throws {
      let report = try await world.share(
        randomBytes(Int(Post.parcelFragmentLimit) * 2 + 100_000), threshold: 2, to: [1])
      #expect(try office.post(by: 0).isEmpty)
      #expect(try ada.post.foldersWithParcels().isEmpty)
      let delivery = try #require(try ada.overview.secret(report.id).deliveries.first)
      #expect(delivery.reason?.contains("too large to go by parcel") == true)
    }

    @Test func `a peer in no group gets no parcel`() async throws {
      try ada.post.leaveMailboxes(folder: office.folders[0])
      ada.post.knowGroup(ParcelOffice.group, folder: office.folders[0])
      try ada.post.noteMailbox(world[2].vault.post.ownMailboxTag(group: ParcelOffice.group), folder: office.folders[0])
      _ = try await world.share([1, 2, 3], threshold: 2)
      #expect(try office.post(by: 0).count == 1)
    }

    @Test func `parcels of a group that is left go by another one`() async throws {
      _ = try await world.share([1, 2, 3], threshold: 2, to: [1])
      #expect(try office.post(by: 0).count == 1)
      try ada.post.leaveMailboxes(folder: office.folders[0])
      let other = [UInt8](repeating: 9, count: 16)
      let folder = [UInt8](repeating: 8, count: 8)
      try ada.post.noteMailbox(ben.post.ownMailboxTag(group: other), folder: folder)
      #expect(try ada.post.parcelsToPost(group: other, folder: folder).count == 1)
    }

    @Test func `what isn't answered for a day takes the next group in which its peer is`() async throws {
      _ = try await world.share([1, 2, 3], threshold: 2, to: [1])
      let first = try office.post(by: 0)
      let other = [UInt8](repeating: 9, count: 16)
      let folder = [UInt8](repeating: 8, count: 8)
      try ada.post.noteMailbox(ben.post.ownMailboxTag(group: other), folder: folder)
      #expect(try ada.post.parcelsToPost(group: other, folder: folder).isEmpty)
      world.clock.advance(milliseconds: 86_400_000)
      #expect(try ada.post.parcelsToPost(group: other, folder: folder) == first)
      #expect(try office.post(by: 0).isEmpty)
      try ada.post.posted(first[0].id)
      #expect(try ada.post.parcelsToPost(group: other, folder: folder).isEmpty)
      // It waits as long again as it has been on its way.
      world.clock.advance(milliseconds: 90_000_000)
      #expect(try office.post(by: 0) == first)
    }

    @Test func `an answer goes where its requester is, whoever has brought the request`() async throws {
      _ = try await world.share([1, 2, 3], threshold: 2, to: [1])
      let posted = try #require(try office.post(by: 0).first)
      // Somebody who is in another group with ben, but not with ada, takes it there.
      let elsewhere = [UInt8](repeating: 8, count: 8)
      ben.post.knowGroup([UInt8](repeating: 9, count: 16), folder: elsewhere)
      #expect(try ben.takeParcel(posted.bytes, folder: elsewhere).isTaken)
      #expect(try await ben.answering.answerParcels())
      #expect(try ben.post.parcelsToPost(group: [UInt8](repeating: 9, count: 16), folder: elsewhere).isEmpty)
      #expect(try office.post(by: 1).count == 1)
    }

    @Test func `a clock that is years ahead for a moment ends nothing`() async throws {
      let id = try await share(randomBytes(3000), threshold: 2)
      let vault = ben
      let path = world[1].desk + "/recovered"
      world.clock.pass(.milliseconds(50))
      _ = await refusal {
        try await vault.recovering.patiently(for: 50, waits: { _, _ in }) { () async throws in
          try await vault.recovering.recover(
            id, to: .file(path: path, overwrites: true), passwords: Recovering.noPassword
          ) { _ in }
        }
      }
      try await office.round()
      #expect(!ben.recovering.answeredParcels().isEmpty)
      let tenYears: Int64 = 10 * 365 * 86_400_000
      try world[1].restart()
      world.clock.turn(milliseconds: tenYears)
      #expect(try await !ben.answering.answerParcels())
      world.clock.advance(milliseconds: 1_000_000)
      #expect(try await !ben.answering.answerParcels())
      world.clock.turn(milliseconds: -tenYears)
      world.clock.advance(milliseconds: 2 * Post.sweepDelay)
      #expect(try await !ben.answering.answerParcels())
      #expect(!ben.recovering.answeredParcels().isEmpty)
      #expect(try await world.recover(by: 1, id).bytes.count == 3000)
    }

    @Test func `a delivery that a peer refuses by parcel is refused`() async throws {
      _ = try ben.core.set("quota-bytes", to: "100K")
      let report = try await world.share(randomBytes(500_000), threshold: 2, to: [1])
      try await office.round()
      let delivery = try #require(try ada.overview.secret(report.id).deliveries.first)
      #expect(delivery.state == .refused && delivery.onItsWay == nil)
      #expect(delivery.reason?.contains(RefusalReason.quotaBytes.explanation) == true)
      #expect(try ben.overview.secrets().isEmpty)
      try await office.round()
      #expect(office.posts.isEmpty)
    }

    @Test func `a share that was deleted doesn't come back by parcel`() async throws {
      let forged = try ForgedSecret(by: world[0], to: [world[1], world[2]], threshold: 2)
      let parcel = try ForgedParcel(world[0], to: world[1])
      #expect(try await parcel.answer(forged.frames(1), by: office, 1)?.depositRefusal == .some(nil))
      _ = try ben.overview.delete(forged.header.id.description)
      let again = try ForgedParcel(world[0], to: world[1])
      #expect(try await again.answer(forged.frames(1), by: office, 1)?.offerRefusal == .deleted)
      #expect(try ben.overview.secrets().isEmpty)
    }

    @Test func `removing a peer ends what is on its way to it and from it`() async throws {
      let report = try await world.share(randomBytes(3000), threshold: 2)
      let posts = try office.post(by: 0)
      for post in posts where ben.post.isOwnParcel(post.tag, post.id) {
        #expect(try ben.takeParcel(post.bytes, folder: office.folders[1]).isTaken)
      }
      _ = try ben.trust.removePeer("ada")
      #expect(try await !ben.answering.answerParcels())
      #expect(try ben.overview.secrets().isEmpty)
      _ = try ada.trust.removePeer("ben")
      _ = try ada.trust.removePeer("cleo")
      try office.post(by: 0)
      #expect(office.posts.isEmpty)
      #expect(try ada.overview.secret(report.id).deliveries.allSatisfy { $0.state == .cancelled })
    }
  }
}
