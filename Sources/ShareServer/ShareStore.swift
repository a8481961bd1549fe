import Sodium

/// What the service needs of whatever keeps things for it: SQLite in a folder (``ServerStore``) or Redis
/// (``RedisStore``).
///
/// What returns is durable, or as durable as the store can make it, and what was refused or failed may have happened or
/// not. All throw a ``Refusal`` for what is the asker's affair.
protocol ShareStore: Sendable {
  var limits: ServerLimits { get }
  /// For rates: what has expired is the store's own affair.
  var clock: ServiceClock { get }
  /// Those who wait. The store wakes them.
  var board: WaitingBoard { get }
  /// What all groups have, as of a moment ago.
  var totals: Totals { get }
  var slotCount: Int { get }
  var gauges: [Gauge] { get }

  func find(_ tag: [UInt8], in group: Identifier) async throws -> FoundKey?
  /// A new key has been used: the one before it is none any more.
  func adopt(_ caller: Caller) async throws

  func makeGroup(_ id: Identifier, ttl: Int64, owner: Identifier, master: StoredKey, access: StoredKey) async throws
  func info(_ caller: Caller) async throws -> GroupInfo
  /// Erases a group, and with its key everything that it has stored.
  func eraseGroup(_ caller: Caller) async throws
  func addUser(_ caller: Caller, id: Identifier, access: StoredKey) async throws
  /// Gives a user, or for nil the group itself, a new key. The present one stays until the new one is used; one that
  /// was never used ends now.
  func rotateKey(_ caller: Caller, user: Identifier?, to key: StoredKey) async throws
  /// Ends a user's keys. What he sent stays until it expires.
  func removeUser(_ caller: Caller, _ user: Identifier) async throws

  func put(_ caller: Caller, _ share: NewShare) async throws -> Receipt
  /// What is new for a reader, in order of cursors. `reserve` is told how many bytes and shares the page will have
  /// before they are read, and may refuse.
  func page(
    _ caller: Caller, _ request: PageRequest, reserve: @escaping @Sendable (Int, Int) throws -> Void
  ) async throws -> Page
  /// One share, if the caller may read it. What he sent himself he may.
  func share(_ caller: Caller, _ id: Identifier) async throws -> [UInt8]
  /// Deletes a share for its sender.
  func eraseShare(_ caller: Caller, _ id: Identifier) async throws

  /// Returns when what was found here will not be found otherwise later: who is told that there is nothing any more may
  /// be told that after an attempt to delete it that wasn't acknowledged.
  func settle() async throws
  func isHealthy() async -> Bool
  /// Destroys the keys of what has expired.
  func destroyKeys() async throws
  /// Deletes what is left of what has expired.
  func sweep() async throws
  func close()
}

struct Gauge: Sendable {
  let name: String
  let type: String
  let help: String
  let value: String
}

struct FoundKey: Sendable {
  let group: Int64
  let ttl: Int64
  let seat: Int64
  let isPending: Bool
  let digest: [UInt8]
  /// Nil for a master key, and for a user who is none any more.
  let user: Identifier?
}

struct Caller: Sendable {
  /// The group's number.
  let group: Int64
  let groupID: Identifier
  let ttl: Int64
  /// 0 for a master key.
  let seat: Int64
  let tag: [UInt8]

  static let masterSeat: Int64 = 0
  static let ownerSeat: Int64 = 1

  var isMaster: Bool { seat == Self.masterSeat }
}

extension ShareStore {
  /// Finds out whose key this is. The first use of a new key ends the old one.
  func caller(_ key: consuming ServerKey, group: Identifier) async throws -> Caller {
    let tag = try key.tag(group: group)
    guard let found = try await find(tag, in: group) else { throw Refusal.unauthorized }
    let isMaster = found.seat == Caller.masterSeat
    guard isMaster == (key.kind == .master), isMaster || found.user != nil,
      try key.digest(group: group, user: found.user).matches(found.digest)
    else { throw Refusal.unauthorized }
    let caller = Caller(group: found.group, groupID: group, ttl: found.ttl, seat: found.seat, tag: tag)
    if found.isPending { try await adopt(caller) }
    return caller
  }
}

struct StoredKey: Sendable {
  let tag: [UInt8]
  let digest: [UInt8]

  init(_ key: borrowing ServerKey, group: Identifier, user: Identifier?) throws(SodiumError) {
    tag = try key.tag(group: group)
    digest = try key.digest(group: group, user: user).bytes
  }
}

struct GroupInfo: Sendable {
  let users: Int64
  let shares: Int64
  let bytes: Int64
  let newest: Int64
  /// The time by which shares expire.
  let time: Int64
}

struct NewShare: Sendable {
  let id: Identifier
  let bytes: [UInt8]
  let recipients: [Identifier]?

  /// What it counts in quotas: its bytes, and about what keeping it takes besides, four bytes for each recipient.
  var weight: Int64 { Int64(bytes.count + Self.overhead + 4 * (recipients?.count ?? 0)) }

  /// Bytes that a share takes besides its own.
  static let overhead = 256
}

struct Receipt: Sendable {
  let cursor: Int64
  let expires: Int64
  let isRepeated: Bool
}

struct ReadShare: Sendable {
  let id: Identifier
  let cursor: Int64
  let sender: Identifier
  let expires: Int64
  let bytes: [UInt8]
}

struct PageRequest: Sendable {
  let after: Int64
  let limit: Int
}

struct Page: Sendable {
  var shares: [ReadShare] = []
  /// Where to go on, also if there is nothing.
  var next: Int64
  var more = false
}
