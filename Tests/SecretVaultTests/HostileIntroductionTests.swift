import ShamirKit
import Sodium
import Testing
import VaultProtocol

@testable import PeerAuth
@testable import SecretVault
@testable import VaultStore

extension VaultTests {
  /// What a dealer, somebody who was introduced, or an ordinary peer can't do with introductions.
  @Suite struct HostileIntroductions {
    // MARK: Somebody who was introduced

    @Test func `somebody who was introduced can ask for nothing else`() async throws {
      let circle = try await Circle()
      let (world, header) = (circle.world, circle.header)
      let forged = try ForgedSecret(by: world[2], to: [world[1], world[3]], threshold: 2)
      let group = GroupLetter(request: 1, purpose: .invitation, content: [1])
      let meeting = CourierGreeting(request: 1, copies: [], takes: true, receipts: [])
      let introduction = Introduction(request: 1, secret: header.id, index: 2, sealed: [1])
      let item = ItemOffer(request: 1, digest: header.digest, header: [1])
      let offer = Offer(request: 1, index: 1, sealedShare: try forged.sealed(1), header: forged.header.bytes)
      let cleo = try await HostileRequester(world[2], dials: world[1], in: world)
      for message in [
        Ping(request: 1), Probe(request: 1, fragmentByteCount: 1), offer, item, group, meeting, introduction,
      ] as [any PeerMessage] {
        let type = type(of: message).type
        try await cleo.session.send(message)
        #expect(try await cleo.session.expect(Unsupported.self).requestType == type.rawValue)
      }
      #expect(try world[1].vault.overview.secrets().count == 1)
      // The session goes on, and what it may ask for it gets.
      let nonce = try await cleo.ask(header)
      #expect(try await cleo.submit(cleo.proof(header, nonce: nonce)) == nil)
    }

    @Test func `it is greeted with what it may ask for`() async throws {
      let circle = try await Circle()
      let (ben, cleo) = (circle.world[1], circle.world[2])
      let transport = try await circle.world.network.connect(ben.address)
      let session = try await PeerSession.dial(
        transport, identity: cleo.vault.core.identity, peer: ben.vault.core.identity.keys,
        ownCard: try cleo.vault.core.ownCard())
      try await session.send(Hello(services: PeerServiceKind.allCases))
      #expect(try await session.expect(Hello.self).services == [2, 3, 5, 8, 10])
      await session.close()
    }

    @Test func `for another secret it is somebody who holds nothing`() async throws {
      let circle = try await Circle()
      // A secret of which cleo has a share by theft, and ben another: nobody has introduced cleo for it.
      let path = try circle.world.scratch.write([1, 2, 3], as: "other.txt")
      let other = try await circle.world[0].vault.sharing.share(
        ShareRequest(source: .file(path: path), threshold: 2, recipients: ["ben", "cleo"], includesLabels: false)
      ) { _ in }
      let header = try circle.world[0].header(other.id)
      let cleo = try await HostileRequester(circle.world[2], dials: circle.world[1], in: circle.world)
      let nonce = try await cleo.ask(header)
      #expect(try await cleo.submit(cleo.proof(header, nonce: nonce)) == .unavailable)
      let challenge = try await cleo.askForDrill(header)
      #expect(
        try await cleo.submitToDrill(cleo.proof(header, nonce: challenge, purpose: .drill)) == .unavailable)
      // Nor does its key bring the first one, by a proof of the other.
      let again = try await cleo.ask(circle.header, request: 2)
      #expect(
        try await cleo.submit(cleo.proof(header, nonce: again, request: 2)) == .unavailable)
    }

    @Test func `its proof is what counts, not its card`() async throws {
      let circle = try await Circle()
      let cleo = try await HostileRequester(circle.world[2], dials: circle.world[1], in: circle.world)
      let nonce = try await cleo.ask(circle.header)
      // With dan's share.
      let stolen = try cleo.proof(circle.header, nonce: nonce, share: circle.world[3])
      #expect(try await cleo.submit(stolen) == .unavailable)
      #expect(
        try await eventually { try circle.world[1].vault.overview.log(limit: 100).contains { $0.event == "refused" } })
    }

    @Test func `it has few sessions, and takes none from others`() async throws {
      let circle = try await Circle()
      var sessions: [HostileRequester] = []
      for _ in 0..<SessionCount.limitOfIntroduced {
        sessions.append(try await HostileRequester(circle.world[2], dials: circle.world[1], in: circle.world))
      }
      await #expect(throws: (any Error).self) {
        _ = try await HostileRequester(circle.world[2], dials: circle.world[1], in: circle.world)
      }
      #expect(try await circle.ask(1, by: 3) == nil)
      for open in sessions { await open.session.close() }
    }

    @Test func `who has all its sessions is turned away before its card is taken`() async throws {
      let circle = try await Circle()
      let (ben, cleo) = (circle.world[1].vault, circle.world[2])
      var sessions: [HostileRequester] = []
      for _ in 0..<SessionCount.limitOfIntroduced {
        sessions.append(try await HostileRequester(cleo, dials: circle.world[1], in: circle.world))
      }
      let before = try ben.introductions.introducedHolder(named: "cleo")
      _ = try cleo.vault.core.setOwnAddresses([PeerAddress(host: "elsewhere", port: 4721)])
      await #expect(throws: (any Error).self) {
        _ = try await HostileRequester(cleo, dials: circle.world[1], in: circle.world)
      }
      #expect(try ben.introductions.introducedHolder(named: "cleo") == before)
      for open in sessions { await open.session.close() }
    }

    @Test func `a newer card that it shows is taken once a minute, for all its secrets at once`() async throws {
      let circle = try await Circle()
      let (world, ben, cleo) = (circle.world, circle.world[1].vault, circle.world[2].vault.core.identity)
      try await world.share([1, 2, 3], threshold: 2, name: "other.txt")
      func show(_ serial: UInt64) throws -> Set<UInt64> {
        #expect(
          try ben.introductions.metIntroduced(cleo.keys, cleo.card(label: "cleo", addresses: [], serial: serial)) != nil
        )
        let rows = try ben.core.database.introductions().filter { $0.digest == cleo.keys.digest }
        #expect(rows.count == 2)
        return try Set(rows.map { try ben.introductions.card(of: $0).serial })
      }
      #expect(try show(101) == [101])
      #expect(try show(102) == [101])
      world.clock.advance(milliseconds: 60_001)
      #expect(try show(103) == [103])
      // Nor does an older one take its turn.
      world.clock.advance(milliseconds: 60_001)
      #expect(try show(50) == [103])
      #expect(try show(104) == [104])
    }

    @Test func `removed in the middle of a session it is answered no more`() async throws {
      let circle = try await Circle()
      let cleo = try await HostileRequester(circle.world[2], dials: circle.world[1], in: circle.world)
      let nonce = try await cleo.ask(circle.header)
      let ben = circle.world[1].vault
      _ = try ben.introductions.removeIntroduced(ben.introductions.introducedHolder(named: "cleo"))
      let proof = try cleo.proof(circle.header, nonce: nonce)
      await #expect(throws: (any Error).self) { try await cleo.submit(proof) }
      #expect(try circle.world[1].vault.overview.log(limit: 100).allSatisfy { $0.event != "share-released" })
    }

    @Test func `a parcel of it comes to nothing`() async throws {
      let circle = try await Circle()
      let frames = [
        try ParcelFrame(Hello(services: .usual)), try ParcelFrame(Ping(request: 1)), try ParcelFrame(Ping(request: 2)),
      ]
      let parcel = try ParcelLetter.seal(
        seed: .fresh(), createdAt: circle.world.clock.now, expiresAt: Self.hour(after: circle.world.clock.now),
        kind: .request, replyKey: AgreementKeyPair.generate().publicKey, frames: frames,
        from: circle.world[2].vault.core.identity, to: circle.world[1].vault.core.identity.keys)
      let taking = try circle.world[1].vault.intake.takeParcel(parcel.encoded(), by: ParcelArrival(way: .account))
      #expect(!taking.isTaken)
    }

    private static func hour(after time: Int64) -> Int64 { (time / 3_600_000 + 24) * 3_600_000 }

    @Test func `it can't give news of anybody that their owners haven't signed, nor bring in anybody`() async throws {
      let circle = try await Circle()
      let (world, eve) = (circle.world, try Identity.generate())
      let ben = world[1].vault
      let record = try #require(try ben.core.database.secret(circle.header.id))
      let cleo = try #require(
        try ben.introductions.introducedHolder(world[2].vault.core.identity.keys.digest, of: record.id))
      let dan = try world[3].vault.core.ownCard()
      let newcomer = try eve.card(label: "eve", addresses: [], serial: 9)
      let forged = try PeerCard(
        keys: dan.keys, label: "dan", addresses: [PeerAddress(host: "evil", port: 1)], serial: dan.serial + 1,
        signature: eve.card(label: "dan", serial: dan.serial + 1).signature)
      let older = try world[3].vault.core.identity.card(label: "older", addresses: [], serial: 0)
      for card in [newcomer, forged, older, dan] {
        let handed = HolderCard(index: 4, bytes: try card.encoded())
        #expect(try ben.introductions.takeCards([handed], about: record, from: cleo).isEmpty)
      }
      #expect(try ben.introductions.introducedHolders().count == 2)
      #expect(try ben.introductions.introducedHolder(named: "dan").addresses == dan.addresses)
      let newer = try world[3].vault.core.identity.card(label: "dan", addresses: [], serial: dan.serial + 1)
      let handed = HolderCard(index: 4, bytes: try newer.encoded())
      #expect(try ben.introductions.takeCards([handed], about: record, from: cleo) == [dan.keys.digest])
      #expect(try ben.introductions.introducedHolder(named: "dan").addresses.isEmpty)
    }

    // MARK: A dealer

    /// What ben says to a word of ada's on the holders of the secret.
    private func introduce(_ cards: [HolderCard], _ circle: Circle, index: UInt8 = 2) async throws -> RefusalReason? {
      let (ada, ben) = (circle.world[0].vault, circle.world[1].vault)
      let sealed = try IntroductionBundle.seal(
        cards, header: circle.header, index: 2, dealer: ada.core.identity.keys.digest, recipient: ben.core.identity.keys
      )
      return try await say(
        Introduction(request: 1, secret: circle.header.id, index: index, sealed: sealed), by: 0, circle)
    }

    private func say(_ introduction: Introduction, by member: Int, _ circle: Circle) async throws -> RefusalReason? {
      let dealer = try await HostileRequester(circle.world[member], dials: circle.world[1], in: circle.world)
      try await dealer.session.send(introduction)
      let result = try await dealer.session.expect(IntroductionResult.self)
      await dealer.session.close()
      return result.refusal
    }

    private func card(_ identity: Identity, index: UInt8, label: String = "eve") throws -> HolderCard {
      HolderCard(index: index, bytes: try identity.card(label: label, addresses: [], serial: 1).encoded())
    }

    /// A card with somebody else's Noise key in it, signed by its own signing key.
    private func borrowed(_ noise: [UInt8], by eve: Identity, index: UInt8) throws -> HolderCard {
      let keys = try CardKeys(signing: eve.keys.signing, noise: noise, box: eve.keys.box)
      let bare = try PeerCard(keys: keys, label: "eve", serial: 1)
      let signed = try PeerCard(keys: keys, label: "eve", serial: 1, signature: eve.sign(bare.signedDigest()))
      return HolderCard(index: index, bytes: try signed.encoded())
    }

    @Test func `a dealer can't introduce somebody under a peer's keys, or this device's`() async throws {
      let circle = try await Circle { world in try world[1].meets(world[3]) }
      let eve = try Identity.generate()
      let dan = circle.world[3].vault.core.identity.keys
      #expect(try await introduce([borrowed(dan.noise, by: eve, index: 3)], circle) == .notAccepted)
      let ben = circle.world[1].vault.core.identity.keys
      #expect(try await introduce([borrowed(ben.noise, by: eve, index: 3)], circle) == .notAccepted)
      #expect(try circle.names(at: 1) == ["cleo, introduced by ada"])
      #expect(
        try circle.world[1].vault.trust.peer("dan").fingerprint == circle.world[3].vault.core.ownIdentity().fingerprint)
    }

    @Test func `a holder whose card has a peer's key doesn't keep the others from one another`() async throws {
      let circle = try await Circle { world in try world[1].meets(world[3]) }
      let (world, ben) = (circle.world, circle.world[1].vault)
      try world[1].execute("DELETE FROM introductions")
      let noise = world[3].vault.core.identity.keys.noise
      let cleo = HolderCard(index: 3, bytes: try world[2].vault.core.ownCard().published.encoded())
      let eve = try Identity.generate()
      #expect(try await introduce([cleo, borrowed(noise, by: eve, index: 4)], circle) == nil)
      #expect(try ben.core.database.introductions(ofSecret: circle.header.id).map(\.index) == [3])
      #expect(try circle.names(at: 1) == ["cleo, introduced by ada"])
      // The same where the key is that of somebody whom the dealer has introduced before.
      let later = try borrowed(world[2].vault.core.identity.keys.noise, by: eve, index: 4)
      let fay = try card(Identity.generate(), index: 5, label: "fay")
      #expect(try await introduce([later], circle) == .notAccepted)
      #expect(try await introduce([later, fay], circle) == .notAccepted)
      circle.loseDealer()
      #expect(try await world.recover(by: 1).bytes == circle.content)
    }

    @Test func `a dealer's card with another's Noise key doesn't keep that one out`() async throws {
      let circle = try await Circle()
      let world = circle.world
      // Eva is a peer of ben's, and introduces somebody with cleo's key for a secret of her own.
      let eve = try Identity.generate()
      try world[1].meets(world[3])
      try world[3].meets(world[1])
      let forged = try ForgedSecret(by: world[3], to: [world[1], world[2], world[0]], threshold: 2)
      #expect(try await forged.deliver(forged.job(1), to: world[1]) == nil)
      let noise = world[2].vault.core.identity.keys.noise
      let sealed = try IntroductionBundle.seal(
        [borrowed(noise, by: eve, index: 2)], header: forged.header, index: 1,
        dealer: world[3].vault.core.identity.keys.digest, recipient: world[1].vault.core.identity.keys)
      #expect(
        try await say(
          Introduction(request: 1, secret: forged.header.id, index: 1, sealed: sealed), by: 3, circle) == nil)
      #expect(try world[1].vault.core.database.introductions(noiseKey: noise, limit: 32).count == 2)
      #expect(try await circle.ask(1, by: 2) == nil)
      // Of one dealer, one card a key.
      let other = try Identity.generate()
      let again = try IntroductionBundle.seal(
        [borrowed(noise, by: other, index: 2)], header: forged.header, index: 1,
        dealer: world[3].vault.core.identity.keys.digest, recipient: world[1].vault.core.identity.keys)
      #expect(
        try await say(
          Introduction(request: 1, secret: forged.header.id, index: 1, sealed: again), by: 3, circle)
          == .notAccepted)
    }

    @Test func `nobody but a secret's dealer introduces its holders`() async throws {
      let circle = try await Circle()
      try circle.world[1].meets(circle.world[3])
      try circle.world[3].meets(circle.world[1])
      let cards = [try card(Identity.generate(), index: 3)]
      let sealed = try IntroductionBundle.seal(
        cards, header: circle.header, index: 2, dealer: circle.world[3].vault.core.identity.keys.digest,
        recipient: circle.world[1].vault.core.identity.keys)
      let word = Introduction(request: 1, secret: circle.header.id, index: 2, sealed: sealed)
      #expect(try await say(word, by: 3, circle) == .unavailable)
      // Nor does the dealer for a secret that isn't here, or another share.
      #expect(
        try await say(
          Introduction(request: 1, secret: SecretID(high: 1, low: 1), index: 2, sealed: sealed), by: 0, circle)
          == .unavailable)
      #expect(try await introduce(cards, circle, index: 3) == .unavailable)
      #expect(try circle.names(at: 1) == ["cleo, introduced by ada"])
    }

    @Test func `a dealer's introductions are as many as its secret has holders, and count against its quota`()
      async throws
    {
      let circle = try await Circle()
      let usage = try circle.world[1].vault.messages.usage(of: circle.world[0].vault.core.identity.keys.digest)
        .byteCount
      // Three others there are already.
      #expect(try await introduce([card(Identity.generate(), index: 3)], circle) == .quotaCount)
      #expect(try circle.names(at: 1).count == 2)
      let bytes = try circle.world[1].vault.core.database.introductions().reduce(0) { $0 + $1.card.count }
      #expect(usage > bytes && bytes > 300)
      _ = try circle.world[1].vault.core.set("quota-bytes", to: "1")
      try circle.world[1].execute("DELETE FROM introductions")
      #expect(try await introduce([card(Identity.generate(), index: 3)], circle) == .quotaBytes)
    }

    @Test func `what doesn't open or makes no sense is refused, and the session goes on`() async throws {
      let circle = try await Circle()
      let dealer = try await HostileRequester(circle.world[0], dials: circle.world[1], in: circle.world)
      for sealed in [[], [1], randomBytes(500), randomBytes(100_000)] as [[UInt8]] {
        try await dealer.session.send(
          Introduction(request: 1, secret: circle.header.id, index: 2, sealed: sealed))
        #expect(try await dealer.session.expect(IntroductionResult.self).refusal == .notAccepted)
      }
      try await dealer.session.send(Ping(request: 5))
      #expect(try await dealer.session.expect(Pong.self).request == 5)
      await dealer.session.close()
    }

    @Test func `of an introduced card with many addresses few are called, of a peer's all`() async throws {
      let places = try (1...8).map { try PeerAddress(host: "nowhere\($0)", port: 4721) }
      let circle = try await Circle { world in _ = try world[3].vault.core.setOwnAddresses(places) }
      let (world, ben) = (circle.world, circle.world[1].vault)
      #expect(try ben.introductions.introducedHolder(named: "dan").addresses == places)
      world.network.resetCounts()
      _ = try await world.check(by: 1)
      #expect(Set(world.network.dialled.filter { $0.hasPrefix("nowhere") }) == Set(places.prefix(3).map(\.description)))
      _ = try ben.trust.acceptIntroduced(ben.introductions.introducedHolder(named: "dan"), name: nil)
      world.network.resetCounts()
      _ = try await world.check(by: 1)
      #expect(Set(world.network.dialled.filter { $0.hasPrefix("nowhere") }) == Set(places.map(\.description)))
    }

    @Test func `those whom one dealer has introduced are called so often a minute, and others all the same`()
      async throws
    {
      let circle = try await Circle()
      let (world, ben) = (circle.world, circle.world[1].vault)
      let dealer = world[0].vault.core.identity.keys.digest
      for _ in 0..<IntroducedDials.perMinute {
        #expect(ben.directory.introducedDials.begin(dealer, at: world.clock.monotonic))
      }
      world.network.resetCounts()
      let report = try await world.check(by: 1)
      #expect(world.network.dialled == [world[0].address.description])
      let cleo = report.holders.first { $0.peer == "cleo, introduced by ada" }
      #expect(cleo?.state == .unreachable && cleo?.reason?.hasPrefix("was not called") == true)
      world.clock.advance(milliseconds: 60_000)
      #expect(try await world.check(by: 1).answered == 4)
    }

    @Test func `each dealer's calls are counted apart`() throws {
      let dials = IntroducedDials()
      let one = try Digest([UInt8](repeating: 1, count: 32))
      let other = try Digest([UInt8](repeating: 2, count: 32))
      for _ in 0..<IntroducedDials.perMinute { #expect(dials.begin(one, at: 1000)) }
      #expect(!dials.begin(one, at: 60_999) && dials.begin(other, at: 60_999))
      #expect(dials.begin(one, at: 61_000))
    }

    @Test func `cards of a secret's holders are given once a session`() async throws {
      let circle = try await Circle()
      let cleo = try await HostileRequester(circle.world[2], dials: circle.world[1], in: circle.world)
      let nonce = try await cleo.ask(circle.header)
      #expect(try await cleo.submit(cleo.proof(circle.header, nonce: nonce)) == nil)
      let question = CardRequest(request: 1, known: (1...4).map { .init(index: $0, serial: 0) })
      try await cleo.session.send(question)
      #expect(try await cleo.session.expect(Cards.self).cards.map(\.index) == [1, 4])
      try await cleo.session.send(question)
      #expect(try await cleo.session.expect(Cards.self).cards.isEmpty)
      await cleo.session.close()
    }

    @Test func `requests of those whom one dealer has introduced count as one peer's`() async throws {
      let circle = try await Circle { world in _ = try world[1].vault.core.set("release-policy", to: "ask") }
      let (ben, dealer) = (circle.world[1].vault, circle.world[0].vault.core.identity.keys.digest)
      let id = circle.header.id
      var counts: [Int] = []
      for number in UInt8(1)...3 {
        let sybil = try Digest([UInt8](repeating: number, count: 32))
        try ben.core.database.changeRequest(
          .release, of: sybil, secret: id, at: circle.world.clock.now, introducedBy: dealer
        ) { row, found in
          counts.append(found.ofPeer)
          row = RequestRecord(
            kind: .release, peer: sybil, secretID: id, headerDigest: circle.header.digest,
            askedAt: circle.world.clock.now, endsAt: .max)
        }
      }
      #expect(counts == [0, 1, 2])
    }

    // MARK: An ordinary peer

    @Test func `newer cards are given only to who has just proved a share`() async throws {
      let circle = try await Circle()
      let cleo = try await HostileRequester(circle.world[2], dials: circle.world[1], in: circle.world)
      try await cleo.session.send(CardRequest(request: 1, known: []))
      #expect(await cleo.isHungUp())
      let again = try await HostileRequester(circle.world[2], dials: circle.world[1], in: circle.world)
      let nonce = try await again.ask(circle.header)
      #expect(try await again.submit(again.proof(circle.header, nonce: nonce)) == nil)
      // Of somebody whom it doesn't have it gets none, and of nobody a card that isn't newer.
      try await again.session.send(CardRequest(request: 1, known: []))
      #expect(try await again.session.expect(Cards.self).cards.isEmpty)
      try await again.session.send(CardRequest(request: 1, known: [.init(index: 4, serial: 0)]))
      #expect(try await again.session.expect(Cards.self).cards.map(\.index) == [4])
      try await again.session.send(CardRequest(request: 1, known: [.init(index: 4, serial: 1)]))
      #expect(try await again.session.expect(Cards.self).cards.isEmpty)
      await again.session.close()
    }

    @Test func `a row that somebody has changed in the store introduces nobody`() async throws {
      let circle = try await Circle()
      try circle.world[1].execute("UPDATE introductions SET state = 'active', share_index = 9")
      #expect(try circle.world[1].vault.introductions.introducedHolders().isEmpty)
      await #expect(throws: (any Error).self) { try await circle.ask(1, by: 2) }
      // Nor does it stand in the way of those who are peers.
      #expect(try await circle.world.recover(by: 1).bytes == circle.content)
    }

    @Test func `a holder of an earlier program gets its share, and none of this`() async throws {
      let circle = try await Circle { world in
        let ben = world[1]
        // It answers as it always does, but offers what programs did before.
        _ = try ben.vault.core.set("introductions", to: "off")
      }
      #expect(circle.report.isFinished && circle.report.placed == 4)
      // Nobody says that any two can do without the dealer: this one gives nothing to the others.
      #expect(!circle.report.areHoldersIntroduced)
      #expect(try circle.world[0].vault.core.database.waitingIntroductions().count == 1)
    }
  }
}
