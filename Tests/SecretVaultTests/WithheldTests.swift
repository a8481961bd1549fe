import ShamirKit
import Sodium
import Testing
import VaultProtocol

@testable import SecretVault

@Suite struct WithheldJoiningTests {
  @Test func `with the setting off nobody hears where a device stands until it proposes a change itself`() async throws
  {
    let circle = try await ChangingCircle(3)
    _ = try circle.vault(0).core.set("tell-holders", to: "off")
    _ = try await circle.check(0)
    #expect(try circle.circle(0).joinings.isEmpty)
    // Asked by others, it says nothing of itself either.
    _ = try await circle.check(1)
    #expect(try circle.circle(1).holders(of: Epoch(circle.circle(1).header)).values.contains(circle.card(0)) == false)
    let waiting = try await circle.vault(1).changing.order(.refresh, of: ["letter"], leavingOutAbsent: false)
    #expect(waiting.first?.phase == .gathering(absent: [1], unwilling: []))
    try circle.vault(1).changing.cancel("letter")
    _ = try await circle.vault(0).changing.order(.refresh, of: ["letter"], leavingOutAbsent: false)
    try await circle.settle([1, 2])
    #expect(
      try circle.circle(1).proposals.values.first?.rows.map(\.joining.keys.digest).contains(circle.card(0)) == true)
    try await circle.agree(1)
    try await circle.settle([0, 1, 2])
    // A later row is open: what it says of that is needed for the end.
    #expect(try circle.epochs(0) == [1] && circle.epochs(1) == [1])
  }
}
