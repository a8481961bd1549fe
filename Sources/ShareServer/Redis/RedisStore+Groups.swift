import Sodium

extension RedisStore {
  func find(_ tag: [UInt8], in group: Identifier) async throws -> FoundKey? {
    try await read(RedisScripts.find, group, [tag, digits(ServerSchema.groupLife)], atDoor: true) { _, reply in
      let user = try reply[6].optionalBytes
      return FoundKey(
        group: Self.number(group), ttl: try reply[2].integer, seat: try reply[3].integer,
        isPending: try reply[4].integer != 0, digest: try reply[5].bytes, user: user.flatMap { Identifier(bytes: $0) })
    }
  }

  /// What a group is known by among those who wait. Two groups that have the same wake one another in vain.
  static func number(_ group: Identifier) -> Int64 { Int64(bitPattern: group.high) }

  func adopt(_ caller: Caller) async throws {
    try await write(RedisScripts.adopt, caller.groupID, [caller.tag], mayRepeat: true)
    // If this fails it is adopted once more with its next use.
    try? await write(
      RedisScripts.confirm, caller.groupID, [caller.tag], mayRepeat: true, isAcknowledged: { _ in false }
    ) { (_: RedisValue) in () }
  }

  func makeGroup(_ id: Identifier, ttl: Int64, owner: Identifier, master: StoredKey, access: StoredKey) async throws {
    let code = try await write(
      RedisScripts.make, id,
      [
        digits(ttl), owner.bytes, master.tag, master.digest, access.tag, access.digest, digits(limits.groups),
        digits(ServerSchema.groupLife),
      ]
    ) { try $0[0].text }
    guard code == "ok" else { throw Refusal.unavailable }
  }

  func info(_ caller: Caller) async throws -> GroupInfo {
    try await read(RedisScripts.info, caller.groupID, [caller.tag]) { _, reply in
      GroupInfo(
        users: try reply[2].integer, shares: try reply[3].integer, bytes: try reply[4].integer,
        newest: try reply[5].integer, time: try reply[1].integer)
    }
  }

  /// The key goes first: what is left if the rest fails is a group without shares, which may be erased again.
  func eraseGroup(_ caller: Caller) async throws {
    try await keys.erase(caller.groupID)
    try await write(RedisScripts.erase, caller.groupID, [caller.tag])
    // Somebody may have put a share in between, and drawn another.
    try await keys.erase(caller.groupID)
  }

  func addUser(_ caller: Caller, id: Identifier, access: StoredKey) async throws {
    try await write(
      RedisScripts.add, caller.groupID,
      [
        caller.tag, id.bytes, access.tag, access.digest, digits(limits.groupUsers), digits(limits.groupNames),
      ])
  }

  func rotateKey(_ caller: Caller, user: Identifier?, to key: StoredKey) async throws {
    try await write(RedisScripts.rotate, caller.groupID, [caller.tag, user?.bytes ?? [], key.tag, key.digest])
  }

  func removeUser(_ caller: Caller, _ user: Identifier) async throws {
    try await write(RedisScripts.remove, caller.groupID, [caller.tag, user.bytes])
  }
}
