import Glibc
import Sodium
import Testing
import WireCodec

@testable import VaultStore

@Suite struct RecoveryKitTests {
  private func sample() throws -> RecoveryKit {
    try RecoveryKit(
      of: secret([UInt8](repeating: 0x11, count: 32)), passphrase: text("correct horse"), at: 1_700_000_000_000,
      costLogarithm: 17, salt: [UInt8](repeating: 0x55, count: 32))
  }

  @Test func `it opens with its passphrase alone, and to the key that went in`() throws {
    let kit = try sample()
    #expect(throws: StoreError.wrongPassphrase) { _ = try kit.open(text("correct hors")) }
    let key = try kit.open(text("correct horse"))
    #expect(publicCopy(key) == [UInt8](repeating: 0x11, count: 32))
  }

  @Test(arguments: [2, 9, 10, 17, 18, 49, 50, 97]) func `changed anywhere it opens no more`(place: Int) throws {
    var bytes = try sample().encoded()
    bytes[place] ^= 1
    let changed = try RecoveryKit.decode(bytes, limit: RecoveryKit.byteLimit)
    #expect(throws: StoreError.wrongPassphrase) { _ = try changed.open(text("correct horse")) }
  }

  @Test(arguments: [(0, 2), (1, 0), (1, 15), (1, 21), (1, 255)] as [(Int, UInt8)])
  func `another version or cost is refused before anything is derived`(place: Int, value: UInt8) throws {
    var bytes = try sample().encoded()
    bytes[place] = value
    #expect(throws: WireError.self) { try RecoveryKit.decode(bytes, limit: RecoveryKit.byteLimit) }
  }

  @Test func `its key is held against the vault's whole device id, not against what the kit says of itself`() throws {
    let (home, other) = (try TestHome(), try TestHome())
    _ = try home.makeDatabase()
    _ = try other.makeDatabase()
    let kit = try RecoveryKit(of: other.folders, passphrase: text("p"), at: 1, costLogarithm: 17)
    let opened = try kit.open(text("p"), for: other.folders)
    #expect(opened.count == 32)
    #expect(throws: StoreError.wrongDevice) { _ = try kit.open(text("p"), for: home.folders) }
  }

  @Test func `every length but its own is refused`() throws {
    let bytes = try sample().encoded()
    for count in bytes.indices {
      #expect(throws: WireError.self) { try RecoveryKit.decode(Array(bytes[..<count]), limit: RecoveryKit.byteLimit) }
    }
    #expect(throws: WireError.self) { try RecoveryKit.decode(bytes + [0], limit: RecoveryKit.byteLimit) }
  }

  @Test func `a key that is there is not replaced unless it is another one and that is said`() throws {
    let home = try TestHome()
    try home.folders.create()
    let key = try secret([UInt8](repeating: 7, count: 32))
    let free = try DeviceKeyPlace(home.folders, for: key)
    #expect(free == .free)
    try free.put(key, in: home.folders)
    #expect(contents(home.folders.deviceKeyPath) == [UInt8](repeating: 7, count: 32))
    let same = try DeviceKeyPlace(home.folders, for: key)
    #expect(same == .same)
    try write([UInt8](repeating: 7, count: 31), to: home.folders.deviceKeyPath)
    let other = try DeviceKeyPlace(home.folders, for: key)
    #expect(other == .other)
    #expect(throws: StoreError.self) { try free.put(key, in: home.folders) }
    try other.put(key, in: home.folders)
    #expect(contents(home.folders.deviceKeyPath) == [UInt8](repeating: 7, count: 32))
  }
}
