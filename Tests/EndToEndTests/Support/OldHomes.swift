import Foundation
import Testing

/// The homes of one archive of `Homes`, unpacked for a test, with today's programs.
struct OldHomes {
  private static let folder = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    .appending(path: "Homes").path

  /// Names of all archives.
  static let names: [String] = {
    let files = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
    return files.filter { $0.hasSuffix(".tar.gz") }.map { String($0.dropLast(7)) }.sorted()
  }()

  let bench: Bench
  let alice: Peer
  let bob: Peer
  /// Her home has a passphrase.
  let carol: Peer
  let secret: String
  /// What the secret holds.
  let note: String
  let key: String?
  let item: String?
  let group: String?
  let message: String?
  /// Files by the names of those whose vaults they hold.
  private let backups: [String: String]
  private let network: String?
  private let unpacked: String
  private let passphrase: String

  /// One test at a time has the homes of an archive, for the addresses of its servers are in it.
  private static let gates = names.reduce(into: [:]) { $0[$1] = Gate(limit: 1) }

  static func open(_ name: String, _ body: (OldHomes) async throws -> Void) async throws {
    let gate = try #require(gates[name])
    let place = await gate.enter()
    defer { gate.leave(place) }
    try await Bench.run { bench in try await body(OldHomes(name, bench)) }
  }

  private init(_ name: String, _ bench: Bench) async throws {
    self.bench = bench
    unpacked = bench.folder + "/unpacked"
    try FileManager.default.createDirectory(atPath: unpacked, withIntermediateDirectories: false)
    let outcome = try await bench.start("/bin/tar", ["-xzf", "\(Self.folder)/\(name).tar.gz", "-C", unpacked])
      .end(within: 60)
    try #require(outcome.status == 0, "\(outcome)")
    let facts = try JSON(parsing: Data(contentsOf: URL(filePath: unpacked + "/contents.json")))
    func fact(_ name: String) -> String? { facts[name].string.flatMap { $0.isEmpty ? nil : $0 } }
    secret = try #require(fact("secret"))
    note = try #require(fact("note"))
    key = fact("key")
    item = fact("item")
    group = fact("group")
    message = fact("message")
    network = fact("network")
    backups = ["alice", "carol"].reduce(into: [:]) { $0[$1] = facts["backup"][$1].string }
    passphrase = try bench.file("passphrase", Array("correct horse".utf8))
    try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: passphrase)
    alice = try Peer("alice", bench)
    bob = try Peer("bob", bench)
    carol = try Peer("carol", bench)
    for peer in [alice, bob, carol] {
      try FileManager.default.moveItem(atPath: "\(unpacked)/\(peer.name)", toPath: peer.home)
    }
  }

  /// Runs `vault`, which must end well.
  @discardableResult
  func succeed(
    _ peer: Peer, _ arguments: String..., at location: SourceLocation = #_sourceLocation
  ) async throws -> Outcome {
    let outcome = try await peer.run(arguments + opening(peer), at: location)
    try #require(outcome.status == 0, "\(outcome)", sourceLocation: location)
    return outcome
  }

  /// Loses all that the peer's vault holds, and puts its backup back.
  func restoreBackup(of peer: Peer) async throws {
    let backup = unpacked + "/" + (try #require(backups[peer.name]))
    try FileManager.default.removeItem(atPath: peer.home + "/data")
    #expect(try await peer.run(["list"] + opening(peer)).status == 1)
    try await succeed(peer, "backup", "restore", backup)
  }

  /// What opens the peer's home: a daemon that keeps it unlocked may get no turn for a second, and counts as away then.
  private func opening(_ peer: Peer) -> [String] { peer === carol ? ["--passphrase-file", passphrase] : [] }

  /// Starts the daemons of these, or of all, and tells the others where they listen now.
  func startDaemons(of some: [Peer]? = nil) async throws {
    let peers = some ?? [alice, bob, carol]
    for peer in peers where peer !== carol { try await peer.startDaemon() }
    if peers.contains(where: { $0 === carol }) { try await carol.startDaemon("--passphrase-file", passphrase) }
    for peer in peers {
      for other in peers where other !== peer {
        try await succeed(peer, "peer", "address", other.name, other.address)
      }
    }
  }

  /// Starts the group's servers where they were.
  func startServers() async throws {
    let network = try #require(network)
    for number in 1...2 {
      let options = ["--data", "\(unpacked)/server\(number)", "--log-level", "critical"]
      func start() throws -> Child {
        try bench.start(Bench.vaultServer, ["--listen", "\(network).\(number):4722"] + options)
      }
      var child = try start()
      try await bench.wait(every: 250, for: "a server to listen") {
        if child.written.contains("listening on ") { return true }
        // Whoever tests another copy of this project has its servers there for a moment.
        if !child.isRunning {
          try #require(child.written.contains("cannot listen on"), "vault-server: \(child.written)")
          child = try start()
        }
        return false
      }
      bench.expectToLive("server\(number)", child)
    }
  }
}
