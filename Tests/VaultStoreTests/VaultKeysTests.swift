import Glibc
import Sodium
import Testing

@testable import VaultStore

@Suite struct VaultKeysTests {
  let name = RecordName(table: "shares", row: [1, 2, 3], epoch: 4)

  @Test func `a vault without a passphrase opens with its device key alone`() throws {
    let home = try TestHome()
    let sealed = try VaultKeys.create(in: home.folders, passphrase: nil).seal(text("hidden"), name)
    #expect(try !VaultKeys.needsPassphrase(in: home.folders))
    let opened = try VaultKeys.unlock(home.folders, passphrase: nil).open(sealed, name, what: "it")
    #expect(publicCopy(opened) == Array("hidden".utf8))
  }

  @Test func `with a passphrase each way of failing has its own error`() throws {
    let home = try TestHome()
    let passphrase: SecretBytes? = try text("correct horse")
    let wrong: SecretBytes? = try text("correct hors")
    let sealed = try VaultKeys.create(in: home.folders, passphrase: passphrase).seal(text("hidden"), name)
    #expect(try VaultKeys.needsPassphrase(in: home.folders))
    #expect(throws: StoreError.passphraseRequired) { _ = try VaultKeys.unlock(home.folders, passphrase: nil) }
    #expect(throws: StoreError.wrongPassphrase) { _ = try VaultKeys.unlock(home.folders, passphrase: wrong) }
    let opened = try VaultKeys.unlock(home.folders, passphrase: passphrase).open(sealed, name, what: "it")
    #expect(publicCopy(opened) == Array("hidden".utf8))

    // Damage isn't taken for a wrong passphrase, nor another device.
    let device = contents(home.folders.deviceKeyPath)
    try write([UInt8](repeating: 1, count: 32), to: home.folders.deviceKeyPath)
    #expect(throws: StoreError.wrongDevice) { _ = try VaultKeys.unlock(home.folders, passphrase: passphrase) }
    try write(device, to: home.folders.deviceKeyPath)
    try flip(home.folders.masterKeyPath, at: 120)
    #expect(throws: StoreError.damaged(home.folders.masterKeyPath)) {
      _ = try VaultKeys.unlock(home.folders, passphrase: passphrase)
    }
  }

  @Test func `a passphrase is set, changed and removed, and nothing else of the vault changes`() throws {
    let home = try TestHome()
    let keys = try VaultKeys.create(in: home.folders, passphrase: nil)
    let sealed = try keys.seal(text("hidden"), name)
    let before = contents(home.folders.masterKeyPath)
    let one: SecretBytes? = try text("one")
    let two: SecretBytes? = try text("two")
    try keys.changePassphrase(in: home.folders, to: one)
    #expect(throws: StoreError.passphraseRequired) { _ = try VaultKeys.unlock(home.folders, passphrase: nil) }
    try VaultKeys.unlock(home.folders, passphrase: one).changePassphrase(in: home.folders, to: two)
    #expect(throws: StoreError.wrongPassphrase) { _ = try VaultKeys.unlock(home.folders, passphrase: one) }
    let opened = try VaultKeys.unlock(home.folders, passphrase: two).open(sealed, name, what: "it")
    #expect(publicCopy(opened) == Array("hidden".utf8))
    try keys.changePassphrase(in: home.folders, to: nil)
    #expect(try !VaultKeys.needsPassphrase(in: home.folders))
    let again = try VaultKeys.unlock(home.folders, passphrase: nil).open(sealed, name, what: "it")
    #expect(publicCopy(again) == Array("hidden".utf8))
    // No two wrappings are alike.
    #expect(contents(home.folders.masterKeyPath) != before)
    #expect(home.files().filter { $0.contains(FileNames.temporaryPrefix) }.isEmpty)
  }

  @Test func `a passphrase is not changed where the device key is another's`() throws {
    let home = try TestHome()
    let keys = try VaultKeys.create(in: home.folders, passphrase: nil)
    let before = contents(home.folders.masterKeyPath)
    try write([UInt8](repeating: 1, count: 32), to: home.folders.deviceKeyPath)
    let passphrase: SecretBytes? = try text("one")
    #expect(throws: StoreError.wrongDevice) { try keys.changePassphrase(in: home.folders, to: passphrase) }
    #expect(contents(home.folders.masterKeyPath) == before)
  }

  @Test func `a copied data folder is refused on another device`() throws {
    let home = try TestHome()
    let other = try TestHome()
    _ = try VaultKeys.create(in: home.folders, passphrase: nil)
    try other.folders.create()
    try write(contents(home.folders.masterKeyPath), to: other.folders.masterKeyPath)
    #expect(throws: StoreError.wrongDevice) { _ = try VaultKeys.unlock(other.folders, passphrase: nil) }
    try write([UInt8](repeating: 3, count: 32), to: other.folders.deviceKeyPath)
    #expect(throws: StoreError.wrongDevice) { _ = try VaultKeys.unlock(other.folders, passphrase: nil) }
  }

  @Test func `every flipped bit and every cut of master.key is noticed`() throws {
    let home = try TestHome()
    _ = try VaultKeys.create(in: home.folders, passphrase: nil)
    let path = home.folders.masterKeyPath
    let good = contents(path)
    for index in good.indices {
      var bad = good
      bad[index] ^= 1 << UInt8(index % 8)
      try write(bad, to: path)
      let error = #expect(throws: StoreError.self, "byte \(index)") {
        _ = try VaultKeys.unlock(home.folders, passphrase: nil)
      }
      #expect(error == .damaged(path) || (index == 8 && error == .tooNew(path)), "byte \(index)")
    }
    for count in 0..<good.count {
      #expect(throws: (any Error).self) { try MasterKeyFile.decode(Array(good.prefix(count)), limit: 8192) }
    }
    #expect(throws: (any Error).self) { try MasterKeyFile.decode(good + [0], limit: 8192) }
  }

  @Test(arguments: ["state/device.key", "state"])
  func `without its device key a vault is another device's, whatever else is there`(_ lost: String) throws {
    let home = try TestHome()
    _ = try VaultKeys.create(in: home.folders, passphrase: nil)
    removeTree(home.path + "/" + lost)
    unlink(home.path + "/" + lost)
    #expect(throws: StoreError.wrongDevice) { _ = try home.reopen() }
  }

  @Test(arguments: ["config", "data/staging", "data/fragments"])
  func `a folder that can be done without is made again`(_ lost: String) throws {
    let home = try TestHome()
    try home.makeDatabase().addPeer(samplePeer("Alice"), beaconKey: nil)
    removeTree(home.path + "/" + lost)
    #expect(try home.reopen().peers().count == 1)
    #expect(mode(home.path + "/" + lost) == 0o700)
  }

  @Test(.enabled(if: geteuid() == 0)) func `a folder that may not be looked into is not an empty one`() async throws {
    let home = try TestHome()
    _ = try VaultKeys.create(in: home.folders, passphrase: nil)
    await #expect(processExitsWith: .success) { [path = home.path as String] in
      try #require(setuid(65534) == 0)
      let folders = VaultFolders(home: path)
      try #require(throws: StoreError.permissions(path: folders.data)) { try folders.holdsVault() }
    }
  }

  @Test func `no vault is said so`() throws {
    let home = try TestHome()
    try home.folders.create()
    #expect(throws: StoreError.notFound("a vault in \(home.folders.data)")) {
      _ = try VaultKeys.unlock(home.folders, passphrase: nil)
    }
  }

  @Test func `a passphrase cheaper than allowed is refused`() throws {
    let home = try TestHome()
    let passphrase: SecretBytes? = try text("word")
    #expect(throws: StoreError.sodium(.parametersRefused)) {
      _ = try VaultKeys.create(in: home.folders, passphrase: passphrase, costLogarithm: 16)
    }
    #expect(!home.folders.containsVault)
  }

  @Test func `a record opens only under its own table, row and epoch`() throws {
    let home = try TestHome()
    let keys = try VaultKeys.create(in: home.folders, passphrase: nil)
    let sealed = try keys.seal(text("hidden"), name)
    let others = [
      RecordName(table: "peers", row: name.row, epoch: 4), RecordName(table: name.table, row: [1, 2], epoch: 4),
      RecordName(table: name.table, row: name.row, epoch: 5),
    ]
    for other in others {
      #expect(throws: StoreError.damaged("it")) { _ = try keys.open(sealed, other, what: "it") }
    }
    for index in sealed.indices {
      var bad = sealed
      bad[index] ^= 0x80
      #expect(throws: StoreError.damaged("it")) { _ = try keys.open(bad, name, what: "it") }
    }
    #expect(throws: StoreError.damaged("it")) { _ = try keys.open([], name, what: "it") }
    #expect(try keys.seal(text("hidden"), name) != sealed)
  }

  private func flip(_ path: String, at index: Int) throws {
    var bytes = contents(path)
    bytes[index] ^= 1
    try write(bytes, to: path)
  }
}
