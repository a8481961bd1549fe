import Sodium
import Testing

@testable import SecretVault

extension VaultTests {
  /// How many lines of the log a peer can cause.
  @Suite struct LineAllowances {
    private let allowance = LineAllowance()
    private let ada: Digest
    private let ben: Digest
    private let full = LineAllowance.perMinute

    init() throws {
      ada = try Digest([UInt8](repeating: 1, count: Digest.byteCount))
      ben = try Digest([UInt8](repeating: 2, count: Digest.byteCount))
    }

    /// How many of so many lines are written, and what is said of those that were not.
    private func lines(_ count: Int, of peer: Digest, at now: Double) -> (written: Int, leftOut: Int) {
      (0..<count).reduce(into: (0, 0)) { sum, _ in
        let (isWritten, leftOut) = allowance.next(peer, at: now)
        sum.0 += isWritten ? 1 : 0
        sum.1 += leftOut
      }
    }

    @Test func `as many lines as are allowed are written, and not one more`() {
      #expect(lines(full, of: ada, at: 0) == (full, 0))
      #expect(lines(1000, of: ada, at: 0) == (0, 0))
    }

    @Test func `a minute after the first line there are new ones, and not a moment before`() {
      _ = lines(full, of: ada, at: 500)
      #expect(lines(1, of: ada, at: 60_499).written == 0)
      #expect(lines(full + 1, of: ada, at: 60_500).written == full)
    }

    @Test func `the first line of a later minute says once how many were left out before it`() {
      _ = lines(full + 7, of: ada, at: 0)
      #expect(lines(3, of: ada, at: 200_000) == (3, 7))
      #expect(lines(3, of: ada, at: 400_000) == (3, 0))
    }

    @Test func `a minute with all its lines written says that none were left out`() {
      _ = lines(full, of: ada, at: 0)
      #expect(lines(1, of: ada, at: 60_000) == (1, 0))
    }

    @Test func `a peer that uses up its lines takes none from another`() {
      _ = lines(full + 100, of: ada, at: 0)
      #expect(lines(full, of: ben, at: 0) == (full, 0))
    }

    @Test func `lines at the same time from many threads are counted one by one`() async {
      let written = await withTaskGroup(of: Int.self) { group in
        for _ in 0..<8 { group.addTask { lines(full, of: ada, at: 0).written } }
        return await group.reduce(0, +)
      }
      #expect(written == full)
      #expect(lines(1, of: ada, at: 60_000).leftOut == 7 * full)
    }
  }
}
