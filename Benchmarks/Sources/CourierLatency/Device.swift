import Foundation
import Logging
import PeerAuth
import PeerLink
import SecretVault
import Sodium
import VaultProtocol
import VaultStore

/// A vault that answers on loopback, and notes when a message has become durable there.
final class Device: Sendable {
  let name: String
  let vault: Vault
  let arrivals: Arrivals
  private let listener: TCPListener

  init(_ name: String, in folder: String) async throws {
    self.name = name
    let arrivals = Arrivals()
    self.arrivals = arrivals
    let home = "\(folder)/\(name)"
    try FileManager.default.createDirectory(
      atPath: home, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    let listener = try await TCPListener.bind(host: "127.0.0.1", port: 0)
    self.listener = listener
    let environment = VaultEnvironment(
      now: { Int64(Date().timeIntervalSince1970 * 1000) }, monotonic: { Stopwatch.now() * 1000 },
      sleep: { try await Task.sleep(for: $0) },
      log: Logger(label: name) { _ in ArrivalLog(name: name, arrivals: arrivals) },
      connect: { (address) async throws(TransportError) in try await TCPConnector().connect(address) })
    let vault = try Vault.create(
      at: VaultFolders(home: home), label: name, addresses: [listener.address], passphrase: nil,
      environment: environment)
    self.vault = vault
    Task { for await transport in listener.incoming { Task { await vault.answering.answer(transport) } } }
  }

  /// Two who trust each other.
  static func introduce(_ one: Device, _ other: Device) throws {
    _ = try one.vault.trust.addPeer(try other.vault.core.ownIdentity().card, name: other.name)
    _ = try other.vault.trust.addPeer(try one.vault.core.ownIdentity().card, name: one.name)
  }

  /// Keeps a text for somebody, to be sent.
  func write(_ text: String, to recipient: Device, pigeonsOnly: Bool = false) throws -> Int64 {
    try vault.messages.send(.text(try Letter.held(text)), to: recipient.name, pigeonsOnly: pigeonsOnly).number
  }

  /// The parcel that waits for this way: exactly one.
  func only(_ way: VaultStore.Way) throws -> OutgoingParcelPost {
    let posts = try vault.post.outgoingParcels(way: way)
    guard posts.count == 1 else { throw Disorder(words: "\(posts.count) parcels wait at \(name), not one") }
    return posts[0]
  }

  /// Fails unless a message is known to have arrived.
  func expectDelivery(of number: Int64) throws {
    let state = try vault.messages.message(number).state
    guard state == "delivered" else { throw Disorder(words: "a message of \(name) is \(state), not delivered") }
  }
}

/// Something isn't as it should be between two messages.
struct Disorder: Error, CustomStringConvertible {
  let words: String
  var description: String { words }
}

/// The line that a vault writes as soon as a message is durable stops the watch. Of one peer it writes 60 a minute.
private struct ArrivalLog: LogHandler {
  let name: String
  let arrivals: Arrivals
  var metadata: Logger.Metadata = [:]
  var logLevel = Logger.Level.info

  init(name: String, arrivals: Arrivals) {
    self.name = name
    self.arrivals = arrivals
  }

  subscript(metadataKey key: String) -> Logger.Metadata.Value? {
    get { metadata[key] }
    set { metadata[key] = newValue }
  }

  func log(event: LogEvent) {
    let words = event.message.description
    if words.hasPrefix("message-received") {
      arrivals.note()
    } else if event.level >= .warning {
      Complaint.say("\(name): \(words)")
    }
  }
}
