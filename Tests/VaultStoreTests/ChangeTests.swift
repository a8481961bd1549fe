import Concurrency
import GRDB
import Glibc
import Testing
import VaultProtocol

@testable import VaultStore

@Suite struct ChangeTests {
  let home: TestHome
  let database: VaultDatabase

  init() throws {
    home = try TestHome()
    database = try home.makeDatabase()
  }

  @Test func `what this process commits strikes the pulse, and looking doesn't`() throws {
    let before = database.pulse.count
    _ = try database.accounts()
    try database.write { db in try db.run("DELETE FROM meta WHERE key = 'nothing'") }
    #expect(database.pulse.count == before)
    try database.setMeta("something", to: [1])
    #expect(database.pulse.count == before + 1)
  }

  @Test func `when somebody else's commit strikes the pulse, it is there to be seen`() async throws {
    let other = try home.reopen()
    try #require(database.hearsOthers())
    for number in 0..<200 {
      let before = database.pulse.count
      let value = [UInt8(truncatingIfNeeded: number)]
      let writing = Task.detached { try other.setMeta("something", to: value) }
      try await database.pulse.wait(since: before)
      // One that was told of twice may come first.
      while try database.meta("something") != value {
        let count = database.pulse.count
        if try database.meta("something") == value { break }
        try await database.pulse.wait(since: count)
      }
      try await writing.value
    }
  }

  @Test func `settings strike both pulses, whoever has changed them, and commits only the one`() async throws {
    let other = try home.reopen()
    try #require(database.hearsOthers())
    let settings = database.settingsPulse.count
    try database.setMeta("something", to: [1])
    #expect(database.settingsPulse.count == settings)
    let (before, store) = (database.settingsPulse.count, database.pulse.count)
    try SettingsFile(other).save(["a": "b"])
    try await database.settingsPulse.wait(since: before)
    try await database.pulse.wait(since: store)
    #expect(try SettingsFile(database).load() == ["a": "b"])
  }

  @Test func `a line of the log strikes the pulse of who commits it, and nobody else's`() throws {
    let (before, store) = (database.auditPulse.count, database.pulse.count)
    try database.audit(AuditRecord(at: 1, event: "something"))
    #expect(database.auditPulse.count == before + 1)
    try database.flushAudit()
    #expect(database.pulse.count == store)
  }

  @Test func `where a file's folder is gone, others' changes can't be heard`() throws {
    try #require(rmdir(home.folders.config) == 0)
    #expect(!database.hearsOthers())
  }
}
