import Glibc
import Sodium
import Testing

@testable import VaultStore

/// Daemon and commands on one home, full disks and sudden ends: with real second processes.
@Suite struct ProcessTests {
  @Test func `two processes write to one home and neither is ever told to wait`() async throws {
    let home = try TestHome()
    let database = try home.makeDatabase()
    try database.addPeer(samplePeer("Alice"), beaconKey: nil)
    async let other: Void = expectWrites(home.path)
    for number in 0..<200 {
      try database.setMeta("parent \(number)", to: [1])
      database.notePeerSeen(try digest("Alice"), at: Int64(number))
      try database.flushAudit()
      _ = try database.peers()
    }
    await other
    for number in 0..<200 { #expect(try database.meta("child \(number)") == [2]) }
  }

  private func expectWrites(_ path: String) async {
    await #expect(processExitsWith: .success) { [path] in
      let folders = VaultFolders(home: path)
      for round in 0..<4 {
        // Opening while the other writes, too.
        let database = try VaultDatabase(folders, keys: VaultKeys.unlock(folders, passphrase: nil))
        for number in 0..<50 {
          try database.setMeta("child \(round * 50 + number)", to: [2])
          _ = try database.enqueue(
            NewOutboxRecord(
              recipient: digest("Alice"), kind: "deposit", secretID: nil, index: nil, payload: [1], hasFragment: false,
              nextAttemptAt: 0, createdAt: 0))
        }
      }
    }
  }

  @Test func `many pools open, write and close one new home at once`() async throws {
    let home = try TestHome()
    let keys = try VaultKeys.create(in: home.folders, passphrase: nil)
    let folders = home.folders
    try await withThrowingTaskGroup(of: Void.self) { group in
      for task in 0..<6 {
        group.addTask {
          for round in 0..<3 { try VaultDatabase(folders, keys: keys).setMeta("\(task) \(round)", to: [1]) }
        }
      }
      try await group.waitForAll()
    }
    let database = try home.reopen()
    for task in 0..<6 { for round in 0..<3 { #expect(try database.meta("\(task) \(round)") == [1]) } }
  }

  @Test func `a delivery is claimed by one process only`() async throws {
    let home = try TestHome()
    let database = try home.makeDatabase()
    let ids = try (0..<20).map { _ in
      try database.enqueue(
        NewOutboxRecord(
          recipient: digest("bob"), kind: "deposit", secretID: nil, index: nil, payload: [], hasFragment: false,
          nextAttemptAt: 0, createdAt: 0))
    }
    let pools = try [home.reopen(), home.reopen(), home.reopen()]
    let claimed = try await withThrowingTaskGroup(of: Int.self) { group in
      for pool in pools {
        group.addTask { try ids.reduce(0) { try $0 + (pool.claimDelivery($1, at: 1, retryAt: 100) ? 1 : 0) } }
      }
      return try await group.reduce(0, +)
    }
    #expect(claimed == ids.count)
  }

  @Test func `no acknowledged deposit is lost when the process is killed`() async throws {
    let home = try TestHome()
    _ = try home.makeDatabase()
    await #expect(processExitsWith: .signal(SIGKILL)) { [path = home.path as String] in
      let folders = VaultFolders(home: path)
      let database = try VaultDatabase(folders, keys: VaultKeys.unlock(folders, passphrase: nil))
      for number in 1...5 as ClosedRange<UInt8> {
        let fragment = try placeFragment(database, number, index: 2)
        _ = try database.deposit(sampleSecret(number), share: text("share"), index: 2, fragment: fragment)
      }
      _ = try placeFragment(database, 6, index: 2)
      let staging = try stageFragments(database, 7, count: 3)
      kill(getpid(), SIGKILL)
      staging.staging.close()
    }
    let database = try home.reopen()
    let report = try database.clean(at: 2_000_000)
    #expect(report == CleaningReport(stagingFolders: 1, orphanedFiles: 3, expiredPartials: 1))
    #expect(try database.secrets().count == 5)
    for number in 1...5 as ClosedRange<UInt8> {
      #expect(try shareIndex(database, number) == 2)
      #expect(try database.openFragment(of: sampleID(number), index: 2).read(at: 99, count: 1) == [7])
    }
    // The sixth was whole, and nothing says any more that nobody was told of it: it stays, and is named.
    #expect(try FileNames.list(home.folders.fragmentsPath).count == 6)
    #expect(try database.lostShares().map(\.secretID) == [sampleID(6)])
  }

  @Test func `no room on the disk is said so, and leaves no half file`() async throws {
    let home = try TestHome()
    let keys = try VaultKeys.create(in: home.folders, passphrase: nil)
    let settings = SettingsFile(home.folders, keys: keys)
    try settings.save(["a": "b"])
    await #expect(processExitsWith: .success) { [path = home.path as String] in
      let folders = VaultFolders(home: path)
      let keys = try VaultKeys.unlock(folders, passphrase: nil)
      let store = FragmentStore(folders)
      // The kernel refuses to let any file of this process grow beyond 20 KB.
      signal(SIGXFSZ, SIG_IGN)
      var limit = rlimit(rlim_cur: 20_000, rlim_max: 20_000)
      try #require(setrlimit(__rlimit_resource_t(bitPattern: RLIMIT_FSIZE.rawValue), &limit) == 0)
      let big = [UInt8](repeating: 1, count: 30_000)

      func expectFull(_ suffix: String, _ body: () throws -> Void) throws {
        let error = try #require(throws: StoreError.self) { try body() }
        guard case .diskFull(let full) = error else { throw error }
        try #require(full.contains(suffix))
      }
      try expectFull("/staging/") {
        let staging = try store.stage(count: 2)
        try staging.write(big.span.bytes, index: 2, at: 0)
      }
      try expectFull("/settings.json") {
        try SettingsFile(folders, keys: keys).save(["a": String(repeating: "x", count: 30_000)])
      }
      for unnamed in [true, false] {
        try expectFull("/out") {
          var output = try OutputFile(path: path + "/out", overwrites: false, mayBeUnnamed: unnamed)
          try output.write(big)
        }
      }
    }
    #expect(try settings.load() == ["a": "b"])
    #expect(try Set(FileNames.list(home.folders.config)) == ["settings.json", "settings.lock"])
    #expect(try FileNames.list(home.folders.stagingPath) == [])
    #expect(try Set(FileNames.list(home.path)) == ["config", "data", "state"])
  }

  @Test(arguments: [5000, 20_000, 40_000])
  func `no room for what SQLite keeps beside its database is a full disk, too`(_ limit: Int) async throws {
    let home = try TestHome()
    let keys = try VaultKeys.create(in: home.folders, passphrase: nil)
    let page = [UInt8](repeating: 1, count: 30_000)
    try VaultDatabase(home.folders, keys: keys).setMeta("before", to: page)
    await #expect(processExitsWith: .success) { [path = home.path as String, limit = limit as Int] in
      let folders = VaultFolders(home: path)
      let keys = try VaultKeys.unlock(folders, passphrase: nil)
      signal(SIGXFSZ, SIG_IGN)
      // 5000 and 20000 bytes stop the shared memory, 40000 the log.
      var room = rlimit(rlim_cur: rlim_t(limit), rlim_max: rlim_t(limit))
      try #require(setrlimit(__rlimit_resource_t(bitPattern: RLIMIT_FSIZE.rawValue), &room) == 0)
      let error = try #require(throws: StoreError.self) {
        try VaultDatabase(folders, keys: keys).setMeta("after", to: [UInt8](repeating: 2, count: 60_000))
      }
      try #require(error == .diskFull(path: folders.databasePath))
    }
    #expect(try home.reopen().meta("before") == page)
    #expect(try home.reopen().meta("after") == nil)
    #expect(try !FileNames.list(home.folders.data).contains { $0.hasPrefix(FileNames.temporaryPrefix) })
  }
}
