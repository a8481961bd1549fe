import Glibc
import Testing

@testable import VaultStore

@Suite struct CleaningTests {
  let future: Int64 = 100_000_000_000_000
  /// A time that a file can have.
  let soon: Int64 = 2_000_000_000_000

  @Test func `what a crash leaves behind is swept up, what counts stays`() throws {
    let home = try TestHome()
    let database = try home.makeDatabase()
    let fragment = try placeFragment(database, 1, index: 2)
    _ = try database.deposit(sampleSecret(1), share: text("share"), index: 2, fragment: fragment)
    // A process that died while staging, one that died between rename and commit, one that died while writing a file.
    mkdir(home.folders.stagingPath + "/dead", 0o700)
    try write([], to: home.folders.stagingPath + "/dead/lock")
    try write([1], to: home.folders.stagingPath + "/dead/1")
    try write(sampleID(5), to: home.folders.stagingPath + "/dead/published")
    mkdir(home.folders.stagingPath + "/younger", 0o700)
    try write([1], to: database.fragments.path(sampleID(5), 1))
    try write([1], to: database.fragments.partialPath(sampleID(6), 1))
    try write([1], to: database.fragments.partialPath(sampleID(1), 2))
    try write([1], to: home.folders.config + "/.vault-temporary-00")
    let report = try home.reopen().clean(at: future)
    #expect(report.stagingFolders == 2)
    #expect(report.orphanedFiles == 3)
    #expect(report.temporaryFiles == 1)
    #expect(try FileNames.list(home.folders.stagingPath) == [])
    #expect(try FileNames.list(home.folders.fragmentsPath) == [hexadecimalName(1, 2)])
    #expect(try FileNames.list(home.folders.config) == [])
    #expect(try home.reopen().clean(at: future) == CleaningReport())
    #expect(try database.openFragment(of: sampleID(1), index: 2).byteCount == 100)
  }

  @Test func `a lock ends with its file, whoever has a copy of the descriptor`() throws {
    let home = try TestHome()
    let path = home.path + "/lock"
    var file: OpenFile? = try OpenFile(path, O_RDWR | O_CREAT)
    #expect(try file?.lock(exclusive: true, waits: false) == true)
    // As a program has that is just being started.
    let copy = dup(try #require(file).descriptor)
    defer { close(copy) }
    file = nil
    #expect(try OpenFile(path, O_RDWR).lock(exclusive: true, waits: false))
  }

  @Test func `the work of a running process is left alone`() throws {
    let home = try TestHome()
    let database = try home.makeDatabase()
    let staging = try database.fragments.stage(count: 1)
    let staged = try stageFragments(database, 2, count: 1)
    // Published but not committed yet: nothing is swept.
    #expect(try home.reopen().clean(at: future) == CleaningReport())
    staged.staging.close()
    let partial = try database.openPartial(
      FragmentRecord(
        partialOf: sampleID(3), index: 1, byteCount: 10, trailerByteCount: 0, expiresAt: 1,
        headerDigest: digest("header"),
        source: nil), pieceByteCount: 10)
    let report = try home.reopen().clean(at: future)
    #expect(report == CleaningReport())
    try partial.append([UInt8](repeating: 1, count: 10).span.bytes)
    try partial.finish(trailer: RawSpan())
    try staging.write([UInt8](repeating: 1, count: 10).span.bytes, index: 1, at: 0)
    try staging.publish(as: sampleID(4))
    #expect(
      try FileNames.list(home.folders.fragmentsPath).sorted()
        == [hexadecimalName(2, 1), hexadecimalName(3, 1), hexadecimalName(4, 1)])
  }

  @Test func `a partial deposit expires, not before its time`() throws {
    let home = try TestHome()
    let database = try home.makeDatabase()
    do {
      let partial = try database.openPartial(
        FragmentRecord(
          partialOf: sampleID(3), index: 1, byteCount: 100, trailerByteCount: 0, expiresAt: 500,
          headerDigest: digest("header"), source: digest("dealer")), pieceByteCount: 10)
      try partial.append([UInt8](repeating: 1, count: 10).span.bytes)
      try database.checkpoint(partial, expiresAt: 900)
    }
    #expect(try database.clean(at: 899).expiredPartials == 0)
    #expect(try database.fragment(of: sampleID(3), index: 1)?.pieces == 1)
    #expect(try database.clean(at: 900).expiredPartials == 1)
    #expect(try database.fragments(of: sampleID(3)) == [])
    #expect(try FileNames.list(home.folders.fragmentsPath) == [])
  }

  @Test func `a fresh temporary file may belong to a running process`() throws {
    let home = try TestHome()
    let database = try home.makeDatabase()
    try write([1], to: home.folders.data + "/.vault-temporary-00")
    var status = stat()
    lstat(home.folders.data + "/.vault-temporary-00", &status)
    let made = status.changedAt
    #expect(try database.clean(at: made + 1000).temporaryFiles == 0)
    #expect(try database.clean(at: made + VaultDatabase.temporaryFileAge).temporaryFiles == 1)
  }

  @Test func `an interrupted write leaves nothing, whichever folder it was in`() throws {
    let home = try TestHome()
    let database = try home.makeDatabase()
    let groups = GroupFolders(home.folders)
    let group = try groups.path(groups.create())
    // Something else of such a name keeps nothing from being swept.
    try write([], to: groups.path("0123456789abcdef"))
    let folders = home.folders
    for folder in [folders.data, folders.companionsPath, folders.state, folders.config, group] {
      try write([1], to: folder + "/.vault-temporary-00")
    }
    #expect(try database.clean(at: future).temporaryFiles == 5)
    #expect(try FileNames.list(group) == [])
  }

  @Test func `cleaning is due an hour after the last time, whoever did it`() throws {
    let home = try TestHome()
    let database = try home.makeDatabase()
    try database.clean(at: soon)
    try write([1], to: database.fragments.partialPath(sampleID(5), 1))
    #expect(try home.reopen().cleanIfDue(at: soon + 3_599_999) == nil)
    #expect(try home.reopen().cleanIfDue(at: soon - 3_600_000) == nil)
    #expect(exists(home.folders.fragmentsPath + "/" + hexadecimalName(5, 1) + ".part"))
    #expect(try home.reopen().cleanIfDue(at: soon + 3_600_000)?.orphanedFiles == 1)
    #expect(try home.reopen().cleanIfDue(at: soon + 3_600_001) == nil)
    // A clock that is set back must not put it off for years.
    #expect(try database.cleanIfDue(at: 1000) != nil)
  }

  @Test func `cleaning is due at once when somebody died while staging, not while one lives`() throws {
    let home = try TestHome()
    let database = try home.makeDatabase()
    try database.clean(at: soon)
    let staging = try database.fragments.stage(count: 2)
    #expect(try home.reopen().cleanIfDue(at: soon) == nil)
    mkdir(home.folders.stagingPath + "/dead", 0o700)
    try write([], to: home.folders.stagingPath + "/dead/lock")
    try write(sampleID(5), to: home.folders.stagingPath + "/dead/published")
    try write([1], to: database.fragments.path(sampleID(5), 1))
    let report = try home.reopen().cleanIfDue(at: soon)
    #expect(report?.stagingFolders == 1)
    #expect(report?.orphanedFiles == 1)
    try staging.write([UInt8](repeating: 1, count: 10).span.bytes, index: 2, at: 0)
  }

  @Test func `what somebody is just about to lock is not taken for abandoned`() throws {
    let home = try TestHome()
    let database = try home.makeDatabase()
    try database.clean(at: soon)
    let folder = home.folders.stagingPath + "/new"
    do {
      // As between making a staging folder, or the note of an output, and taking its lock. To look at that would be to take
      // it away for a moment.
      let making = try database.fragments.lockAgainstCleaning()
      defer { withExtendedLifetime(making) {} }
      mkdir(folder, 0o700)
      for name in ["/lock", ".output"] { try write([], to: folder + name) }
      #expect(try database.cleanIfDue(at: soon) == nil)
    }
    #expect(try database.cleanIfDue(at: soon)?.stagingFolders == 1)
  }

  @Test func `the audit log is kept to its newest hundred thousand lines`() throws {
    let home = try TestHome()
    let database = try home.makeDatabase()
    try database.write { db in
      try db.execute(
        sql: """
          WITH RECURSIVE line (number) AS (SELECT 1 UNION ALL SELECT number + 1 FROM line WHERE number < 100010)
          INSERT INTO audit (at, event) SELECT number, 'test' FROM line
          """)
    }
    #expect(try database.clean(at: future).auditLines == 10)
    #expect(try database.clean(at: future) == CleaningReport())
    let kept = try database.auditLog(limit: 200_000)
    #expect(kept.count == 100_000)
    #expect(kept.last?.at == 11)
  }

  @Test func `whatever time somebody has given a file, it can be counted with`() {
    var status = stat()
    for seconds in [Int.min, Int.max] {
      status.st_mtim = timespec(tv_sec: seconds, tv_nsec: 999_999_999)
      #expect(status.changedAt.signum() == seconds.signum())
      for limit in [VaultDatabase.sweepInterval, OutputNotes.lifetime] {
        #expect(!status.changedAt.addingReportingOverflow(limit).overflow)
        #expect(!status.changedAt.subtractingReportingOverflow(limit).overflow)
      }
    }
  }
}
