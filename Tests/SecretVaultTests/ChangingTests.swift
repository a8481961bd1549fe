import PeerAuth
import ShamirKit
import Sodium
import Testing
import VaultProtocol
import VaultStore

@testable import SecretVault

@Suite struct ChangingTests {
  @Test func `a refreshed secret has new shares everywhere, and older ones go once their owners have said yes`()
    async throws
  {
    let circle = try await ChangingCircle()
    let statuses = try await circle.vault(0).changing.order(.refresh, of: ["letter"], leavingOutAbsent: false)
    guard case .proposed(agreed: 1, needed: 2, until: _)? = statuses.first?.phase else {
      Issue.record("\(statuses)")
      return
    }
    try await circle.settle([1])
    try await circle.agree(1)
    try await circle.settle([0, 1, 2])
    for member in 0...2 { #expect(try circle.epochs(member).contains(1)) }
    // The third was asked for nothing yet but whether its older share may go.
    #expect(try circle.epochs(0) == [1] && circle.epochs(1) == [1])
    #expect(try circle.epochs(2) == [0, 1])
    try await circle.agree(2)
    #expect(try circle.epochs(2) == [1])
    for member in 0...2 { #expect(try await circle.recovered(by: member)) }
  }

  @Test func `a new device takes a lost one's place, and nobody has rebuilt anything`() async throws {
    let circle = try await ChangingCircle(4)
    // Ada's device is gone; dan is her new one.
    circle.world.set(.refuses, for: circle.world[0])
    let card = try PeerCard.parse(text: circle.vault(3).core.ownIdentity().qrText)
    for friend in [1, 2] {
      _ = try circle.vault(friend).trust.removePeer("dan")
      _ = try circle.vault(friend).changing.replacePeer("ada", with: card)
    }
    for friend in [1, 2] { _ = try await circle.vault(3).links.pingPeer(circle.world[friend].name) }
    _ = try await circle.vault(3).changing.regain()
    for friend in [1, 2] { try await circle.vault(friend).changing.pursue(circle.id) }
    _ = try await circle.vault(3).changing.regain()
    let request = try #require(try circle.vault(1).consent.requests().first { $0.kind == .change })
    #expect(request.change?.comes.map(\.name) == ["ada"])
    try await circle.agree(1)
    try await circle.agree(2)
    try await circle.settle([3, 1, 2])
    #expect(try circle.epochs(3) == [1])
    for member in [3, 1, 2] { #expect(try await circle.recovered(by: member)) }
    #expect(try circle.epochs(1) == [1] && circle.epochs(2) == [1])
  }

  @Test func `holders come and go, and thresholds change`() async throws {
    let circle = try await ChangingCircle(4)
    _ = try await circle.vault(1).changing.order(.replace("cleo", by: "dan"), of: ["letter"], leavingOutAbsent: false)
    try await circle.settle([1, 0, 3])
    try await circle.agree(3)
    try await circle.settle([3, 1, 0])
    #expect(try circle.vault(0).consent.requests().first?.change?.leaves.map(\.name) == ["cleo"])
    try await circle.agree(0)
    try await circle.settle([1, 3, 0])
    #expect(try circle.epochs(3) == [1] && circle.epochs(1) == [1] && circle.epochs(0) == [1])
    // Who was left out keeps its old share until its user deletes it.
    try await circle.settle([2])
    #expect(try circle.epochs(2) == [0])
    for member in [0, 1, 3] { #expect(try await circle.recovered(by: member)) }
  }

  @Test func `who is left out of a change that isn't complete proposes another one`() async throws {
    let circle = try await ChangingCircle()
    _ = try await circle.vault(1).changing.order(.replace("ada", by: "dan"), of: ["letter"], leavingOutAbsent: false)
    try await circle.settle([1, 3])
    try await circle.agree(3)
    try await circle.settle([3, 1, 2])
    circle.world.set(.refuses, for: circle.world[3])
    try await circle.agree(2)
    try await circle.settle([1, 2])
    #expect(try circle.epochs(1) == [0, 1] && circle.epochs(2) == [0, 1])
    let statuses = try await circle.vault(0).changing.order(.refresh, of: ["letter"], leavingOutAbsent: false)
    guard case .proposed? = statuses.first?.phase else {
      Issue.record("\(statuses)")
      return
    }
  }

  @Test func `while a change isn't complete, older shares open the secret once their holders say yes`() async throws {
    let circle = try await ChangingCircle()
    _ = try await circle.vault(0).changing.order(.threshold(3), of: ["letter"], leavingOutAbsent: false)
    circle.world.set(.refuses, for: circle.world[2])
    try await circle.settle([1])
    try await circle.agree(1)
    try await circle.settle([0, 1])
    #expect(try circle.epochs(0) == [0, 1] && circle.epochs(1) == [0, 1])
    #expect(await refusal { _ = try await circle.recovered(by: 1) }?.code == .awaitingConsent)
    let requests = try circle.vault(0).consent.requests()
    let request = try #require(requests.first { $0.kind == .release && $0.state == .waiting })
    _ = try await circle.vault(0).consent.approveRequest(request.id)
    #expect(try await circle.recovered(by: 1))
  }

  @Test func `nobody is asked about a change that a later one has overtaken`() async throws {
    let circle = try await ChangingCircle()
    _ = try await circle.vault(0).changing.order(.refresh, of: ["letter"], leavingOutAbsent: false)
    try await circle.settle([1, 2])
    try circle.vault(0).changing.cancel("letter")
    _ = try await circle.vault(0).changing.order(.threshold(3), of: ["letter"], leavingOutAbsent: false)
    try await circle.settle([2])
    try await circle.agree(2)
    try await circle.settle([0, 2, 1])
    #expect(try circle.epochs(1).count == 2)
    let requests = try circle.vault(1).consent.requests().filter { $0.kind == .change && $0.state == .waiting }
    #expect(requests.map(\.change?.threshold) == [3])
    #expect(try circle.vault(1).changing.status(of: "letter")?.change?.threshold == 3)
  }
}
