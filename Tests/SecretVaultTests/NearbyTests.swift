import Glibc
import PeerAuth
import Sodium
import TestTime
import Testing
import VaultProtocol
@testable import VaultStore

@testable import SecretVault

extension VaultTests {
  /// Peers in one room, with Bluetooth.
  @Suite struct Nearby {
    private let room = TestRoom()
    private let headStart = VaultEnvironment.Deadlines.distinct.headStart

    /// Members who all use Bluetooth, and whose network is down unless `hasNetwork`.
    private func world(_ count: Int, hasNetwork: Bool = false, limit: String? = nil) throws -> TestWorld {
      let world = try TestWorld(count, room: room)
      for member in world.members {
        _ = try member.vault.core.set("ble", to: "on")
        if let limit { _ = try member.vault.core.set("ble-limit", to: limit) }
        if !hasNetwork { world.set(.refuses, for: member) }
      }
      return world
    }

    @Test func `two share and recover without a network`() async throws {
      let world = try world(2)
      let report = try await world.share([1, 2, 3], threshold: 2)
      #expect(report.deliveries.map(\.state) == [.delivered])
      #expect(try await world.recover(by: 0).bytes == [1, 2, 3])
      #expect(try await world.recover(by: 1).bytes == [1, 2, 3])
      #expect(try await world[0].vault.links.pingPeer("ben").address == "Bluetooth")
    }

    @Test func `a share takes one connection, and a second one only if the first has broken`() async throws {
      let world = try world(2)
      try await world.share([1, 2, 3], threshold: 2)
      #expect(room.callCount == 1)
      #expect(try await eventually { room.air.openNow == 0 })
      let flag = Flag()
      room.air.set(.dies(after: flag), at: world[1].address)
      let air = room.air
      let report = try await world.share([4, 5, 6], threshold: 2, name: "other") { event in
        guard case .sealed = event else { return }
        air.set(.none, at: world[1].address)
        flag.raise()
      }
      #expect(report.deliveries.map(\.state) == [.delivered])
      #expect(room.callCount == 3)
    }

    @Test(arguments: [3, 100_000, 300_000])
    func `little waits for an answer: each costs a radio two turns`(byteCount: Int) async throws {
      let world = try world(2, limit: "1M")
      let secret = randomBytes(byteCount)
      let report = try await world.share(secret, threshold: 2)
      #expect(report.deliveries.map(\.state) == [.delivered])
      // The key; the proof; card, greeting and question; the share and what goes with it, and the rest if there is more.
      #expect(room.turnCount == (byteCount > 131_072 ? 5 : 4))
      #expect(try await eventually { room.air.openNow == 0 })
      for member in 0..<2 {
        room.resetTurns()
        #expect(try await world.recover(by: member).bytes == secret)
        // The key; the proof; card, greeting, question, its proof and the pieces wanted; then the rest, if there is more, and the goodbye with it.
        #expect(room.turnCount == (byteCount > 131_072 ? 4 : 3))
      }
    }

    @Test func `what was sent ahead to a peer that refuses it is not stored there, and nobody loses anything`()
      async throws
    {
      let world = try world(3)
      _ = try world[1].vault.core.set("confirm-sharing", to: "on")
      let ben = world[1].vault
      let sharing = Task { try await world.share(randomBytes(100_000), threshold: 2) }
      #expect(try await eventually { try ben.consent.requests().count == 1 })
      // Its fragment is half of it.
      #expect(try await eventually { room.air.sent(to: world[1].address) > 50_000 })
      #expect(try FileNames.list(world[1].folders.fragmentsPath).isEmpty)
      _ = try ben.consent.refuseRequest(try #require(try ben.consent.requests().first).id)
      let report = try await sharing.value
      #expect(report.deliveries.map(\.state).sorted { $0.rawValue < $1.rawValue } == [.delivered, .refused])
      #expect(try FileNames.list(world[1].folders.fragmentsPath).isEmpty && ben.overview.secrets().isEmpty)
    }

    @Test func `a share that was cut goes on at the piece it had, and sends nothing ahead again`() async throws {
      let world = try world(2, limit: "1M")
      room.air.set(.diesAfterSending(150_000), at: world[1].address)
      let secret = randomBytes(600_000)
      let report = try await world.share(secret, threshold: 2)
      #expect(report.deliveries.map(\.state) == [.unreachable])
      room.air.set(.none, at: world[1].address)
      #expect(try await eventually { room.air.openNow == 0 })
      let before = room.air.sent(to: world[1].address)
      #expect(try await world[0].vault.sharing.retry(report.id) { _ in }.first?.isFinished == true)
      // Two pieces had come, and the first one of them had been sent ahead.
      let missing = try Int(world[0].header(report.id).dispersal.fragmentByteCount) - 2 * 65_536
      let again = room.air.sent(to: world[1].address) - before
      #expect((missing..<missing + 8000).contains(again), "\(again) of \(missing)")
      #expect(try await world.recover(by: 1).bytes == secret)
    }

    @Test func `a recovery that is cut again and again asks each time for the piece that it lacks`() async throws {
      let world = try world(2, limit: "1M")
      let secret = randomBytes(600_000)
      try await world.share(secret, threshold: 2)
      room.air.set(.diesAfterReceiving(150_000), at: world[1].address)
      // Twice as much is needed as one connection carries.
      #expect(try await world.recover(by: 0).bytes == secret)
    }

    @Test func `a share that comes to nothing leaves no connection open`() async throws {
      let world = try world(3)
      _ = try world[2].vault.core.set("quota-bytes", to: "1")
      await #expect(throws: VaultError.self) { try await world.share([1], threshold: 2, to: [1, 2]) }
      // Without waiting for the time that one is kept.
      #expect(try await eventually { room.air.openNow == 0 })
      #expect(room.callCount == 2)
    }

    @Test func `of many in the room only a few are kept waiting for their shares`() async throws {
      let world = try world(6)
      let flag = Flag()
      let air = room.air
      let report = try await world.share([1, 2, 3], threshold: 2) { event in
        guard case .sealed = event else { return }
        // Whoever is let go at once has heard of it by now.
        while true {
          let before = Happenings.ends.count
          guard air.openNow > KeptConversations.nearbyLimit else { break }
          Happenings.ends.block(beyond: before)
        }
        if air.openNow == KeptConversations.nearbyLimit { flag.raise() }
      }
      #expect(flag.isUp)
      #expect(report.isFinished)
      #expect(room.callCount == 5 + 5 - KeptConversations.nearbyLimit)
    }

    @Test func `a peer that only listens is asked before it greets`() async throws {
      let world = try world(2)
      let ben = world[1].vault
      room.air.serve(world[1].address) { transport in
        guard let card = try? ben.core.ownCard(),
          let session = try? await PeerSession.answer(
            transport, identity: ben.core.identity, ownCard: card,
            trust: { key in
              (try? ben.core.database.peer(noiseKey: key)).flatMap { try? ben.directory.storedCard($0).keys }
            })
        else { return }
        _ = try? await session.expect(Hello.self)
        guard let probe = try? await session.expect(Probe.self) else { return }
        try? await session.send(Hello(services: PeerServiceKind.allCases))
        try? await session.send(ProbeAnswer(request: probe.request, refusal: .busy))
        _ = try? await session.nextType()
        await session.close()
      }
      let recipient = try world[0].vault.directory.recipient(world[0].vault.directory.find("ben"))
      let failure = try #require(
        await #expect(throws: LinkFailure.self) {
          try await world[0].vault.links.ask(ProbeAsker(byteCount: 5), of: recipient)
        })
      #expect(failure.refusal == .busy)
    }

    @Test func `with Bluetooth off nobody is looked for, nobody is found, and nobody is told who is near`() async throws
    {
      let world = try world(2)
      _ = try world[0].vault.core.set("ble", to: "off")
      await #expect(throws: VaultError.self) { _ = try await world[0].vault.links.pingPeer("ben") }
      #expect(room.callCount == 0)
      await #expect(throws: VaultError.self) { _ = try await world[1].vault.links.pingPeer("ada") }
      #expect(room.callCount == 1)
    }

    @Test func `a peer that answers on the network costs no radio, and one that doesn't is found in the room`()
      async throws
    {
      let world = try TestWorld(2, room: room)
      for member in world.members { _ = try member.vault.core.set("ble", to: "on") }
      #expect(try await world[0].vault.links.pingPeer("ben").address == world[1].address.description)
      #expect(room.callCount == 0)
      let both = try self.world(2, hasNetwork: true)
      both.set(.hangs, for: both[1])
      both.clock.skip(headStart)
      #expect(try await both[0].vault.links.pingPeer("ben").address == "Bluetooth")
    }

    @Test func `of two ways that both work the first counts, and the other one is let go`() async throws {
      let world = try world(2, hasNetwork: true)
      let flag = Flag()
      room.air.set(.waits(for: flag), at: world[1].address)
      world.clock.skip(headStart)
      #expect(try await world[0].vault.links.pingPeer("ben").address == world[1].address.description)
      flag.raise()
      #expect(try await eventually { room.air.openNow == 0 })
    }

    @Test func `a peer that is nowhere is told of with both reasons`() async throws {
      let world = try world(2)
      room.leave(world[1])
      let error = await #expect(throws: VaultError.self) { _ = try await world[0].vault.links.pingPeer("ben") }
      #expect(error?.code == .unreachable)
      let reason = error?.reason ?? ""
      #expect(reason.contains("connection refused") && reason.contains("not heard over Bluetooth"), "\(reason)")
    }

    @Test func `what is larger than the limit is told before anything is sent, and goes by network`() async throws {
      let world = try world(2, hasNetwork: true)
      try await world.prove()
      room.air.resetCounts()
      _ = try world[0].vault.core.set("ble-limit", to: "1000")
      let report = try await world.share([UInt8](repeating: 7, count: 30_000), threshold: 2)
      #expect(report.deliveries.map(\.state) == [.delivered])
      #expect(room.air.sent(to: world[1].address) == 0)
      world.set(.refuses, for: world[1])
      let waiting = try await world.share([UInt8](repeating: 7, count: 30_000), threshold: 2, name: "other")
      #expect(waiting.deliveries.map(\.state) == [.unreachable])
      #expect(waiting.deliveries[0].reason?.contains("ble-limit") == true)
      #expect(room.air.sent(to: world[1].address) == 0)
    }

    @Test func `what the other side lets go over Bluetooth counts, too, and the rest goes by network`() async throws {
      let world = try world(2, hasNetwork: true)
      try await world.prove()
      let bytes = [UInt8](repeating: 7, count: 100_000)
      _ = try world[1].vault.core.set("ble-limit", to: "1000")
      // The network is slower than the air, but takes it.
      world.set(.slow(.milliseconds(100)), for: world[1])
      world.clock.skip(headStart)
      let before = room.callCount
      world.network.resetCounts()
      let sharing = Task { try await world.share(bytes, threshold: 2) }
      // It is called a second time when the air was of no use.
      #expect(try await eventually { world.network.dialled.count == 2 })
      world.clock.skip(.milliseconds(100))
      let report = try await sharing.value
      #expect(report.deliveries.map(\.state) == [.delivered])
      #expect(room.callCount > before)

      world.set(.refuses, for: world[1])
      room.air.resetCounts()
      let waiting = try await world.share(bytes, threshold: 2, name: "other")
      #expect(waiting.deliveries.map(\.state) == [.unreachable])
      #expect(waiting.deliveries[0].reason?.contains("ble-limit") == true)
      #expect(room.air.sent(to: world[1].address) < 20_000)
      // It isn't refused for ever.
      _ = try world[1].vault.core.set("ble-limit", to: "1M")
      let retried = try #require(try await world[0].vault.sharing.retry(waiting.id) { _ in }.first)
      #expect(retried.deliveries.map(\.state) == [.delivered])
    }

    @Test func `an item that is larger than the other side lets go over Bluetooth is refused there`() async throws {
      let world = try world(2)
      _ = try await world[0].vault.items.createKey(named: "family", threshold: 2, recipients: ["ben"]) { _ in }
      let path = try world.scratch.write([UInt8](repeating: 7, count: 5000), as: "letter.txt")
      let item = try await world[0].vault.items.addItem(ItemRequest(source: .file(path: path)), under: "family")
      _ = try world[1].vault.core.set("ble-limit", to: "1000")
      let error = await #expect(throws: VaultError.self) {
        _ = try await world[0].vault.items.sendItem(item.id, to: "ben")
      }
      #expect(error?.reason.contains("ble-limit") == true)
      _ = try world[1].vault.core.set("ble-limit", to: "6000")
      #expect(try await !world[0].vault.items.sendItem(item.id, to: "ben").isKnown)
    }

    @Test func `nobody recovers more over Bluetooth than this device lets go there, and nothing is released for it`()
      async throws
    {
      let world = try world(2, hasNetwork: true)
      try await world.share([UInt8](repeating: 7, count: 30_000), threshold: 2)
      world.set(.refuses, for: world[1])
      _ = try world[1].vault.core.set("ble-limit", to: "1000")
      let problems = Collected<String>()
      await #expect(throws: VaultError.self) {
        _ = try await world.recover(by: 0) { if case .problem(_, let reason) = $0 { problems.add(reason) } }
      }
      #expect(problems.all.contains { $0.contains("ble-limit") })
      #expect(try !world[1].vault.overview.log(limit: 100).map(\.event).contains("share-released"))
      _ = try world[1].vault.core.set("ble-limit", to: "100000")
      #expect(try await world.recover(by: 0).bytes.count == 30_000)
    }

    @Test(arguments: [("100000", "10M"), ("10M", "100000")])
    func `a drill over Bluetooth looks at no more pieces than either side lets go there`(
      own: String, other: String
    ) async throws {
      let world = try world(2, hasNetwork: true)
      try await world.share(randomBytes(1_000_000), threshold: 2)
      world.set(.refuses, for: world[1])
      _ = try world[0].vault.core.set("ble-limit", to: own)
      _ = try world[1].vault.core.set("ble-limit", to: other)
      let report = try await world.check(by: 0)
      #expect(report.pieceCount > 2)
      #expect(report.holders.map(\.state) == [.answered] && report.holders.map(\.piecesSeen) == [1])
    }

    @Test func `what this device has begun in the air ends when Bluetooth is switched off`() async throws {
      let world = try world(3)
      for member in world.members { _ = try member.vault.core.set("ble-limit", to: "10M") }
      let forged = try ForgedSecret(by: world[0], to: [world[1], world[2]], threshold: 2, byteCount: 4_000_000)
      // No piece arrives.
      room.air.set(.drips(.drip), at: world[1].address)
      let vault = world[0].vault
      let off = try forged.job(
        1,
        piece: { number in
          _ = try vault.core.set("ble", to: "off")
          Happenings.deed()
          return forged.piece(1, number)
        })
      let failure = try await forged.deliver(off, to: world[1])
      #expect(failure?.kind == .cutOff && failure?.reason.contains("switched off") == true)
      #expect(try await eventually { room.air.openNow == 0 })

      _ = try vault.core.set("ble", to: "on")
      room.air.set(.waits(for: Flag()), at: world[1].address)
      let before = room.callCount
      let connecting = Task { _ = try await vault.links.pingPeer("ben") }
      _ = try await eventually { room.callCount > before }
      _ = try vault.core.set("ble", to: "off")
      Happenings.deed()
      let error = await #expect(throws: VaultError.self) { try await connecting.value }
      #expect(error?.reason.contains("switched off") == true)
    }

    @Test func `a deposit that was cut in the air goes on at the piece where it stopped`() async throws {
      let world = try world(3)
      for member in world.members { _ = try member.vault.core.set("ble-limit", to: "10M") }
      let forged = try ForgedSecret(by: world[0], to: [world[1], world[2]], threshold: 2, byteCount: 1_000_000)
      room.air.set(.diesAfterSending(330_000), at: world[1].address)
      #expect(try await forged.deliver(forged.job(1), to: world[1])?.kind == .cutOff)
      room.air.set(.none, at: world[1].address)
      let sent = Counter()
      #expect(try await forged.deliverOnceFree(forged.job(1, progress: { _ in sent.increment() }), to: world[1]) == nil)
      #expect(sent.value < 8 && sent.value >= 3)
    }

    @Test func `a deposit that was cut in the air goes on by network where the peer answers by now`() async throws {
      let world = try world(3, hasNetwork: true)
      for member in world.members { _ = try member.vault.core.set("ble-limit", to: "10M") }
      let forged = try ForgedSecret(by: world[0], to: [world[1], world[2]], threshold: 2, byteCount: 1_000_000)
      world.set(.refuses, for: world[1])
      room.air.set(.diesAfterSending(330_000), at: world[1].address)
      let sent = Counter()
      let job = try forged.job(
        1,
        progress: { _ in
          sent.increment()
          world.set(.none, for: world[1])
        })
      #expect(try await forged.deliver(job, to: world[1]) == nil)
      #expect(room.callCount == 1)
      // Eight pieces, of which the one or two on the line are sent twice.
      #expect((8...10).contains(sent.value))
      #expect(try world[1].vault.overview.secret(forged.header.id.description).summary.ownIndex == 1)
    }

    @Test func `a share that is cut in the air after the question goes on by network, too`() async throws {
      let world = try world(2, hasNetwork: true)
      for member in world.members { _ = try member.vault.core.set("ble-limit", to: "10M") }
      world.set(.refuses, for: world[1])
      room.air.set(.diesAfterSending(330_000), at: world[1].address)
      let report = try await world.share(randomBytes(1_000_000), threshold: 2) { event in
        if case .sealed = event { world.set(.none, for: world[1]) }
      }
      #expect(report.deliveries.map(\.state) == [.delivered])
      #expect(room.callCount == 1 && world.network.dialled.count == 2)
    }

    @Test func `what is cut in the air goes on at the addresses that are known by now, not when it was asked about`()
      async throws
    {
      let world = try world(3, hasNetwork: true)
      for member in world.members { _ = try member.vault.core.set("ble-limit", to: "10M") }
      let forged = try ForgedSecret(by: world[0], to: [world[1], world[2]], threshold: 2, byteCount: 1_000_000)
      room.air.set(.diesAfterSending(330_000), at: world[1].address)
      let vault = world[0].vault
      let now = try vault.directory.recipient(vault.directory.find("ben"))
      let before = Recipient(name: now.name, keys: now.keys, addresses: [], nearby: now.nearby)
      let job = try forged.job(1)
      try await vault.links.ask(ProbeAsker(byteCount: job.byteCount), of: before)
      try await vault.links.ask(job, of: now)
      #expect(room.callCount == 1 && world.network.dialled.count == 1)
    }

    @Test func `whoever is removed recognises this device no more`() async throws {
      let world = try world(2)
      let before = try world[0].vault.directory.beaconTag()
      #expect(try world[1].vault.directory.peersByTag()[before] == "ada")
      _ = try world[0].vault.trust.removePeer("ben")
      let after = try world[0].vault.directory.beaconTag()
      #expect(after != before)
      #expect(try world[1].vault.directory.peersByTag()[after] == nil)
    }

    @Test func `a card without a beacon key is no way to find anybody`() async throws {
      let world = try TestWorld(2, everybodyMeets: false, room: room)
      for member in world.members {
        _ = try member.vault.core.set("ble", to: "on")
        world.set(.refuses, for: member)
      }
      _ = try world[0].vault.trust.addPeer(try PeerCard.parse(text: world[1].vault.core.ownIdentity().text), name: nil)
      await #expect(throws: VaultError.self) { _ = try await world[0].vault.links.pingPeer("ben") }
      #expect(room.callCount == 0)
      #expect(try world[0].vault.directory.peersByTag().isEmpty)
    }
  }
}
