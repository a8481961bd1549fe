package import Sodium
package import VaultProtocol
import VaultStore

/// A parcel that goes out.
package struct ParcelPost: Hashable, Sendable {
  package let id: ParcelID
  /// Shows its recipient whom it is for: 16 bytes.
  package let tag: [UInt8]
  package let bytes: [UInt8]
  /// In milliseconds since 1970.
  package let expiresAt: Int64
}

/// How an open delivery travels.
package struct ParcelWay: Hashable, Sendable {
  /// Of the group by which it goes, 8 bytes; empty if it goes by none.
  package let folder: [UInt8]
  /// Milliseconds since 1970.
  package let since: Int64
  /// The ways that it took: `account`, `group`; or `carriers`, if it waits for one.
  package let routes: [String]

  init(folder: [UInt8], since: Int64, routes: [String] = ["group"]) {
    self.folder = folder
    self.since = since
    self.routes = routes
  }
}

/// Parcels travel through groups' servers, by an account or with carriers: requests to peers that can't be reached, answers, and messages.
///
/// By a *mailbox* a member of a group says that it takes parcels there. Only who knows the card and the group sees whose it is.
extension Post {
  /// Most bytes of a fragment that goes by parcel.
  static let parcelFragmentLimit: UInt64 = 4 << 20
  /// Milliseconds until a parcel is given up. The same for all, so that its expiry doesn't tell what one is about.
  static let parcelLifetime: Int64 = 14 * 86_400_000
  /// Milliseconds after which an unanswered parcel is posted again for the first time.
  static let parcelRepetition: Int64 = 86_400_000
  /// Most unanswered parcels of a peer, and to a peer.
  static let parcelsOfPeer = 16
  /// Most unanswered parcels of peers.
  static let parcelsOfAll = 64
  /// Most bytes of answers to a peer that are kept until they expire.
  static let answerBytesOfPeer = 64 << 20
  /// Most bytes of answers to all peers.
  static let answerBytesOfAll = 512 << 20
  /// Most ids of a peer's parcels that are remembered.
  static let knownParcelsOfPeer = 16_384
  /// Milliseconds by which a sender's clock may be ahead.
  static let parcelClockTolerance: Int64 = 86_400_000

  // MARK: - Groups and mailboxes

  /// Without the group's id, whose a mailbox is can't be told. Kept in memory only.
  package func knowGroup(_ group: [UInt8], folder: [UInt8]) { parcelMemory.note(group: group, in: folder) }

  /// How parcels are fetched and posted while somebody waits for them and no daemon runs.
  package func fetchParcels(by fetch: @escaping @Sendable () async -> Void) { parcelFetch.withLock { $0 = fetch } }

  /// The mailbox of a card's owner in a group: first 16 bytes of
  /// BLAKE2b-256("vault/mailbox/v1", group id, card digest).
  package static func mailboxTag(group: [UInt8], card: Digest) throws -> [UInt8] {
    do {
      var hash = try DomainHash("vault/mailbox/v1")
      hash.append(group)
      hash.append(card)
      return Array(hash.digest().bytes.prefix(16))
    } catch { throw VaultError(.other, "hashing failed") }
  }

  package func ownMailboxTag(group: [UInt8]) throws -> [UInt8] {
    try Self.mailboxTag(group: group, card: identity.keys.digest)
  }

  /// Those that peers would have in a group.
  package func peerMailboxTags(group: [UInt8]) throws -> [[UInt8]] {
    try database.peers().map { peer in try Self.mailboxTag(group: group, card: peer.digest) }
  }

  package func noteMailbox(_ tag: [UInt8], folder: [UInt8]) throws {
    guard try !hasMailbox(tag, folder: folder) else { return }
    _ = try database.setMailbox(group: folder, tag: tag)
    parcelMemory.forgetMailboxes(in: folder)
  }

  /// Whether it was seen in the group in this folder.
  package func hasMailbox(_ tag: [UInt8], folder: [UInt8]) throws -> Bool {
    try mailboxes(in: folder).contains(tag)
  }

  /// The group in this folder is gone: its mailboxes are forgotten, and what was on its way there may take another way.
  package func leaveMailboxes(folder: [UInt8]) throws {
    try database.removeMailboxes(of: folder)
    let going = try database.parcels().filter {
      $0.direction != .received && $0.state != .answered && $0.group == folder
    }
    var ended: [ParcelID] = []
    for record in going {
      guard record.direction == .message || record.direction == .receipt, record.state != .withdrawn else {
        ended.append(record.id)
        continue
      }
      try change(record) {
        $0.group = []
        $0.state = .waiting
      }
    }
    try database.removeParcels(ended)
    parcelMemory.forgetGroup(in: folder)
  }

  func mailboxes(in folder: [UInt8]) throws -> Set<[UInt8]> {
    try parcelMemory.mailboxes(in: folder, at: environment.monotonic()) { () throws(StoreError) in
      try database.mailboxes(of: folder)
    }
  }

  /// The folders of the groups in which a peer has a mailbox, as far as this process knows the groups.
  func mailboxFolders(of peer: Digest) throws -> Set<[UInt8]> {
    var folders: Set<[UInt8]> = []
    for (folder, group) in parcelMemory.groups {
      let tag = try Self.mailboxTag(group: group, card: peer)
      if try mailboxes(in: folder).contains(tag) { folders.insert(folder) }
    }
    return folders
  }

  // MARK: - The time of parcels

  /// Whether it is over: ids of parcels that expire so early may be forgotten here, even if the clock was set back since.
  func isOver(_ expiresAt: Int64, at now: Int64) throws -> Bool {
    guard expiresAt > now else { return true }
    return expiresAt <= (try forgottenParcels())
  }

  private static let horizonKey = "parcel-horizon"
  private static let sweepKey = "parcel-sweep"
  /// Milliseconds for which a time must have been known before anything ends by it.
  static let sweepDelay: Int64 = 3_600_000

  /// The latest expiry of a received parcel that was forgotten.
  private func forgottenParcels() throws -> Int64 { try parcelTime(Self.horizonKey) }

  private func parcelTime(_ key: String) throws -> Int64 {
    guard let bytes = try database.meta(key), bytes.count == 8 else { return 0 }
    return Int64(bigEndianBytes: bytes)
  }

  private func setParcelTime(_ key: String, to time: Int64) throws {
    try database.setMeta(key, to: time.bigEndianBytes)
  }

  /// Noted before ids are forgotten: parcels that expire no later are not taken any more, so none comes twice.
  private func noteForgotten(_ time: Int64) throws {
    guard try forgottenParcels() < time else { return }
    try setParcelTime(Self.horizonKey, to: time)
  }

  /// Ends what has expired, an hour later. A clock that is ahead for a moment, as on a device that starts, ends nothing: only a time counts
  /// that was read an hour ago.
  func sweepParcels() throws {
    guard parcelMemory.isSweepDue(at: environment.monotonic()) else { return }
    let now = environment.now()
    let seen = try parcelTime(Self.sweepKey)
    guard seen > 0, seen <= now else { return try setParcelTime(Self.sweepKey, to: now) }
    guard now - seen >= Self.sweepDelay else { return }
    try sweepParcels(expiredBy: seen)
    try setParcelTime(Self.sweepKey, to: now)
  }

  private func sweepParcels(expiredBy now: Int64) throws {
    let damaged = try database.removeDamagedParcels()
    if !damaged.isEmpty { environment.log.error("\(damaged.count) parcels were damaged, and are given up") }
    try endMessages(expiredBy: now)
    let received = try database.parcels(.received)
    if let last = received.map(\.expiresAt).filter({ $0 <= now }).max() { try noteForgotten(last) }
    let ended = try database.removeExpiredParcels(at: now)
    let asked = ended.filter { $0.direction == .request || $0.direction == .change }
    for parcel in asked where parcel.state != .answered && parcel.state != .withdrawn {
      let peer = try database.peer(parcel.peer)
      environment.log.info("a parcel to \(peer?.name ?? "a former peer") was not answered in time")
    }
  }
}
