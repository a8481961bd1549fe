import Glibc
package import SecretVault
package import ShamirKit
package import Sodium
import Synchronization
package import VaultStore
import WireCodec

/// The agent as commands see it. One connection, one request, one answer.
///
/// What a command asks by the way never holds it up for more than a second, all requests together: an agent that has
/// once not answered in time is taken for none.
package final class AgentClient: UnlockedSecrets {
  /// Milliseconds for what the user has asked for.
  private static let longPatience: Int32 = 5000
  /// The same where a locked daemon may have to open its vault, and to take up what it had lost.
  private static let openingPatience: Int32 = 60_000

  private let folder: String
  /// Milliseconds that requests by the way may take.
  private let patience: Int32
  private let isSilent = Atomic<Bool>(false)
  /// Told once that it has not answered in time.
  private let foundSilent: @Sendable () -> Void

  package init(_ folders: VaultFolders, patience: Int32 = 900, foundSilent: @escaping @Sendable () -> Void = {}) {
    folder = folders.state
    self.patience = patience
    self.foundSilent = foundSilent
  }

  private enum Failure: Error {
    case absent, silent, garbled
  }

  private struct Exchange: ~Copyable {
    let answer: AgentAnswer
    let message: SecretBytes
    let file: CiphertextFile?
  }

  // MARK: - By the way

  /// Nil without an answer in time.
  private func ask(_ request: AgentRequest) -> Exchange? {
    guard !isSilent.load(ordering: .relaxed), let message = try? request.message() else { return nil }
    do { return try exchange(message, within: patience) } catch {
      if error == .silent, !isSilent.exchange(true, ordering: .relaxed) { foundSilent() }
      return nil
    }
  }

  /// What is unlocked, if an agent says so at once.
  func quickStatus() -> AgentStatus? {
    guard let exchange = ask(.status), case .status(let status) = exchange.answer else { return nil }
    return status
  }

  /// The vault's stretched passphrase, if it is unlocked.
  package func passphrase() -> SecretBytes? {
    guard let exchange = ask(.passphrase), case .key = exchange.answer else { return nil }
    return try? AgentMessage.key(in: exchange.message)
  }

  package func ids() -> Set<SecretID> { Set((quickStatus()?.secrets ?? []).map(\.id)) }

  package func fileKey(of id: SecretID) throws -> SecretBytes? {
    guard let exchange = ask(.fileKey(id)), case .key = exchange.answer else { return nil }
    return try? AgentMessage.key(in: exchange.message)
  }

  package func secret(_ id: SecretID) throws -> UnlockedSecret? {
    guard let exchange = ask(.secret(id)), case .secret(let byteCount) = exchange.answer, let file = exchange.file,
      (try? file.byteCount()) == byteCount, let key = try? AgentMessage.key(in: exchange.message)
    else { return nil }
    return UnlockedSecret(key: key, ciphertext: file)
  }

  package func lock(_ id: SecretID) { _ = ask(.lock(id)) }

  // MARK: - As the user asked

  package func prepare() throws { _ = try status() }

  /// Whether somebody is there to be asked, for better or worse.
  package var isThere: Bool { LocalSocket.connect(to: AgentServer.socketName, in: folder) != nil || errno == EAGAIN }

  package func status() throws -> AgentStatus {
    let exchange = try demand(.status)
    guard case .status(let status) = exchange.answer else { throw Self.error(.garbled) }
    return status
  }

  /// Unlocks the vault: `key` is its stretched passphrase.
  package func keepPassphrase(_ key: consuming SecretBytes) throws {
    let given: SecretBytes? = consume key
    try expectDone(demand(.keepPassphrase, key: given, within: Self.openingPatience))
  }

  package func keep(_ secret: consuming UnlockedSecret, as id: SecretID) throws {
    let byteCount: UInt64
    let key: SecretBytes?
    do { byteCount = try secret.ciphertext.byteCount() } catch { throw Self.error(.garbled) }
    do { key = try secret.key.duplicate() } catch { throw VaultError(.other, "no secret memory left") }
    let descriptor = secret.ciphertext.descriptor
    try expectDone(demand(.keepSecret(id, byteCount: byteCount), key: key, descriptor: descriptor))
  }

  /// Locks one secret, or everything.
  package func lockNow(_ id: SecretID?) throws { try expectDone(demand(id.map { .lock($0) } ?? .lockAll)) }

  private func expectDone(_ exchange: consuming Exchange) throws {
    switch exchange.answer {
    case .done: return
    case .refused(.full):
      throw VaultError(
        .refused, "the agent keeps \(AgentMessage.secretLimit) secrets unlocked already",
        hint: "lock one with `vault lock SECRET`")
    case .refused(.sleeping):
      throw VaultError(
        .refused, "the machine is about to sleep, and nothing is unlocked until it is awake again",
        hint: "try again then, or in half a minute")
    case .refused(.noTimeout):
      throw VaultError(
        .refused, "the agent can't read how long anything may stay unlocked",
        hint: "see what `vault settings list` says")
    case .refused(.unopened):
      throw VaultError(
        .other, "the daemon can't open the vault, and stays locked", hint: "its log says why; see `vault status`")
    default: throw Self.error(.garbled)
    }
  }

  private func demand(
    _ request: AgentRequest, key: borrowing SecretBytes? = nil, descriptor: Int32 = -1,
    within milliseconds: Int32 = AgentClient.longPatience
  ) throws -> Exchange {
    let message: SecretBytes
    do { message = try request.message(key: key) } catch { throw VaultError(.other, "no secret memory left") }
    do { return try exchange(message, descriptor: descriptor, within: milliseconds) } catch {
      throw Self.error(error)
    }
  }

  private static func error(_ failure: Failure) -> VaultError {
    switch failure {
    case .absent:
      VaultError(
        .other, "no agent is running, which would keep what is unlocked",
        hint: "it is a part of the daemon: start `vault daemon`, and try again")
    case .silent:
      VaultError(.other, "the agent in `vault daemon` does not answer", hint: "restart the daemon")
    case .garbled:
      VaultError(
        .other, "the agent in `vault daemon` answers something else than it should",
        hint: "restart the daemon: it may be of another version")
    }
  }

  // MARK: - The socket

  private func exchange(
    _ message: borrowing SecretBytes, descriptor: Int32 = -1, within milliseconds: Int32
  ) throws(Failure) -> Exchange {
    guard let socket = LocalSocket.connect(to: AgentServer.socketName, in: folder) else {
      // So many wait already that it can't be well.
      throw errno == EAGAIN ? .silent : .absent
    }
    guard socket.isOwnUser else { throw .absent }
    guard socket.send(message, descriptor: descriptor) else { throw .silent }
    var buffer: SecretBytes
    do { buffer = try SecretBytes(zeros: AgentMessage.answerLimit) } catch { throw .garbled }
    guard socket.waitForMessage(milliseconds: milliseconds) else { throw .silent }
    switch socket.receive(into: &buffer) {
    case .nothing: throw .silent
    case .end, .unfit: throw .garbled
    case .message(let count, let descriptor):
      var file: CiphertextFile?
      if descriptor >= 0 { file = try? CiphertextFile(owning: descriptor) }
      guard let answer = try? AgentAnswer(message: buffer.bytes.extracting(first: count)) else { throw .garbled }
      return Exchange(answer: answer, message: buffer, file: file)
    }
  }
}
