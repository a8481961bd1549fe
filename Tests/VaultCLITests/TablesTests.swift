import Logging
import PeerAuth
import Testing
import VaultProtocol

@testable import SecretVault
@testable import VaultCLI

@Suite("Tables and sentences for people")
struct TablesTests {
  @Test func columnsLineUpByWidthOnTheScreen() {
    var table = TextTable("NAME", "X")
    table.add("李小龍", "1")
    table.add("Bob", "2")
    #expect(table.lines == ["NAME    X", "李小龍  1", "Bob     2"])
  }

  @Test func cellsCannotSteerTheTerminal() {
    var table = TextTable("NAME", "X")
    table.add("\u{1B}[2J\n", "")
    #expect(table.lines == ["NAME         X", "\\u{1b}[2J\\n"])
  }

  @Test func aTableFitsOnANarrowScreenAndIdsStayWhole() {
    var table = TextTable("ID", "NAME", "CREATED")
    table.add("0123456789ab", "李小龍 of the house at the end of the road", "today")
    table.add("ba9876543210", "Bob", "long ago")
    let narrow = table.lines(on: Screen(columns: 40))
    #expect(narrow.allSatisfy { Printable.columns($0) <= 40 }, "\(narrow)")
    #expect(narrow[1] == "0123456789ab  李小龍 of the h…  today", "\(narrow)")
    #expect(narrow[2] == "ba9876543210  Bob" + String(repeating: " ", count: 15) + "long ago", "\(narrow)")
    #expect(table.lines(on: Screen(columns: 200)) == table.lines(on: .none))
    let indented = table.lines(on: Screen(columns: 40), indent: 6)
    #expect(indented.allSatisfy { Printable.columns($0) <= 34 }, "\(indented)")
  }

  @Test func aSentenceInTheLastColumnGoesOnBelowItself() {
    var table = TextTable("HOLDER", "RESULT")
    table.add("Bob", "unreachable: nobody answers there; may hold a share")
    #expect(
      table.lines(on: Screen(columns: 30)) == [
        "HOLDER  RESULT", "Bob     unreachable: nobody", "        answers there; may", "        hold a share",
      ])
    #expect(table.lines(on: .none) == ["HOLDER  RESULT", "Bob     " + table.rows[0][1]])
  }

  @Test func headingsAreBoldOnAScreenThatShowsIt() {
    var table = TextTable("NAME", "X")
    table.add("Bob", "2")
    #expect(table.lines(on: Screen(isStyled: true)) == ["\u{1B}[1mNAME  X\u{1B}[0m", "Bob   2"])
    #expect(table.lines(on: .none) == ["NAME  X", "Bob   2"])
  }

  @Test(
    arguments: [
      (nil, "xterm", true), ("", "xterm", true), ("1", "xterm", false), ("0", "xterm", false), (nil, "dumb", false),
      (nil, nil, false), (nil, "", false),
    ] as [(String?, String?, Bool)])
  func coloursAreShownWhereTheyAreWanted(noColour: String?, terminal: String?, isStyled: Bool) {
    #expect(Screen.isStyleWanted(noColour: noColour, terminal: terminal) == isStyled)
  }

  @Test func errorsStandOutOnAScreen() {
    let error = VaultError(.other, "it \u{1B}[2J failed", hint: "do this")
    #expect(
      Console.lines(of: error, list: ["\u{1B}[1mx"], json: false, on: Screen(isStyled: true)) == [
        "\u{1B}[1;31mvault:\u{1B}[0m it \\u{1b}[2J failed", "  \\u{1b}[1mx", "\u{1B}[2mhint:\u{1B}[0m do this",
      ])
    #expect(Console.lines(of: error, list: [], json: false, on: .none).last == "hint: do this")
    #expect(Console.lines(of: error, list: [], json: true, on: Screen(isStyled: true)).allSatisfy { $0.hasPrefix("{") })
  }

  @Test func factsHaveOneColumnOfValues() {
    #expect(TextTable.facts([("id", "1"), ("label", "\u{202E}x")]) == ["id:     1", "label:  \\u{202e}x"])
  }

  @Test func peersWithTheirLocks() {
    #expect(
      PeerListCommand.table([Samples.peer], now: Samples.at, unicode: true).lines == [
        "    NAME  FINGERPRINT    ADDRESS  LAST SEEN", "🔒  Bob   01234 56789 …           never",
      ])
    #expect(PeerListCommand.lock(.proven, unicode: false) == "[x]")
    #expect(PeerListCommand.lock(.scanned, unicode: false) == "[ ]")
    #expect(PeerListCommand.lock(.scanned, unicode: true) == "🔓")
  }

  @Test func sharingIsToldInSentences() throws {
    let plan = SharePlan(threshold: 2, shareCount: 3, recipients: try Samples.recipients, keepsOwnShare: true)
    #expect(SharePlanText(plan: plan).heading == "3 shares, 2 of them are needed: you, Bob, Carol")
    let all = SharePlan(threshold: 2, shareCount: 2, recipients: try Samples.recipients, keepsOwnShare: false)
    #expect(SharePlanText(plan: all).heading == "2 shares, all of them are needed: Bob, Carol")
    #expect(ShareReporter.text(Samples.deliveries[0]) == "Bob has share 2")
    #expect(
      ShareReporter.text(Samples.deliveries[1])
        == "Carol did not answer in time; share 3 waits")
    let id = Samples.id
    #expect(
      ShareReporter.conclusion(Samples.report([.delivered, .delivered], threshold: 2))
        == "shared as \(id): 3 of 3 delivered; any 2 recover it here")
    #expect(
      ShareReporter.conclusion(Samples.report([.delivered, .waiting], threshold: 2))
        == "shared as \(id): 2 of 3 delivered; any 2 recover it here already; the daemon or 'vault secret deliver' delivers the rest"
    )
    #expect(
      ShareReporter.conclusion(Samples.report([.waiting, .waiting], threshold: 2)).contains(
        "1 of 3 delivered, fewer than the 2 that recover it"))
    // Somebody was left out or removed, and nothing waits.
    #expect(
      ShareReporter.conclusion(Samples.report([.delivered, .cancelled], threshold: 2))
        == "shared as \(id): 2 of 3 delivered; any 2 recover it here")
    #expect(
      ShareReporter.conclusion(Samples.report([.cancelled, .cancelled], threshold: 2))
        == "shared as \(id): 1 of 3 delivered, fewer than the 2 that recover it: keep the file for now")
  }

  @Test func whenAllSharesAreNeededEverySentenceSaysSo() throws {
    let plan = SharePlan(threshold: 3, shareCount: 3, recipients: try Samples.recipients, keepsOwnShare: true)
    #expect(SharePlanText(plan: plan).heading == "3 shares, all of them are needed: you, Bob, Carol")
    #expect(
      ShareReporter.conclusion(Samples.report([.delivered, .delivered], threshold: 3))
        == "shared as \(Samples.id): 3 of 3 delivered; all of them are needed")
  }

  @Test func aRetryNamesTheSecretInEveryLine() {
    let name = ShareReporter.name("house keys", id: Samples.id)
    #expect(name == "'house keys' (4be1c0ffee00)")
    #expect(ShareReporter.name(nil, id: Samples.id) == "4be1c0ffee00")
    #expect(
      ShareReporter.text(Samples.deliveries[0], of: name) == "Bob has share 2 of 'house keys' (4be1c0ffee00)")
    #expect(
      ShareReporter.conclusion(Samples.report([.delivered, .delivered], threshold: 2), of: name)
        == "'house keys' (4be1c0ffee00): 3 of 3 delivered; any 2 recover it here")
    #expect(
      ShareReporter.conclusion(Samples.report([.waiting, .waiting], threshold: 2), of: name)
        == "'house keys' (4be1c0ffee00): 1 of 3 delivered, fewer than the 2 that recover it; "
        + "the daemon or 'vault secret deliver' delivers the rest")
  }

  @Test(
    arguments: [
      (.unreachable, "unreachable: connection refused", "Bob could not be reached (connection refused); share 2 waits"),
      (.unreachable, "unreachable", "Bob could not be reached; share 2 waits"),
      (.unreachable, nil, "Bob could not be reached; share 2 waits"),
      (.unreachable, "ended the connection in the middle", "Bob ended the connection in the middle; share 2 waits"),
      (.refused, "refused: its disk is full", "Bob refused share 2: its disk is full"),
      (.refused, "has not imported your key", "Bob has not imported your key; share 2 waits"),
      (.refused, nil, "Bob refused share 2"), (.waiting, nil, "share 2 waits for Bob"),
      (.cancelled, "the peer was removed", "share 2 for Bob was cancelled (the peer was removed)"),
    ] as [(Delivery.State, String?, String)])
  func oneSharesFateIsOneSentence(state: Delivery.State, reason: String?, sentence: String) {
    #expect(ShareReporter.text(Delivery(peer: "Bob", index: 2, state: state, reason: reason)) == sentence)
  }

  @Test func whoSimplyHoldsNothingIsNoProblem() {
    #expect(PeerSentence.hasNothing(LinkFailure.refused(.unavailable).reason))
    for reason in RefusalReason.allCases where reason != .unavailable {
      #expect(!PeerSentence.hasNothing(LinkFailure.refused(reason).reason))
    }
    #expect(!PeerSentence.hasNothing("did not answer in time"))
  }

  @Test func aPeerThatIsNotThereIsNamedWithItsAddresses() throws {
    let peer = PeerSummary(
      name: "Bob", label: "Bob", state: .proven, fingerprint: "", cardDigest: "",
      addresses: [try PeerAddress(parsing: "192.0.2.7:1"), try PeerAddress(parsing: "bob.example:2")], cardText: "",
      addedAt: 0, lastSeenAt: nil)
    let error = PeerPingCommand.explained(VaultError(.unreachable, "Bob unreachable: connection refused"), peer)
    #expect(error.code == .unreachable)
    #expect(error.reason == "Bob at 192.0.2.7:1, bob.example:2 could not be reached (connection refused)")
    #expect(error.hint?.contains("is its daemon running") == true)
    let refusal = VaultError(.refused, "Bob has not imported your key", hint: "show it")
    #expect(PeerPingCommand.explained(refusal, peer) == refusal)
  }

  @Test(arguments: [
    ("Family", "Family"), ("our house", "'our house'"), ("x';id;'", #"'x'\'';id;'\'''"#), ("`id`", "'`id`'"),
    ("--help", "-- '--help'"),
  ])
  func suggestedCommandsDoNothingElseThoughTheNameWouldHaveThem(name: String, word: String) throws {
    #expect(GroupText.joining(name) == "vault group join \(word)")
    #expect(GroupText.inviting(name) == "vault group invite \(word)")
    let peer = PeerSummary(
      name: name, label: name, state: .proven, fingerprint: "", cardDigest: "",
      addresses: [try PeerAddress(parsing: "192.0.2.7:1")], cardText: "", addedAt: 0, lastSeenAt: nil)
    let error = PeerPingCommand.explained(VaultError(.unreachable, "\(name) unreachable: refused"), peer)
    #expect(error.hint?.hasSuffix("vault peer address \(word) HOST:PORT") == true)
  }

  @Test func theGivenAddressesComeFirstAndThoseOfTheCardStay() throws {
    let given = [try PeerAddress(parsing: "192.0.2.7:1")]
    let card = try PeerAddress(parsing: "bob.example:2")
    func peer(_ addresses: [PeerAddress]) -> PeerSummary {
      PeerSummary(
        name: "Bob", label: "Bob", state: .proven, fingerprint: "", cardDigest: "", addresses: addresses, cardText: "",
        addedAt: 0, lastSeenAt: nil)
    }
    #expect(PeerAddressCommand.line(peer(given), given: given) == "Bob will be tried at 192.0.2.7:1")
    #expect(
      PeerAddressCommand.line(peer(given + [card]), given: given)
        == "Bob will be tried at 192.0.2.7:1, then at what its card says: bob.example:2")
  }

  @Test func aLogLineIsOneLine() {
    let line = LineLogHandler.line(at: 0, .info, "share received\n", ["peer": "Bob\u{1B}", "at": "x"])
    #expect(line == "1970-01-01T00:00:00.000Z info: share received\\n at=x peer=Bob\\u{1b}")
  }

  @Test("it is said how peers reach this device, and what to do where they can't") func reach() throws {
    func line(_ addresses: [String] = [], _ isLocal: Bool = false, _ groups: [String] = []) throws -> String {
      ReachText.line(
        addresses: try addresses.map { try PeerAddress(parsing: $0) }, isLocal: isLocal, isNearby: false, account: nil,
        groups: groups)
    }
    #expect(try line(["alice.example.org:4721"], true).hasSuffix("at alice.example.org:4721; on the same network"))
    #expect(try line([], false, ["family", "chess"]).hasSuffix("by the groups family, chess"))
    #expect(try line().hasPrefix("no peer can reach this device yet: 'vault settings set lan on'"))
  }
}
