import Logging
import Testing

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

  @Test func secrets() {
    #expect(
      ListCommand.table([Samples.secret, Samples.held], now: Samples.at + 120_000).lines == [
        "ID            DESCRIPTION     KIND  FROM   NEEDS   DELIVERED     CREATED",
        "4be1c0ffee00  house \"keys\"\\n  file  you    2 of 3  1, 1 waiting  2 minutes ago",
        "4be1c0ffee00  -               note  Carol  2 of 3  -             2 minutes ago",
      ])
  }

  @Test func sharingIsToldInSentences() {
    let plan = SharePlan(threshold: 2, shareCount: 3, recipients: ["Bob", "Carol"], keepsOwnShare: true)
    #expect(ShareReporter.text(plan) == "3 shares, any 2 recover it: you, Bob, Carol")
    let all = SharePlan(threshold: 2, shareCount: 2, recipients: ["Bob", "Carol"], keepsOwnShare: false)
    #expect(ShareReporter.text(all) == "2 shares, all recover it: Bob, Carol")
    #expect(ShareReporter.text(Samples.deliveries[0]) == "Bob has share 2")
    #expect(
      ShareReporter.text(Samples.deliveries[1])
        == "Carol could not be reached; share 3 waits: did not answer in time")
    let id = Samples.id
    #expect(
      ShareReporter.conclusion(Samples.report([.delivered, .delivered], threshold: 2))
        == "shared as \(id): 3 of 3 delivered; any 2 recover it")
    #expect(
      ShareReporter.conclusion(Samples.report([.delivered, .waiting], threshold: 2))
        == "shared as \(id): 2 of 3 delivered; any 2 recover it already; the daemon or 'vault retry' delivers the rest")
    #expect(
      ShareReporter.conclusion(Samples.report([.waiting, .waiting], threshold: 2)).contains(
        "1 of 3 delivered, fewer than the 2 that recover it"))
  }

  @Test func aLogLineIsOneLine() {
    let line = LineLogHandler.line(at: 0, .info, "share received\n", ["peer": "Bob\u{1B}", "at": "x"])
    #expect(line == "1970-01-01T00:00:00.000Z info: share received\\n at=x peer=Bob\\u{1b}")
  }
}
