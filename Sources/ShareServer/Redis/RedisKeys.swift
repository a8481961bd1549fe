import Sodium

/// The keys that shares are sealed under, in a Redis of their own or in the one that has the shares: one for each time
/// slot, which ends with it, and one for each group, which ends with the last of its shares or when its owner erases
/// it.
struct RedisKeys: Sendable {

  struct Pair: Sendable {
    let slot: SharedSecret
    let group: SharedSecret
    /// The epoch of the primary that has them, as text; empty if that isn't the one that has the shares.
    let epoch: [UInt8]
  }

  /// What shares are opened with, as far as it is there.
  struct Found: Sendable {
    let group: SharedSecret?
    let slots: [Int64: SharedSecret]

    func slot(ttl: Int64, expires: Int64) -> SharedSecret? { slots[RedisKeys.slot(ttl: ttl, expires: expires)] }
  }

  let writes: RedisLane
  let reads: RedisLane
  let locator: RedisLocator
  /// Replicas that must have a key before it is used; 0 where what is sealed under it follows it to the same place.
  let replicas: Int

  private static func slot(ttl: Int64, expires: Int64) -> Int64 {
    (expires - 1) / SlotRing.slotLength(ttl: ttl) + 1
  }

  private static func slotName(ttl: Int64, _ slot: Int64) -> String {
    "vs:slot:\(SlotRing.slotLength(ttl: ttl)):\(slot)"
  }

  private static func groupName(_ group: Identifier) -> [UInt8] { Array("vs:key".utf8) + group.bytes }

  /// The keys for a new share that expires then, its time to live from now on, drawn if need be; the replicas have
  /// them.
  func draw(group: Identifier, ttl: Int64, expires: Int64) async throws -> Pair {
    let slot = Self.slot(ttl: ttl, expires: expires)
    let ends = slot * SlotRing.slotLength(ttl: ttl)
    return try await writes.run(mayRepeat: true) { [replicas] connection in
      // One for the slot and one for the group, for the case that there are none.
      let fresh = try SecretBytes(random: 2 * SecretBox.keyByteCount)
      let reply = try fresh.withUnsafeBytes { bytes in
        try connection.run(
          RedisScripts.keys,
          [
            .text(Self.slotName(ttl: ttl, slot)), .bytes(Self.groupName(group)), .number(ends),
            .number(ends - expires + 1000 * ttl),
            .memory(UnsafeRawBufferPointer(rebasing: bytes.prefix(SecretBox.keyByteCount))),
            .memory(UnsafeRawBufferPointer(rebasing: bytes.suffix(SecretBox.keyByteCount))),
          ])
      }
      defer { connection.wipe() }
      guard let slotKey = try Self.box(reply.value[0]), let groupKey = try Self.box(reply.value[1]) else {
        throw RedisFault.garbled
      }
      try connection.awaitReplicas(replicas, within: RedisStore.replicationTime)
      return Pair(slot: slotKey, group: groupKey, epoch: try reply.value[2].bytes)
    }
  }

  func find(group: Identifier, ttl: Int64, expiries: [Int64]) async throws -> Found {
    let slots = Array(Set(expiries.map { Self.slot(ttl: ttl, expires: $0) }))
    return try await reads.run(mayRepeat: true) { [locator] connection in
      let names = slots.map { RedisArgument.text(Self.slotName(ttl: ttl, $0)) }
      let reply = try connection.call(["MGET", .bytes(Self.groupName(group))] + names).value
      defer { connection.wipe() }
      var found: [Int64: SharedSecret] = [:]
      for (place, slot) in slots.enumerated() { found[slot] = try Self.box(reply[place + 1]) }
      let group = try Self.box(reply[0])
      if group == nil || found.count < slots.count {
        // What has no key is passed over, so whoever says that it has none has to be the one to ask.
        let generation = locator.generation
        locator.lookAgain()
        guard generation == locator.generation else { throw RedisFault.notPrimary("it changed just now") }
      }
      return Found(group: group, slots: found)
    }
  }

  private static func box(_ value: RedisValue) throws -> SharedSecret? {
    if value.isNull { return nil }
    let key = try value.secret()
    guard key.count == SecretBox.keyByteCount else { throw RedisFault.garbled }
    return SharedSecret(key)
  }
  func erase(_ group: Identifier) async throws {
    try await writes.run(mayRepeat: true) { [replicas] connection in
      try connection.call(["DEL", .bytes(Self.groupName(group))])
      try connection.awaitReplicas(replicas, within: RedisStore.replicationTime)
    }
  }

  /// Destroys the keys of the slots that are over, and says how many there are still.
  func end(at now: Int64) async throws -> Int {
    try await reads.run(mayRepeat: true) { connection in
      Int(try connection.run(RedisScripts.endKeys, [.number(now)]).value.integer)
    }
  }

  func check() async throws {
    try await writes.run(mayRepeat: true) { [replicas] connection in
      try connection.call(["SET", "vs:health", "1", "PX", "1000"])
      try connection.awaitReplicas(replicas, within: RedisStore.replicationTime)
    }
  }

  func close() {
    writes.close()
    reads.close()
  }
}
