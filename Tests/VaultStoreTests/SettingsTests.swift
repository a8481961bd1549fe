import Glibc
import Testing

@testable import VaultStore

@Suite struct SettingsTests {
  @Test func `settings are stored, and readable by people`() throws {
    let home = try TestHome()
    let settings = SettingsFile(home.folders, keys: try VaultKeys.create(in: home.folders, passphrase: nil))
    #expect(try settings.load() == [:])
    let values = ["notify": "/usr/bin/say \"héllo\"", "z": "", "a": "1\n2"]
    try settings.save(values)
    #expect(try settings.load() == values)
    let text = String(decoding: contents(home.folders.settingsPath), as: UTF8.self)
    #expect(text.contains("\"notify\" : \"/usr/bin/say \\\"héllo\\\"\""))
    try settings.save([:])
    #expect(try settings.load() == [:])
  }

  @Test func `a changed value, name or MAC is refused`() throws {
    let home = try TestHome()
    let settings = SettingsFile(home.folders, keys: try VaultKeys.create(in: home.folders, passphrase: nil))
    let path = home.folders.settingsPath
    try settings.save(["release": "ask", "other": "x"])
    let good = String(decoding: contents(path), as: UTF8.self)
    for (old, new) in [
      ("ask", "all"), ("release", "realese"), ("\"x\"", "\"x\",\"new\" : \"y\""), ("\"mac\" : \"", "\"mac\" : \"0"),
    ] {
      try write(Array(good.replacing(old, with: new).utf8), to: path)
      #expect(throws: StoreError.damagedSettings(path: path)) { try settings.load() }
    }
    // The layout of the file is the user's business.
    try write(Array(good.replacing("\n", with: "").utf8), to: path)
    #expect(try settings.load() == ["release": "ask", "other": "x"])
  }

  @Test func `settings of another vault are refused`() throws {
    let home = try TestHome()
    let other = try TestHome()
    try SettingsFile(home.folders, keys: VaultKeys.create(in: home.folders, passphrase: nil)).save(["a": "b"])
    let settings = SettingsFile(other.folders, keys: try VaultKeys.create(in: other.folders, passphrase: nil))
    try write(contents(home.folders.settingsPath), to: other.folders.settingsPath)
    #expect(throws: StoreError.damagedSettings(path: other.folders.settingsPath)) { try settings.load() }
  }

  @Test(arguments: ["", "{}", "[]", "{\"version\":1,\"settings\":{\"a\":1},\"mac\":\"\"}", "\u{FEFF}{", "null"])
  func `anything else is damage`(_ text: String) throws {
    let home = try TestHome()
    let settings = SettingsFile(home.folders, keys: try VaultKeys.create(in: home.folders, passphrase: nil))
    try write(Array(text.utf8), to: home.folders.settingsPath)
    #expect(throws: StoreError.damagedSettings(path: home.folders.settingsPath)) { try settings.load() }
  }

  @Test func `deep nesting and large files are refused`() throws {
    let home = try TestHome()
    let settings = SettingsFile(home.folders, keys: try VaultKeys.create(in: home.folders, passphrase: nil))
    for count in [60_000, 70_000] {
      try write([UInt8](repeating: UInt8(ascii: "["), count: count), to: home.folders.settingsPath)
      #expect(throws: StoreError.damagedSettings(path: home.folders.settingsPath)) { try settings.load() }
    }
    #expect(throws: StoreError.invalid("the settings")) {
      try settings.save(["a": String(repeating: "x", count: 65_536)])
    }
  }

  @Test func `changes made at the same time are all kept`() async throws {
    let home = try TestHome()
    let keys = try VaultKeys.create(in: home.folders, passphrase: nil)
    let folders = home.folders
    try await withThrowingTaskGroup(of: Void.self) { group in
      for writer in 0..<8 {
        group.addTask {
          let settings = SettingsFile(folders, keys: keys)
          for round in 0..<5 { try settings.update { $0["\(writer) \(round)"] = "set" } }
        }
      }
      try await group.waitForAll()
    }
    #expect(try SettingsFile(folders, keys: keys).load().count == 40)
  }

  @Test func `a change that fails leaves the settings as they were`() throws {
    let home = try TestHome()
    let settings = SettingsFile(home.folders, keys: try VaultKeys.create(in: home.folders, passphrase: nil))
    try settings.save(["a": "1"])
    #expect(throws: StoreError.invalid("mine")) {
      try settings.update { values throws(StoreError) in
        values["a"] = "2"
        throw .invalid("mine")
      }
    }
    #expect(try settings.update { $0["b"] = "2" } == ["a": "1", "b": "2"])
  }

  @Test func `a damaged file says what helps`() throws {
    let home = try TestHome()
    let settings = SettingsFile(home.folders, keys: try VaultKeys.create(in: home.folders, passphrase: nil))
    try write(Array("{".utf8), to: home.folders.settingsPath)
    let error = #expect(throws: StoreError.self) { try settings.update { $0["a"] = "1" } }
    #expect(error == .damagedSettings(path: home.folders.settingsPath))
    // Whoever follows an advice to delete it would have lost every policy.
    #expect(error?.description.contains("delet") == false)
    try settings.save([:])
    #expect(try settings.load() == [:])
  }

  @Test func `settings that are gone are lost, and not the defaults`() throws {
    let home = try TestHome()
    let settings = SettingsFile(try home.makeDatabase())
    #expect(try settings.load() == [:])
    try settings.save(["release": "ask"])
    unlink(home.folders.settingsPath)
    let lost = StoreError.lostSettings(path: home.folders.settingsPath)
    #expect(throws: lost) { try settings.load() }
    #expect(throws: lost) { try settings.update { $0["a"] = "1" } }
    #expect(throws: lost) { try SettingsFile(home.reopen()).load() }
    #expect(!exists(home.folders.settingsPath))
  }

  @Test func `settings that were put back to nothing are there all the same`() throws {
    let home = try TestHome()
    let settings = SettingsFile(try home.makeDatabase())
    try settings.save(["release": "ask"])
    unlink(home.folders.settingsPath)
    try settings.save([:])
    #expect(try settings.load() == [:])
    unlink(home.folders.settingsPath)
    #expect(throws: StoreError.lostSettings(path: home.folders.settingsPath)) { try settings.load() }
  }

  @Test func `a vault that doesn't know of its settings learns of them when it is opened`() throws {
    let home = try TestHome()
    let database = try home.makeDatabase()
    // As an older version stores them.
    try SettingsFile(home.folders, keys: database.keys).save(["release": "ask"])
    let settings = SettingsFile(database)
    #expect(try settings.load() == ["release": "ask"])
    database.noteSettings()
    unlink(home.folders.settingsPath)
    #expect(throws: StoreError.lostSettings(path: home.folders.settingsPath)) { try settings.load() }
  }

  @Test func `a change that fails before anything was set leaves nothing to be missed`() throws {
    let home = try TestHome()
    let settings = SettingsFile(try home.makeDatabase())
    #expect(throws: StoreError.invalid("mine")) {
      try settings.update { (_) throws(StoreError) in throw .invalid("mine") }
    }
    #expect(try settings.load() == [:])
  }

  @Test func `a newer version is said so`() throws {
    let home = try TestHome()
    let settings = SettingsFile(home.folders, keys: try VaultKeys.create(in: home.folders, passphrase: nil))
    try write(Array("{\"version\":2,\"settings\":{},\"mac\":\"\"}".utf8), to: home.folders.settingsPath)
    #expect(throws: StoreError.tooNew(home.folders.settingsPath)) { try settings.load() }
  }
}
