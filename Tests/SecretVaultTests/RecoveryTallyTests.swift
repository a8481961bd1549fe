import Sodium
import Testing

@testable import SecretVault

/// What a recovery remembers of those whom it asked.
@Suite struct RecoveryTallyTests {
  private func holder(_ number: UInt8) throws -> AskedHolder {
    AskedHolder(digest: try Digest([UInt8](repeating: number, count: 32)), name: "cleo")
  }

  @Test func `two holders of one name are counted as two`() throws {
    var tally = RecoveryTally(need: 3)
    tally.answered(try holder(1))
    tally.failed(try holder(2), LinkFailure(.unreachable, "unreachable"))
    #expect(tally.have == 2 && tally.outcomes.map(\.state) == [.answered, .unreachable])
    tally.answered(try holder(2))
    #expect(tally.have == 3 && tally.outcomes.count == 2)
  }

  @Test func `pieces that are due are remembered of each by itself`() throws {
    let due = DuePieces()
    due.begin()
    due.cut(try holder(1), at: 7)
    #expect(try due.first(of: holder(1)) == 7 && due.first(of: holder(2)) == nil)
  }
}
