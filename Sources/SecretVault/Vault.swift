import Logging
package import PeerAuth
import ShamirKit
package import Sodium
import Synchronization
import VaultProtocol
package import VaultStore

/// An open vault: identity, trust list, shares and what can be done with them.
///
/// One process may open it many times over, and many processes at once; what they share is the store. Everything secret that
/// it keeps in memory lies in ``SecretBytes``.
package final class Vault: Sendable {
  let folders: VaultFolders
  let keys: VaultKeys
  let database: VaultDatabase
  let identity: Identity
  let environment: VaultEnvironment
  let requestNumbers = Mutex<UInt64>(0)
  let sessions = SessionCount()
  /// Sessions of those whom each peer has introduced.
  let introducedSessions = SessionCount()
  /// Calls of those whom each peer has introduced.
  let introducedDials = IntroducedDials()
  /// Whether there was room for the last parcel that came.
  let parcelRoom = Atomic(true)
  let strangers = StrangerFilter()
  /// Whose newer cards were taken within the last minute, of those who were introduced.
  let introducedCards = StrangerFilter()
  let allowance = LineAllowance()
  /// What this process has hashed of what arrives from peers.
  let arrivals = ArrivalMemory()
  let releases = RecentReleases()
  /// What this process remembers of parcels.
  let parcelMemory = ParcelMemory()
  /// Who fetches parcels where no daemon does.
  let parcelFetch = Mutex<(@Sendable () async -> Void)?>(nil)
  /// What this process remembers of meetings.
  let meetings = MeetingMemory()
  /// Recoveries that wait for others' consent.
  let awaited = RecentReleases()
  /// Cards that were read before: the same few come in every session.
  let cards = CardMemory()
  /// Headers that were verified before.
  let headers = HeaderMemory()
  /// Commitments to other holders' shares, which cost a multiplication a coefficient: computed on demand.
  let evaluations = EvaluationCache()
  /// Secrets that the daemon can't check just now.
  let postponedDrills = PostponedDrills()
  /// Conversations behind a question whether a share would be taken.
  let conversations: KeptConversations
  let settingsFile: SettingsFile
  /// Who answers letters about groups.
  let letterTaker = Mutex<(any GroupLetterTaker)?>(nil)

  private init(
    folders: VaultFolders, keys: VaultKeys, database: VaultDatabase, identity: Identity, environment: VaultEnvironment
  ) throws {
    self.folders = folders
    self.keys = keys
    self.database = database
    self.identity = identity
    self.environment = environment
    conversations = KeptConversations(environment)
    settingsFile = SettingsFile(database)
  }

  /// Makes a vault: folders, keys, identity. Throws ``VaultError/Code/vaultExists`` if there is one.
  /// A passphrase counts byte for byte, as it was typed; nil leaves the device key as the only protection.
  package static func create(
    at folders: VaultFolders, label: String, addresses: [PeerAddress], passphrase: consuming SecretBytes?,
    environment: VaultEnvironment
  ) throws -> Vault {
    guard try !folders.holdsVault() else { throw exists(folders) }
    let (identity, card) = try makeIdentity(label: label, addresses: addresses)
    let creation = try begin(folders, passphrase)
    let keys = creation.keys
    let database = try creation.makeDatabase()
    try store(identity, card, in: database, at: environment.now())
    // A vault that was never closed must not hang on its log alone.
    database.emptyLog()
    // From here on it is a vault, and a whole one.
    try creation.commit()
    return try Vault(
      folders: folders, keys: keys, database: database, identity: identity, environment: environment)
  }

  private static func begin(
    _ folders: VaultFolders, _ passphrase: borrowing SecretBytes?
  ) throws -> VaultCreation {
    do { return try VaultCreation(in: folders, passphrase: passphrase) } catch StoreError.alreadyExists {
      // Somebody else was quicker.
      throw exists(folders)
    } catch { throw error }
  }

  private static func exists(_ folders: VaultFolders) -> VaultError {
    VaultError(
      .vaultExists, "there is a vault in \(folders.data) already",
      hint: "use another folder with --home, or look at it with `vault id`")
  }

  private static func makeIdentity(
    label: String, addresses: [PeerAddress]
  ) throws -> (Identity, PeerCard) {
    let identity: Identity
    do { identity = try Identity.generate() } catch { throw VaultError(.other, "no keys could be made: \(error)") }
    do {
      return (identity, try identity.card(label: label, addresses: addresses, serial: 1))
    } catch {
      throw VaultError(
        .usage, "the label or an address can't stand in a card",
        hint: "a label has at most 64 bytes and no control characters")
    }
  }

  private static func store(
    _ identity: Identity, _ card: PeerCard, in database: VaultDatabase, at now: Int64
  ) throws {
    let beacon = try freshSecret(PeerCard.beaconKeyByteCount)
    do {
      let record = IdentityRecord(
        card: try card.encoded(), serial: Int64(clamping: card.serial), label: card.label,
        addresses: card.addresses.map(\.description), createdAt: now)
      let secrets = try identity.stored()
      try database.createIdentity(record, secrets: secrets, beaconKey: beacon)
    } catch {
      throw VaultError(known: error) ?? VaultError(.other, "the identity could not be stored: \(error)")
    }
  }

  /// Opens a vault. Only if it has a passphrase, `stretched` is asked for what ``stretchedPassphrase(at:passphrase:)`` made of
  /// it before, and `passphrase` for the passphrase itself if there is no such thing or it doesn't fit.
  package static func open(
    at folders: VaultFolders, passphrase: () throws -> SecretBytes,
    stretched: () -> SecretBytes? = { nil }, environment: VaultEnvironment
  ) throws -> Vault {
    let keys = try unlock(folders, passphrase, stretched)
    let database: VaultDatabase
    do { database = try VaultDatabase(folders, keys: keys) } catch {
      throw VaultError(error, namingSharesIn: CompanionFiles(folders, keys: keys))
    }
    let identity: Identity
    do {
      identity = try Identity(stored: try database.identitySecrets())
    } catch let error as StoreError {
      throw VaultError(error, namingSharesIn: CompanionFiles(folders, keys: keys))
    } catch {
      throw VaultError(.damaged, "the keys stored in \(folders.data) are damaged")
    }
    // What an interrupted command has left. If it fails, the next opening tries again.
    let report = try? database.cleanIfDue(at: environment.now())
    let vault = try Vault(
      folders: folders, keys: keys, database: database, identity: identity, environment: environment)
    vault.keepCardCopy()
    database.noteSettings()
    vault.note(takenUp: report?.takenUp ?? (try? database.takeUpLost(thoroughly: false)) ?? [])
    if report == nil { _ = try? database.takeUpLostItems(thoroughly: false) }
    return vault
  }

  /// Writes what is buffered, and ends the use of the vault.
  package func close() { database.finish() }

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

  /// Asks something of a peer in a session.
  func send(_ content: Envelope.Content, to recipient: Recipient) async -> RouteOutcome {
    let route = SessionRoute(
      identity: identity, ownCard: { [self] in try ownCard() }, environment: environment,
      met: { [self] recipient, card in self.met(recipient, card) }, kept: conversations,
      services: { [self] in services })
    return await route.send(Envelope(id: requestNumber(), recipient: recipient, content: content))
  }

  /// The same for what a peer can cause as often as it likes: beyond an allowance its lines are counted, not written.
  func recordUnlessTooMany(
    _ event: AuditEvent, peer: PeerRecord, secret: SecretHeader? = nil, detail: String? = nil
  ) {
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

  /// Writes a line into the audit log, and tells the notification command if the event is one that it is told of.
  func record(
    _ event: AuditEvent, peer: PeerRecord? = nil, secret: SecretHeader? = nil, detail: String? = nil
  ) {
    let at = environment.now()
    let parts = [event.rawValue, peer?.name, secret?.id.description, detail].compactMap { $0 }
    environment.log.info("\(parts.joined(separator: " · "))")
    do {
      try database.audit(
        AuditRecord(
          at: at, event: event.rawValue, peer: peer?.digest, peerLabel: peer?.name, secretID: secret?.id.bytes,
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

/// What the audit log distinguishes.
enum AuditEvent: String {
  case peerAdded = "peer-added"
  case peerChanged = "peer-changed"
  case peerRemoved = "peer-removed"
  case peerProven = "peer-proven"
  case shared = "shared"
  case delivered = "share-delivered"
  case deliveryFailed = "delivery-failed"
  case shareReceived = "share-received"
  case shareReleased = "share-released"
  case shareDrilled = "share-drilled"
  case refused = "refused"
  case notHeld = "not-held"
  case conflict = "conflicting-header"
  case recovered = "recovered"
  case unlocked = "unlocked"
  case recoveryFailed = "recovery-failed"
  case deleted = "share-deleted"
  case takenUp = "share-taken-up"
  case cardReplaced = "card-replaced"
  case rebuilt = "rebuilt"
  case checked = "checked"
  case backedUp = "backup-created"
  case restored = "backup-restored"
  case holdersLow = "holders-low"
  case holdersLost = "holders-lost"
  case releaseRequested = "release-requested"
  case releaseAwaited = "release-awaited"
  case depositRequested = "deposit-requested"
  case requestApproved = "request-approved"
  case requestRefused = "request-refused"
  case policyChanged = "policy-changed"
  case recoveryWaits = "recovery-waits"
  case itemReceived = "item-received"
  case itemAdded = "item-added"
  case itemOpened = "item-opened"
  case itemSent = "item-sent"
  case itemDeleted = "item-deleted"
  case itemOvertaken = "item-overtaken"
  case groupCreated = "group-created"
  case groupInvited = "group-invited"
  case groupJoined = "group-joined"
  case groupMemberRemoved = "group-member-removed"
  case groupLeft = "group-left"
  case messageReceived = "message-received"

  /// Whether the user's notification command is told.
  var notifies: Bool {
    switch self {
    case .cardReplaced, .shareReceived, .shareReleased, .refused, .conflict, .holdersLow, .holdersLost,
      .releaseRequested,
      .depositRequested, .itemReceived, .itemOvertaken, .groupInvited, .messageReceived:
      true
    default: false
    }
  }
}

/// Remembers commitments to shares: they are public, and each costs up to 255 multiplications.
final class EvaluationCache: Sendable {
  private struct Key: Hashable {
    let header: Digest
    let index: UInt8
  }
  private static let limit = 4096
  private let points = Mutex<[Key: RistrettoPoint]>([:])

  func evaluation(_ header: SecretHeader, _ index: UInt8) throws(ProtocolError) -> RistrettoPoint {
    let key = Key(header: header.digest, index: index)
    if let known = points.withLock({ $0[key] }) { return known }
    let point: RistrettoPoint
    do { point = try header.commitments.evaluation(at: index) } catch { throw .rejected(error) }
    points.withLock {
      if $0.count >= Self.limit { $0.removeAll() }
      $0[key] = point
    }
    return point
  }
}

/// Remembers for a minute which addresses have dialled with unknown keys.
final class StrangerFilter: Sendable {
  private static let interval = 60_000.0
  private static let limit = 1024
  private let seen = Mutex<[String: Double]>([:])

  /// Whether this address was not seen within the last minute. Many addresses at once count as one.
  func isNew(_ address: String, at now: Double) -> Bool {
    seen.withLock { seen in
      if let last = seen[address], now - last < Self.interval { return false }
      seen = seen.filter { now - $0.value < Self.interval }
      guard seen.count < Self.limit else { return false }
      seen[address] = now
      return true
    }
  }
}

/// How many sessions each peer has open at this device.
final class SessionCount: Sendable {
  static let limit = 16
  /// Of somebody who was introduced. All whom one dealer has introduced have as many together as a peer.
  static let limitOfIntroduced = 4
  private let counts = Mutex<[Digest: Int]>([:])

  /// Counts one more, unless the peer has as many as it may.
  func begin(_ peer: Digest, limit: Int = limit) -> Bool {
    counts.withLock {
      guard $0[peer, default: 0] < limit else { return false }
      $0[peer, default: 0] += 1
      return true
    }
  }

  func end(_ peer: Digest) {
    counts.withLock {
      let left = $0[peer, default: 1] - 1
      $0[peer] = left > 0 ? left : nil
    }
  }
}
