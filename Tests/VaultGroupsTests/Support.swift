import Glibc
import Grouper
import Logging
import PeerAuth
import Sodium
import Synchronization
import TestTime
import Testing
import VaultStore

@testable import SecretVault
@testable import VaultGroups

/// Random numbers that are always the same.
struct FixedRandom: RandomNumberGenerator {
  private var state: UInt64
  init(_ seed: UInt64) { state = seed }
  mutating func next() -> UInt64 {
    state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
    return state ^ (state >> 29)
  }
}

/// Lines of a log.
final class LogLines: Sendable {
  private let lines = Mutex<[String]>([])
  var all: [String] { lines.withLock { $0 } }
  func add(_ line: String) { lines.withLock { $0.append(line) } }
}

/// Writes into ``LogLines``.
private struct LogCollector: LogHandler {
  let lines: LogLines
  var metadata: Logger.Metadata = [:]
  var logLevel = Logger.Level.info

  init(_ lines: LogLines) { self.lines = lines }

  subscript(metadataKey key: String) -> Logger.Metadata.Value? {
    get { metadata[key] }
    set { metadata[key] = newValue }
  }

  func log(
    level: Logger.Level, message: Logger.Message, metadata: Logger.Metadata?, source: String, file: String,
    function: String, line: UInt
  ) { lines.add("\(message)") }
}

/// A few vaults that reach one another in memory, and servers for their groups.
final class House: Sendable {
  let folder: String
  let clock = TestClock()
  let servers: [String: MemoryServer]
  let people: [Person]
  /// What everybody's log says.
  let log = LogLines()

  /// People who all have imported one another.
  init(_ names: String..., serverCount: Int = 3) throws {
    let temporary = getenv("TMPDIR").map { String(cString: $0) } ?? "/tmp"
    var template = Array((temporary + "/vault-groups-XXXXXX").utf8CString)
    folder = try #require(mkdtemp(&template).map { String(cString: $0) })
    let clock = clock
    servers = Dictionary(
      uniqueKeysWithValues: (1...serverCount).map { ("https://s\($0).example.org", MemoryServer(clock)) })
    // Before a look at something that has changed no time passes.
    for moment in [ChangePace.hurried, ChangePace.usual, ChangePace.steady] { clock.skip(moment) }
    let doors = Doors()
    let (home, servers, log) = (folder, servers, log)
    people = try names.map { name in
      let environment = VaultEnvironment(
        now: { clock.now }, monotonic: { clock.monotonic }, sleep: { try await clock.sleep(for: $0) },
        log: Logger(label: "test") { _ in LogCollector(log) },
        connect: { (address) async throws(TransportError) in try doors.enter(address.host) })
      let vault = try Vault.create(
        at: VaultFolders(home: home + "/" + name), label: name, addresses: [PeerAddress(host: name, port: 4721)],
        passphrase: nil, environment: environment)
      var groups = VaultGroups(vault, classes: GroupClasses.all(of: vault), connector: Connector(servers))
      // What one process does with a group takes real time, in which much virtual time may pass for whoever waits for it.
      groups.patience = .seconds(1_000_000_000)
      return Person(name: name, vault: vault, groups: groups)
    }
    for one in people {
      doors.open(one.name) { [weak one] in await one?.vault.answering.answer($0) }
      for other in people where other !== one {
        _ = try one.vault.trust.addPeer(try PeerCard.parse(text: other.vault.core.ownIdentity().qrText), name: nil)
      }
    }
    self.doors = doors
  }

  private let doors: Doors

  deinit {
    let shell = "rm -rf '\(folder)'"
    system(shell)
  }

  subscript(_ index: Int) -> Person { people[index] }

  /// A person's device can't be reached, or can again.
  func set(_ person: Person, isAway: Bool) { doors.set(person.name, isShut: isAway) }

  /// Rings whenever somebody comes to this person's device.
  func bell(of person: Person) -> AsyncStream<Void> { doors.bell(person.name) }

  /// A plan for a group on all servers.
  func plan(_ name: String) -> GroupPlan {
    GroupPlan(name: name, servers: servers.keys.sorted().map { ServerChoice(address: $0) })
  }
}

/// Somebody with a device.
final class Person: Sendable {
  let name: String
  let vault: Vault
  let groups: VaultGroups

  init(name: String, vault: Vault, groups: VaultGroups) {
    self.name = name
    self.vault = vault
    self.groups = groups
    vault.letters.answerGroupLetters(by: GroupRounds(groups))
  }

  var peer: GroupPeer { get throws { GroupPeer(digest: vault.core.identity.keys.digest, name: name) } }
}

/// Who answers at an address.
private final class Doors: Sendable {
  typealias Answer = @Sendable (any PeerTransport) async -> Void
  private struct State {
    var answers: [String: Answer] = [:]
    var shut: Set<String> = []
    var bells: [String: AsyncStream<Void>.Continuation] = [:]
  }
  private let state = Mutex(State())

  func open(_ name: String, _ answer: @escaping Answer) { state.withLock { $0.answers[name] = answer } }
  func set(_ name: String, isShut: Bool) {
    state.withLock { state in
      if isShut { state.shut.insert(name) } else { state.shut.remove(name) }
    }
  }

  func bell(_ name: String) -> AsyncStream<Void> {
    let (bell, continuation) = AsyncStream.makeStream(of: Void.self)
    state.withLock { $0.bells[name] = continuation }
    return bell
  }

  func enter(_ name: String) throws(TransportError) -> any PeerTransport {
    let answer = state.withLock { state in
      state.bells[name]?.yield()
      return state.shut.contains(name) ? nil : state.answers[name]
    }
    guard let answer else { throw .unreachable("connection refused") }
    let ends = InMemoryTransport.pair()
    Task { await answer(ends.second) }
    return ends.first
  }
}

private struct Connector: GroupServerConnector {
  let servers: [String: MemoryServer]
  init(_ servers: [String: MemoryServer]) { self.servers = servers }

  func server(at address: String) throws(GroupServerError) -> any GroupServer {
    guard let server = servers[address] else { throw .unreachable(reason: "no such host") }
    return server
  }
}

/// Runs `body` and returns the vault's error that it threw.
func vaultError(_ body: () async throws -> Void) async -> VaultError? {
  do {
    try await body()
    return nil
  } catch { return VaultError(known: error) }
}
