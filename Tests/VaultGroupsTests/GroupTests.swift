import Glibc
import Grouper
import SecretVault
import Sodium
import TestTime
import Testing
import VaultProtocol

@testable import VaultGroups
@testable import VaultStore

@Suite(.timeLimit(.minutes(5))) struct GroupTests {
  @Test func `a group is listed by name and found by the beginning of its id`() async throws {
    let house = try House("ann")
    let groups = house[0].groups
    let made = try await groups.create(house.plan("Family"))
    #expect(made.state == .member && made.isOwner && made.servers == 3 && made.threshold == 2 && made.sufficient == 2)
    #expect(made.owner == "ann" && made.memberCount == 1)
    _ = try await groups.create(house.plan("Club"))
    #expect(try await groups.list().map(\.name) == ["Club", "Family"])
    #expect(try await groups.find("Family").id == made.id)
    #expect(try await groups.find(String(made.id.prefix(6))).id == made.id)
    #expect(await vaultError { _ = try await groups.find(nil) }?.code == .ambiguous)
    #expect(try await groups.find("fam").id == made.id)
    #expect(await vaultError { _ = try await groups.find("Fan") }?.code == .notFound)
    #expect(await vaultError { _ = try await groups.create(house.plan("Club")) }?.code == .usage)
    #expect(await vaultError { _ = try await groups.create(house.plan("Cl\u{1b}[2Jub")) }?.code == .usage)
  }

  @Test func `a group is made on all servers or on none, and leaves no folder`() async throws {
    let house = try House("ann")
    house.servers["https://s3.example.org"]?.set(.down)
    let error = await vaultError { _ = try await house[0].groups.create(house.plan("Family")) }
    #expect(error?.code == .unreachable && error?.reason.contains("https://s3.example.org") == true)
    #expect(try await house[0].groups.list().isEmpty)
    #expect(house.servers.values.allSatisfy { $0.userCount == 0 })
    #expect(try house[0].vault.core.groupFolders.names().isEmpty)
  }

  @Test func `what an interrupted creation has left goes, and a group that came about stays`() async throws {
    let house = try House("ann")
    let groups = house[0].groups
    let id = try house[0].vault.core.groupFolders.create()
    try groups.facts.write(GroupFacts(id: id, state: .creating, name: "Half"))
    let made = try await groups.create(house.plan("Family"))
    try groups.facts.write(GroupFacts(id: made.id, state: .creating, name: "Family"))
    let all = try await groups.list()
    #expect(all.map(\.id) == [made.id] && all.first?.state == .member && all.first?.isOwner == true)
    #expect(try house[0].vault.core.groupFolders.names() == [made.id])
  }

  @Test func `one process at a time has a group, and who waits for it hears who has it`() async throws {
    let house = try House("ann")
    var groups = house[0].groups
    groups.patience = .milliseconds(200)
    house.clock.pass(.milliseconds(50))
    let made = try await groups.create(house.plan("Family"))
    let other = groups
    try await groups.use(made.id, for: "vault group sync") { _ in
      let error = await vaultError { _ = try await other.status(of: made) }
      #expect(error?.reason == "the group is in use by vault group sync (process \(getpid()))")
      #expect(error?.hint?.contains("wait until that has ended") == true)
      let names = try await other.list().map(\.name)
      #expect(names == ["Family"], "listing waits for nobody")
    }
    #expect(try await other.status(of: made).name == "Family")
  }

  @Test func `a round makes room for a command`() async throws {
    let house = try House("ann")
    let groups = house[0].groups
    let made = try await groups.create(house.plan("Family"))
    let slow = SlowConnector(house.clock)
    let rounds = GroupRounds(VaultGroups(house[0].vault, classes: [], connector: slow))
    let work = Task { await rounds.run() }
    defer { work.cancel() }
    await slow.wasAsked()
    // The round looks every tenth of a second whether anybody waits: the second time there is somebody.
    await house.clock.isAwaited(.milliseconds(100))
    async let status = groups.status(of: made)
    await house.clock.isAwaited(.milliseconds(50))
    await house.clock.passOnce(.milliseconds(100))
    house.clock.pass(.milliseconds(50))
    #expect(try await status.name == "Family")
  }

  @Test func `a round that takes too long has the next one after the usual wait`() async throws {
    let house = try House("ann")
    _ = try await house[0].groups.create(house.plan("Family"))
    let slow = SlowConnector(house.clock)
    let rounds = GroupRounds(VaultGroups(house[0].vault, classes: [], connector: slow))
    let work = Task { await rounds.run() }
    defer { work.cancel() }
    await slow.wasAsked()
    house.clock.pass(.milliseconds(100))
    let end = await slow.wasGivenUp()
    house.clock.pass(.seconds(1))
    #expect(await slow.wasAsked(after: end) >= end + 30_000)
  }

  @Test func `that too little of the disk is free is in the log once, until it has changed`() async throws {
    let house = try House("ann")
    let (ann, log) = (house[0], house.log)
    let made = try await ann.groups.create(house.plan("Family"))
    let rounds = GroupRounds(ann.groups)
    for times in 1...2 {
      _ = try ann.vault.core.set("keep-free", to: "100000T")
      for _ in 0..<3 { await rounds.round(made.id) }
      #expect(log.all.count { $0.contains("too little of the disk is free") } == times)
      _ = try ann.vault.core.set("keep-free", to: "0")
      await rounds.round(made.id)
      #expect(log.all.count { $0 == "group Family is kept in step again" } == times)
    }
  }

  @Test func `damaged facts hide no group and are written anew`() async throws {
    let house = try House("ann")
    let groups = house[0].groups
    let made = try await groups.create(house.plan("Family"))
    let path = house[0].vault.core.groupFolders.path(made.id) + "/facts"
    let file = try #require(fopen(path, "r+"))
    fputs("spoiled", file)
    fclose(file)
    #expect(try await groups.list().map(\.name) == ["?"])
    _ = try await groups.status(of: try await groups.find(String(made.id.prefix(8))))
    #expect(try await groups.list().map(\.name) == ["Family"])
  }

  @Test func `whoever leaves has nothing left, and the owner may have the servers erase it`() async throws {
    let house = try House("ann")
    let groups = house[0].groups
    let made = try await groups.create(house.plan("Family"))
    house.servers["https://s2.example.org"]?.set(.down)
    #expect(try await groups.leave(made, erases: true) == ["https://s2.example.org"])
    house.servers["https://s2.example.org"]?.set()
    #expect(house.servers.values.map(\.userCount).sorted() == [0, 0, 1])
    #expect(try await groups.list().isEmpty)
    #expect(access(house[0].vault.core.groupFolders.path(made.id), F_OK) != 0)
  }
}

@Suite(.timeLimit(.minutes(5))) struct GroupBackupTests {
  @Test func `a group comes back with a backup, while somebody has it, and counts anew`() async throws {
    let house = try House("ann", "ben")
    let made = try await house[0].groups.create(house.plan("Family"))
    _ = try await house[0].groups.invite("ben", to: made)
    _ = try await house[1].groups.join(nil, email: "", userName: nil)
    let waiting = try await house[0].groups.makeRequest("Club", nil, email: "", userName: nil).id
    let path = house.folder + "/backup"
    let vault = house[0].vault
    try await house[0].groups.use(made.id, for: "test") { _ in
      _ = try vault.archive.createBackup(to: path, overwrites: false)
    }
    let later = try await house[0].groups.create(house.plan("Later"))
    vault.close()
    let folders = VaultFolders(home: house.folder + "/ann")
    let plan = try Archive.restoreBackup(
      from: path, at: folders, overwrites: true,
      passphrase: { throw VaultError(.wrongPassphrase, "none") },
      confirm: { _ in }, environment: vault.core.surroundings)
    #expect(plan.lostGroups == [later.id] && plan.returningGroups.isEmpty)

    let back = try Vault.open(
      at: folders, passphrase: { throw VaultError(.wrongPassphrase, "none") },
      environment: vault.core.surroundings)
    let groups = VaultGroups(back, classes: [], connector: house[0].groups.connector)
    #expect(try await groups.list().map(\.id).sorted() == [made.id, waiting].sorted())
    let known = try await groups.find("Family")
    #expect(try await groups.members(of: known).map(\.peer) == [nil, "ben"])
    #expect(try await groups.sync(known).report.answered == 3)
    let report = try await house[1].groups.sync(try await house[1].groups.find("Family")).report
    #expect(report.success)
  }

  @Test func `a backup with a folder of another name in it is refused`() throws {
    #expect(BackupFormat.rank("groups/0123456789abcdef/group.sqlite") == 5)
    for name in [
      "groups/0123456789abcdef/user.lock", "groups/../0123456789abcde/facts", "groups/0123456789ABCDEF/facts",
      "groups/0123456789abcdef", "groups//facts", "groups/0123456789abcdef/facts/x",
    ] { #expect(BackupFormat.rank(name) == nil, "\(name)") }
  }
}

/// Servers that never answer.
private final class SlowConnector: GroupServerConnector {
  /// When it was asked, and when it was given up.
  private let (asked, continuation) = AsyncStream.makeStream(of: Double.self)
  private let (ended, ending) = AsyncStream.makeStream(of: Double.self)
  private let clock: TestClock

  init(_ clock: TestClock) { self.clock = clock }

  func wasAsked() async { for await _ in asked { return } }

  func wasAsked(after end: Double) async -> Double {
    for await time in asked where time > end { return time }
    return end
  }

  func wasGivenUp() async -> Double {
    for await time in ended { return time }
    return 0
  }

  func server(at address: String) throws(GroupServerError) -> any GroupServer {
    Slow(continuation: continuation, ending: ending, clock: clock)
  }

  private struct Slow: GroupServer {
    let continuation: AsyncStream<Double>.Continuation
    let ending: AsyncStream<Double>.Continuation
    let clock: TestClock

    private func hang<Value>() async throws(GroupServerError) -> Value {
      if !Task.isCancelled { continuation.yield(clock.monotonic) }
      do { try await clock.sleep(for: .seconds(60)) } catch { ending.yield(clock.monotonic) }
      throw .unreachable(reason: "too slow")
    }

    func put(
      _ share: ServerShareID, bytes: [UInt8], recipients: [ServerUserID], _ access: GroupAccess
    ) async throws(GroupServerError) -> PutReceipt { try await hang() }
    func list(
      after cursor: UInt64, limit: Int, wait: Int, _ access: GroupAccess
    ) async throws(GroupServerError) -> SharePage { try await hang() }
    func remove(_ share: ServerShareID, _ access: GroupAccess) async throws(GroupServerError) {
      let _: Void = try await hang()
    }
    func info(_ access: GroupAccess) async throws(GroupServerError) -> ServerGroupInfo { try await hang() }
    func createGroup(ttl: Int, token: CreationToken?) async throws(GroupServerError) -> CreatedGroup {
      try await hang()
    }
    func addUser(_ access: GroupAccess) async throws(GroupServerError) -> AddedUser { try await hang() }
    func rotateKey(of user: ServerUserID, _ access: GroupAccess) async throws(GroupServerError) -> ServerKey {
      try await hang()
    }
    func removeUser(_ user: ServerUserID, _ access: GroupAccess) async throws(GroupServerError) {
      let _: Void = try await hang()
    }
    func rotateMaster(_ access: GroupAccess) async throws(GroupServerError) -> ServerKey { try await hang() }
    func deleteGroup(_ access: GroupAccess) async throws(GroupServerError) {
      let _: Void = try await hang()
    }
  }
}
