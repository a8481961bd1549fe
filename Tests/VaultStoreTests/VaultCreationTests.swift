import Glibc
import Testing

@testable import VaultStore

@Suite struct VaultCreationTests {
  @Test func `it is a vault from the commit on, not before`() throws {
    let home = try TestHome()
    let creation = try VaultCreation(in: home.folders, passphrase: nil)
    let database = try creation.makeDatabase()
    try storeIdentity("Alice", in: database)
    #expect(try !home.folders.holdsVault())
    #expect(throws: StoreError.notFound("a vault in \(home.folders.data)")) { _ = try home.reopen() }
    try creation.commit()
    #expect(try home.folders.holdsVault())
    #expect(!exists(home.folders.incompletePath))
    #expect(try home.reopen().identity()?.label == "Alice")
  }

  @Test func `a vault is never created over another`() throws {
    let home = try TestHome()
    _ = try home.makeDatabase()
    let before = home.files().map { ($0, contents($0)) }
    #expect(throws: StoreError.alreadyExists("a vault in \(home.folders.data)")) {
      _ = try VaultCreation(in: home.folders, passphrase: nil)
    }
    for (path, bytes) in before { #expect(contents(path) == bytes) }
    // Nor if its creator was killed before it could remove its mark.
    try write([], to: home.folders.incompletePath)
    #expect(throws: StoreError.self) { _ = try VaultCreation(in: home.folders, passphrase: nil) }
    _ = try home.reopen()
    #expect(!exists(home.folders.incompletePath))
  }

  @Test func `a creation that is given up leaves nothing in the data folder`() throws {
    let home = try TestHome()
    do {
      let creation = try VaultCreation(in: home.folders, passphrase: nil)
      try storeIdentity("Alice", in: creation.makeDatabase())
    }
    let left = ["companions", "files.lock", "fragments", "items", "open.lock", "staging"]
    #expect(try FileNames.list(home.folders.data).sorted() == left)
    _ = try home.makeDatabase()
  }

  @Test(arguments: [0, 1, 2]) func `a creation that was killed is simply repeated`(_ step: Int) async throws {
    let home = try TestHome()
    await #expect(processExitsWith: .signal(SIGKILL)) { [path = home.path as String, step = step as Int] in
      let creation = try VaultCreation(in: VaultFolders(home: path), passphrase: nil)
      if step == 0 { kill(getpid(), SIGKILL) }
      let database = try creation.makeDatabase()
      if step == 1 { kill(getpid(), SIGKILL) }
      try storeIdentity("Alice", in: database)
      // As if in the middle of writing the key.
      try write([1], to: path + "/data/" + FileNames.temporaryPrefix + "00")
      kill(getpid(), SIGKILL)
      try creation.commit()
    }
    #expect(exists(home.folders.incompletePath))
    #expect(try !home.folders.holdsVault())
    let database = try home.makeDatabase()
    try storeIdentity("Bob", in: database)
    #expect(try home.reopen().identity()?.label == "Bob")
    #expect(try !FileNames.list(home.folders.data).contains { $0.hasPrefix(FileNames.temporaryPrefix) })
  }

  @Test func `a full disk ends a creation without a trace, and the next one succeeds`() async throws {
    let home = try TestHome()
    await #expect(processExitsWith: .success) { [path = home.path as String] in
      signal(SIGXFSZ, SIG_IGN)
      // Enough for the keys, too little for the database.
      var limit = rlimit(rlim_cur: 5000, rlim_max: 5000)
      try #require(setrlimit(__rlimit_resource_t(bitPattern: RLIMIT_FSIZE.rawValue), &limit) == 0)
      let creation = try VaultCreation(in: VaultFolders(home: path), passphrase: nil)
      let error = try #require(throws: StoreError.self) { _ = try creation.makeDatabase() }
      guard case .diskFull = error else { throw error }
    }
    #expect(try !FileNames.list(home.folders.data).contains { $0.hasPrefix("vault.db") || $0 == "incomplete" })
    _ = try home.makeDatabase()
  }

  @Test func `of two creations at once one wins, and the other is told that there is a vault`() async throws {
    let home = try TestHome()
    let folders = home.folders
    let outcomes = await withTaskGroup(of: StoreError?.self) { group in
      for number in 0..<4 {
        group.addTask {
          do throws(StoreError) {
            let creation = try VaultCreation(in: folders, passphrase: nil)
            try creation.makeDatabase().setMeta("winner", to: [UInt8(number)])
            try creation.commit()
            return nil
          } catch { return error }
        }
      }
      return await group.reduce(into: [StoreError?]()) { $0.append($1) }
    }
    #expect(outcomes.filter { $0 == nil }.count == 1)
    #expect(outcomes.compactMap { $0 } == Array(repeating: .alreadyExists("a vault in \(folders.data)"), count: 3))
    #expect(try home.reopen().meta("winner") != nil)
  }

  @Test func `a database that has lost its master key is not thrown away`() throws {
    let home = try TestHome()
    try storeIdentity("Alice", in: home.makeDatabase())
    let key = contents(home.folders.masterKeyPath)
    unlink(home.folders.masterKeyPath)
    #expect(throws: StoreError.damaged("\(home.folders.databasePath) is there without its master.key: the vault")) {
      _ = try VaultCreation(in: home.folders, passphrase: nil)
    }
    try write(key, to: home.folders.masterKeyPath)
    #expect(try home.reopen().identity()?.label == "Alice")
  }

  @Test func `shares that have lost master key and database have no new vault made over them`() throws {
    let home = try TestHome()
    let database = try home.makeDatabase()
    let fragment = try placeFragment(database, 1, index: 2)
    _ = try database.deposit(sampleSecret(1), share: text("share"), index: 2, fragment: fragment)
    try database.closeForMoving()
    for path in [home.folders.masterKeyPath, home.folders.databasePath] { unlink(path) }
    #expect(throws: home.folders.lostMasterKey) { _ = try VaultCreation(in: home.folders, passphrase: nil) }
    #expect(files(below: home.folders.companionsPath).count == 1)
  }
}

/// Stores an identity of which only the label matters.
func storeIdentity(_ label: String, in database: VaultDatabase) throws {
  try database.createIdentity(
    IdentityRecord(card: [1], serial: 1, label: label, addresses: [], createdAt: 0), secrets: text("secrets"),
    beaconKey: text("beacon"))
}
