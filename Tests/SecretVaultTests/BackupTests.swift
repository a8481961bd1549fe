import Glibc
import Sodium
import Testing
import VaultProtocol

@testable import SecretVault
@testable import VaultStore

extension VaultTests {
  @Suite struct Backups {
    let world: TestWorld
    let id: String
    let bytes = randomBytes(2_500_000)
    let path: String

    init() async throws {
      world = try TestWorld(3)
      id = try await world.share(bytes, threshold: 2, description: "plan").id
      path = world.scratch.path + "/vault.backup"
    }

    private func restore(
      to folders: VaultFolders? = nil, from file: String? = nil, overwrites: Bool = false,
      confirm: (RestorePlan) throws -> Void = { (_) in }
    ) throws -> RestorePlan {
      // Whoever has the vault open keeps a backup away.
      world[0].vault.close()
      return try Archive.restoreBackup(
        from: file ?? path, at: folders ?? world[0].folders, overwrites: overwrites,
        passphrase: { throw VaultError(.wrongPassphrase, "none") }, confirm: confirm,
        environment: world[0].environment)
    }

    private func loseData() {
      for file in files(below: world[0].folders.data, folders: true) { if unlink(file) != 0 { rmdir(file) } }
      rmdir(world[0].folders.data)
    }

    @Test func `a lost data folder comes back whole on the same device`() async throws {
      _ = try world[0].vault.core.set("quota-shares", to: "77")
      let report = try world[0].vault.archive.createBackup(to: path, overwrites: false)
      // Keys, database, settings and a fragment.
      #expect(report.fileCount == 4 && report.byteCount > 1_250_000)
      var status = stat()
      #expect(lstat(path, &status) == 0 && status.st_mode & 0o777 == 0o600)
      let before = try world[0].vault.core.ownIdentity().fingerprint
      world[0].vault.close()
      loseData()
      let plan = try restore()
      #expect(!plan.replaces)
      try world[0].restart()
      #expect(try world[0].vault.core.ownIdentity().fingerprint == before)
      #expect(try world[0].vault.core.settings().first { $0.key == "quota-shares" }?.value == "77")
      #expect(try await world.recover(by: 0, id).bytes == bytes)
      #expect(try world[0].vault.overview.log(limit: 10).contains { $0.event == "backup-restored" })
      #expect(try FileList(world.scratch.path + "/ada").names.sorted() == ["config", "data", "state"])
    }

    @Test func `without the settings that there were no backup is made, and one of before brings them back`()
      async throws
    {
      _ = try world[0].vault.core.set("release-policy", to: "ask")
      _ = try world[0].vault.archive.createBackup(to: path, overwrites: false)
      unlink(world[0].folders.settingsPath)
      let refused = await refusal { try world[0].vault.archive.createBackup(to: path + "2", overwrites: false) }
      #expect(refused?.code == .damaged && refused?.reason.contains("settings.json") == true)
      let plan = try restore(overwrites: true)
      #expect(plan.isComparable && plan.changedSettings == ["release-policy"])
      try world[0].restart()
      #expect(try world[0].vault.core.settings().first { $0.key == "release-policy" }?.value == "ask")
    }

    @Test func `another device refuses it, and says what to do instead`() async throws {
      _ = try world[0].vault.archive.createBackup(to: path, overwrites: false)
      let other = VaultFolders(home: world.scratch.path + "/elsewhere")
      let empty = await refusal { try restore(to: other) }
      #expect(empty?.code == .refused && empty?.hint?.contains("vault secret reshare") == true)
      #expect(files(below: world.scratch.path + "/elsewhere").isEmpty)
      // One with a vault of its own refuses it even with force.
      let ben = await refusal { try restore(to: world[1].folders, overwrites: true) }
      #expect(ben?.code == .refused && ben?.reason.contains("another vault") == true)
      #expect(try await world.recover(by: 1, id).bytes == bytes)
    }

    @Test func `a backup from before the passphrase goes back over the same vault, and over no other of this device`()
      async throws
    {
      _ = try world[0].vault.archive.createBackup(to: path, overwrites: false)
      let passphrase: SecretBytes? = try secretBytes("new")
      let fate = try world[0].vault.core.changePassphrase(to: passphrase)
      #expect(fate == .set)
      #expect(try world[0].vault.overview.log(limit: 1).first?.event == "passphrase-changed")
      #expect(await refusal { try restore() }?.code == .vaultExists)
      #expect(try VaultCore.needsPassphrase(at: world[0].folders))
      #expect(try restore(overwrites: true).replaces)
      // As it was then: without one.
      try world[0].restart()
      #expect(try await world.recover(by: 0, id).bytes == bytes)

      world[0].vault.close()
      loseData()
      let other = try Vault.create(
        at: world[0].folders, label: "other", addresses: [], passphrase: nil, environment: world[0].environment)
      let fingerprint = try other.core.ownIdentity().fingerprint
      other.close()
      let refused = await refusal { try restore(overwrites: true) }
      #expect(refused?.code == .refused && refused?.reason.contains("another vault") == true)
      let kept = try Vault.open(
        at: world[0].folders, passphrase: { throw VaultError(.wrongPassphrase, "none") },
        environment: world[0].environment)
      #expect(try kept.core.ownIdentity().fingerprint == fingerprint)
      kept.close()
    }

    @Test func `an existing vault goes back only on the user's word, who is told what comes and goes`() async throws {
      let second = try await world.share([1], from: 1, threshold: 2, description: "second").id
      _ = try world[0].vault.archive.createBackup(to: path, overwrites: false)
      let third = try await world.share([2], from: 1, threshold: 2, description: "third").id
      _ = try world[0].vault.overview.delete(second)
      _ = try world[0].vault.trust.removePeer("cleo")
      let refused = await refusal { try restore() }
      #expect(refused?.code == .vaultExists)
      var seen: RestorePlan?
      let stopped = await refusal {
        try restore(overwrites: true) { plan in
          seen = plan
          throw VaultError(.interrupted, "no")
        }
      }
      #expect(stopped?.code == .interrupted)
      let plan = try #require(seen)
      #expect(plan.replaces && plan.isComparable)
      #expect(plan.returningPeers == ["cleo"] && plan.lostPeers.isEmpty)
      #expect(plan.returningSecrets.map(\.id) == [second] && plan.lostSecrets.map(\.id) == [third])
      try world[0].restart()
      #expect(try world[0].vault.trust.peers().map(\.name) == ["ben"])
      world[0].vault.close()
      _ = try restore(overwrites: true)
      try world[0].restart()
      #expect(try world[0].vault.trust.peers().map(\.name) == ["ben", "cleo"])
      #expect(Set(try world[0].vault.overview.secrets().map(\.id)) == [id, second])
      #expect(try await world.recover(by: 0, id).bytes == bytes)
    }

    @Test func `a share that only its file knows is listed as lost before a backup takes its place`() async throws {
      _ = try world[0].vault.archive.createBackup(to: path, overwrites: false)
      let later = try await world.share([1], from: 1, threshold: 2, description: "later").id
      for table in ["shares", "fragments", "secrets"] {
        let column = table == "secrets" ? "id" : "secret_id"
        try world[0].execute("DELETE FROM \(table) WHERE hex(\(column)) = upper('\(later)')")
      }
      let plan = try restore(overwrites: true)
      #expect(plan.lostSecrets.map(\.id) == [later])
    }

    @Test func `where the database can't be read, peers and shares that come back are listed by the files beside it`()
      async throws
    {
      let second = try await world.share([1], from: 1, threshold: 2, description: "second").id
      _ = try world[0].vault.archive.createBackup(to: path, overwrites: false)
      _ = try world[0].vault.overview.delete(second)
      _ = try world[0].vault.trust.removePeer("cleo")
      world[0].vault.close()
      for suffix in ["-wal", "-shm"] { unlink(world[0].folders.databasePath + suffix) }
      truncate(world[0].folders.databasePath, 5000)
      let plan = try restore(overwrites: true)
      #expect(!plan.isComparable)
      #expect(plan.returningPeers == ["cleo"] && plan.returningSecrets.map(\.id) == [second])
    }

    @Test(arguments: [false, true])
    func `a master key that is damaged comes back from the vault's own backup`(overwrites: Bool) async throws {
      _ = try world[0].vault.archive.createBackup(to: path, overwrites: false)
      world[0].vault.close()
      var key = try #require(contents(world[0].folders.masterKeyPath))
      key[40] ^= 1
      try overwrite(world[0].folders.masterKeyPath, with: key)
      let plan = try restore(overwrites: overwrites)
      #expect(plan.onlyKey != overwrites)
      try world[0].restart()
      #expect(try await world.recover(by: 0, id).bytes == bytes)
    }

    @Test func `a device key that is damaged is said to be, not that the backup is another device's`() async throws {
      _ = try world[0].vault.archive.createBackup(to: path, overwrites: false)
      world[0].vault.close()
      var key = try #require(contents(world[0].folders.deviceKeyPath))
      key[7] ^= 1
      try overwrite(world[0].folders.deviceKeyPath, with: key)
      let failure = await refusal { try restore(overwrites: true) }
      #expect(failure?.code == .damaged && failure?.reason.contains("device key") == true)
    }

    @Test func `a link that is overwritten stays one, and what it leads to is a whole backup`() async throws {
      let target = try world.scratch.write([1], as: "target")
      let link = world.scratch.path + "/link"
      symlink(target, link)
      let report = try world[0].vault.archive.createBackup(to: link, overwrites: true)
      #expect(report.fileCount > 2 && (contents(target)?.count ?? 0) == Int(report.byteCount))
    }

    private func overwrite(_ path: String, with bytes: [UInt8]) throws {
      let file = try OpenFile(path, O_WRONLY)
      try file.write(bytes.span.bytes)
    }

    @Test func `a damaged or shortened one is refused before anything changes`() async throws {
      let report = try world[0].vault.archive.createBackup(to: path, overwrites: false)
      let whole = try #require(contents(path))
      let before = try world[0].vault.overview.secrets()
      let length = Int(report.byteCount)
      var places = [0, 8, 9, 20, 49, 60, 100, length / 2, length - 40, length - 1]
      places += (0..<20).map { _ in Int.random(in: 0..<length) }
      for place in places {
        var changed = whole
        changed[place] ^= 1
        let file = try world.scratch.write(changed, as: "changed")
        let failure = await refusal { try restore(from: file, overwrites: true) }
        #expect([.damaged, .refused, .other].contains(failure?.code), "\(place): \(failure as Any)")
      }
      for count in [0, 1, 8, 52, 53, 54, 100, length - 33, length - 32, length - 1] {
        let file = try world.scratch.write(Array(whole[..<count]), as: "cut")
        let failure = await refusal { try restore(from: file, overwrites: true) }
        #expect(failure?.code == .damaged, "\(count)")
      }
      let longer = try world.scratch.write(whole + [0], as: "longer")
      #expect(await refusal { try restore(from: longer, overwrites: true) }?.code == .damaged)
      try world[0].restart()
      #expect(try world[0].vault.overview.secrets() == before)
    }

    @Test func `it is written while a daemon and others change the vault, and is of one moment`() async throws {
      let vault = world[0].vault
      let world = world
      let others = Task {
        for number in 0..<12 { try await world.share(randomBytes(50_000), threshold: 2, name: "\(number)") }
        for summary in try vault.overview.secrets().prefix(6) { _ = try vault.overview.delete(summary.id) }
      }
      // Of another folder: the vault goes on being used here.
      let elsewhere = VaultFolders(home: world.scratch.path + "/elsewhere")
      try elsewhere.create()
      let alone = try #require(try UseLock.takeAlone(elsewhere))
      var count = 0
      while count < 6 {
        _ = try world[0].opened().archive.createBackup(to: path, overwrites: true)
        count += 1
        let archive = try BackupArchive(path: path)
        try archive.verify(vault.core.keys)
        let staged = try BackupRestoration(
          archive, world[0].folders, keys: vault.core.keys, alone: alone, note: AuditRecord(at: 0, event: "test"))
        // A share's fragment is there if and only if the share is.
        let fragments = Set(
          archive.entries.filter { $0.name.hasPrefix("fragments/") }.map { String($0.name.dropFirst(10).prefix(32)) })
        #expect(fragments == Set(staged.inventory.secrets.keys.map(\.description)))
      }
      try await others.value
      #expect(try FileList(world.scratch.path + "/ada").names.sorted() == ["config", "data", "state"])
    }

    @Test func `a running daemon is not pulled away from under`() async throws {
      _ = try world[0].vault.archive.createBackup(to: path, overwrites: false)
      let daemon = try Checking.takeDaemonLock(
        world[0].folders, DaemonFacts(process: 1, startedAt: 0, listening: []))
      let failure = await refusal { try restore(overwrites: true) }
      #expect(failure?.code == .refused && failure?.reason.contains("daemon") == true)
      withExtendedLifetime(daemon) {}
    }

    @Test func `it is never written over something else unless that is said`() async throws {
      let taken = try world.scratch.write([7], as: "taken")
      let failure = await refusal { try world[0].vault.archive.createBackup(to: taken, overwrites: false) }
      #expect(failure?.code == .outputExists && contents(taken) == [7])
      _ = try world[0].vault.archive.createBackup(to: taken, overwrites: true)
      #expect(try BackupArchive(path: taken).entries.count == 3)
    }

    @Test func `it has nothing readable in it that the vault keeps sealed`() async throws {
      _ = try world[0].vault.archive.createBackup(to: path, overwrites: false)
      let backup = try #require(contents(path))
      let held = try world[0].held(world[0].header(id))
      let share = held.share.bytes.withUnsafeBytes { Array($0) }
      #expect(!contains(backup, Array(share.prefix(32))))
      let device = try #require(contents(world[0].folders.deviceKeyPath))
      #expect(!contains(backup, device))
    }

    @Test func `what a killed restoration has left goes`() async throws {
      let name = "ada/.vault-restoring-" + String(repeating: "0a", count: 16)
      mkdir(world.scratch.path + "/" + name, 0o700)
      mkdir(world.scratch.path + "/" + name + "/data", 0o700)
      _ = try world.scratch.write([1], as: name + "/data/vault.db")
      world.clock.advance(milliseconds: 2 * 3_600_000)
      try world[0].restart()
      #expect(try FileList(world.scratch.path + "/ada").names.sorted() == ["config", "data", "state"])
    }

    @Test func `nothing is swept up that a link leads to, that has another name, or that others may write to`() throws {
      let mine = world.scratch.path + "/mine"
      mkdir(mine, 0o700)
      _ = try world.scratch.write([1], as: "mine/letter")
      let prefix = world.scratch.path + "/ada/.vault-restoring-"
      let digits = String(repeating: "0b", count: 16)
      #expect(symlink(mine, prefix + digits) == 0)
      #expect(symlink(mine, prefix + "x") == 0)
      // A folder of this name in which a link leads out: the link goes, and not what it leads to.
      let left = prefix + String(repeating: "0c", count: 16)
      mkdir(left, 0o700)
      #expect(symlink(mine, left + "/data") == 0)
      let open = prefix + String(repeating: "0d", count: 16)
      mkdir(open, 0o777)
      chmod(open, 0o777)
      BackupRestoration.sweep(world[0].folders)
      #expect(contents(mine + "/letter") == [1])
      #expect(access(left, F_OK) != 0 && access(open, F_OK) == 0)
    }

    @Test func `an old data folder whose place was not taken goes back`() throws {
      _ = try world[0].vault.archive.createBackup(to: path, overwrites: false)
      world[0].vault.close()
      let left = world.scratch.path + "/ada/.vault-restoring-" + String(repeating: "0e", count: 16)
      mkdir(left, 0o700)
      #expect(rename(world[0].folders.data, left + "/before") == 0)
      BackupRestoration.sweep(world[0].folders)
      try world[0].restart()
      #expect(try world[0].vault.overview.secrets().map(\.id) == [id])
    }

    @Test func `items are in it, and it says which of them and of policies and settings would change`() async throws {
      _ = try await world[0].vault.items.createKey(named: "family", threshold: 2, recipients: ["ben"]) { _ in }
      let file = try world.scratch.write(bytes, as: "photo")
      func add() async throws -> String {
        try await world[0].vault.items.addItem(ItemRequest(source: .file(path: file)), under: "family").id
      }
      let first = try await add()
      let second = try await add()
      _ = try world[0].vault.archive.createBackup(to: path, overwrites: false)
      _ = try world[0].vault.items.deleteItem(second)
      let third = try await add()
      _ = try world[0].vault.consent.setReleasePolicy(.ask, of: id)
      _ = try world[0].vault.core.set("release-limit", to: "3")
      let plan = try restore(overwrites: true)
      #expect(plan.returningItems == [second] && plan.lostItems == [third])
      #expect(plan.changedPolicies.map(\.id) == [id] && plan.changedSettings == ["release-limit"])
      try world[0].restart()
      #expect(Set(try world[0].vault.items.items().map(\.id)) == [first, second])
      let copy = world.scratch.path + "/copy"
      _ = try await world[0].vault.items.openItem(second, to: .file(path: copy, overwrites: false))
      #expect(contents(copy) == bytes)
    }

    @Test func `a vault that has only lost its master key gets that back, and keeps what came since`() async throws {
      _ = try world[0].vault.archive.createBackup(to: path, overwrites: false)
      let newer = try await world.share([5], from: 1, threshold: 2, description: "newer").id
      world[0].vault.close()
      unlink(world[0].folders.masterKeyPath)
      let plan = try restore()
      #expect(plan.onlyKey && !plan.replaces)
      try world[0].restart()
      #expect(Set(try world[0].vault.overview.secrets().map(\.id)) == [id, newer])
      // What can't be read with its key is not thrown away without the user's word.
      world[0].vault.close()
      unlink(world[0].folders.masterKeyPath)
      unlink(world[0].folders.databasePath)
      let refused = await refusal { try restore() }
      #expect(refused?.code == .vaultExists)
      var seen: RestorePlan?
      _ = try restore(overwrites: true) { plan in seen = plan }
      #expect(seen?.replaces == true && seen?.isComparable == false)
      try world[0].restart()
      // What came since the backup is in files beside the database, too.
      #expect(Set(try world[0].vault.overview.secrets().map(\.id)) == [id, newer])
    }

    @Test func `while anybody has the vault open it is not replaced, and nothing acknowledged is lost`() async throws {
      _ = try world[0].vault.archive.createBackup(to: path, overwrites: false)
      let other = try world[0].opened()
      let refused = await refusal { try restore(overwrites: true) }
      #expect(refused?.code == .refused && refused?.reason.contains("another command") == true)
      other.close()
      _ = try restore(overwrites: true)
    }

    @Test func `a release that was granted then is not granted now`() async throws {
      _ = try world[0].vault.consent.setReleasePolicy(.ask, of: id)
      world.set(.refuses, for: world[2])
      let early = await refusal { try await world.recover(by: 1, id).bytes }
      #expect(early?.code == .awaitingConsent)
      let request = try #require(try await world[0].vault.consent.requests().first)
      _ = try await world[0].vault.consent.approveRequest(request.id)
      _ = try world[0].vault.archive.createBackup(to: path, overwrites: false)
      _ = try restore(overwrites: true)
      try world[0].restart()
      #expect(try await world[0].vault.consent.requests().isEmpty)
      #expect(await refusal { try await world.recover(by: 1, id).bytes }?.code == .awaitingConsent)
    }
  }
}
