import Glibc
import Logging
import PeerAuth
import SecretVault
import ShamirKit
import Sodium
import TestTime
import Testing
import VaultStore

@testable import VaultDaemon

@Suite("A daemon that waits for the passphrase", .timeLimit(.minutes(5)))
struct LockedDaemonTests {
  private static let log = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }

  private static let environment: VaultEnvironment = {
    let clock = TestClock()
    return VaultEnvironment(
      now: { clock.now }, monotonic: { clock.monotonic }, sleep: { try await clock.sleep(for: $0) }, log: log,
      connect: { (_) async throws(TransportError) in throw .unreachable("no network") })
  }()

  private static func passphrase() throws -> SecretBytes { try SecretBytes(copying: Array("word".utf8).span.bytes) }

  /// The folders of a vault with a passphrase that nobody has open.
  private func folders(in folder: TestFolder) throws -> VaultFolders {
    let folders = VaultFolders(home: folder.path)
    let vault = try Vault.create(
      at: folders, label: "Ada", addresses: [], passphrase: Self.passphrase(), environment: Self.environment)
    vault.close()
    return folders
  }

  private func locked(_ folders: VaultFolders) throws -> LockedDaemon {
    try LockedDaemon(folders, log: Self.log) { stretched in
      try Vault.open(
        at: folders, passphrase: { throw VaultError(.wrongPassphrase, "none") }, stretched: { stretched.copy() },
        environment: Self.environment)
    }
  }

  @Test("keeps nothing and opens nothing but by what opens the vault; then it hands out the vault, and the key")
  func unlocking() async throws {
    let folder = try TestFolder()
    defer { folder.remove() }
    let folders = try folders(in: folder)
    let daemon = try locked(folders)
    defer { daemon.agent.stop() }
    let client = AgentClient(folders, patience: 60_000)
    let file = try CiphertextFile(in: folders)
    let id = try SecretID([UInt8](0..<16))
    let key = try SecretBytes(random: 32)
    #expect(throws: VaultError.self) { try client.keep(UnlockedSecret(key: key.duplicate(), ciphertext: file), as: id) }
    let wrong = #expect(throws: VaultError.self) { try client.keepPassphrase(try SecretBytes(random: 32)) }
    #expect(wrong?.reason.contains("stays locked") == true)
    var isKept = client.passphrase() != nil
    #expect(!isKept && client.ids().isEmpty)

    let stretched = try VaultCore.stretchedPassphrase(at: folders, passphrase: { try Self.passphrase() })
    guard let stretched else {
      Issue.record("it has a passphrase")
      return
    }
    try client.keepPassphrase(stretched)
    let vault = await daemon.vault()
    #expect(try vault?.core.ownIdentity().card.label == "Ada")
    isKept = client.passphrase() != nil
    #expect(isKept)
    // What is locked then is what commands use; the vault stays open.
    try client.lockNow(nil)
    isKept = client.passphrase() != nil
    #expect(try !isKept && vault?.core.ownIdentity().card.label == "Ada")
    vault?.close()
  }

  @Test("ends when it is told to, and its agent with it")
  func ending() async throws {
    let folder = try TestFolder()
    defer { folder.remove() }
    let folders = try folders(in: folder)
    let daemon = try locked(folders)
    #expect(AgentClient(folders).isThere && !daemon.wasEnded)
    daemon.end()
    let vault = await daemon.vault()
    #expect(vault == nil && daemon.wasEnded)
    #expect(!AgentClient(folders).isThere)
  }
}
