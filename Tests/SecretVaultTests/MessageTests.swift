import PeerAuth
import Sodium
import Testing
import VaultProtocol

@testable import SecretVault
@testable import VaultStore

extension VaultTests {
  /// Ada, ben and cleo know one another, and are in a group whose parcels a test carries by hand.
  @Suite struct Messages {
    let world: TestWorld
    let office: ParcelOffice

    init() throws {
      world = try TestWorld(3)
      office = try ParcelOffice(world)
    }

    private var ada: Vault { world[0].vault }
    private var ben: Vault { world[1].vault }
    private var cleo: Vault { world[2].vault }

    @Test func `a text comes to its recipient through a group, and its sender hears of it`() async throws {
      let sent = try ada.send("The key is under the third stone.", to: "ben")
      #expect(sent.state == "waiting" && sent.isMine && sent.peer == "ben" && sent.kind == .text)
      #expect(try ada.post.foldersWithParcels() == [office.folders[0]])
      try office.post(by: 0)
      #expect(try ada.messages.message(sent.number).state == "underway")
      try office.take(by: 1)
      let received = try #require(try ben.messages.messages().first)
      #expect(received.state == "new" && !received.isMine && received.peer == "ada" && received.route == "group")
      #expect(received.id == sent.id && received.sentAt == sent.sentAt)
      #expect(try ben.text(of: received.number) == "The key is under the third stone.")
      #expect(try ben.post.foldersWithParcels() == [office.folders[1]])
      try await office.round()
      let done = try ada.messages.message(sent.number)
      #expect(done.state == "delivered" && done.route == "group" && done.deliveredAt != nil && done.expiresAt == nil)
      // Nothing is left in the group, and nothing goes back and forth.
      try await office.round()
      #expect(office.posts.isEmpty)
      #expect(try ada.post.ownParcels().isEmpty)
      #expect(try cleo.messages.messages().isEmpty)
    }

    @Test func `a conversation is in the order of sending, and what came late is marked`() async throws {
      var parcels: [[UInt8]] = []
      for text in ["first", "second", "third"] {
        try ada.send(text, to: "ben")
        parcels += try office.post(by: 0).map(\.bytes)
        world.clock.advance(milliseconds: 120_000)
      }
      #expect(parcels.count == 3)
      for place in [0, 2, 1] {
        #expect(try ben.intake.takeParcel(parcels[place], by: ParcelArrival(way: .account)).isTaken)
      }
      try ben.send("fourth", to: "ada")
      let listed = try ben.messages.messages(with: "ada")
      #expect(try listed.map { try ben.text(of: $0.number) } == ["fourth", "third", "second", "first"])
      #expect(listed.map(\.isLate) == [false, false, true, false])
      // The same wherever it shows, by itself, among the new ones, and found by a word.
      let late = try #require(listed.first { $0.isLate }).number
      #expect(try ben.messages.message(late).isLate && !ben.messages.message(listed[1].number).isLate)
      #expect(try ben.messages.messages(unreadOnly: true).filter { $0.isLate }.map(\.number) == [late])
      #expect(try ben.messages.messages(receivedOnly: true, limit: 1).map(\.isLate) == [true])
      #expect(try ben.messages.messages(search: held(Array("second".utf8))).map(\.isLate) == [true])
      // Who says that it was sent tomorrow gains nothing.
      #expect(listed.allSatisfy { $0.time <= $0.storedAt })
    }

    @Test func `a message is shown once, however often it comes, and by which ways`() async throws {
      try ada.send("once", to: "ben")
      let parcel = try #require(try office.post(by: 0).first)
      let ways: [ParcelArrival.Way] = [.group(folder: office.folders[1]), .account, .carriers, .session, .bluetooth]
      for way in ways + ways { #expect(try ben.intake.takeParcel(parcel.bytes, by: ParcelArrival(way: way)).isTaken) }
      #expect(try ben.messages.messages().count == 1)
      // Not even after it was deleted.
      try ben.messages.deleteMessage(#require(try ben.messages.messages().first).number)
      #expect(try ben.intake.takeParcel(parcel.bytes, by: ParcelArrival(way: .account)).isTaken)
      try world[1].restart()
      #expect(try ben.intake.takeParcel(parcel.bytes, by: ParcelArrival(way: .account)).isTaken)
      #expect(try ben.messages.messages().isEmpty)
    }

    @Test func `the user is told of a message once, and of nothing that it says`() async throws {
      _ = try ben.core.set("notify-command", to: "true")
      try ada.send("xyzzy", to: "ben")
      let parcel = try #require(try office.post(by: 0).first)
      for _ in 0..<3 { _ = try ben.intake.takeParcel(parcel.bytes, by: ParcelArrival(way: .account)) }
      let told = world.notifications.told(to: world[1]).filter { $0.event.event == "message-received" }
      #expect(told.count == 1 && told.first?.event.peer == "ada")
      #expect(told.first?.event.detail == "a message of ada")
      for member in [ada, ben] {
        #expect(try !member.overview.log(limit: 100).contains { $0.detail?.contains("xyzzy") == true })
      }
    }

    @Test func `a recipient that is met says at once that a message is there`() async throws {
      let sent = try ada.send("hello", to: "ben")
      let record = try #require(try ada.post.outgoingRecords(way: .session, at: world.clock.now).first)
      let bytes = try #require(try ada.post.parcelContent(record.id))
      let arrival = ParcelArrival(way: .session, from: ada.core.identity.keys.digest)
      guard case .taken(let receipt?) = try ben.intake.takeParcel(bytes, by: arrival) else {
        Issue.record("no receipt")
        return
      }
      #expect(try ada.post.takeReceipt(receipt, handedOverBy: .session))
      let done = try ada.messages.message(sent.number)
      #expect(done.state == "delivered" && done.route == "session")
      // Nothing more goes out, in either direction.
      #expect(try ada.post.outgoingRecords(way: .session, at: world.clock.now).isEmpty)
      #expect(try ben.post.outgoingRecords(way: .session, at: world.clock.now).isEmpty)
    }

    @Test func `a receipt that came by carriers tells which of them brought the message`() async throws {
      let sent = try ada.send("hello", to: "ben")
      let record = try #require(try ada.post.ownParcels().first)
      let arrival = ParcelArrival(way: .carriers, from: cleo.core.identity.keys.digest, hops: 2, branch: 1)
      let bytes = try #require(try ada.post.parcelContent(record.id))
      guard case .taken(let receipt?) = try ben.intake.takeParcel(bytes, by: arrival) else {
        Issue.record("no receipt")
        return
      }
      let received = try #require(try ben.messages.messages().first)
      #expect(received.route == "carriers" && received.hops == 2 && received.carriers == ["cleo"])
      #expect(receipt.branch == 1)
      let digests = [ben, cleo].map(\.core.identity.keys.digest)
      #expect(try ada.post.takeReceipt(receipt, handedOverBy: nil, carriers: digests))
      let done = try ada.messages.message(sent.number)
      #expect(done.state == "delivered" && done.route == "carriers" && done.carriers == ["cleo"])
    }

    @Test func `a false receipt counts for nothing`() async throws {
      let sent = try ada.send("hello", to: "ben")
      let record = try #require(try ada.post.ownParcels().first)
      let id = record.id
      let seed = try #require(record.seed.flatMap { ParcelSeed($0) })
      let genuine = try seed.proof(branch: 1)
      func receipt(_ branch: UInt8, _ proof: [UInt8]) -> ParcelReceipt {
        ParcelReceipt(id: id, branch: branch, expiresAt: record.expiresAt, proof: proof)
      }
      for place in [0, 31] {
        var proof = genuine
        proof[place] ^= 1
        #expect(try !ada.post.takeReceipt(receipt(1, proof), handedOverBy: nil))
      }
      #expect(try !ada.post.takeReceipt(receipt(1, []), handedOverBy: nil))
      #expect(try ada.messages.message(sent.number).state == "waiting")
      // With another carrier's name on a true one nobody is believed to have brought it.
      #expect(try !ada.post.takeReceipt(receipt(2, genuine), handedOverBy: nil))
      let done = try ada.messages.message(sent.number)
      #expect(done.state == "delivered" && done.route == nil)
    }

    @Test func `nobody but its recipient says by parcel that a message has come or was read`() async throws {
      let sent = try ada.send("hello", to: "ben")
      let record = try #require(try ada.post.ownParcels().first)
      let seed = try #require(record.seed.flatMap { ParcelSeed($0) })
      let receipt = ParcelReceipt(
        id: try seed.parcelID(), branch: 5, expiresAt: record.expiresAt, proof: try seed.proof(branch: 5))
      let id = try #require(record.message)
      let content = MessageContent.receipts(try MessageReceipts(delivered: [receipt], read: [id]))
      let arrival = ParcelArrival(way: .account)
      #expect(try ada.intake.takeParcel(ForgedMessage(world[2], to: world[0]).sealed(content), by: arrival).isTaken)
      #expect(try ada.messages.message(sent.number).state == "waiting")
      #expect(try ada.intake.takeParcel(ForgedMessage(world[1], to: world[0]).sealed(content), by: arrival).isTaken)
      #expect(try ada.messages.message(sent.number).state == "read")
      #expect(try ada.post.ownParcels().isEmpty)
    }

    @Test func `a sender hears that its message was read, unless its reader doesn't want that`() async throws {
      let first = try ada.send("first", to: "ben")
      try await office.round()
      try ben.messages.markRead([#require(try ben.messages.messages().first).number])
      #expect(try ben.messages.messages(unreadOnly: true).isEmpty)
      try await office.round()
      #expect(try ada.messages.message(first.number).state == "read")
      #expect(try ada.messages.message(first.number).readAt != nil)
      _ = try ben.core.set("read-receipts", to: "off")
      let second = try ada.send("second", to: "ben")
      try await office.round()
      try ben.messages.markRead([#require(try ben.messages.messages().first).number])
      #expect(try ben.messages.messages().allSatisfy { $0.state == "seen" && $0.readAt != nil })
      try await office.round()
      #expect(try ada.messages.message(second.number).state == "delivered")
    }

    @Test func `a message that nobody took in time is lost, and can't be taken any more`() async throws {
      let sent = try ada.send("hello", to: "ben", lifetime: 3_600_000)
      let parcel = try #require(try office.post(by: 0).first)
      let kept = try ada.send("stay", to: "ben")
      // A time counts once it was seen an hour ago.
      for _ in 0..<4 {
        world.clock.advance(milliseconds: 3_700_000)
        try await ada.answering.messageRunnerStep()
      }
      let lost = try ada.messages.message(sent.number)
      #expect(lost.state == "lost" && lost.expiresAt == nil)
      #expect(try ada.messages.message(kept.number).state == "waiting")
      #expect(try ada.post.ownParcels().map(\.message) == [bytes(hexadecimal: kept.id)])
      #expect(try ben.takeParcel(parcel.bytes, folder: office.folders[1]) == .full)
    }

    @Test func `messages are found by what they say, whatever the case`() async throws {
      try ada.send("Meet me at the Harbour", to: "ben")
      try ada.send("nothing", to: "ben")
      try ada.send("harbour again", to: "cleo")
      func found(_ word: String, _ peer: String? = nil) throws -> [String?] {
        try ada.messages.messages(with: peer, search: held(Array(word.utf8))).map { try ada.text(of: $0.number) }
      }
      #expect(try found("HARBOUR") == ["harbour again", "Meet me at the Harbour"])
      #expect(try found("harbour", "ben") == ["Meet me at the Harbour"])
      #expect(try found("harbor").isEmpty)
      #expect(try ada.messages.messages(limit: 1).map(\.peer) == ["cleo"])
    }

    @Test(arguments: ["UPDATE message_parts SET sealed = zeroblob(length(sealed))", "DELETE FROM message_parts"])
    func `a text that is damaged or gone is told of, and the others are found`(_ change: String) async throws {
      try ada.send("the harbour", to: "ben")
      let spoiled = try ada.send("harbour, too", to: "ben").number
      try ada.send("harbour again", to: "cleo")
      try world[0].execute("\(change) WHERE number = \(spoiled)")
      var damaged: [Int64] = []
      let word = try held(Array("harbour".utf8))
      let found = try ada.messages.messages(search: word) { damaged.append($0) }
      #expect(try found.map { try ada.text(of: $0.number) } == ["harbour again", "the harbour"])
      #expect(damaged == [spoiled])
      let error = await refusal { _ = try ada.messages.messageText(spoiled) }
      #expect(error?.code == .damaged)
    }

    @Test func `what isn't text, or is too long, isn't sent`() async throws {
      for bytes in [[], [0x61, 0], [0xff], [UInt8](repeating: 0x61, count: MessageText.byteLimit + 1)] {
        let text = try held(bytes)
        let error = await refusal { _ = try ada.messages.send(.text(text), to: "ben") }
        #expect(error?.code == .usage)
      }
      let stranger = await refusal { _ = try ada.send("hello", to: "nobody") }
      #expect(stranger?.code == .notFound)
      #expect(try ada.messages.messages().isEmpty)
    }

    @Test func `a message that was deleted before it went isn't sent`() async throws {
      let sent = try ada.send("never mind", to: "ben")
      try ada.messages.deleteMessage(sent.number)
      try await office.round()
      #expect(try ben.messages.messages().isEmpty)
      #expect(try ada.post.ownParcels().isEmpty)
    }

    @Test func `a group that is left keeps no message from going another way`() async throws {
      let sent = try ada.send("hello", to: "ben")
      try office.post(by: 0)
      try ada.post.leaveMailboxes(folder: office.folders[0])
      let record = try #require(try ada.post.ownParcels().first)
      #expect(record.group.isEmpty && record.state == .waiting)
      #expect(try ada.messages.message(sent.number).state == "underway")
      #expect(try ada.post.outgoingRecords(way: .carriers, at: world.clock.now).count == 1)
    }
  }
}
