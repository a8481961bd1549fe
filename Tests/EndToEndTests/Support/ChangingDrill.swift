import Foundation
import Testing

/// Five friends with a daemon each who renew the shares of a secret, while programs of theirs are stopped or their disks fail; and what must be true
/// behind it.
final class ChangingDrill {
  let bench: Bench
  /// Who deals and proposes first, who deals for the proposal, then those who only take over.
  let peers: [Peer]
  private let note = sample(3000)
  static let threshold = 2

  static func run(_ body: (ChangingDrill) async throws -> Void) async throws {
    try await Bench.run { bench in try await body(try await ChangingDrill(bench)) }
  }

  private init(_ bench: Bench) async throws {
    self.bench = bench
    peers = try await bench.friends(["alice", "bob", "carol", "dave", "erin"])
    for peer in peers {
      for other in peers where other !== peer { try await peer.succeed("peer", "ping", other.name) }
    }
    try peers[0].write(note, to: "note")
  }

  /// A secret that all five hold.
  func share() async throws -> String {
    let id = try await peers[0].succeed("share", "note", "--threshold", "\(Self.threshold)").line
    try await bench.wait(for: "the shares of \(id) to be placed") {
      try self.peers.allSatisfy { try StoredHome($0).epochs[id] == [0] }
    }
    return id
  }

  /// Orders that all shares are renewed, if nothing has come of it yet, and says yes to whatever is asked; until everybody has only a
  /// new share, or until `stop` says so. Commands may fail as long as somebody's program is down.
  func goOn(_ id: String, _ circumstances: String, until stop: () throws -> Bool = { false }) async throws {
    try await bench.wait(upTo: 400, every: 200, for: "everybody to have a new share after \(circumstances)") {
      if try stop() || self.isOver(id) { return true }
      if try !StoredHome(self.peers[0]).hasProposal(id) {
        let outcome = try await self.peers[0].run("secret", "refresh", id)
        try self.expectPlain(outcome)
      }
      for peer in self.peers {
        for number in try await self.waiting(id, peer) {
          try self.expectPlain(try await peer.run("requests", "approve", "\(number)"))
        }
      }
      return false
    }
  }

  /// What a peer is asked about a secret.
  func waiting(_ id: String, _ peer: Peer) async throws -> [Int] {
    let requests = try await peer.succeed("requests", "--json").json()
    return requests.array.filter { $0["state"].string == "waiting" && $0["secret"].string == id }.compactMap {
      $0["id"].int
    }
  }

  private func isOver(_ id: String) throws -> Bool {
    try peers.allSatisfy { try StoredHome($0).epochs[id].map { !$0.contains(0) && $0.count == 1 } ?? false }
  }

  func expectPlain(_ outcome: Outcome) throws {
    // 64: the daemon was quicker, and what is ordered is under way.
    #expect([0, 1, 2, 3, 5, 6, 64, 137].contains(outcome.status), "\(outcome)")
    for word in ["database is locked", "SQLite error", "Fatal", "DatabaseError"] {
      #expect(!outcome.complaint.contains(word), "\(outcome)")
    }
  }

  /// At any time enough hold shares of one epoch, nobody has dealt two things, and what lies in each home fits together.
  func check(_ id: String, _ circumstances: String) throws {
    let homes = try peers.map { try StoredHome($0) }
    let epochs = homes.flatMap { $0.epochs[id] ?? [] }
    let counts = Dictionary(epochs.map { ($0, 1) }, uniquingKeysWith: +)
    #expect(counts.values.contains { $0 >= Self.threshold }, "\(circumstances): \(counts)")
    let dealings = Dictionary(grouping: Set(homes.flatMap { $0.dealings[id] ?? [] }), by: \.name)
    for (_, said) in dealings { #expect(said.count == 1, "\(circumstances): somebody has dealt \(said.count) things") }
    for (peer, home) in zip(peers, homes) {
      #expect(home.faults.isEmpty, "\(circumstances): \(peer.name) \(home.faults)")
    }
  }

  /// Everybody goes on to the end, everything fits together, and somebody recovers.
  func finish(_ id: String, by peer: Peer, _ circumstances: String) async throws {
    try await goOn(id, circumstances)
    try check(id, circumstances)
    let outcome = try await peer.run("recover", id, "-o", "recovered", "--force")
    try #require(outcome.status == 0, "\(circumstances): \(outcome)")
    try peer.expect("recovered", toHold: note)
  }
}
