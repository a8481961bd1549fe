import PeerAuth
import Sodium
import TestTime
import Testing

@testable import SecretVault

extension VaultTests {
  @Suite struct UnprovenPeers {
    @Test func `a peer that has not imported this device's key says so, with a hint`() async throws {
      let world = try TestWorld(2, everybodyMeets: false)
      try world[0].meets(world[1])
      let failure = try #require(await refusal { try await world[0].vault.links.pingPeer("ben") })
      #expect(failure.code == .refused && failure.reason == "ben has not imported your key")
      #expect(failure.hint?.contains("show ben the QR code") == true)
      #expect(try world[0].vault.trust.peer("ben").state == .scanned)
      #expect(try await eventually { try world[1].vault.overview.log(limit: 1).first?.event == "refused" })
    }

    @Test func `the first session makes a scanned peer a proven one on both sides`() async throws {
      let world = try TestWorld(2)
      #expect(try world[0].vault.trust.peer("ben").state == .scanned)
      let ping = try await world[0].vault.links.pingPeer("ben")
      #expect(ping.peer.state == .proven && ping.address == "ben:4721")
      #expect(try await eventually { try world[1].vault.trust.peer("ada").state == .proven })
      #expect(try world[0].vault.trust.peer("ben").lastSeenAt != nil)
    }

    @Test func `what is sealed to a peer that was never met waits, and is its own once it has proved its card`()
      async throws
    {
      let world = try TestWorld(4)
      world.set(.refuses, for: world[3])
      let report = try await world.share([1], threshold: 2)
      #expect(report.leftOut.isEmpty && report.shareCount == 4 && !report.isFinished && report.isRecoverable)
      #expect(report.deliveries.map(\.state) == [.delivered, .delivered, .unreachable])
      #expect(try world[0].vault.trust.peer("dan").state == .scanned)
      world.set(.none, for: world[3])
      #expect(try await world[0].vault.sharing.retry(report.id) { _ in }.first?.isFinished == true)
      #expect(try world[0].vault.trust.peer("dan").state == .proven)
      #expect(try await world.recover(by: 3, report.id).bytes == [1])
    }

    @Test func `with all away whom nobody has met all shares wait`() async throws {
      let world = try TestWorld(3)
      for member in 1...2 { world.set(.refuses, for: world[member]) }
      let report = try await world.share([1], threshold: 3, to: [1, 2])
      #expect(report.placed == 1 && !report.isRecoverable && report.deliveries.count == 2)
    }

    @Test func `a chosen peer that refuses ends it, and nothing is shared`() async throws {
      let world = try TestWorld(3)
      _ = try world[1].vault.trust.removePeer("ada")
      let failure = try #require(await refusal { try await world.share([1], threshold: 2, to: [1, 2]) })
      #expect(failure.code == .refused && failure.reason == "ben has not imported your key; nothing was shared")
      #expect(try world[0].vault.overview.secrets().isEmpty && world[2].vault.overview.secrets().isEmpty)
      #expect(try FileList(world[0].folders.fragmentsPath).names.isEmpty)
      #expect(try FileList(world[0].folders.stagingPath).names.isEmpty)
    }

    @Test func `somebody else at a peer's address is not taken for it`() async throws {
      let world = try TestWorld(3)
      world.network.serve(world[1].address) { [world] in await world[2].vault.answering.answer($0) }
      let failure = try #require(await refusal { try await world[0].vault.links.pingPeer("ben") })
      #expect(failure.code != .unreachable || failure.reason.contains("ended the connection"))
      #expect(try world[0].vault.trust.peer("ben").state == .scanned)
    }

    @Test func `a peer that listens at several addresses is found at any`() async throws {
      let world = try TestWorld(2)
      let dead = try PeerAddress(host: "nowhere", port: 1)
      _ = try world[0].vault.trust.setPeerAddresses("ben", to: [dead])
      #expect(try world[0].vault.trust.peer("ben").addresses == [dead, world[1].address])
      #expect(try await world[0].vault.links.pingPeer("ben").address == "ben:4721")
    }

    @Test func `a peer's new address reaches others with the next session, signed`() async throws {
      let world = try TestWorld(2)
      _ = try await world[0].vault.links.pingPeer("ben")
      let other = try PeerAddress(host: "elsewhere", port: 99)
      _ = try world[1].vault.core.setOwnAddresses([world[1].address, other])
      _ = try await world[0].vault.links.pingPeer("ben")
      #expect(try world[0].vault.trust.peer("ben").addresses == [world[1].address, other])
    }

    @Test func `a peer that hangs holds up nobody longer than the deadline`() async throws {
      let world = try TestWorld(3)
      world.set(.hangs, for: world[2])
      let sharing = Task {
        try await world.share([1, 2], threshold: 2) { event in
          guard case .plan = event else { return }
          world.set(.refuses, for: world[2])
        }
      }
      // Ben has answered, and both know that.
      #expect(
        try await eventually {
          try world[0].vault.trust.peer("ben").state == .proven && world[1].vault.trust.peer("ada").state == .proven
        })
      // The deadline of whom is asked whether it would take a share, and of no session behind that.
      await world.clock.passOnce(VaultEnvironment.Deadlines.distinct.handshake)
      let report = try await sharing.value
      #expect(report.leftOut.isEmpty && report.deliveries.map(\.state) == [.delivered, .unreachable], "\(report)")
    }
  }
}
