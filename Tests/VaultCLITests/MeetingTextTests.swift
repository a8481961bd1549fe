import SecretVault
import Sodium
import Testing
import VaultStore

@testable import VaultCLI

@Suite("The log of meetings for people and as JSON")
struct MeetingTextTests {
  private func meeting(
    _ peer: String? = "Bob", nearby: Bool = false, dialled: Bool = true, ending: MeetingRecord.Ending = .regular,
    given: MeetingRecord.Given = .init(), taken: MeetingRecord.Taken = .init()
  ) throws -> MeetingLine {
    MeetingLine(
      peer: peer,
      record: MeetingRecord(
        peer: try Digest([UInt8](repeating: 1, count: 32)), beganAt: Samples.at, duration: 1500, isNearby: nearby,
        isDialled: dialled, ending: ending, given: given, taken: taken))
  }

  private func moved() throws -> MeetingLine {
    var given = MeetingRecord.Given()
    (given.delivered, given.handedOver, given.toCarry, given.passedOn) = (1, 2, 3, 4)
    (given.byteCount, given.receipts) = (8192, 1)
    var taken = MeetingRecord.Taken()
    (taken.received, taken.toCarry, taken.byteCount, taken.receipts) = (5, 6, 4096, 2)
    return try meeting(nearby: true, dialled: false, ending: .brokenOff, given: given, taken: taken)
  }

  @Test func eachMeetingIsALine() throws {
    let lines = MeetingText.lines([try moved(), try meeting("Eve\u{1B}[2J", ending: .busy)])
    #expect(lines.count == 3)
    #expect(lines[0].hasPrefix("MEETING"))
    #expect(lines[1].hasPrefix(Timestamp.minute(Samples.at) + "  Bob"))
    #expect(
      lines[1].contains(
        "Bluetooth  there  1.50 s  1 delivered, 2 handed over, 3 to carry, 4 passed on, 1 receipt, 8.2 kB"))
    #expect(lines[1].hasSuffix("5 for you, 6 to carry, 2 receipts, 4.1 kB  broken off"))
    #expect(lines[2].contains("Eve\\u{1b}[2J") && lines[2].contains("network    here") && lines[2].hasSuffix("busy"))
    #expect(MeetingText.lines([]) == ["no meetings in the last 14 days"])
  }

  @Test func whatIsLeftOutIsSaid() throws {
    #expect(MeetingText.lines([try meeting()], isCut: true).last == "these are the newest 1; --all shows more")
  }

  @Test func keysOfJSONAreStable() throws {
    #expect(
      try moved().json.text
        == "{\"peer\":\"Bob\",\"beganAt\":\"\(Timestamp.exact(Samples.at))\",\"milliseconds\":1500,\"link\":\"bluetooth\","
        + "\"begunHere\":false,\"end\":\"broken-off\",\"given\":{\"delivered\":1,\"handedOver\":2,\"toCarry\":3,\"passedOn\":4,"
        + "\"receipts\":1,\"bytes\":8192},\"taken\":{\"received\":5,\"toCarry\":6,\"receipts\":2,\"bytes\":4096}}")
  }
}
