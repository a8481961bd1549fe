import PeerAuth
import ShamirKit
import Sodium
import Testing
import VaultProtocol
import VaultStore

@testable import SecretVault

/// Ada knows everybody; ben, cleo and dan know only ada.
struct Circle {
  let world: TestWorld
  let content = randomBytes(3000)
  let report: ShareReport
  let header: SecretHeader

  /// Shared 2 of 4 unless told otherwise. `prepare` sees the world before anything is shared.
  init(
    _ count: Int = 4, threshold: Int = 2, includesLabels: Bool = true, keepsOwnShare: Bool = true,
    prepare: (TestWorld) async throws -> Void = { _ in }
  ) async throws {
    let world = try TestWorld(count, everybodyMeets: false)
    for other in 1..<count {
      try world[0].meets(world[other])
      try world[other].meets(world[0])
    }
    try await prepare(world)
    let path = try world.scratch.write(content, as: "letter.txt")
    report = try await world[0].vault.sharing.share(
      ShareRequest(
        source: .file(path: path), threshold: threshold, recipients: [], includesLabels: includesLabels,
        keepsOwnShare: keepsOwnShare)
    ) { _ in }
    header = try world[0].header(report.id)
    self.world = world
  }

  func names(at member: Int) throws -> [String] {
    try world[member].vault.introductions.introducedHolders().map(\.name)
  }

  /// The dealer's device is gone.
  func loseDealer() { world.set(.refuses, for: world[0]) }

  /// Has one member's daemon deliver until something is so.
  func deliver(from member: Int, until isSo: () throws -> Bool) async throws -> Bool {
    let vault = world[member].vault
    let outbox = Task { await vault.sharing.runOutbox() }
    defer { outbox.cancel() }
    return try await world.passing(milliseconds: 60_000, until: isSo)
  }

  /// Asks one member for its share as another one, with its real share: the refusal, nil for a release.
  func ask(_ target: Int, by member: Int) async throws -> RefusalReason? {
    let requester = try await HostileRequester(world[member], dials: world[target], in: world)
    let nonce = try await requester.ask(header)
    return try await requester.submit(requester.proof(header, nonce: nonce))
  }
}

/// Nobody's card has an address, and the first one has been told where each of the others listens.
func withoutAddresses(_ world: TestWorld) throws {
  for member in world.members { _ = try member.vault.core.setOwnAddresses([]) }
  for other in world.members.dropFirst() {
    try world[0].meets(other)
    try other.meets(world[0])
    _ = try world[0].vault.trust.setPeerAddresses(other.name, to: [other.address])
  }
}

extension VaultTests {
  @Suite struct Introductions {
    @Test func `holders who don't know each other recover without the dealer`() async throws {
      let circle = try await Circle()
      #expect(circle.report.isFinished)
      circle.loseDealer()
      for holder in 1...3 {
        let (report, bytes) = try await circle.world.recover(by: holder)
        #expect(bytes == circle.content)
        #expect(report.holders.contains { $0.peer.hasSuffix(", introduced by ada") })
      }
      let log = try circle.world[2].vault.overview.log(limit: 100).filter { $0.event == "share-released" }
      #expect(log.contains { $0.peer == "ben, introduced by ada" })
    }

    @Test func `they are named apart from peers, each with its secrets, and are none`() async throws {
      let circle = try await Circle()
      #expect(try circle.names(at: 1) == ["cleo, introduced by ada", "dan, introduced by ada"])
      #expect(try circle.world[1].vault.trust.peers().map(\.name) == ["ada"])
      let cleo = try circle.world[1].vault.introductions.introducedHolder(named: "cleo")
      #expect(cleo.secrets.map(\.id) == [circle.report.id] && cleo.introducedBy == ["ada"])
      #expect(try cleo.fingerprint == circle.world[2].vault.core.ownIdentity().fingerprint)
      #expect(try circle.names(at: 0).isEmpty)
    }

    @Test func `without labels nobody hears of the others`() async throws {
      let circle = try await Circle(includesLabels: false)
      for holder in 1...3 { #expect(try circle.names(at: holder).isEmpty) }
      // Nor later, from the dealer.
      _ = try await circle.world.check(by: 1)
      #expect(try circle.names(at: 1).isEmpty)
    }

    @Test func `with the setting off at a holder it keeps none, answers none and asks none`() async throws {
      let circle = try await Circle { world in _ = try world[1].vault.core.set("introductions", to: "off") }
      #expect(try circle.world[1].vault.core.database.introductions().isEmpty)
      #expect(try circle.names(at: 2) == ["ben, introduced by ada", "dan, introduced by ada"])
      circle.loseDealer()
      #expect(await refusal { try await circle.world.recover(by: 1) }?.code == .belowThreshold)
      // Cleo is refused by ben, and helped by dan.
      #expect(try await circle.world.recover(by: 2).bytes == circle.content)
      #expect(try circle.world[1].vault.overview.log(limit: 100).allSatisfy { $0.event != "share-released" })
    }

    @Test func `with the setting off it is named as the reason why holders are not known or asked`() async throws {
      let circle = try await Circle(threshold: 3)
      let ben = circle.world[1].vault
      let cleo = try ben.introductions.introducedHolder(named: "cleo")
      #expect(try await circle.world.check(by: 1).areIntroductionsOff == false)
      _ = try ben.core.set("introductions", to: "off")
      let report = try await circle.world.check(by: 1)
      #expect(report.strangers == 2 && report.areIntroductionsOff)
      #expect(try await circle.world.check(by: 0).areIntroductionsOff == false)
      let fault = await refusal { try await circle.world.recover(by: 1) }
      #expect(fault?.code == .belowThreshold && fault?.hint?.contains("introductions is off") == true)
      let other = await refusal { try ben.trust.acceptIntroduced(cleo, name: nil) }
      #expect(other?.reason.hasSuffix("the setting introductions is off") == true)
    }

    @Test func `two holders of one label are two, whatever becomes of one`() async throws {
      let circle = try await Circle(threshold: 3) { world in
        // Dan calls himself as cleo does.
        var card = try world[3].vault.core.ownCard()
        card = try world[3].vault.core.identity.card(label: "cleo", addresses: card.addresses, serial: card.serial + 1)
        _ = try world[0].vault.trust.addPeer(card, name: nil)
      }
      circle.loseDealer()
      let names = try circle.world[1].vault.introductions.introducedHolders(of: circle.header.id).map(\.name)
      #expect(names == ["cleo (share 3), introduced by ada", "cleo (share 4), introduced by ada"])
      let (report, bytes) = try await circle.world.recover(by: 1)
      #expect(bytes == circle.content)
      #expect(report.holders.count { $0.state == .answered } == 2)
    }

    @Test func `with the setting off at the dealer nobody is introduced`() async throws {
      let circle = try await Circle { world in _ = try world[0].vault.core.set("introductions", to: "off") }
      for holder in 1...3 { #expect(try circle.names(at: holder).isEmpty) }
    }

    @Test func `switched off later it ends sessions too, and switched on again all is as before`() async throws {
      let circle = try await Circle()
      circle.loseDealer()
      _ = try circle.world[2].vault.core.set("introductions", to: "off")
      #expect(try circle.world[2].vault.introductions.introducedHolders(of: circle.header.id).isEmpty)
      await #expect(throws: (any Error).self) { try await circle.ask(2, by: 1) }
      _ = try circle.world[2].vault.core.set("introductions", to: "on")
      #expect(try await circle.ask(2, by: 1) == nil)
    }

    @Test func `whoever is known by its card stays what it is`() async throws {
      let circle = try await Circle { world in try world[1].meets(world[2], as: "Cleopatra") }
      #expect(try circle.names(at: 1) == ["dan, introduced by ada"])
      let cleo = try #require(circle.world[1].vault.trust.peers().first { $0.name == "Cleopatra" })
      #expect(cleo.state == .scanned && cleo.label == "cleo")
      // Cleo knows ben by ada's word alone, and that is enough for both.
      circle.loseDealer()
      circle.world.set(.refuses, for: circle.world[3])
      let report = try await circle.world.recover(by: 1).report
      #expect(report.holders.contains { $0.peer == "Cleopatra" && $0.state == .answered })
    }

    @Test func `accepted, one becomes a peer like others`() async throws {
      let circle = try await Circle()
      let ben = circle.world[1].vault
      let addition = try ben.trust.acceptIntroduced(
        ben.introductions.introducedHolder(named: "cleo"), name: "Cleo of the harbour")
      #expect(addition.change == .added && addition.peer.name == "Cleo of the harbour")
      #expect(try circle.names(at: 1) == ["dan, introduced by ada"])
      circle.loseDealer()
      circle.world.set(.refuses, for: circle.world[3])
      #expect(try await circle.world.recover(by: 1).bytes == circle.content)
    }

    @Test func `removed, one stays removed, whatever the dealer says`() async throws {
      let circle = try await Circle()
      let (ben, cleo) = (circle.world[1].vault, circle.world[2])
      #expect(
        try ben.introductions.removeIntroduced(ben.introductions.introducedHolder(named: "cleo, introduced by ada"))
          .label == "cleo")
      #expect(try circle.names(at: 1) == ["dan, introduced by ada"])
      let digest = cleo.vault.core.identity.keys.digest
      #expect(try ben.core.database.introduction(of: digest, secret: circle.header.id)?.card == [])
      // By a new word, and by the cards that the dealer gives in a drill.
      try circle.world[0].vault.introductions.introduceLate(circle.world[3].vault.core.ownCard())
      _ = await circle.world[0].vault.sharing.deliverIntroductions(ofSecret: nil)
      _ = try await circle.world.check(by: 1)
      #expect(try circle.names(at: 1) == ["dan, introduced by ada"])
      await #expect(throws: (any Error).self) { try await circle.ask(1, by: 2) }
      // With another secret it doesn't come back either.
      try await circle.world.share([1, 2, 3], threshold: 2, name: "other.txt")
      #expect(try circle.names(at: 1) == ["dan, introduced by ada"])
      await #expect(throws: (any Error).self) { try await circle.ask(1, by: 2) }
    }

    @Test func `a removed peer does not stay as an introduced one`() async throws {
      let circle = try await Circle { world in try world[1].meets(world[2]) }
      _ = try circle.world[1].vault.trust.removePeer("cleo")
      #expect(try circle.names(at: 1) == ["dan, introduced by ada"])
      await #expect(throws: (any Error).self) { try await circle.ask(1, by: 2) }
    }

    @Test func `they go with their secret`() async throws {
      let circle = try await Circle()
      _ = try circle.world[1].vault.overview.delete(circle.report.id)
      #expect(try circle.world[1].vault.core.database.introductions().isEmpty)
      await #expect(throws: (any Error).self) { try await circle.ask(1, by: 2) }
    }

    @Test func `a dealer that was removed has introduced them all the same`() async throws {
      let circle = try await Circle()
      for holder in 1...3 { _ = try circle.world[holder].vault.trust.removePeer("ada") }
      #expect(try circle.names(at: 1) == ["cleo, introduced by a former peer", "dan, introduced by a former peer"])
      circle.loseDealer()
      #expect(try await circle.world.recover(by: 1).bytes == circle.content)
    }

    @Test func `what was not taken yet is said again by the dealer's daemon`() async throws {
      let circle = try await Circle { world in _ = try world[1].vault.core.set("introductions", to: "off") }
      _ = try circle.world[1].vault.core.set("introductions", to: "on")
      #expect(try circle.names(at: 1).isEmpty)
      // She doesn't ask again on the same day. Ben has it before she has his word, and notes that.
      circle.world.clock.advance(milliseconds: 86_400_000)
      let isKeptAndNoted = try await circle.deliver(from: 0) {
        try circle.names(at: 1).count == 2 && circle.world[0].vault.core.database.waitingIntroductions().isEmpty
      }
      #expect(isKeptAndNoted)
    }

    @Test func `it says nothing before the share is there, and a share that is refused takes it along`() async throws {
      let circle = try await Circle { world in
        try await world.prove()
        world.set(.refuses, for: world[1])
      }
      let database = circle.world[0].vault.core.database
      #expect(try database.waitingIntroductions().isEmpty)
      let digest = circle.world[1].vault.core.identity.keys.digest
      #expect(try database.waitingIntroduction(ofSecret: circle.header.id, to: digest) != nil)
      circle.world.set(.none, for: circle.world[1])
      _ = try await circle.world[0].vault.sharing.retry(nil) { _ in }
      #expect(try circle.names(at: 1) == ["cleo, introduced by ada", "dan, introduced by ada"])
      #expect(try database.waitingIntroduction(ofSecret: circle.header.id, to: digest) == nil)
      // No list of deliveries has ever shown it.
      #expect(try circle.world[0].vault.overview.secret(circle.report.id).deliveries.count == 3)
    }

    @Test func `a policy that asks names the requester as introduced, and its word counts`() async throws {
      let circle = try await Circle { world in
        for member in 2...3 { _ = try world[member].vault.core.set("release-policy", to: "ask") }
      }
      circle.loseDealer()
      #expect(await refusal { try await circle.world.recover(by: 1) }?.code == .awaitingConsent)
      let request = try #require(circle.world[2].vault.consent.requests().first)
      #expect(request.peer == "ben, introduced by ada")
      _ = try await circle.world[2].vault.consent.approveRequest(request.id)
      #expect(try await circle.world.recover(by: 1).bytes == circle.content)
    }

    @Test func `a drill counts them as known, and says whom each could reach`() async throws {
      let circle = try await Circle()
      circle.world.set(.refuses, for: circle.world[3])
      let report = try await circle.world.check(by: 1)
      #expect(report.strangers == 0 && report.answered == 3)
      let cleo = try #require(report.holders.first { $0.peer == "cleo, introduced by ada" })
      #expect(cleo.state == .answered && cleo.reach == HolderReach(known: 3, dialable: 3))
      #expect(report.holders.first { $0.peer == "dan, introduced by ada" }?.state == .unreachable)
      let own = try await circle.world.check(by: 0)
      #expect(own.holders.first { $0.peer == "ben" }?.reach == HolderReach(known: 3, dialable: 3))
      #expect(own.isRecoverableElsewhere == true)
    }

    @Test func `a holder that was not introduced to anybody says so in a drill`() async throws {
      let circle = try await Circle { world in _ = try world[1].vault.core.set("introductions", to: "off") }
      _ = try circle.world[1].vault.core.set("introductions", to: "on")
      let report = try await circle.world.check(by: 0)
      // It knows the dealer, who has just asked.
      #expect(report.holders.first { $0.peer == "ben" }?.reach == HolderReach(known: 1, dialable: 1))
      #expect(report.holders.first { $0.peer == "cleo" }?.reach == HolderReach(known: 3, dialable: 3))
    }

    @Test func `who gives nothing to the others is not counted on without this device`() async throws {
      let circle = try await Circle(3) { world in _ = try world[1].vault.core.set("introductions", to: "off") }
      // Cleo knows ben, and would call on him in vain.
      let report = try await circle.world.check(by: 0)
      #expect(report.answered == 3 && report.holders.contains { $0.reach == HolderReach(known: 2, dialable: 2) })
      #expect(report.isRecoverableElsewhere == nil)
      _ = try circle.world[1].vault.core.set("introductions", to: "on")
      #expect(try await circle.world.check(by: 0).isRecoverableElsewhere == nil)
      await circle.world[0].vault.sharing.deliverIntroductions(ofSecret: nil)
      #expect(try await circle.world.check(by: 0).isRecoverableElsewhere == true)
    }

    @Test func `a holder that calls this device at an address that only it knows has nobody else in reach by that`()
      async throws
    {
      // Nobody's card has an address; all call this device, and it alone all.
      let circle = try await Circle(3) { world in
        try withoutAddresses(world)
        for other in 1...2 { _ = try world[other].vault.trust.setPeerAddresses("ada", to: [world[0].address]) }
      }
      let report = try await circle.world.check(by: 0)
      #expect(report.answered == 3 && report.holders.allSatisfy { $0.reach == HolderReach(known: 2, dialable: 1) })
      #expect(report.isRecoverableElsewhere == nil)
      circle.loseDealer()
      for holder in 1...2 {
        #expect(await refusal { try await circle.world.recover(by: holder) }?.code == .belowThreshold)
      }
    }

    @Test func `with one in reach whoever that is, two of the others are enough`() async throws {
      let circle = try await Circle { world in
        _ = try world[0].vault.core.setOwnAddresses([])
        for other in 1...3 { try world[other].meets(world[0]) }
      }
      let report = try await circle.world.check(by: 0)
      #expect(report.holders.allSatisfy { $0.reach == HolderReach(known: 3, dialable: 2) })
      #expect(report.isRecoverableElsewhere == true)
    }

    @Test func `an address that the dealer alone knows is none that holders could call`() async throws {
      let circle = try await Circle { world in try withoutAddresses(world) }
      #expect(circle.report.isFinished && circle.report.listensNowhere.isEmpty)
      #expect(!circle.report.areHoldersIntroduced)
      #expect(try circle.names(at: 1) == ["cleo, introduced by ada", "dan, introduced by ada"])
      circle.loseDealer()
      #expect(await refusal { try await circle.world.recover(by: 1) }?.code == .belowThreshold)
    }

    @Test func `a secret shared while introductions were off is introduced by a retry once they are on`() async throws {
      let circle = try await Circle { world in _ = try world[0].vault.core.set("introductions", to: "off") }
      let ada = circle.world[0].vault
      #expect(!circle.report.areHoldersIntroduced)
      _ = try ada.core.set("introductions", to: "on")
      // Nobody was told anything yet.
      #expect(try !ada.sharing.sharing(circle.report.id, leftOut: []).areHoldersIntroduced)
      #expect(try ada.sharing.secretsWithWaitingIntroductions() == [circle.report.id])
      let report = try #require(try await ada.sharing.retry(circle.report.id) { _ in }.first)
      #expect(report.areHoldersIntroduced)
      #expect(try ada.sharing.secretsWithWaitingIntroductions().isEmpty)
      circle.loseDealer()
      for holder in 1...3 { #expect(try await circle.world.recover(by: holder).bytes == circle.content) }
    }

    @Test func `what the files beside the database don't have is said all the same, by retry or daemon`() async throws {
      for isDaemon in [false, true] {
        let circle = try await Circle { world in
          try await world.prove()
          for other in 1...3 { world.set(.refuses, for: world[other]) }
        }
        // As a database is that was made anew from its files.
        try circle.world[0].execute("DELETE FROM outbox WHERE kind = 'introduction'")
        for other in 1...3 { circle.world.set(.none, for: circle.world[other]) }
        let ada = circle.world[0].vault
        if isDaemon {
          #expect(try await circle.deliver(from: 0) { try circle.names(at: 1).count == 2 })
        } else {
          #expect(try await ada.sharing.retry(nil) { _ in }.first?.areHoldersIntroduced == true)
        }
        #expect(try circle.names(at: 1) == ["cleo, introduced by ada", "dan, introduced by ada"])
      }
    }

    @Test func `one secret that is damaged keeps a signed card from the holders of no other`() async throws {
      let circle = try await Circle { world in
        try await world.prove()
        for other in 1...3 { try await world.share([1], threshold: 2, name: "\(other).txt") }
        world.set(.refuses, for: world[3])
      }
      let (world, ada) = (circle.world, circle.world[0].vault)
      let dan = world[3].vault
      // As if ada had dan's picture alone, from before all of them.
      let unsigned = try PeerCard.parse(text: dan.core.ownIdentity().qrText)
      let bytes = try unsigned.published.encoded()
      _ = try ada.core.database.updatePeer(unsigned.keys.digest) { $0.card = bytes }
      for holder in 1...2 {
        let names = "DELETE FROM introductions WHERE digest = x'\(unsigned.keys.digest)'"
        try world[holder].execute(names)
      }
      let first = try #require(try ada.core.database.secretsWithShare(for: dan.core.identity.keys.digest).first)
      let sound = try #require(try ada.core.database.secret(first)?.createdAt)
      try world[0].execute("UPDATE secrets SET created_at = created_at + 1 WHERE id = x'\(first)'")
      world.set(.none, for: world[3])
      _ = try await ada.links.pingPeer("dan")
      func told() throws -> Int {
        try world[1].vault.core.database.introductions().count { $0.digest == dan.core.identity.keys.digest }
      }
      await ada.sharing.deliverIntroductions(ofSecret: nil)
      #expect(try told() == 3)
      // That of the damaged one follows when it is whole again.
      try world[0].execute("UPDATE secrets SET created_at = \(sound) WHERE id = x'\(first)'")
      _ = try await ada.sharing.retry(first.description) { _ in }
      #expect(try told() == 4)
    }

    @Test func `a card that could be told to nobody is not kept as one that was`() async throws {
      let circle = try await Circle { world in
        try await world.prove()
        let unsigned = try PeerCard.parse(text: world[3].vault.core.ownIdentity().qrText)
        let bytes = try unsigned.published.encoded()
        _ = try world[0].vault.core.database.updatePeer(unsigned.keys.digest) { $0.card = bytes }
        world.set(.refuses, for: world[3])
      }
      let (world, ada) = (circle.world, circle.world[0].vault)
      world.set(.none, for: world[3])
      // Nothing of the outbox can be written, as on a full disk.
      for event in ["INSERT", "UPDATE"] {
        try world[0].execute(
          "CREATE TRIGGER full_\(event) BEFORE \(event) ON outbox BEGIN SELECT RAISE(FAIL, 'disk is full'); END")
      }
      _ = try? await ada.links.pingPeer("dan")
      for event in ["INSERT", "UPDATE"] { try world[0].execute("DROP TRIGGER full_\(event)") }
      _ = try await ada.links.pingPeer("dan")
      _ = try await ada.sharing.retry(nil) { _ in }
      #expect(try circle.names(at: 1) == ["cleo, introduced by ada", "dan, introduced by ada"])
    }

    @Test func `a card that came as a picture alone is handed on once its owner was met`() async throws {
      let circle = try await Circle { world in
        try await world.prove()
        // As if ada had dan's picture alone.
        let unsigned = try PeerCard.parse(text: world[3].vault.core.ownIdentity().qrText)
        let bytes = try unsigned.published.encoded()
        _ = try world[0].vault.core.database.updatePeer(unsigned.keys.digest) { $0.card = bytes }
        world.set(.refuses, for: world[3])
      }
      #expect(try circle.names(at: 1) == ["cleo, introduced by ada"])
      circle.world.set(.none, for: circle.world[3])
      let isKept = try await circle.deliver(from: 0) {
        try circle.names(at: 1).count == 2 && circle.names(at: 3).count == 2
      }
      #expect(isKept)
      #expect(try circle.names(at: 3) == ["ben, introduced by ada", "cleo, introduced by ada"])
    }

    @Test func `a picture of the card that is here takes no signature away`() async throws {
      let circle = try await Circle()
      let (ada, dan) = (circle.world[0].vault, circle.world[3].vault)
      let known = try #require(try ada.core.database.peer(dan.core.identity.keys.digest))
      let picture = try PeerCard.parse(text: dan.core.ownIdentity().qrText)
      #expect(try picture.signature == nil && picture.serial == ada.directory.storedCard(known).serial)
      #expect(try ada.trust.addPeer(picture, name: nil).change == .unchanged)
      #expect(try ada.core.database.peer(dan.core.identity.keys.digest)?.card == known.card)
      #expect(try ada.core.database.beaconKey(ofPeer: dan.core.identity.keys.digest) != nil)
    }

    @Test func `a holder's new address goes from one to another, and is used in the same recovery`() async throws {
      let circle = try await Circle(4, threshold: 3)
      circle.loseDealer()
      let (world, dan) = (circle.world, circle.world[3])
      // Dan moves; cleo alone has met it since.
      let place = try PeerAddress(host: "elsewhere", port: 4721)
      _ = try dan.vault.core.setOwnAddresses([place])
      world.network.serve(place) { await dan.vault.answering.answer($0) }
      _ = try await world.check(by: 3)
      world.set(.refuses, for: dan)
      let digest = dan.vault.core.identity.keys.digest
      let before = try world[1].vault.core.database.introduction(of: digest, secret: circle.header.id)?.card
      // Ben has met it too: what he has is put back.
      let old = try #require(try world[0].vault.core.database.peer(digest)).card
      try world[1].vault.core.database.changeIntroductions(ofSecret: circle.header.id) { rows, _ in
        for row in rows.indices where rows[row].digest == digest { rows[row].card = old }
      }
      #expect(before != old)
      #expect(try await world.recover(by: 1).bytes == circle.content)
      #expect(try world[1].vault.introductions.introducedHolder(named: "dan").addresses == [place])
    }

    @Test func `to somebody who is never there it goes by parcel, as the share does`() async throws {
      let world = try TestWorld(3, everybodyMeets: false)
      for other in 1...2 {
        try world[0].meets(world[other])
        try world[other].meets(world[0])
      }
      try await world.prove()
      let office = try ParcelOffice(world)
      world.cutOff()
      let content = randomBytes(2000)
      let report = try await world.share(content, threshold: 2)
      try await office.round()
      #expect(try world[1].vault.overview.secret(report.id).summary.ownIndex == 2)
      #expect(try world[1].vault.introductions.introducedHolders().isEmpty)
      // A session is tried first.
      await world[0].vault.sharing.deliverIntroductions(ofSecret: nil)
      #expect(try world[0].vault.core.database.waitingIntroductions().count == 2)
      try await office.round()
      #expect(try world[1].vault.introductions.introducedHolders().map(\.name) == ["cleo, introduced by ada"])
      #expect(try world[2].vault.introductions.introducedHolders().map(\.name) == ["ben, introduced by ada"])
      #expect(try world[0].vault.core.database.waitingIntroductions().isEmpty)
      for member in 1...2 { world.set(.none, for: world[member]) }
      #expect(try await world.recover(by: 1).bytes == content)
    }

    @Test func `a peer's newer card comes by another holder too, and leaves its name alone`() async throws {
      let circle = try await Circle(4, threshold: 3) { world in try world[1].meets(world[3], as: "Daniel") }
      let (world, dan) = (circle.world, circle.world[3])
      let place = try PeerAddress(host: "elsewhere", port: 4721)
      _ = try dan.vault.core.setOwnAddresses([place])
      let signed = try dan.vault.core.ownCard()
      try world[2].vault.introductions.update(with: signed)
      world.set(.refuses, for: dan)
      _ = try await world.check(by: 1)
      let daniel = try world[1].vault.trust.peer("Daniel")
      #expect(daniel.addresses == [place] && daniel.name == "Daniel" && daniel.state == .scanned)
    }
  }
}
