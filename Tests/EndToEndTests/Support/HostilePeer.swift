import Foundation
import Logging
import PeerAuth
import PeerLink
import ShamirKit
import Sodium
import Synchronization
import Testing
import VaultProtocol
import VaultStore
import WireCodec

@testable import SecretVault

/// A trusted peer that has turned hostile: it uses the real keys of a home, and keeps to no rule.
final class HostilePeer: Sendable {
  private let vault: Vault
  private let victim: CardKeys
  private let address: PeerAddress
  private let isStopping = Atomic<Bool>(false)
  private let opened = Atomic<Int>(0)
  private let asked = Atomic<Int>(0)
  private let refused = Atomic<Int>(0)
  private let stopped = Atomic<Int>(0)

  /// Uses the vault of `peer` against the daemon of `victim`.
  init(_ peer: Peer, against victim: Peer) async throws {
    let environment = VaultEnvironment(
      now: { Int64(Date().timeIntervalSince1970 * 1000) }, monotonic: { Child.now() * 1000 },
      sleep: { try await Task.sleep(for: $0) }, log: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() },
      connect: { (address) async throws(TransportError) in try await TCPConnector().connect(address) })
    vault = try Vault.open(
      at: VaultFolders(home: peer.home),
      passphrase: { throw VaultError(.wrongPassphrase, "none is needed") },
      environment: environment)
    self.victim = try PeerCard.parse(text: try await victim.card()).keys
    address = try PeerAddress(host: victim.host, port: victim.daemonPort)
  }

  /// Sessions that came about, and requests that were sent in them.
  var counts: (sessions: Int, requests: Int) { (opened.load(ordering: .relaxed), asked.load(ordering: .relaxed)) }

  /// Proofs that were looked at and refused.
  var refusals: Int { refused.load(ordering: .relaxed) }

  /// Connections that have come to the last step of their opening, and stopped there.
  var lastSteps: Int { stopped.load(ordering: .relaxed) }

  /// Ends the attack.
  func stop() { isStopping.store(true, ordering: .relaxed) }

  /// Keeps `width` sessions busy: a third sends pings and never reads an answer, a third asks for a share of this secret
  /// with a wrong proof time and again, a third dials, greets and says nothing more. Two that ask come first, and the others
  /// when three proofs have been refused: who sends pings gives no session back, and all that a peer may have could be theirs.
  func attack(width: Int, secret: String) async {
    await withDiscardingTaskGroup { group in
      for number in 0..<width {
        group.addTask { [self] in
          while number != 1 && number != 4 && refusals < 3 && !isStopping.load(ordering: .relaxed) {
            try? await Task.sleep(for: .milliseconds(20))
          }
          while !isStopping.load(ordering: .relaxed) {
            try? await once(number % 3, secret)
            try? await Task.sleep(for: .milliseconds(20))
          }
        }
      }
    }
  }

  /// Keeps `width` connections at the last step of their opening: all keys are proved, and its card, which is due, never comes.
  func stopShort(width: Int) async {
    await withDiscardingTaskGroup { group in
      for _ in 0..<width {
        group.addTask { [self] in
          while !isStopping.load(ordering: .relaxed) {
            if let card = try? vault.core.ownCard(), let count = try? card.encoded().count,
              let transport = try? await TCPConnector().connect(address)
            {
              let short = ShortTransport(inner: transport, lastFrameByteCount: 2 + count + 16) { [self] in
                stopped.add(1, ordering: .relaxed)
              }
              _ = try? await PeerSession.dial(short, identity: vault.core.identity, peer: victim, ownCard: card)
            }
            try? await Task.sleep(for: .milliseconds(500))
          }
        }
      }
    }
  }

  private func once(_ kind: Int, _ secret: String) async throws {
    let session = try await PeerSession.dial(
      TCPConnector().connect(address), identity: vault.core.identity, peer: victim, ownCard: vault.core.ownCard())
    try await send(Hello(services: PeerServiceKind.allCases), session)
    // Beyond its number of sessions it is told goodbye.
    let greeting = try await session.receive { MessageType.byteLimit($0, isPeer: true) }
    guard !greeting.isGoodbye else { return await session.close() }
    opened.add(1, ordering: .relaxed)
    do {
      switch kind {
      case 0: try await sendPings(session)
      case 1: try await askInVain(session, secret)
      default: while !isStopping.load(ordering: .relaxed) { try await Task.sleep(for: .milliseconds(20)) }
      }
    } catch {}
    await session.close()
  }

  private func sendPings(_ session: PeerSession) async throws {
    // What waits for ever in a full connection is cut off when the attack ends.
    let ending = Task { [self] in
      while !isStopping.load(ordering: .relaxed) { try await Task.sleep(for: .milliseconds(20)) }
      await session.close()
    }
    defer { ending.cancel() }
    var number: UInt64 = 0
    while !isStopping.load(ordering: .relaxed) {
      number += 1
      try await send(Ping(request: number), session)
      // The other sessions of this program have their turn, too.
      if number.isMultiple(of: 16) { try await Task.sleep(for: .milliseconds(1)) }
    }
  }

  private func askInVain(_ session: PeerSession, _ secret: String) async throws {
    let record = try vault.directory.resolve(secret)
    let header = try vault.directory.header(of: record)
    guard let stored = try vault.core.database.share(ofSecret: record.id) else { return }
    let held = try HeldShare(index: stored.index, record: stored.bytes, of: secret)
    let exchange = PossessionExchange(
      Epoch(header), purpose: .release, prover: vault.core.identity.keys.digest, verifier: victim.digest,
      binding: session.handshakeHash, nonce: [UInt8](repeating: 1, count: 32))
    let evaluation = try held.share.evaluation()
    var number: UInt64 = 0
    while !isStopping.load(ordering: .relaxed) {
      number += 1
      try await send(
        ReleaseRequest(request: number, tag: AskTag.of(header.id), headerDigest: header.digest, epoch: 0), session)
      // A session's first request isn't challenged.
      if number > 1 {
        let challenge = try await session.receive { MessageType.byteLimit($0, isPeer: true) }
        guard !challenge.isGoodbye else { return }
        #expect(challenge.type == Challenge.type.rawValue)
      }
      let proof = try exchange.prove(
        request: number, share: held.share, salt: held.salt, evaluation: evaluation)
      try await send(proof, session)
      let answer = try await session.receive { MessageType.byteLimit($0, isPeer: true) }
      guard !answer.isGoodbye else { return }
      #expect(answer.type == Refusal.type.rawValue)
      refused.add(1, ordering: .relaxed)
    }
  }

  private func send<Message: PeerMessage>(_ message: Message, _ session: PeerSession) async throws {
    asked.add(1, ordering: .relaxed)
    try await session.send(type: Message.type.rawValue, count: message.encodedByteCount) { (writer) throws(WireError) in
      try message.encode(into: &writer)
    }
  }
}

/// Carries everything but the last frame of a session's opening: the only one as long as the dialler's card.
private struct ShortTransport: PeerTransport {
  let inner: any PeerTransport
  let lastFrameByteCount: Int
  let stopped: @Sendable () -> Void

  var remoteDescription: String { inner.remoteDescription }

  func read(atMost limit: Int) async throws(TransportError) -> [UInt8] { try await inner.read(atMost: limit) }

  func write(_ bytes: [UInt8]) async throws(TransportError) {
    guard bytes.count == lastFrameByteCount else { return try await inner.write(bytes) }
    stopped()
    // Until the other side has had enough.
    while try await !inner.read(atMost: 1024).isEmpty {}
    throw .closed
  }

  func close() async { await inner.close() }
}
