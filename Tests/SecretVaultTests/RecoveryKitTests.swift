import Glibc
import Sodium
import Testing

@testable import SecretVault
@testable import VaultStore

extension VaultTests {
  @Suite struct RecoveryKits {
    let world: TestWorld
    let id: String
    let bytes = randomBytes(100_000)
    let path: String
    let kit: RecoveryKit

    init() async throws {
      world = try TestWorld(3)
      id = try await world.share(bytes, threshold: 2, description: "plan").id
      path = world.scratch.path + "/vault.backup"
      kit = try world[0].vault.archive.makeKit(passphrase: secretBytes("of the kit"), costLogarithm: 17).kit
      _ = try world[0].vault.archive.createBackup(to: path, overwrites: false)
    }

    private func remove(_ folder: String) {
      for file in files(below: folder, folders: true) { if unlink(file) != 0 { rmdir(file) } }
      rmdir(folder)
    }

    /// As on a device that has never had a vault.
    private func loseEverything() {
      world[0].vault.close()
      for folder in [world[0].folders.data, world[0].folders.state, world[0].folders.config] { remove(folder) }
    }

    private func restore(
      to folders: VaultFolders? = nil, with other: RecoveryKit? = nil, passphrase: String = "of the kit",
      confirm: (RestorePlan) throws -> Void = { (_) in }
    ) throws -> RestorePlan {
      try Archive.restoreBackup(
        from: path, at: folders ?? world[0].folders, kit: other ?? kit,
        kitPassphrase: { try secretBytes(passphrase) },
        passphrase: { throw VaultError(.wrongPassphrase, "none") }, confirm: confirm,
        environment: world[0].environment)
    }

    private func restoreKey(
      overwrites: Bool = false, confirm: (RestorePlan) throws -> Void = { (_) in }
    ) throws -> RestorePlan {
      try Archive.restoreDeviceKey(
        at: world[0].folders, overwrites: overwrites, kit: kit, kitPassphrase: { try secretBytes("of the kit") },
        confirm: confirm)
    }

    @Test func `with it a backup comes back whole where there is nothing, and peers know the device`() async throws {
      let before = try world[0].vault.core.ownIdentity().fingerprint
      loseEverything()
      let plan = try restore()
      #expect(plan.deviceKey && !plan.replaces && !plan.onlyKey)
      try world[0].restart()
      #expect(try world[0].vault.core.ownIdentity().fingerprint == before)
      #expect(try await world.recover(by: 0, id).bytes == bytes)
      #expect(try world[0].vault.overview.log(limit: 10).contains { $0.event == "backup-restored" })
      #expect(access(world[0].folders.state + "/CACHEDIR.TAG", F_OK) == 0)
    }

    @Test func `who says no, or has a wrong passphrase, has neither key nor vault then`() async throws {
      loseEverything()
      let stopped = await refusal { try restore { _ in throw VaultError(.interrupted, "no") } }
      #expect(stopped?.code == .interrupted)
      let wrong = await refusal { try restore(passphrase: "of the vault") }
      #expect(wrong?.code == .wrongPassphrase)
      #expect(access(world[0].folders.deviceKeyPath, F_OK) != 0 && !world[0].folders.containsVault)
      _ = try restore()
      try world[0].restart()
      #expect(try world[0].vault.overview.secrets().map(\.id) == [id])
    }

    @Test func `a restoration that fails behind the key leaves none`() async throws {
      loseEverything()
      let data = world[0].folders.data
      let beside = String(data.prefix(upTo: try #require(data.lastIndex(of: "/"))))
      // What was unpacked is gone in the last moment.
      let failure = await refusal {
        try restore { _ in
          for file in files(below: beside, folders: true) where file.hasSuffix("master.key") { unlink(file) }
          for file in files(below: beside, folders: true) where file != data && file.hasSuffix("/data") { remove(file) }
        }
      }
      #expect(failure != nil && access(world[0].folders.deviceKeyPath, F_OK) != 0 && !world[0].folders.containsVault)
      _ = try restore()
      try world[0].restart()
      #expect(try world[0].vault.overview.secrets().map(\.id) == [id])
    }

    @Test func `a restoration that was killed behind the key goes on`() async throws {
      let key = try #require(contents(world[0].folders.deviceKeyPath))
      loseEverything()
      try world[0].folders.create()
      try AtomicFile.write(key.span.bytes, to: world[0].folders.deviceKeyPath, replacing: false)
      _ = try restore()
      try world[0].restart()
      #expect(try world[0].vault.overview.secrets().map(\.id) == [id])
    }

    @Test func `neither a vault nor another device key is overwritten`() async throws {
      world[0].vault.close()
      let own = await refusal { try restore() }
      #expect(own?.code == .vaultExists && own?.hint?.contains("leave the backup out") == true)
      let ben = await refusal { try restore(to: world[1].folders) }
      #expect(ben?.code == .vaultExists)
      let key = try #require(contents(world[1].folders.deviceKeyPath))
      remove(world[1].folders.data)
      let left = await refusal { try restore(to: world[1].folders) }
      #expect(left?.code == .refused && contents(world[1].folders.deviceKeyPath) == key)
    }

    @Test func `a kit of another device opens neither backup nor vault`() async throws {
      let other = try world[1].vault.archive.makeKit(passphrase: secretBytes("of the kit"), costLogarithm: 17).kit
      loseEverything()
      let refused = await refusal { try restore(with: other) }
      #expect(refused?.code == .refused && refused?.reason.contains("another device") == true)
      let folders = world[2].folders
      world[2].vault.close()
      remove(folders.state)
      let key = await refusal {
        try Archive.restoreDeviceKey(
          at: folders, overwrites: false, kit: other, kitPassphrase: { try secretBytes("of the kit") },
          confirm: { _ in })
      }
      #expect(key?.code == .refused && access(folders.deviceKeyPath, F_OK) != 0)
    }

    @Test func `the key alone comes back to a data folder that has lost it`() async throws {
      world[0].vault.close()
      let present = await refusal { try restoreKey() }
      #expect(present?.code == .refused)
      remove(world[0].folders.state)
      let plan = try restoreKey()
      #expect(plan.deviceKey && plan.onlyKey)
      try world[0].restart()
      #expect(try await world.recover(by: 0, id).bytes == bytes)
    }

    @Test func `a damaged key is replaced on the user's word, and a vault that isn't there gets none`() async throws {
      world[0].vault.close()
      truncate(world[0].folders.deviceKeyPath, 5)
      let refused = await refusal { try restoreKey() }
      #expect(refused?.hint?.contains("--force") == true)
      _ = try restoreKey(overwrites: true)
      try world[0].restart()
      loseEverything()
      #expect(await refusal { try restoreKey() }?.code == .noVault)
      #expect(access(world[0].folders.deviceKeyPath, F_OK) != 0)
    }

    @Test func `its page is read however it was typed, and a wrong letter is noticed`() async throws {
      let lines = try kit.lines()
      let page = "RECOVERY KIT\n\n" + lines.joined(separator: "\n") + "\n\n\u{2588} more"
      #expect(try RecoveryKit.parse(page: page) == kit)
      #expect(try RecoveryKit.parse(page: page.replacing("\n", with: "\r\n").uppercased()) == kit)
      #expect(try RecoveryKit.parse(page: kit.qrText()) == kit)
      #expect(try RecoveryKit.parse(page: lines.joined().replacing(" ", with: "-")) == kit)
      let text = Array(try kit.text())
      for place in 9..<text.count {
        var wrong = text
        wrong[place] = wrong[place] == "q" ? "p" : "q"
        let failure = await refusal { try RecoveryKit.parse(page: String(wrong)) }
        #expect(failure?.code == .damaged, "\(place)")
      }
      for page in ["", "vaultkit", "vaultkit1", String(text.dropLast()), String(repeating: "a", count: 70_000)] {
        #expect(await refusal { try RecoveryKit.parse(page: page) }?.code == .damaged)
      }
    }

    @Test func `the device key stands in no file but its own`() async throws {
      let key = try #require(contents(world[0].folders.deviceKeyPath))
      _ = try world.scratch.write(Array(kit.text().utf8), as: "kit")
      #expect(!contains(kit.sealed, key))
      loseEverything()
      _ = try restore()
      let holding = files(below: world.scratch.path).filter { contents($0).map { contains($0, key) } == true }
      #expect(holding == [world[0].folders.deviceKeyPath])
    }
  }
}
