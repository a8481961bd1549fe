import PeerAuth
import Sodium
import Testing
import VaultProtocol

@testable import SecretVault
@testable import VaultStore

extension VaultTests {
  /// Parcels that wait for the user of the device to which they came.
  @Suite struct ParcelConsent {
    let world: TestWorld
    let office: ParcelOffice
    let forged: ForgedSecret

    init() async throws {
      world = try TestWorld(3)
      office = try ParcelOffice(world)
      forged = try ForgedSecret(by: world[0], to: [world[1], world[2]], threshold: 2, description: "house keys")
      try await forged.deliverAll()
      world.cutOff()
      _ = try world[1].vault.core.set("notify-command", to: "tell")
    }

    private var ben: Vault { world[1].vault }

    private func told(_ event: String) -> Int {
      world.notifications.told(to: world[1]).count { $0.event.event == event }
    }

    /// Cleo asks ben for his share.
    private func ask() throws -> ForgedParcel {
      let parcel = try ForgedParcel(world[2], to: world[1])
      let sealed = try parcel.sealed(parcel.frames(forged.header))
      #expect(try ben.takeParcel(sealed, folder: office.folders[1]).isTaken)
      return parcel
    }

    /// What ben's device has said to a parcel so far.
    private func answer(to parcel: ForgedParcel) throws -> [ParcelFrame]? {
      let keys = ben.core.identity.keys
      for post in try office.post(by: 1) {
        let letter = try ParcelLetter.open(
          Parcel.decode(post.bytes, limit: Parcel.byteLimit), with: parcel.sender.vault.core.identity
        ) { _ in keys }
        if letter.inReplyTo == parcel.envelope.id { return letter.frames }
      }
      return nil
    }

    private func only() throws -> VaultRequest {
      let requests = try ben.consent.requests().filter { $0.state == .waiting }
      #expect(requests.count == 1)
      return try #require(requests.first)
    }

    @Test func `a request that the user is asked about is answered when he has said yes`() async throws {
      _ = try ben.core.set("release-policy", to: "ask")
      let parcel = try ask()
      for _ in 0..<3 { #expect(try await !ben.answering.answerParcels()) }
      #expect(try answer(to: parcel) == nil)
      #expect(told("release-requested") == 1)
      let lines = try ben.overview.log(limit: 100).count { $0.event == "release-awaited" }
      #expect(lines == 0)
      _ = try await ben.consent.approveRequest(only().id)
      #expect(try await ben.answering.answerParcels())
      #expect(try answer(to: parcel)?.hasRelease == true)
    }

    @Test func `a request that the user refuses is answered with his no`() async throws {
      _ = try ben.core.set("release-policy", to: "ask")
      let parcel = try ask()
      #expect(try await !ben.answering.answerParcels())
      _ = try ben.consent.refuseRequest(only().id)
      #expect(try await ben.answering.answerParcels())
      #expect(try answer(to: parcel)?.refusal == .notAccepted)
    }

    @Test func `a request that waits for its time is answered when that has come`() async throws {
      _ = try ben.core.set("release-policy", to: "delay:2d")
      let parcel = try ask()
      #expect(try await !ben.answering.answerParcels())
      world.clock.advance(milliseconds: 2 * 86_400_000 - 60_000)
      #expect(try await !ben.answering.answerParcels())
      #expect(try answer(to: parcel) == nil)
      world.clock.advance(milliseconds: 61_000)
      #expect(try await ben.answering.answerParcels())
      #expect(try answer(to: parcel)?.hasRelease == true)
    }

    @Test func `a veto ends the waiting`() async throws {
      _ = try ben.core.set("release-policy", to: "delay:2d")
      let parcel = try ask()
      #expect(try await !ben.answering.answerParcels())
      _ = try ben.consent.refuseRequest(only().id)
      #expect(try await ben.answering.answerParcels())
      #expect(try answer(to: parcel)?.refusal == .notAccepted)
    }

    @Test func `a request that waits is met when its policy becomes another`() async throws {
      _ = try ben.core.set("release-policy", to: "ask")
      let parcel = try ask()
      #expect(try await !ben.answering.answerParcels())
      _ = try ben.consent.setReleasePolicy(.auto, of: forged.header.id.description)
      #expect(try await ben.answering.answerParcels())
      #expect(try answer(to: parcel)?.hasRelease == true)
    }

    @Test func `a request that nobody has decided about expires unanswered`() async throws {
      _ = try ben.core.set("release-policy", to: "ask")
      let parcel = try ask()
      #expect(try await !ben.answering.answerParcels())
      for time in [Post.parcelLifetime + 3_600_000, Post.sweepDelay] {
        world.clock.advance(milliseconds: time)
        #expect(try await !ben.answering.answerParcels())
      }
      #expect(try answer(to: parcel) == nil)
      #expect(try ben.parcelRecords(.received).isEmpty)
    }

    @Test func `a request that waits is still there after a restart`() async throws {
      _ = try ben.core.set("release-policy", to: "ask")
      let parcel = try ask()
      #expect(try await !ben.answering.answerParcels())
      try world[1].restart()
      ben.post.knowGroup(ParcelOffice.group, folder: office.folders[1])
      #expect(try await !ben.answering.answerParcels())
      _ = try await ben.consent.approveRequest(only().id)
      #expect(try await ben.answering.answerParcels())
      #expect(try answer(to: parcel)?.hasRelease == true)
      #expect(told("release-requested") == 1)
    }

    // MARK: - Deposits

    /// Ada sends ben a share while his user wants to be asked.
    private func offer(_ other: ForgedSecret) async throws -> ForgedParcel {
      _ = try ben.core.set("confirm-sharing", to: "on")
      let parcel = try ForgedParcel(world[0], to: world[1], lifetime: Post.parcelLifetime)
      #expect(try ben.takeParcel(parcel.sealed(other.frames(1)), folder: office.folders[1]).isTaken)
      #expect(try await !ben.answering.answerParcels())
      return parcel
    }

    private func another() throws -> ForgedSecret {
      try ForgedSecret(
        by: world[0], to: [world[1], world[2]], threshold: 2, byteCount: 100_000, description: "a letter")
    }

    @Test func `a share that the user approves is kept, and nothing of it before`() async throws {
      let other = try another()
      let parcel = try await offer(other)
      let request = try only()
      #expect(request.kind == .deposit && request.peer == "ada" && request.description == "a letter")
      #expect(told("deposit-requested") == 1)
      #expect(try await !ben.answering.answerParcels())
      #expect(try ben.overview.secrets().count == 1 && ben.core.database.share(ofSecret: other.header.id) == nil)
      // Nobody waits at the other end, so there is all the time until the parcel expires.
      world.clock.advance(milliseconds: 10 * 86_400_000)
      #expect(try await !ben.answering.answerParcels())
      let vault = ben
      let approval = Task { try await vault.consent.approveRequest(request.id) }
      // The daemon looks once a second.
      try await onceFree(after: .deeds) { try await ben.answering.answerParcels() ? () : nil }
      #expect(try await approval.value.kind == .deposit)
      #expect(try answer(to: parcel)?.depositRefusal == .some(nil))
      #expect(try ben.overview.secret(other.header.id.description).summary.ownIndex == 1)
      #expect(try ben.consent.requests().isEmpty)
      #expect(told("deposit-requested") == 1)
    }

    @Test func `an approval without a daemon holds until parcels are answered next`() async throws {
      let other = try another()
      _ = try await offer(other)
      let (vault, id) = (ben, try only().id)
      let approval = Task { try await vault.consent.approveRequest(id) }
      // Nobody takes it up in time.
      await world.clock.isAwaited(.seconds(5))
      world.clock.advance(milliseconds: 5000)
      _ = try await approval.value
      #expect(try ben.core.database.share(ofSecret: other.header.id) == nil)
      #expect(try await ben.answering.answerParcels())
      #expect(try ben.overview.secret(other.header.id.description).summary.ownIndex == 1)
    }

    @Test func `a share that the user refuses is refused`() async throws {
      let other = try another()
      let parcel = try await offer(other)
      _ = try ben.consent.refuseRequest(only().id)
      #expect(try await ben.answering.answerParcels())
      #expect(try answer(to: parcel)?.offerRefusal == .notAccepted)
      #expect(try ben.consent.requests().isEmpty && ben.overview.secrets().count == 1)
    }

    @Test func `another header of the same secret takes nobody's place, and the user's word isn't lost`() async throws {
      let other = try another()
      _ = try await offer(other)
      let id = try only().id
      let twin = try ForgedSecret(
        by: world[0], to: [world[1], world[2]], threshold: 2, nonce: other.content.nonce, description: "another letter")
      #expect(twin.header.id == other.header.id && twin.header.digest != other.header.digest)
      _ = try await offer(twin)
      for _ in 0..<3 {
        world.clock.advance(milliseconds: 60_000)
        #expect(try await !ben.answering.answerParcels())
      }
      #expect(try only().id == id)
      let vault = ben
      let approval = Task { try await vault.consent.approveRequest(id) }
      try await onceFree(after: .deeds) { try await ben.answering.answerParcels() ? () : nil }
      _ = try await approval.value
      #expect(try ben.overview.secret(other.header.id.description).summary.description == "a letter")
    }

    @Test func `a daemon that starts asks no second time`() async throws {
      let other = try another()
      _ = try await offer(other)
      let id = try only().id
      try ben.consent.dropWaitingDeposits()
      #expect(try await !ben.answering.answerParcels())
      #expect(try only().id == id)
      #expect(told("deposit-requested") == 1)
    }
  }
}
