import Sodium
import Testing

@testable import SecretVault
@testable import VaultCLI

@Suite("Messages for people and as JSON")
struct MessageWordsTests {
  private func message(
    mine: Bool = false, kind: MessageKind = .text, state: String, peer: String? = "Bob", contact: String? = nil,
    name: String? = nil, parts: Int = 1, partsDone: Int = 1, delivered: Int64? = nil, read: Int64? = nil,
    route: String? = nil, hops: Int? = nil, carriers: [String] = [], sealed: Bool = true, expires: Int64? = nil
  ) -> MessageSummary {
    MessageSummary(
      number: 12, id: Samples.id, peer: peer, contact: contact, isMine: mine, kind: kind, state: state, name: name,
      mediaType: name == nil ? nil : "image/jpeg", byteCount: 2_345_678, parts: parts, partsDone: partsDone,
      sentAt: Samples.at, storedAt: Samples.at, deliveredAt: delivered, readAt: read, route: route, hops: hops,
      carriers: carriers, isSealed: sealed, expiresAt: expires)
  }

  @Test func eachWayHasItsWords() {
    func way(_ route: String?, _ hops: Int? = nil, _ carriers: [String] = []) -> String? {
      MessageWords.way(message(state: "seen", route: route, hops: hops, carriers: carriers))
    }
    #expect(way("session") == "directly")
    #expect(way("bluetooth") == "directly, over Bluetooth")
    #expect(way("group") == "through a group's servers")
    #expect(way("account") == "through an XMPP account")
    #expect(way("account", 0) == "through an XMPP account")
    #expect(way("account", 1, ["Bob"]) == "through an XMPP account, by way of Bob, 1 hop")
    #expect(way("carriers", 2, ["Bob", "Dan"]) == "by way of Bob and Dan, 2 hops")
    #expect(way("carriers", 1, ["Dan"]) == "by way of Dan, 1 hop")
    #expect(way("carriers", 3) == "by others' devices, 3 hops")
    #expect(way("plain")?.contains("could read it") == true)
    #expect(way(nil) == nil)
  }

  @Test func namesAreListedAsOneSpeaks() {
    #expect(MessageWords.list([]) == "")
    #expect(MessageWords.list(["A"]) == "A")
    #expect(MessageWords.list(["A", "B", "C"]) == "A, B and C")
  }

  @Test func theHeadSaysWhoWhenAndHow() {
    let came = message(state: "new", route: "carriers", hops: 2, carriers: ["Dan"])
    #expect(
      MessageWords.head(came) == "12  \(Timestamp.minute(Samples.at))  from Bob  new, by way of Dan, 2 hops")
    let sent = message(mine: true, state: "underway", carriers: ["Dan", "Eve"], expires: Samples.at)
    #expect(
      MessageWords.head(sent)
        == "12  \(Timestamp.minute(Samples.at))  to Bob  on its way, given to Dan and Eve to carry, until \(Timestamp.minute(Samples.at))"
    )
    #expect(MessageWords.head(message(state: "seen", peer: nil, contact: "eve@x.org")).contains("from eve@x.org"))
    #expect(MessageWords.head(message(state: "seen", peer: nil)).contains("from a peer that is no more"))
  }

  @Test func whatCameOfSendingIsSaid() {
    #expect(
      MessageWords.outcome(message(mine: true, state: "delivered", route: "session")) == "delivered to Bob, directly")
    let waiting = MessageWords.outcome(message(mine: true, state: "waiting", expires: Samples.at))
    #expect(waiting.hasPrefix("waits here for Bob, until 20") && waiting.contains("'vault daemon'"))
    let half = MessageWords.outcome(message(mine: true, state: "underway", parts: 5, partsDone: 2, route: "account"))
    #expect(half.hasPrefix("on its way through an XMPP account to Bob, 2 of 5 parts have arrived"))
  }

  @Test func aFileIsNamedAndSaysHowToGetIt() {
    let photo = message(kind: .photo, state: "new", name: "beach.jpg")
    #expect(MessageWords.file(photo) == "photo beach.jpg, image/jpeg, 2.3 MB")
    #expect(MessageWords.advice(photo) == "vault message save 12")
    #expect(MessageWords.advice(message(state: "new")) == nil)
    let arriving = message(kind: .file, state: "partial", name: "a", parts: 5, partsDone: 3)
    #expect(MessageWords.state(arriving) == "arriving, 3 of 5 parts are here")
    #expect(MessageWords.advice(arriving) == nil)
  }

  @Test func aSuggestedCommandIsSafeToCopy() {
    func advice(_ peer: String?, _ contact: String? = nil) -> String? {
      MessageWords.advice(message(mine: true, state: "lost", peer: peer, contact: contact))
    }
    #expect(advice("Bob") == "send it again, or see what is wrong: vault peer ping Bob")
    #expect(advice("x';id;'")?.hasSuffix(#" 'x'\'';id;'\'''"#) == true)
    #expect(advice(nil, "x;id@evil.org") == "send it again")
  }

  @Test func aMessageThatIsNotSealedSaysSo() {
    let facts = MessageWords.facts(message(state: "seen", route: "plain", sealed: false))
    #expect(facts.first { $0.name == "protection" }?.value == "none: its servers could read it")
    #expect(facts.first { $0.name == "delivered" } == nil && facts.contains { $0.name == "received" })
  }

  @Test func aLongNameInAHeadingGoesOnSetIn() throws {
    let contact = String(repeating: "x", count: 40) + "  8  2026-01-01"
    let head = MessageWords.head(message(state: "seen", peer: nil, contact: contact))
    let rows = try shownLines(head, width: 40, isHeading: true).split(separator: "\n")
    #expect(rows.count > 1 && rows.first?.hasPrefix("12") == true)
    #expect(rows.dropFirst().allSatisfy { $0.hasPrefix("    ") })
  }

  @Test func keysOfJSONAreStable() {
    let json = message(mine: true, state: "delivered", delivered: Samples.at, route: "session", hops: 0).json.text
    #expect(
      json == "{\"number\":12,\"id\":\"\(Samples.id)\",\"direction\":\"sent\",\"kind\":\"text\",\"peer\":\"Bob\","
        + "\"contact\":null,\"state\":\"delivered\",\"name\":null,\"mediaType\":null,\"bytes\":2345678,\"parts\":1,"
        + "\"partsDone\":1,\"sentAt\":\"\(Timestamp.exact(Samples.at))\",\"storedAt\":\"\(Timestamp.exact(Samples.at))\","
        + "\"deliveredAt\":\"\(Timestamp.exact(Samples.at))\",\"readAt\":null,\"expiresAt\":null,\"route\":\"session\","
        + "\"hops\":0,\"carriers\":[],\"sealed\":true,\"late\":false}")
  }

  @Test func theOutboxSaysWhatWaitsAndWhatIsCarried() {
    let outbox = OutboxSummary(
      messages: [message(mine: true, state: "waiting")],
      parcels: [
        OutboxParcel(
          kind: "deposit", peer: "Carol\u{1B}", byteCount: 8192, createdAt: Samples.at, expiresAt: Samples.at, ways: []),
        OutboxParcel(
          kind: "message", peer: "Bob", byteCount: 1, createdAt: Samples.at, expiresAt: Samples.at, ways: ["group"]),
      ],
      carried: CarriedSummary(
        count: 2, byteCount: 3_000_000, oldestAt: Samples.at, nextExpiry: Samples.at, sizes: [1, 2_999_999]))
    let lines = OutboxText.lines(outbox, now: Samples.at)
    #expect(lines.count == 7)
    #expect(lines[0].hasPrefix("MESSAGE  TO") && lines[1].hasPrefix("12") && lines[1].contains("waits here"))
    #expect(lines[4].contains("Carol\\u{1b}") && lines[4].contains("a share to keep") && lines[4].contains("8.2 kB"))
    #expect(lines[6].hasPrefix("carried for others: 2 parcels, 3.0 MB, the oldest from just now;"))
    #expect(OutboxText.tried(["account", "group", "carriers"]) == "XMPP, group, carriers")
    let empty = OutboxSummary(
      messages: [], parcels: [],
      carried: CarriedSummary(count: 0, byteCount: 0, oldestAt: nil, nextExpiry: nil, sizes: []))
    #expect(OutboxText.lines(empty, now: 0) == ["nothing of your own waits", "", "carried for others: nothing"])
    #expect(
      empty.json.text == #"""
        {"messages":[],"parcels":[],"carried":\#
        {"count":0,"bytes":0,"oldestAt":null,"nextExpiry":null,"sizes":[]}}
        """#)
  }

  @Test func theStatusTellsOfMessages() {
    #expect(MessageTally().words == nil)
    #expect(
      MessageTally(new: 2, waiting: 1, carried: 3).words
        == "2 new: see 'vault message inbox'; 1 on the way: see 'vault message outbox'; 3 parcels carried for others")
    #expect(MessageTally(new: 1000).words == "1000 or more new: see 'vault message inbox'")
  }

  @Test func aTextLosesItsLastNewlineAndMustBeText() throws {
    func kept(_ text: [UInt8]) throws -> Int {
      try MessageInput.withoutLastNewline(SecretBytes(copying: text.span.bytes)).count
    }
    #expect(try kept(Array("hello\n".utf8)) == 5)
    #expect(try kept(Array("hello\n\n".utf8)) == 6)
    #expect(try kept([]) == 0)
    func check(_ text: [UInt8]) throws { try MessageInput.check(SecretBytes(copying: text.span.bytes), limit: 10) }
    try check(Array("ten bytes!".utf8))
    for wrong in [[0xFF], Array("a\0b".utf8), Array("eleven byte".utf8)] {
      let error = #expect(throws: VaultError.self) { try check(wrong) }
      #expect(error?.code == .usage && error?.hint == "send it as a file: --file")
    }
  }
}
