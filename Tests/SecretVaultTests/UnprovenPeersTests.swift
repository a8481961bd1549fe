import PeerAuth
import Sodium
import Testing

@testable import SecretVault

extension VaultTests {
  @Suite struct UnprovenPeers {
    @Test func `a peer that has not imported this device's key says so, with a hint`() async throws {
      let world = try TestWorld(2, everybodyMeets: false)
      try world[0].meets(world[1])
      let failure = try #require(await refusal { try await world[0].vault.pingPeer("ben") })
      #expect(failure.code == .refused && failure.reason == "ben has not imported your key")
      #expect(failure.hint?.contains("show ben the QR code") == true)
      #expect(try world[0].vault.peer("ben").state == .scanned)
      #expect(try await eventually { try world[1].vault.log(limit: 1).first?.event == "refused" })
    }

    @Test func `the first session makes a scanned peer a proven one on both sides`() async throws {
      let world = try TestWorld(2)
      #expect(try world[0].vault.peer("ben").state == .scanned)
      let ping = try await world[0].vault.pingPeer("ben")
      #expect(ping.peer.state == .proven && ping.address == "ben:4721")
      #expect(try await eventually { try world[1].vault.peer("ada").state == .proven })
      #expect(try world[0].vault.peer("ben").lastSeenAt != nil)
    }

    @Test func `a peer never proven and not reachable is left out and named, and nothing is sealed to it`() async throws
    {
      let world = try TestWorld(4)
      world.set(.refuses, for: world[3])
      let leftOut = Collected<String>()
      let report = try await world.share([1], threshold: 2) { event in
        if case .leftOut(let peer, let reason, let hint) = event { leftOut.add("\(peer) \(reason) \(hint ?? "")") }
      }
      #expect(report.leftOut == ["dan"] && report.shareCount == 3 && report.isFinished)
      #expect(leftOut.all.count == 1)
      #expect(
        leftOut.all.first?.hasPrefix("dan unreachable: connection refused a new peer must be reachable once") == true)
    }

    @Test func `with too few peers that can take part nothing is shared`() async throws {
      let world = try TestWorld(3)
      world.set(.refuses, for: world[2])
      let failure = try #require(await refusal { try await world.share([1], threshold: 3) })
      #expect(failure.reason.contains("cleo") && failure.reason.contains("nothing was shared"))
      #expect(try world[0].vault.secrets().isEmpty && world[1].vault.secrets().isEmpty)
      #expect(try FileList(world[0].folders.fragmentsPath).names.isEmpty)
      #expect(try FileList(world[0].folders.stagingPath).names.isEmpty)
    }

    @Test func `somebody else at a peer's address is not taken for it`() async throws {
      let world = try TestWorld(3)
      world.network.serve(world[1].address) { [world] in await world[2].vault.answer($0) }
      let failure = try #require(await refusal { try await world[0].vault.pingPeer("ben") })
      #expect(failure.code != .unreachable || failure.reason.contains("ended the connection"))
      #expect(try world[0].vault.peer("ben").state == .scanned)
    }

    @Test func `a peer that listens at several addresses is found at any`() async throws {
      let world = try TestWorld(2)
      let dead = try PeerAddress(host: "nowhere", port: 1)
      _ = try world[0].vault.setPeerAddresses("ben", to: [dead])
      #expect(try world[0].vault.peer("ben").addresses == [dead, world[1].address])
      #expect(try await world[0].vault.pingPeer("ben").address == "ben:4721")
    }

    @Test func `a peer's new address reaches others with the next session, signed`() async throws {
      let world = try TestWorld(2)
      _ = try await world[0].vault.pingPeer("ben")
      let other = try PeerAddress(host: "elsewhere", port: 99)
      _ = try world[1].vault.setOwnAddresses([world[1].address, other])
      _ = try await world[0].vault.pingPeer("ben")
      #expect(try world[0].vault.peer("ben").addresses == [world[1].address, other])
    }

    @Test func `a peer that hangs holds up nobody longer than the deadline`() async throws {
      let world = try TestWorld(3, deadlines: .short)
      world.set(.hangs, for: world[2])
      let began = ContinuousClock.now
      let report = try await world.share([1, 2], threshold: 2)
      #expect(report.leftOut == ["cleo"] && report.isFinished)
      #expect(ContinuousClock.now - began < .seconds(60))
    }
  }
}
