import ShamirKit
import Sodium
import Testing

@testable import SecretVault
@testable import VaultStore

/// The rules by which a proven request is met, on a clock of the test's own.
@Suite struct ReleaseConsentTests {
  static let day: Int64 = 86_400_000
  static let start: Int64 = 1_800_000_000_000

  /// The table, with one row at most.
  struct Desk {
    var row: RequestRecord?
    var policy = ReleasePolicy.ask
    var now = ReleaseConsentTests.start
    var latest: Int64 = 0
    var counts = RequestCounts(ofPeer: 0, all: 0)
    let header: Digest

    init(_ policy: ReleasePolicy) throws {
      self.policy = policy
      header = try Digest([UInt8](repeating: 3, count: 32))
    }

    mutating func ask() throws -> ReleaseConsent.Verdict {
      let consent = ReleaseConsent(
        policy: policy, now: now, latest: latest, peer: try Digest([UInt8](repeating: 1, count: 32)),
        secretID: SecretID(high: 2, low: 2), headerDigest: header)
      let (verdict, row) = consent.judge(row, counts)
      self.row = row
      latest = max(latest, now)
      return verdict
    }

    mutating func decide(_ state: RequestRecord.State, for time: Int64) {
      row?.state = state
      row?.startedAt = now
      row?.delay = nil
      row?.endsAt = now + time
      latest = now
    }
  }

  @Test func `auto releases, and notes nothing`() throws {
    var desk = try Desk(.auto)
    #expect(try desk.ask() == .release)
    #expect(desk.row == nil)
  }

  @Test func `ask releases while an approval lasts, and asks anew when it is over`() throws {
    var desk = try Desk(.ask)
    #expect(try desk.ask() == .asked)
    #expect(try desk.ask() == .asked)
    desk.decide(.approved, for: Self.day)
    desk.now += Self.day - 1
    #expect(try desk.ask() == .release)
    desk.now += 1
    #expect(try desk.ask() == .asked)
    #expect(desk.row?.state == .waiting)
  }

  @Test func `a refusal holds for its time, whatever the policy becomes`() throws {
    var desk = try Desk(.ask)
    _ = try desk.ask()
    desk.decide(.refused, for: Self.day)
    for policy in [ReleasePolicy.ask, .auto, .delay(1000)] {
      desk.policy = policy
      #expect(try desk.ask() == .refused)
    }
    desk.now += Self.day
    #expect(try desk.ask() == .delayed(until: desk.now + 1000))
  }

  @Test func `a delay releases when it is over, within a window, and then starts over`() throws {
    var desk = try Desk(.delay(2 * Self.day))
    let release = Self.start + 2 * Self.day
    #expect(try desk.ask() == .delayed(until: release))
    desk.now = release - 1
    #expect(try desk.ask() == .delayed(until: release))
    desk.now = release
    #expect(try desk.ask() == .release)
    desk.now = release + ReleaseConsent.window - 1
    #expect(try desk.ask() == .release)
    desk.now = release + ReleaseConsent.window
    #expect(try desk.ask() == .delayed(until: desk.now + 2 * Self.day))
  }

  @Test func `a veto ends a delay`() throws {
    var desk = try Desk(.delay(Self.day))
    _ = try desk.ask()
    desk.decide(.refused, for: 3 * Self.day)
    desk.now += 2 * Self.day
    #expect(try desk.ask() == .refused)
  }

  @Test func `a request that its user was asked about gets its whole delay when the policy becomes one`() throws {
    var desk = try Desk(.ask)
    _ = try desk.ask()
    desk.now += 5 * Self.day
    desk.policy = .delay(Self.day)
    #expect(try desk.ask() == .delayed(until: desk.now + Self.day))
  }

  @Test func `a delay that becomes longer counts, one that becomes shorter doesn't shorten what was announced`() throws
  {
    var desk = try Desk(.delay(2 * Self.day))
    _ = try desk.ask()
    desk.policy = .delay(1000)
    #expect(try desk.ask() == .delayed(until: Self.start + 2 * Self.day))
    desk.policy = .delay(5 * Self.day)
    #expect(try desk.ask() == .delayed(until: Self.start + 5 * Self.day))
  }

  @Test func `a clock that was set back and forth releases nothing earlier`() throws {
    var desk = try Desk(.delay(2 * Self.day))
    desk.latest = Self.start
    // Three days back, asked, and put right: the two days begin when this device last knew the time.
    desk.now = Self.start - 3 * Self.day
    #expect(try desk.ask() == .delayed(until: Self.start + 2 * Self.day))
    desk.now = Self.start
    #expect(try desk.ask() == .delayed(until: Self.start + 2 * Self.day))
  }

  @Test func `a time that was over isn't while the clock is set back`() throws {
    var desk = try Desk(.delay(Self.day))
    _ = try desk.ask()
    desk.now += Self.day
    #expect(try desk.ask() == .release)
    desk.now -= Self.day / 2
    #expect(try desk.ask() == .delayed(until: Self.start + Self.day))
  }

  @Test func `an approval doesn't last longer because the clock was set back`() throws {
    var desk = try Desk(.ask)
    _ = try desk.ask()
    desk.decide(.approved, for: Self.day)
    desk.now += 2 * Self.day
    desk.latest = desk.now
    desk.now -= 2 * Self.day - 1000
    #expect(try desk.ask() == .asked)
  }

  @Test func `before it was given an approval counts for nothing, but clocks are put right by seconds all the time`()
    throws
  {
    var desk = try Desk(.ask)
    _ = try desk.ask()
    desk.decide(.approved, for: Self.day)
    desk.now -= 2000
    #expect(try desk.ask() == .release)
    desk.now -= Self.day
    #expect(try desk.ask() == .asked)
  }

  @Test func `a peer with too many waiting requests gets no more of them, but those that it has count`() throws {
    var desk = try Desk(.ask)
    desk.counts = RequestCounts(ofPeer: ReleaseConsent.limitOfPeer, all: ReleaseConsent.limitOfPeer)
    #expect(try desk.ask() == .full)
    #expect(desk.row == nil)
    desk.counts = RequestCounts(ofPeer: 0, all: ReleaseConsent.limit)
    #expect(try desk.ask() == .full)
    desk.counts = RequestCounts(ofPeer: 0, all: 0)
    #expect(try desk.ask() == .asked)
    desk.counts = RequestCounts(ofPeer: ReleaseConsent.limitOfPeer, all: ReleaseConsent.limit)
    #expect(try desk.ask() == .asked)
    desk.decide(.approved, for: 1000)
    #expect(try desk.ask() == .release)
  }

  @Test func `a request about another header of the same secret starts over`() throws {
    var desk = try Desk(.ask)
    _ = try desk.ask()
    desk.decide(.approved, for: Self.day)
    let known = try #require(desk.row)
    desk.row = RequestRecord(
      kind: .release, peer: known.peer, secretID: known.secretID,
      headerDigest: try Digest([UInt8](repeating: 9, count: 32)), askedAt: desk.now, endsAt: known.endsAt)
    desk.row?.state = .approved
    #expect(try desk.ask() == .asked)
  }

  @Test func `times at the end of time overflow nothing`() throws {
    for now in [Int64.max, Int64.max - 1, Int64.min, 0] {
      for policy in [ReleasePolicy.ask, .delay(ReleasePolicy.longestDelay)] {
        var desk = try Desk(policy)
        desk.now = now
        #expect(try desk.ask() != .release)
        desk.latest = .max
        #expect(try desk.ask() != .release)
      }
    }
  }

  @Test(arguments: [
    ("auto", ReleasePolicy.auto), ("ask", .ask), ("delay:1s", .delay(1000)), ("delay:2d", .delay(172_800_000)),
    ("delay:365d", .delay(ReleasePolicy.longestDelay)),
  ])
  func `a policy reads itself`(text: String, policy: ReleasePolicy) {
    #expect(ReleasePolicy(text) == policy)
    #expect(ReleasePolicy(policy.text) == policy)
  }

  @Test(arguments: [
    "", "Auto", "delay", "delay:", "delay:0s", "delay:366d", "delay:2", "delay:-1d", "delay:1.5d", "delay:２d",
    "delay:99999999999d", "ask ", "delay:2d ",
  ])
  func `what is no policy is none`(text: String) { #expect(ReleasePolicy(text) == nil) }

  @Test(arguments: [
    (Int64(1), "1 second"), (1000, "1 second"), (1001, "2 seconds"), (60_000, "60 seconds"), (120_001, "3 minutes"),
    (7_200_001, "3 hours"), (172_800_000, "48 hours"), (172_800_001, "3 days"),
  ])
  func `times in words are never too short`(milliseconds: Int64, words: String) {
    #expect(DurationText.words(milliseconds) == words)
  }
}
