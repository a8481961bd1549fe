import Foundation
import Glibc
import Synchronization
import Testing

/// A person with a device: a home for the vault, a folder to work in, and a daemon now and then.
final class Peer: Sendable {
  let name: String
  /// What `VAULT_HOME` says.
  let home: String
  /// Where commands run, and where the user's own files lie.
  let folder: String
  /// The folder that has both in it.
  let base: String
  let bench: Bench
  private let daemon = Mutex<Child?>(nil)
  private let port = Mutex(0)

  /// Makes the folders; the vault itself is not created yet.
  init(_ name: String, _ bench: Bench) throws {
    self.name = name
    self.bench = bench
    base = bench.folder + "/peer-" + name
    home = base + "/home"
    folder = base + "/work"
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
  }

  /// Where its daemon listens.
  var address: String { "\(bench.host):\(port.withLock { $0 })" }
  /// The same without the port.
  var host: String { bench.host }
  /// Port of its daemon.
  var daemonPort: Int { port.withLock { $0 } }
  /// Its daemon will listen at this port.
  func listens(at port: Int) { self.port.withLock { $0 = port } }

  // MARK: Commands

  /// Starts `vault` with these arguments.
  func start(
    _ arguments: [String], input: Child.Input = .nothing, descriptors: [Int32: String] = [:]
  ) throws -> Child {
    try bench.start(
      Bench.vault, arguments, environment: environment, folder: folder, input: input, descriptors: descriptors)
  }

  /// Runs `vault` to its end.
  func run(
    _ arguments: String..., input: [UInt8]? = nil, descriptors: [Int32: String] = [:], timeLimit: Double = 240,
    at location: SourceLocation = #_sourceLocation
  ) async throws -> Outcome {
    try await run(arguments, input: input, descriptors: descriptors, timeLimit: timeLimit, at: location)
  }

  /// Runs `vault` to its end.
  func run(
    _ arguments: [String], input: [UInt8]? = nil, descriptors: [Int32: String] = [:], timeLimit: Double = 240,
    at location: SourceLocation = #_sourceLocation
  ) async throws -> Outcome {
    let source = try input.map { Child.Input.file(try bench.file("input-\(UUID().uuidString)", $0)) } ?? .nothing
    return try await start(arguments, input: source, descriptors: descriptors).end(within: timeLimit, location)
  }

  /// Runs `vault`, which must end well.
  @discardableResult
  func succeed(
    _ arguments: String..., input: [UInt8]? = nil, timeLimit: Double = 240,
    at location: SourceLocation = #_sourceLocation
  ) async throws -> Outcome {
    let outcome = try await run(arguments, input: input, timeLimit: timeLimit, at: location)
    try #require(outcome.status == 0, "\(outcome)", sourceLocation: location)
    return outcome
  }

  /// Runs a shell script with the program's path in `$VAULT`.
  func shell(
    _ script: String, timeLimit: Double = 240, _ location: SourceLocation = #_sourceLocation
  ) async throws -> Outcome {
    try await bench.start("/bin/sh", ["-c", script], environment: environment, folder: folder)
      .end(within: timeLimit, location)
  }

  var environment: [String: String] { ["VAULT_HOME": home, "HOME": folder, "VAULT": Bench.vault] }

  // MARK: Daemon

  /// Starts the daemon and waits until it listens; at the port it had before, if it had one.
  func startDaemon(_ options: String..., location: SourceLocation = #_sourceLocation) async throws {
    try await listen(try start(["daemon", "--listen", address] + options), location)
  }

  /// Starts the daemon with files of at most so many blocks of 512 bytes.
  func startDaemon(limitedTo blocks: Int, location: SourceLocation = #_sourceLocation) async throws {
    let script = "ulimit -f \(blocks); exec \"$VAULT\" daemon --listen \(address)"
    try await listen(
      try bench.start("/bin/sh", ["-c", script], environment: environment, folder: folder), location)
  }

  /// Starts the daemon to meet a fault, and waits until it listens or has ended.
  func startDaemon(meeting fault: Fault) async throws -> FaultyRun {
    let run = try FaultyRun(self, ["daemon", "--listen", address], fault)
    try await bench.wait(every: 10, for: "\(name)'s daemon to listen or to end") {
      !run.child.isRunning || run.child.written.contains("listening on ")
    }
    return run
  }

  /// Starts the daemon with so few descriptors at most.
  func startDaemon(descriptors: Int, location: SourceLocation = #_sourceLocation) async throws {
    let script = "ulimit -n \(descriptors); exec \"$VAULT\" daemon --listen \(address)"
    try await listen(
      try bench.start("/bin/sh", ["-c", script], environment: environment, folder: folder), location)
  }

  /// Starts the daemon on a clock that is so many seconds ahead. Only where ``Fault/isPossible``.
  func startDaemon(ahead seconds: Int64, location: SourceLocation = #_sourceLocation) async throws {
    let clock = try bench.file("\(name).clock", withUnsafeBytes(of: seconds) { Array($0) })
    let variables = environment.merging(["LD_PRELOAD": Fault.library, "VAULT_FAULT_CLOCK": clock]) { $1 }
    let options = ["daemon", "--listen", address]
    try await listen(
      try bench.start(Bench.vault, options, environment: variables, folder: folder), location)
  }

  /// The number of the daemon's process.
  var daemonProcess: Int32 {
    get throws { try #require(daemon.withLock { $0 }).process }
  }

  private func listen(_ child: Child, _ location: SourceLocation) async throws {
    bench.expectToLive(name, child)
    daemon.withLock { $0 = child }
    var found: Int?
    try await bench.wait(for: "\(name)'s daemon to listen", location) {
      if let match = child.written.firstMatch(of: /listening on [0-9.]+:([0-9]+)\n/) { found = Int(match.1) }
      try #require(child.isRunning, "\(self.name)'s daemon: \(child.written)", sourceLocation: location)
      return found != nil
    }
    port.withLock { $0 = found ?? 0 }
  }

  /// Ends the daemon with a signal and says how it ended.
  @discardableResult
  func stopDaemon(_ signal: Int32 = SIGTERM, _ location: SourceLocation = #_sourceLocation) async throws -> Outcome {
    let child = try #require(daemon.withLock { $0 }, sourceLocation: location)
    bench.expectEnd(of: child)
    daemon.withLock { $0 = nil }
    child.signal(signal)
    return try await child.end(within: 90, location)
  }

  /// Stops the daemon's threads without ending it: it still accepts connections, and says nothing.
  func freezeDaemon() { daemon.withLock { $0 }?.signal(SIGSTOP) }
  /// Lets a frozen daemon go on.
  func thawDaemon() { daemon.withLock { $0 }?.signal(SIGCONT) }
  /// What the daemon has written so far.
  var daemonLog: String { daemon.withLock { $0 }?.written ?? "" }

  // MARK: Vault

  /// Creates the vault, without a passphrase.
  func initialise(_ location: SourceLocation = #_sourceLocation) async throws {
    try await succeed("init", "--no-passphrase", "--label", name, at: location)
  }

  /// The text form of its card, with the daemon's address if it has one.
  func card(_ location: SourceLocation = #_sourceLocation) async throws -> String {
    var arguments = ["id", "--text"]
    if daemonPort != 0 { arguments += ["--address", address] }
    let outcome = try await run(arguments, at: location)
    try #require(outcome.status == 0 && outcome.line.hasPrefix("vaultpeer1"), "\(outcome)", sourceLocation: location)
    return outcome.line
  }

  // MARK: Files

  /// Writes a file into the working folder.
  func write(_ bytes: [UInt8], to file: String) throws {
    try Data(bytes).write(to: URL(fileURLWithPath: folder + "/" + file))
  }

  /// Reads a file of the working folder.
  func read(_ file: String) throws -> [UInt8] {
    [UInt8](try Data(contentsOf: URL(fileURLWithPath: file.hasPrefix("/") ? file : folder + "/" + file)))
  }

  /// Expects that a file has exactly these bytes. Prints neither if not: they may be many.
  func expect(_ file: String, toHold bytes: [UInt8], _ location: SourceLocation = #_sourceLocation) throws {
    let found = try read(file)
    if found != bytes {
      Issue.record("\(file) of \(name) differs: \(found.count) bytes, not \(bytes.count)", sourceLocation: location)
    }
  }

  /// Whether there is such a file in the working folder.
  func has(_ file: String) -> Bool { FileManager.default.fileExists(atPath: folder + "/" + file) }

  /// Everything in the working folder, hidden files included.
  func files() throws -> [String] { try FileManager.default.contentsOfDirectory(atPath: folder).sorted() }

  /// A new, empty folder inside the working folder.
  func makeFolder(_ name: String) throws -> String {
    let path = folder + "/" + name
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
    return path
  }

  /// Path of the fragment that this device holds of a secret.
  func fragment(of id: String, _ location: SourceLocation = #_sourceLocation) throws -> String {
    let fragments = home + "/data/fragments"
    let name = try FileManager.default.contentsOfDirectory(atPath: fragments).first {
      $0.hasPrefix(id + ".") && !$0.hasSuffix(".part")
    }
    return fragments + "/" + (try #require(name, "\(self.name) has no fragment of \(id)", sourceLocation: location))
  }

  /// Changes a bit of a file in place.
  static func flipBit(of path: String, at offset: Int) throws {
    let file = try FileHandle(forUpdating: URL(fileURLWithPath: path))
    try file.seek(toOffset: UInt64(offset))
    let old = try #require(try file.read(upToCount: 1)?.first)
    try file.seek(toOffset: UInt64(offset))
    try file.write(contentsOf: Data([old ^ 0x10]))
    try file.close()
  }
}

extension Bench {
  /// A peer whose vault exists, without daemon and friends.
  func peer(_ name: String, _ location: SourceLocation = #_sourceLocation) async throws -> Peer {
    let peer = try Peer(name, self)
    try await HomeTemplates.furnish([peer], self, location)
    return peer
  }

  /// Peers with daemons that have all imported one another's cards.
  func friends(_ names: [String], _ location: SourceLocation = #_sourceLocation) async throws -> [Peer] {
    let peers = try names.map { try Peer($0, self) }
    try await HomeTemplates.furnish(peers, self, location)
    try await withThrowingTaskGroup { group in
      for peer in peers { group.addTask { try await peer.startDaemon(location: location) } }
      try await group.waitForAll()
    }
    return peers
  }

  /// Alice and Bob.
  func pair(_ location: SourceLocation = #_sourceLocation) async throws -> (alice: Peer, bob: Peer) {
    let peers = try await friends(["alice", "bob"], location)
    return (peers[0], peers[1])
  }

  /// Alice, Bob and Carol.
  func trio(_ location: SourceLocation = #_sourceLocation) async throws -> (alice: Peer, bob: Peer, carol: Peer) {
    let peers = try await friends(["alice", "bob", "carol"], location)
    return (peers[0], peers[1], peers[2])
  }

  /// Alice, Bob, Carol and Dave.
  func quartet(
    _ location: SourceLocation = #_sourceLocation
  ) async throws -> (alice: Peer, bob: Peer, carol: Peer, dave: Peer) {
    let peers = try await friends(["alice", "bob", "carol", "dave"], location)
    return (peers[0], peers[1], peers[2], peers[3])
  }
}

/// Bytes that look random and are the same in every run.
func sample(_ count: Int, seed: UInt64 = 1) -> [UInt8] {
  var state = seed &* 0x9E37_79B9_7F4A_7C15 | 1
  let words = [UInt64](unsafeUninitializedCapacity: count / 8 + 1) { buffer, initialised in
    for position in buffer.indices.prefix(count / 8 + 1) {
      state ^= state << 13
      state ^= state >> 7
      state ^= state << 17
      buffer[position] = state
    }
    initialised = count / 8 + 1
  }
  return words.withUnsafeBytes { [UInt8]($0.prefix(count)) }
}
