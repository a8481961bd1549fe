import Glibc
import Logging
import PeerAuth
import Sodium
import Synchronization
import TestTime
import Testing

@testable import SecretVault
@testable import VaultStore

/// One person with a device.
final class Member: Sendable {
  let name: String
  let folders: VaultFolders
  let address: PeerAddress
  let environment: VaultEnvironment
  /// Where recovered files go.
  let desk: String
  /// What it has unlocked.
  let unlocked: KeptSecrets
  private let passphrase: @Sendable () throws -> SecretBytes?
  private let state: Mutex<Vault>

  init(
    _ name: String, folders: VaultFolders, address: PeerAddress, environment: VaultEnvironment, desk: String,
    unlocked: KeptSecrets, passphrase: @escaping @Sendable () throws -> SecretBytes?
  ) throws {
    self.passphrase = passphrase
    self.name = name
    self.folders = folders
    self.address = address
    self.environment = environment
    self.desk = desk
    self.unlocked = unlocked
    let vault = try Vault.create(
      at: folders, label: name, addresses: [address], passphrase: passphrase(), environment: environment)
    Happenings.watch(vault)
    state = Mutex(vault)
  }

  var vault: Vault { state.withLock { $0 } }

  /// The same vault in a second object, as a daemon beside a command has it; with other deadlines, perhaps.
  func opened(_ change: (inout VaultEnvironment.Deadlines) -> Void = { _ in }) throws -> Vault {
    var environment = environment
    change(&environment.deadlines)
    let vault = try Vault.open(
      at: folders,
      passphrase: {
        let given = try? passphrase()
        guard let given = consume given else { throw VaultError(.wrongPassphrase, "none is needed") }
        return given
      }, environment: environment)
    Happenings.watch(vault)
    return vault
  }

  /// Ends the vault object and opens another.
  func restart() throws {
    vault.close()
    let fresh = try opened()
    state.withLock { $0 = fresh }
  }

  /// Imports another member's card as if scanned.
  @discardableResult
  func meets(_ other: Member, as name: String? = nil) throws -> PeerAddition {
    try vault.trust.addPeer(try PeerCard.parse(text: other.vault.core.ownIdentity().qrText), name: name)
  }
}

/// A handful of vaults that reach one another in memory.
final class TestWorld: Sendable {
  static let names = ["ada", "ben", "cleo", "dan", "eva", "finn", "gus", "hana"]

  let scratch: Scratch
  let network: TestNetwork
  let members: [Member]
  /// It stands still, but for the pauses of a recovery before it asks a holder again: what it does without an answer comes of itself.
  let clock: TestClock
  let waiting: Waiting
  let notifications: Notifications
  private let room: TestRoom?

  /// `count` vaults that have all imported one another, or, with `everybodyMeets` false, nobody; all with the same
  /// passphrase, if there is one.
  init(
    _ count: Int, deadlines: VaultEnvironment.Deadlines = .distinct, everybodyMeets: Bool = true, room: TestRoom? = nil,
    findLocally: (@Sendable (BeaconKey) async -> [LocalPlace])? = nil,
    passphrase: @escaping @Sendable () throws -> SecretBytes? = { nil }
  ) throws {
    let scratch = try Scratch()
    let clock = room?.clock ?? TestClock()
    let network = TestNetwork(clock)
    let waiting = Waiting(clock)
    for count in 0..<Recovery.waitLimit { clock.pass(deadlines.comeback * (1 << count)) }
    let notifications = Notifications()
    self.scratch = scratch
    self.network = network
    self.clock = clock
    self.waiting = waiting
    self.notifications = notifications
    self.room = room
    members = try (0..<count).map { number in
      let name = number < Self.names.count ? Self.names[number] : "peer\(number)"
      var environment = VaultEnvironment(
        now: { clock.now },
        monotonic: { clock.monotonic },
        sleep: { try await waiting.sleep($0) },
        log: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() },
        connect: { (address) async throws(TransportError) in try await network.connect(address) },
        notify: { command, event in notifications.add(name, command, event) })
      environment.deadlines = deadlines
      let unlocked = KeptSecrets()
      environment.unlocked = unlocked
      environment.findLocally = findLocally
      if let room {
        environment.connectNearby = { (access) async throws(TransportError) in try await room.connect(access) }
      }
      let member = try Member(
        name, folders: VaultFolders(home: scratch.path + "/" + name), address: PeerAddress(host: name, port: 4721),
        environment: environment, desk: scratch.makeFolder(name + "-desk"), unlocked: unlocked, passphrase: passphrase)
      network.serve(member.address) { [member] in await member.vault.answering.answer($0) }
      room?.enter(member)
      return member
    }
    guard everybodyMeets else { return }
    for one in members { for other in members where one !== other { try one.meets(other) } }
  }

  deinit {
    network.forgetHosts()
    room?.empty()
  }

  subscript(_ index: Int) -> Member { members[index] }

  /// What goes wrong on the way to a member.
  func set(_ fault: Fault, for member: Member) { network.set(fault, at: member.address) }

  /// The dealer and everybody it can reach prove their keys to one another.
  func prove(by one: Int = 0) async throws {
    for peer in try members[one].vault.trust.peers() { _ = try await members[one].vault.links.pingPeer(peer.name) }
  }

  /// Shares bytes as a file, keeping an own share, with the named peers or with all.
  @discardableResult
  func share(
    _ bytes: [UInt8], from dealer: Int = 0, threshold: Int, name: String = "letter.txt", to recipients: [Int] = [],
    description: String? = nil, keepsOwnShare: Bool = true, events: @escaping @Sendable (ShareEvent) -> Void = { _ in }
  ) async throws -> ShareReport {
    let path = try scratch.write(bytes, as: name)
    return try await members[dealer].vault.sharing.share(
      ShareRequest(
        source: .file(path: path), threshold: threshold, recipients: recipients.map { members[$0].name },
        description: description, keepsOwnShare: keepsOwnShare), events: events)
  }

  /// Recovers on a member's device into a fresh file, and returns report and bytes.
  func recover(
    by member: Int, _ reference: String? = nil,
    events: @escaping @Sendable (RecoveryEvent) -> Void = { _ in }
  ) async throws -> (report: RecoveryReport, bytes: [UInt8]) {
    let path = members[member].desk + "/recovered"
    let report = try await members[member].vault.recovering.recover(
      reference, to: .file(path: path, overwrites: true), events: events)
    return (report, try #require(contents(path)))
  }

  /// What stands on a member's desk.
  func desk(of member: Int) -> [String] { files(below: members[member].desk) }
}

/// What notification commands were told.
final class Notifications: Sendable {
  struct Told: Sendable {
    let member: String
    let command: String
    let event: VaultEnvironment.Notification
  }
  private let list = Mutex<[Told]>([])

  func add(_ member: String, _ command: String, _ event: VaultEnvironment.Notification) {
    list.withLock { $0.append(Told(member: member, command: command, event: event)) }
    Happenings.deed()
  }

  func told(to member: Member) -> [Told] { list.withLock { $0.filter { $0.member == member.name } } }
}

/// Events as they come.
final class Collected<Event: Sendable>: Sendable {
  private let list = Mutex<[Event]>([])
  var all: [Event] { list.withLock { $0 } }
  func add(_ event: Event) {
    list.withLock { $0.append(event) }
    Happenings.deed()
  }
}

extension VaultEnvironment.Deadlines {
  /// The usual ones, but no two alike, and none like a pause: so a test says by its length which of them ends.
  static var distinct: Self {
    var deadlines = Self()
    deadlines.nextAddress = .milliseconds(251)
    deadlines.firstAnswer = .milliseconds(252)
    deadlines.headStart = .milliseconds(301)
    deadlines.comeback = .milliseconds(2001)
    deadlines.slowHolder = .milliseconds(2002)
    deadlines.slowDelivery = .seconds(61)
    return deadlines
  }
}

extension TestWorld {
  /// Overwrites a member's shares where they lie sealed in the database.
  func damageShares(of member: Member) throws {
    try member.vault.core.database.write { db in
      try db.execute(sql: "UPDATE shares SET sealed = zeroblob(length(sealed))")
    }
    // Else what is kept beside the database would make up for it.
    let companions = member.folders.companionsPath
    for name in try FileNames.list(companions) { #expect(truncate(companions + "/" + name, 10) == 0) }
  }
}

extension Member {
  /// Changes the database as somebody does who can write the file.
  func execute(_ statement: String) throws {
    try vault.core.database.write { db in try db.execute(sql: statement) }
  }
}

extension Member {
  /// Takes a peer out of the trust list, and from among those who were introduced, and leaves everything else as it is.
  func forget(_ peer: Member) throws {
    let digest = peer.vault.core.identity.keys.digest.bytes
    try vault.core.database.write { db in
      try db.execute(sql: "DELETE FROM peers WHERE digest = ?", arguments: [digest.blob])
      try db.execute(sql: "DELETE FROM introductions WHERE digest = ?", arguments: [digest.blob])
    }
  }
}

extension Member {
  /// Gives each of two secrets the other's description in the index that lists are read from, and not in the table: as somebody
  /// can who writes the database's file without the keys.
  func swapListed(_ one: String, _ other: String) throws {
    let swap = "UPDATE secrets SET description = iif(description = '\(one)', '\(other)', '\(one)')"
    let statements = [
      swap, "PRAGMA writable_schema = ON",
      "CREATE TEMP TABLE kept AS SELECT * FROM sqlite_schema WHERE name = 'secrets_listed'",
      "DELETE FROM sqlite_schema WHERE name = 'secrets_listed'", "PRAGMA writable_schema = RESET", swap,
      "PRAGMA writable_schema = ON", "INSERT INTO sqlite_schema SELECT * FROM kept", "PRAGMA writable_schema = RESET",
    ]
    try vault.core.database.pool.writeWithoutTransaction { db in
      for statement in statements { try db.execute(sql: statement) }
    }
  }
}

extension Member {
  /// Changes the settings file as an editor would.
  func rewriteSettings(_ change: (String) -> String) throws {
    let text = String(decoding: try #require(contents(folders.settingsPath)), as: UTF8.self)
    let file = open(folders.settingsPath, O_WRONLY | O_TRUNC)
    try #require(file >= 0)
    defer { close(file) }
    let bytes = Array(change(text).utf8)
    try #require(bytes != Array(text.utf8) && write(file, bytes, bytes.count) == bytes.count)
  }
}
