import Foundation
import Glibc
import Testing
import VaultProtocol

/// Three friends whose programs are killed and whose disks fail, and what must be true of their homes afterwards.
///
/// Alice deals; Bob and Carol hold. Her note is marked all over, so that any piece of it would be recognised.
final class CrashDrill {
  let bench: Bench
  let alice: Peer
  let bob: Peer
  let carol: Peer
  /// What was shared, byte by byte.
  private(set) var notes: [String: [UInt8]] = [:]
  /// Ids that a command has printed: a promise.
  private var promised: Set<String> = []
  /// Fragments without plaintext.
  private var searched: Set<String> = []
  private static let mark = "this plaintext must not be found anywhere"

  /// Runs `body` with a drill on a bench of its own.
  static func run(_ body: (CrashDrill) async throws -> Void) async throws {
    try await Bench.run { bench in try await body(try await CrashDrill(bench)) }
  }

  private init(_ bench: Bench) async throws {
    self.bench = bench
    (alice, bob, carol) = try await bench.trio()
    for name in ["bob", "carol"] { try await alice.succeed("peer", "ping", name) }
    try addNote("note", byteCount: 1000)
  }

  var peers: [Peer] { [alice, bob, carol] }

  /// Gives Alice, or another one, a note of some size.
  func addNote(_ name: String, byteCount: Int, of peer: Peer? = nil) throws {
    let line = Array("\(name): \(Self.mark)\n".utf8)
    let bytes = (0..<byteCount).map { line[$0 % line.count] }
    try (peer ?? alice).write(bytes, to: name)
    notes[name] = bytes
  }

  /// Takes note of the id that `share` has printed, and checks that it ended in one of the documented ways.
  @discardableResult
  func noteSharing(_ outcome: Outcome) -> String? {
    expectPlain(outcome, codes: [0, 1, 2, 3, 5, 6])
    guard outcome.line.count == 32 else { return nil }
    promised.insert(outcome.line)
    return outcome.line
  }

  /// Takes note of an id that a command has printed.
  func promise(_ id: String) { promised.insert(id) }

  /// Expects a documented exit code, or death by the fault, and an error in plain words.
  func expectPlain(_ outcome: Outcome, codes: Set<Int32>) {
    #expect(codes.contains(outcome.status) || outcome.status == 137, "\(outcome)")
    for word in [
      "database is locked", "database table is locked", "SQLite error", "Error Domain", "Fatal", "DatabaseError",
    ] {
      #expect(!outcome.complaint.contains(word), "\(outcome)")
    }
    if outcome.status == 1 { #expect(outcome.complaint.contains("vault: "), "\(outcome)") }
  }

  /// A secret that was dealt but not sent: the command died in between.
  func dealUndelivered() async throws -> String {
    let before = Set(try StoredHome(alice).secrets.keys)
    let run = try FaultyRun(alice, ["share", "note", "--threshold", "2"], Fault(deed: .kill, step: 1, only: "rmdir "))
    let outcome = try await run.end().outcome
    try #require(outcome.status == 137, "\(outcome)")
    let new = Set(try StoredHome(alice).secrets.keys).subtracting(before)
    return try #require(new.first)
  }

  /// The peers' homes open and are swept; what waits is delivered; then everything must fit together.
  func settle(_ peers: Peer..., after circumstances: String) async throws {
    for peer in peers {
      try peer.makeSweepDue()
      let list = try await peer.run("list", "--json")
      try #require(list.status == 0, "\(peer.name) after \(circumstances): \(list)")
    }
    for dealer in peers { try await deliverAll(dealer, circumstances) }
    #expect(try plaintext().isEmpty, "after \(circumstances)")
    // Daemons that run may be amid taking something, whose file is there before its row: what fits together later was no contradiction.
    let end = Child.now() + 120
    var found = try contradictions()
    while !found.isEmpty, Child.now() < end {
      try await Task.sleep(for: .milliseconds(100))
      found = try contradictions()
    }
    #expect(found.isEmpty, "after \(circumstances): \(found)")
  }

  private func deliverAll(_ dealer: Peer, _ circumstances: String) async throws {
    try await bench.wait(for: "\(dealer.name)'s shares to be delivered after \(circumstances)") {
      guard try StoredHome(dealer).deliveries.contains(where: { $0.state != "delivered" }) else { return true }
      return try await dealer.run("secret", "deliver").status == 0
    }
  }

  private func contradictions() throws -> [String] {
    let homes = try peers.map { try StoredHome($0) }
    var found: [String] = []
    var headers: [String: SecretHeader] = [:]
    for (peer, home) in zip(peers, homes) {
      found += try home.contradictions().map { "\(peer.name): \($0)" }
      for (id, secret) in home.secrets where secret.isDealt { headers[id] = secret.header }
    }
    for id in promised where headers[id] == nil { found.append("\(id) was promised and is gone") }
    for (peer, home) in zip(peers, homes) {
      for (id, secret) in home.secrets {
        // Nobody is sent a share of what the dealer doesn't have on its own disk, and there is one header for an id.
        if headers[id] != secret.header { found.append("\(peer.name) holds another \(id) than was dealt") }
        if secret.ownIndex == nil { found.append("\(peer.name) has no share of \(id)") }
      }
      for delivery in home.deliveries where delivery.state == "delivered" {
        let holders = homes.filter { $0.holds(delivery.id, index: delivery.index) }
        if holders.count != 1 { found.append("\(holders.count) hold share \(delivery.index) of \(delivery.id)") }
      }
    }
    let points = headers.values.flatMap { $0.commitments.points.map { $0.bytes } }
    if Set(points).count != points.count { found.append("a polynomial was dealt under two ids") }
    return found
  }

  /// Files of the peers, other than the sources, that have a piece of the plaintext in them.
  private func plaintext() throws -> [String] {
    let mark = Data(Self.mark.utf8)
    var found: [String] = []
    for peer in peers {
      for name in try FileManager.default.subpathsOfDirectory(atPath: peer.base) {
        let path = peer.base + "/" + name
        guard !notes.keys.contains(where: { path.hasSuffix("/work/" + $0) }) else { continue }
        // Whole fragments don't change any more.
        let isWhole = name.hasPrefix("home/data/fragments/") && !name.hasSuffix(".part")
        if isWhole, !searched.insert(path).inserted { continue }
        guard let bytes = try? Data(contentsOf: URL(fileURLWithPath: path)) else { continue }
        if bytes.range(of: mark) != nil { found.append("\(peer.name)'s \(name) has plaintext in it") }
      }
    }
    return found
  }

  /// Recovers a secret without any fault, and compares.
  func recover(_ id: String, by peer: Peer, is note: String = "note", _ circumstances: String) async throws {
    let outcome = try await peer.run("recover", id, "-o", "recovered")
    try #require(outcome.status == 0, "after \(circumstances): \(outcome)")
    try peer.expect("recovered", toHold: notes[note] ?? [])
    try FileManager.default.removeItem(atPath: peer.folder + "/recovered")
  }
}

/// How much is tried: enough for every change, or what `make soak` asks for.
enum Effort {
  private static let variables = ProcessInfo.processInfo.environment

  /// Whether every single step is visited with every fault, and attackers come in their thousands.
  static let isSoak = variables["VAULT_SOAK"] == "1"
  /// Random instants for each kind of process.
  static let instants = Int(variables["VAULT_CRASH_INSTANTS"] ?? "") ?? (isSoak ? 300 : 5)
  /// What random choices follow from.
  static let seed = UInt64(variables["VAULT_CRASH_SEED"] ?? "") ?? UInt64.random(in: 1...UInt64(UInt32.max))
}
