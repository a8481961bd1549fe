import Sodium

/// What a member of a group has in memory of what is kept: a value, so that a transaction that fails leaves the old one.
struct GroupState: Sendable {
  let keys: MemberKeys
  /// Oldest first; at least one.
  var epochs: [EpochRecord]
  var links: [LinkRecord]
  var machine: Multicast
  /// The latest hybrid time that this device has made or seen.
  var clock: HybridTime
  let grace: UInt64
  /// A newer roster or key has come: what had waited for it is to be looked at, once what is being handled is done.
  var hasNewRoster = false

  var current: EpochRecord { epochs[epochs.count - 1] }
  var roster: Roster { current.roster.roster }
  var own: NodeID { keys.card.node }
  var stream: StreamID { machine.own }
  var isOwner: Bool { roster.owner.card.node == own }
  var ttl: UInt64 { UInt64(roster.ttl) * 1000 }

  func epoch(_ number: UInt32) -> EpochRecord? { epochs.first { $0.key.epoch == number } }
  func link(_ server: RosterServer) -> LinkRecord? { links.first { $0.server == server } }

  /// Servers of the newest roster.
  var currentLinks: [LinkRecord] { roster.servers.compactMap { link($0) } }

  static func grace(ttl: UInt64, limit: UInt64) -> UInt64 { min(ttl / 100, limit) }

  /// Where it is kept when others are to be told how far this device is.
  static let promisedKey = "promised-confirm"
  /// Where ``MulticastMemory`` is kept.
  static let memoryKey = "memory"

  /// Reads all of it; nil if this device is in no group.
  static func load(_ transaction: GroupTransaction, graceLimit: UInt64) throws -> GroupState? {
    let epochs = try transaction.epochs()
    guard let newest = epochs.last, let keys = try memberKeys(transaction) else { return nil }
    let roster = newest.roster.roster
    let ttl = UInt64(roster.ttl) * 1000
    var machine = Multicast(
      own: StreamID(node: keys.card.node, incarnation: try transaction.store.incarnation(transaction)),
      settings: MulticastSettings(ttl: ttl, grace: grace(ttl: ttl, limit: graceLimit)),
      kept: try transaction.streams(), lastConfirm: try transaction.number("last-confirm"))
    machine.setMembers(roster)
    if let bytes = try transaction.value(memoryKey),
      let memory = try? MulticastMemory.decode(bytes, limit: MulticastMemory.byteLimit)
    {
      machine.recall(memory)
    }
    machine.promisedConfirm = try transaction.number(promisedKey).flatMap { $0 > 0 ? $0 : nil }
    let clock = HybridTime(
      milliseconds: try transaction.number("clock") ?? 0,
      counter: UInt32(truncatingIfNeeded: try transaction.number("clock-counter") ?? 0))
    return GroupState(
      keys: keys, epochs: epochs, links: try transaction.links(), machine: machine, clock: clock, grace: graceLimit)
  }

  /// Takes over what has changed of epochs and servers.
  mutating func reload(_ transaction: GroupTransaction) throws {
    epochs = try transaction.epochs()
    links = try transaction.links()
    machine.settings.ttl = ttl
    machine.settings.grace = Self.grace(ttl: ttl, limit: grace)
    machine.setMembers(roster)
  }

  /// Takes over what has changed of one server. The others' keys aren't opened for it.
  mutating func reload(_ server: RosterServer, _ transaction: GroupTransaction) throws {
    guard let place = links.firstIndex(where: { $0.server == server }), let link = try transaction.link(server) else {
      links = try transaction.links()
      return
    }
    links[place] = link
  }

  mutating func setClock(_ time: HybridTime, _ transaction: GroupTransaction) throws {
    guard time > clock else { return }
    clock = time
    try transaction.set("clock", to: time.milliseconds)
    try transaction.set("clock-counter", to: UInt64(time.counter))
  }

  // MARK: - Keys

  static func memberKeys(_ transaction: GroupTransaction) throws -> MemberKeys? {
    guard let node = try transaction.value("node").flatMap({ NodeID($0) }),
      let seed = try transaction.secret("seed"), let box = try transaction.secret("box"),
      let email = try transaction.value("email"), let name = try transaction.value("name")
    else { return nil }
    return try MemberKeys(
      node: node, seed: sodium(seed.bytes.duplicate()),
      boxSecret: sodium(box.bytes.duplicate()),
      email: String(decoding: email, as: UTF8.self), name: String(decoding: name, as: UTF8.self))
  }

  /// Keys that are kept, or new ones for this user.
  static func memberKeys(
    _ transaction: GroupTransaction, email: String, name: String
  ) throws -> MemberKeys {
    if let keys = try memberKeys(transaction), keys.card.email == email, keys.card.name == name { return keys }
    let node: NodeID
    if let kept = try transaction.value("node").flatMap({ NodeID($0) }) {
      node = kept
    } else {
      node = try NodeID.random()
    }
    let keys = try MemberKeys.generate(node: node, email: email, name: name)
    try transaction.set("node", to: node.bytes)
    try transaction.set("seed", to: keys.seed)
    try transaction.set("box", to: keys.boxSecret)
    try transaction.set("email", to: Array(email.utf8))
    try transaction.set("name", to: Array(name.utf8))
    return keys
  }
}
