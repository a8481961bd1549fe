import Glibc
import Testing

@testable import VaultStore

@Suite struct VaultFoldersTests {
  @Test func `empty and relative base folders are ignored`() {
    let folders = VaultFolders(userHome: "/home/u", dataHome: "", stateHome: "relative", configHome: "/c")
    #expect(folders.data == "/home/u/.local/share/vault")
    #expect(folders.state == "/home/u/.local/state/vault")
    #expect(folders.config == "/c/vault")
  }

  @Test func `folders are made with mode 0700 even under a lax umask, and files with 0600`() throws {
    let home = try TestHome()
    let deep = VaultFolders(home: home.path + "/not/there/yet")
    try deep.create()
    for folder in [deep.data, deep.state, deep.config, deep.fragmentsPath, deep.stagingPath] {
      #expect(mode(folder) == 0o700)
    }
    let database = try home.makeDatabase()
    _ = try stageFragments(database, 1, count: 2)
    try SettingsFile(home.folders, keys: database.keys).save(["a": "b"])
    for file in home.files() { #expect(mode(file) == 0o600, "\(file)") }
    #expect(exists(home.folders.databasePath + "-wal"))
  }

  @Test func `the state folder is marked as one that backups leave out`() throws {
    let home = try TestHome()
    try home.folders.create()
    let tag = contents(home.folders.state + "/CACHEDIR.TAG")
    #expect(tag.starts(with: Array("Signature: 8a477f597d28d172789f06886806bc55".utf8)))
  }

  @Test(arguments: [0o750, 0o705, 0o770, 0o701])
  func `a folder open to others is refused with its path and chmod`(_ bits: Int) throws {
    let home = try TestHome()
    try home.folders.create()
    chmod(home.folders.data, mode_t(bits))
    let error = #expect(throws: StoreError.self) { try home.folders.check() }
    let description = try #require(error?.description)
    #expect(description.contains(home.folders.data))
    #expect(description.contains("chmod go= '\(home.folders.data)'"))
  }

  @Test(arguments: [0o777, 0o770, 0o720, 0o702])
  func `a home in which others may put things is refused with its path and chmod, before anything is made in it`(
    _ bits: Int
  ) throws {
    let home = try TestHome()
    let shared = home.path + "/shared"
    let folders = VaultFolders(home: shared)
    mkdir(shared, 0o700)
    chmod(shared, mode_t(bits))
    let refusal = StoreError.tooOpen(path: shared, advice: "chmod go-w '\(shared)'")
    #expect(throws: refusal) { try folders.create() }
    #expect(!exists(folders.data))
    chmod(shared, 0o755)
    try folders.create()
    chmod(shared, mode_t(bits))
    #expect(throws: refusal) { try folders.check() }
    // Names in a folder with the sticky bit belong to those who made them.
    chmod(shared, 0o1777)
    try folders.check()
  }

  @Test(.enabled(if: geteuid() == 0, "only root gives folders away"))
  func `a home that belongs to somebody else is refused, who could rename what lies in it`() throws {
    let home = try TestHome()
    let folders = VaultFolders(home: home.path + "/foreign")
    try folders.create()
    #expect(chown(home.path + "/foreign", 65_534, 65_534) == 0)
    #expect(throws: StoreError.notOwned(path: home.path + "/foreign")) { try folders.check() }
  }

  @Test func `the same holds for each of the usual folders`() throws {
    let home = try TestHome()
    let folders = VaultFolders(userHome: home.path, dataHome: nil, stateHome: nil, configHome: nil)
    try folders.create()
    for base in ["/.local/share", "/.local/state", "/.config"].map({ home.path + $0 }) {
      chmod(base, 0o775)
      #expect(throws: StoreError.tooOpen(path: base, advice: "chmod go-w '\(base)'")) { try folders.check() }
      chmod(base, 0o755)
      try folders.check()
    }
  }

  @Test(arguments: ["data/master.key", "state/device.key", "data/vault.db"])
  func `a file open to others is refused with its path and chmod`(_ file: String) throws {
    let home = try TestHome()
    _ = try home.makeDatabase()
    let path = home.path + "/" + file
    chmod(path, 0o640)
    let error = #expect(throws: StoreError.self) { _ = try home.reopen() }
    #expect(error == .tooOpen(path: path, advice: "chmod go= '\(path)'"))
    chmod(path, 0o600)
    _ = try home.reopen()
  }

  @Test(.enabled(if: geteuid() == 0)) func `a folder of another user is refused`() throws {
    let home = try TestHome()
    try home.folders.create()
    chown(home.folders.state, 12345, 12345)
    #expect(throws: StoreError.notOwned(path: home.folders.state)) { try home.folders.check() }
  }

  @Test func `a path with a quote is quoted in the advice`() throws {
    let home = try TestHome()
    let folders = VaultFolders(home: home.path + "/it's")
    try folders.create()
    chmod(folders.data, 0o755)
    let error = #expect(throws: StoreError.self) { try folders.check() }
    #expect(error?.description.hasSuffix("chmod go= '\(home.path)/it'\\''s/data'") == true)
  }
}
