package import PeerAuth
import Sodium
import Synchronization
import VaultProtocol
import VaultStore

/// What every room of a vault stands on: folders, keys, store, identity, clock, settings and the audit log.
package final class VaultCore: Sendable {
  let folders: VaultFolders
  let keys: VaultKeys
  let database: VaultDatabase
  package let identity: Identity
  let environment: VaultEnvironment
  let settingsFile: SettingsFile
  private let requestNumbers = Mutex<UInt64>(0)
  let strangers = StrangerFilter()
  private let faults = StrangerFilter()
  let pace = Mutex(ChangePace())
  let allowance = LineAllowance()
  /// The same few cards come in every session.
  let cards = CardMemory()
  let evaluations = EvaluationCache()

  init(
    folders: VaultFolders, keys: VaultKeys, database: VaultDatabase, identity: Identity, environment: VaultEnvironment
  ) {
    self.folders = folders
    self.keys = keys
    self.database = database
    self.identity = identity
    self.environment = environment
    settingsFile = SettingsFile(database)
  }

  /// A number that no other request of this vault has had.
  func requestNumber() -> UInt64 {
    requestNumbers.withLock { number in
      if number == 0 {
        let bytes = (try? Randomness.bytes(8)) ?? []
        number = bytes.reduce(0) { $0 << 8 | UInt64($1) }
      }
      number &+= 1
      return number
    }
  }

  /// Of what a peer can cause as often as it likes, lines beyond an allowance are counted, not written.
  func recordUnlessTooMany(_ event: AuditEvent, peer: PeerRecord, secret: SecretHeader? = nil, detail: String? = nil) {
    guard mayWrite(of: peer) else { return }
    record(event, peer: peer, secret: secret, detail: detail)
  }

  /// Whether another line may be written that this peer has caused; says how many were left out, once a minute. Those whom a peer has introduced
  /// count as that peer: it may introduce whom it likes.
  func mayWrite(of peer: PeerRecord) -> Bool {
    let (isWritten, leftOut) = allowance.next(peer.introducer ?? peer.digest, at: environment.monotonic())
    if leftOut > 0 { record(.refused, peer: peer, detail: "\(leftOut) more lines like those before were left out") }
    return isWritten
  }

  /// Says in the program's log what is wrong on this device: the same once a minute, as peers may cause it as often as they ask.
  func logFault(_ text: String) {
    if faults.isNew(text, at: environment.monotonic()) { environment.log.error("\(text)") }
  }

  /// Writes a line into the audit log, and tells the notification command if the event is one that it is told of.
  func record(_ event: AuditEvent, peer: PeerRecord? = nil, secret: SecretHeader? = nil, detail: String? = nil) {
    let at = environment.now()
    let parts = [event.rawValue, peer?.name, secret?.id.description, detail].compactMap { $0 }
    environment.log.info("\(parts.joined(separator: " · "))")
    do {
      try database.audit(
        AuditRecord(
          at: at, event: event.rawValue, peer: peer?.digest, peerLabel: peer?.name, secretID: secret?.id,
          detail: detail))
    } catch {
      environment.log.error("the audit log can't be written: \(error)")
    }
    guard event.notifies else { return }
    let command = settingValue(SettingKey.notifyCommand.rawValue)
    guard !command.isEmpty else { return }
    environment.notify(
      command,
      VaultEnvironment.Notification(
        event: event.rawValue, peer: peer?.name, secret: secret?.id.description,
        description: secret.flatMap { $0.description.isEmpty ? nil : $0.description }, detail: detail, at: at))
  }
}

extension VaultCore {
  /// An error in the words that follow a peer's name in the log.
  static func words(_ error: any Error) -> String {
    switch error {
    case let error as LinkFailure: error.reason
    case let error as SessionError: LinkFailure(error, peer: "the peer").reason
    case let error as ProtocolError: LinkFailure(error).reason
    case let error as VaultError: "met a failure here: \(error.reason)"
    case let error as StoreError: "met a failure here: \(error)"
    case is CancellationError: "was let go"
    default: "met a failure here"
    }
  }

  func damage(_ error: StoreError) -> VaultError {
    VaultError(error, namingSharesIn: CompanionFiles(folders, keys: keys))
  }

  /// What a file is called, without its folders: those are nobody's business.
  static func fileName(of path: String) -> String {
    // Scalars, not characters: a slash with a combining mark behind it is still one to the file system.
    path.unicodeScalars.split(separator: "/").last.map { String($0) } ?? path
  }
}
