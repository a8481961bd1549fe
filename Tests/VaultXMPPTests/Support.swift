import ChatServers
import Glibc
import Logging
import PeerAuth
import Sodium
import Synchronization
import Testing
import VaultProtocol
import VaultStore
import XMPPRequests

@testable import SecretVault
@testable import VaultXMPP
@testable import XMPPLink

/// Why tests of real servers are left out.
let reason: Comment = "prosody and ejabberd aren't installed"

/// Somebody with a vault, who can be reached by nothing but an account.
final class Person: Sendable {
  let name: String
  /// The name of the account at the server: another one in each test.
  let local: String
  let vault: Vault
  private let folder: String
  private let pace: Pace

  var accounts: VaultAccounts { VaultAccounts(vault) }
  var address: String { "\(local)@localhost" }

  init(_ name: String) throws {
    self.name = name
    local = name.lowercased() + "-" + XMPPConnection.freshID().prefix(8)
    let temporary = getenv("TMPDIR").map { String(cString: $0) } ?? "/tmp"
    var template = Array((temporary + "/vault-xmpp-XXXXXX").utf8CString)
    folder = try #require(mkdtemp(&template).map { String(cString: $0) })
    let pace = Pace()
    self.pace = pace
    let environment = VaultEnvironment(
      now: { Self.time(CLOCK_REALTIME) }, monotonic: { pace.time(at: Self.time(CLOCK_MONOTONIC)) },
      sleep: { try await Task.sleep(for: $0 / pace.speed) }, log: Self.logger,
      connect: { (_) async throws(TransportError) in throw TransportError.unreachable("away") })
    vault = try Vault.create(
      at: VaultFolders(home: folder), label: name, addresses: [], passphrase: nil, environment: environment)
  }

  deinit {
    vault.close()
    let shell = "rm -rf '\(folder)'"
    system(shell)
  }

  /// Makes this process its daemon, as long as the lock lives.
  func takeDaemonLock() throws -> DaemonLock {
    try Checking.takeDaemonLock(
      VaultFolders(home: folder), DaemonFacts(process: 1, startedAt: 0, listening: []))
  }

  /// From now on time passes so many times as fast for it as for others.
  func hurry(_ speed: Int) { pace.change(to: speed, at: Self.time(CLOCK_MONOTONIC)) }

  private static var logger: Logger {
    guard getenv("XMPP_LOG") == nil else {
      var logger = Logger(label: "test") { StreamLogHandler.standardError(label: $0) }
      logger.logLevel = .debug
      return logger
    }
    return Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
  }

  private static func time(_ clock: clockid_t) -> Int64 {
    var time = timespec()
    clock_gettime(clock, &time)
    return Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000
  }

  /// Makes an account at a server, and uses it.
  @discardableResult
  func register(at server: ChatServer) async throws -> AccountSummary {
    try await accounts.register(address, at: .init(server), password: secret(local))
  }

  /// Both trust each other.
  func meet(_ other: Person) throws {
    _ = try vault.trust.addPeer(try PeerCard.parse(text: other.vault.core.ownIdentity().qrText), name: nil)
    _ = try other.vault.trust.addPeer(try PeerCard.parse(text: vault.core.ownIdentity().qrText), name: nil)
  }

  /// Keeps the account connected, as the daemon does, while `body` runs.
  func online<Value>(_ body: () async throws -> Value) async throws -> Value {
    let vault = vault
    let tasks = [Task { await AccountRunner(vault).run() }, Task { await vault.answering.runMessages() }]
    let result: Result<Value, any Error>
    do { result = .success(try await body()) } catch { result = .failure(error) }
    for task in tasks {
      task.cancel()
      await task.value
    }
    return try result.get()
  }

  /// The texts that have come, oldest first.
  func received(from peer: String? = nil) throws -> [String] {
    try vault.messages.messages(with: peer, limit: 1000).reversed().filter { !$0.isMine }.compactMap { try text($0) }
  }

  func text(_ message: MessageSummary) throws -> String? {
    try vault.messages.messageText(message.number)?.bytes.withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
  }

  @discardableResult
  func send(_ text: String, to peer: Person) throws -> MessageSummary {
    try vault.messages.send(.text(held(text)), to: peer.name)
  }

  func state(_ message: MessageSummary) throws -> String { try vault.messages.message(message.number).state }
}

/// How fast time passes for somebody.
private final class Pace: Sendable {
  private let state = Mutex((speed: 1, since: Int64(0), passed: 0.0))

  var speed: Int { state.withLock { $0.speed } }

  func time(at real: Int64) -> Double { state.withLock { $0.passed + Double((real - $0.since) * Int64($0.speed)) } }

  func change(to speed: Int, at real: Int64) {
    state.withLock { $0 = (speed, real, $0.passed + Double((real - $0.since) * Int64($0.speed))) }
  }
}

extension VaultAccounts.Place {
  init(_ server: ChatServer) { self.init(host: "127.0.0.1", port: server.port, certificates: server.certificates) }
}

func held(_ text: String) throws -> HeldSecret { try held(Array(text.utf8)) }

func held(_ bytes: [UInt8]) throws -> HeldSecret { HeldSecret(try SecretBytes(copying: bytes.span.bytes)) }

/// Bytes as a photo to be sent.
func photo(_ bytes: [UInt8]) -> MessageFile {
  MessageFile(
    name: "photo.jpg", mediaType: "image/jpeg", byteCount: UInt64(bytes.count), isPhoto: true, caption: nil
  ) { (offset, count) throws in
    do { return try held(Array(bytes[Int(offset)..<(Int(offset) + count)])) } catch {
      throw VaultError(.other, "no memory")
    }
  }
}

/// The password of a test's account.
func secret(_ name: String) throws -> HeldSecret { HeldSecret(try password(name)) }

struct TimedOut: Error, CustomStringConvertible { let description: String }

/// Waits until something is so.
func eventually(
  _ what: String, seconds: Double = 120, _ isSo: () async throws -> Bool
) async throws {
  let deadline = ContinuousClock.now + .seconds(seconds)
  while try await !isSo() {
    guard ContinuousClock.now < deadline else { throw TimedOut(description: what) }
    try await Task.sleep(for: .milliseconds(20))
  }
}

/// All tests that share the two servers.
@Suite(.serialized) struct AccountTests {}

extension Person {
  /// Another program of an account: a connection of this process, which can be told what vault never says.
  func otherProgram(_ account: AccountRecord) async throws -> XMPPConnection {
    let password = try #require(try vault.accounts.accountPassword(account.id))
    return try await XMPPConnection.connect(account.place, password: password.bytes)
  }
}

extension XMPPConnection {
  /// Sends any stanza over such a connection.
  func say(_ build: (inout XMLWriter) -> Void) async throws(XMPPError) {
    guard let loop = carrier as? Loop else { throw .closed }
    try await loop.send(build)
  }
}
