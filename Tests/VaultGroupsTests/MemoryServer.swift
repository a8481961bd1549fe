import Sodium
import Synchronization
import TestTime

@testable import Grouper

extension TestClock {
  func advance(seconds: UInt64) { advance(by: .seconds(Int64(seconds))) }
}

/// A server in memory, on virtual time, that can be down, full, lose what it has acknowledged, damage what it gives, and lie.
final class MemoryServer: GroupServer {
  enum Fault: Hashable, Sendable {
    /// Doesn't answer.
    case down
    /// Takes requests and says nothing.
    case silent
    /// Has no more room.
    case full
    /// Changes a byte of each share that it gives.
    case damaging
    /// Forgets what it acknowledges.
    case losing
    /// Takes the clock for this many seconds later than it is.
    case clock(Int64)
    /// Answers what it was asked for with nonsense: a cursor that goes back.
    case confused
    /// Looks at one share at a time, so that pages are empty though there is more.
    case shortSighted
    /// Says that there is more, for ever.
    case endless
  }

  private struct Share {
    let id: ServerShareID
    let cursor: UInt64
    let sender: ServerUserID
    let expires: UInt64
    let bytes: [UInt8]
    let recipients: [ServerUserID]
  }

  private struct User {
    let id: ServerUserID
    var keys: [Digest]
    var pending: Digest?
  }

  private struct Group {
    let ttl: Int
    var master: Digest
    let owner: ServerUserID
    var users: [User]
    var shares: [Share] = []
    var newest: UInt64 = 0
  }

  private struct Content {
    var groups: [ServerGroupID: Group] = [:]
    var faults: Set<Fault> = []
    var puts = 0
    var given = 0
    /// Calls by which an owner tells of a removal.
    var tasks = 0
    /// All bytes that it ever held.
    var seen: [[UInt8]] = []
    var random = FixedRandom(7)
    /// Chance that a put is acknowledged and lost, in thousandths.
    var lossPermille: UInt64 = 0
  }

  private let content = Mutex(Content())
  private let clock: TestClock

  init(_ clock: TestClock) { self.clock = clock }

  // MARK: - For tests

  func set(_ faults: Fault...) { content.withLock { $0.faults = Set(faults) } }
  func lose(permille: UInt64) { content.withLock { $0.lossPermille = permille } }
  var puts: Int { content.withLock { $0.puts } }
  var given: Int { content.withLock { $0.given } }
  var tasks: Int { content.withLock { $0.tasks } }
  var seen: [[UInt8]] { content.withLock { $0.seen } }
  var shareCount: Int { content.withLock { $0.groups.values.reduce(0) { $0 + $1.shares.count } } }
  var userCount: Int { content.withLock { $0.groups.values.reduce(0) { $0 + $1.users.count } } }
  /// As if put back from a copy of its first day: groups and users, but no shares, and it counts from 0 again.
  func forgetShares() {
    content.withLock { content in
      for group in content.groups.keys {
        content.groups[group]?.shares = []
        content.groups[group]?.newest = 0
      }
    }
  }
  func wipe() { content.withLock { $0.groups = [:] } }

  private func digest(_ key: ServerKey) throws(GroupServerError) -> Digest {
    do throws(SodiumError) {
      var hash = try DomainHash("vault/test-key/v1")
      key.secret.withUnsafeBytes { hash.append($0) }
      return hash.digest()
    } catch { throw .malformed(reason: "hash") }
  }

  private func newKey(_ kind: ServerKey.Kind) throws(GroupServerError) -> ServerKey {
    do throws(SodiumError) { return try ServerKey(SecretBytes(random: 32), kind) } catch {
      throw .malformed(reason: "key")
    }
  }

  private func id<Kind>() throws(GroupServerError) -> Identifier<Kind> {
    do throws(SodiumError) { return try Identifier<Kind>.random() } catch { throw .malformed(reason: "id") }
  }

  private func run<Value>(
    _ body: (inout Content) throws(GroupServerError) -> sending Value
  ) throws(GroupServerError) -> Value {
    let result: Result<Value, GroupServerError> = content.withLock { content in
      do throws(GroupServerError) {
        if content.faults.contains(.down) { throw .unreachable(reason: "connection refused") }
        return .success(try body(&content))
      } catch { return .failure(error) }
    }
    return try result.get()
  }

  private func keepSilent() async throws(GroupServerError) {
    guard content.withLock({ $0.faults.contains(.silent) }) else { return }
    try? await clock.sleep(for: .seconds(600))
    throw .unreachable(reason: "it was silent")
  }

  private func time(_ content: Content) -> UInt64 {
    for case .clock(let seconds) in content.faults { return UInt64(clock.now + seconds * 1000) }
    return UInt64(clock.now)
  }

  private func user(_ access: GroupAccess, _ content: inout Content) throws(GroupServerError) -> ServerUserID {
    let digest = try digest(access.key)
    guard var group = content.groups[access.group] else { throw .unauthorized }
    for place in group.users.indices {
      if group.users[place].pending == digest {
        group.users[place].keys = [digest]
        group.users[place].pending = nil
        content.groups[access.group] = group
      }
      if group.users[place].keys.contains(digest) { return group.users[place].id }
    }
    throw .unauthorized
  }

  private func owner(_ access: GroupAccess, _ content: Content) throws(GroupServerError) {
    let digest = try digest(access.key)
    guard let group = content.groups[access.group], group.master == digest else { throw .unauthorized }
  }

  // MARK: - GroupServer

  func put(
    _ share: ServerShareID, bytes: [UInt8], recipients: [ServerUserID], _ access: GroupAccess
  ) async throws(GroupServerError) -> PutReceipt {
    try await keepSilent()
    return try run { content throws(GroupServerError) in
      let sender = try user(access, &content)
      if content.faults.contains(.full) { throw .quota }
      guard bytes.count <= ServerLimits.shareByteLimit else { throw .tooLarge }
      guard var group = content.groups[access.group] else { throw .unauthorized }
      guard recipients.allSatisfy({ recipient in group.users.contains { $0.id == recipient } }) else {
        throw .refused(status: 404, code: "unknown-recipient")
      }
      if let old = group.shares.first(where: { $0.id == share }) {
        guard old.bytes == bytes else { throw .refused(status: 409, code: "conflict") }
        return PutReceipt(cursor: old.cursor, expires: old.expires)
      }
      content.puts += 1
      content.seen.append(bytes)
      group.newest += 1
      let expires = time(content) + UInt64(group.ttl) * 1000
      let isLost =
        content.faults.contains(.losing)
        || UInt64.random(in: 0..<1000, using: &content.random) < content.lossPermille
      if !isLost {
        group.shares.append(
          Share(
            id: share, cursor: group.newest, sender: sender, expires: expires, bytes: bytes, recipients: recipients))
      }
      content.groups[access.group] = group
      return PutReceipt(cursor: group.newest, expires: expires)
    }
  }

  func list(
    after cursor: UInt64, limit: Int, wait: Int, _ access: GroupAccess
  ) async throws(GroupServerError) -> SharePage {
    try await keepSilent()
    return try run { content throws(GroupServerError) in
      let own = try user(access, &content)
      guard var group = content.groups[access.group] else { throw .unauthorized }
      if content.faults.contains(.confused) { return SharePage(shares: [], next: 0, hasMore: true) }
      let now = time(content)
      group.shares.removeAll { $0.expires <= now }
      content.groups[access.group] = group
      let news = group.shares.filter {
        $0.cursor > cursor && $0.sender != own && ($0.recipients.isEmpty || $0.recipients.contains(own))
      }
      if content.faults.contains(.endless) { return SharePage(shares: [], next: cursor + 1, hasMore: true) }
      let isShortSighted = content.faults.contains(.shortSighted)
      let seen = isShortSighted ? group.shares.first { $0.cursor > cursor }?.cursor ?? cursor : UInt64(Int64.max)
      var page = Array(news.filter { $0.cursor <= seen }.prefix(limit))
      content.given += page.count
      let next = isShortSighted ? seen : page.last?.cursor ?? cursor
      if content.faults.contains(.damaging) {
        page = page.map { share in
          var bytes = share.bytes
          bytes[bytes.count / 2] ^= 1
          return Share(
            id: share.id, cursor: share.cursor, sender: share.sender, expires: share.expires, bytes: bytes,
            recipients: share.recipients)
        }
      }
      return SharePage(
        shares: page.map {
          ListedShare(id: $0.id, cursor: $0.cursor, sender: $0.sender, expires: $0.expires, bytes: $0.bytes)
        }, next: next,
        hasMore: isShortSighted ? group.shares.contains { $0.cursor > seen } : news.count > page.count)
    }
  }

  func remove(_ share: ServerShareID, _ access: GroupAccess) async throws(GroupServerError) {
    try run { content throws(GroupServerError) in
      let own = try user(access, &content)
      content.groups[access.group]?.shares.removeAll { $0.id == share && $0.sender == own }
    }
  }

  func info(_ access: GroupAccess) async throws(GroupServerError) -> ServerGroupInfo {
    try run { content throws(GroupServerError) in
      _ = try user(access, &content)
      guard let group = content.groups[access.group] else { throw .unauthorized }
      return ServerGroupInfo(
        ttl: group.ttl, users: nil, shares: UInt64(group.shares.count), bytes: 0, shareQuota: 1 << 20,
        byteQuota: 1 << 30, newest: group.newest, time: time(content))
    }
  }

  func createGroup(ttl: Int, token: CreationToken?) async throws(GroupServerError) -> CreatedGroup {
    try run { content throws(GroupServerError) in
      let (master, access) = (try newKey(.master), try newKey(.access))
      let (group, owner): (ServerGroupID, ServerUserID) = (try id(), try id())
      content.groups[group] = Group(
        ttl: ttl, master: try digest(master), owner: owner, users: [User(id: owner, keys: [try digest(access)])])
      return CreatedGroup(group: group, owner: owner, masterKey: master, accessKey: access, ttl: ttl)
    }
  }

  func addUser(_ access: GroupAccess) async throws(GroupServerError) -> AddedUser {
    try run { content throws(GroupServerError) in
      try owner(access, content)
      let (user, key): (ServerUserID, ServerKey) = (try id(), try newKey(.access))
      content.groups[access.group]?.users.append(User(id: user, keys: [try digest(key)]))
      return AddedUser(user: user, accessKey: key)
    }
  }

  func rotateKey(of user: ServerUserID, _ access: GroupAccess) async throws(GroupServerError) -> ServerKey {
    content.withLock { $0.tasks += 1 }
    try await keepSilent()
    return try run { content throws(GroupServerError) in
      try owner(access, content)
      guard let place = content.groups[access.group]?.users.firstIndex(where: { $0.id == user }) else {
        throw .refused(status: 404, code: "unknown-user")
      }
      let key = try newKey(.access)
      content.groups[access.group]?.users[place].pending = try digest(key)
      return key
    }
  }

  func removeUser(_ user: ServerUserID, _ access: GroupAccess) async throws(GroupServerError) {
    content.withLock { $0.tasks += 1 }
    try await keepSilent()
    try run { content throws(GroupServerError) in
      try owner(access, content)
      content.groups[access.group]?.users.removeAll { $0.id == user }
    }
  }

  func rotateMaster(_ access: GroupAccess) async throws(GroupServerError) -> ServerKey {
    try run { content throws(GroupServerError) in
      try owner(access, content)
      let key = try newKey(.master)
      content.groups[access.group]?.master = try digest(key)
      return key
    }
  }

  func deleteGroup(_ access: GroupAccess) async throws(GroupServerError) {
    try run { content throws(GroupServerError) in
      try owner(access, content)
      content.groups[access.group] = nil
    }
  }
}
