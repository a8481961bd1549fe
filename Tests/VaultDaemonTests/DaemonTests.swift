import Glibc
import Logging
import PeerAuth
import PeerLink
import SecretVault
import Synchronization
import TestTime
import Testing
import VaultStore

@testable import VaultDaemon

@Suite("The daemon as a whole", .timeLimit(.minutes(5)))
struct DaemonTests {
  /// A vault in a folder, and its folders.
  private func vault(in folder: TestFolder) throws -> (Vault, VaultFolders) { (try folder.makeVault(), folder.folders) }

  private func presence(_ folders: VaultFolders) throws -> DaemonPresence {
    let presence = DaemonPresence(folders)
    try presence.announce(listening: [])
    return presence
  }

  @Test("it says where it listens, has an agent, and ends when it is told to")
  func life() async throws {
    let folder = try TestFolder()
    defer { folder.remove() }
    let (vault, folders) = try vault(in: folder)
    defer { vault.close() }
    let (places, listening) = AsyncStream.makeStream(of: String?.self)
    let daemon = Daemon(
      vault, folders, try presence(folders), at: .at(host: "127.0.0.1", port: 0), by: LocalDialler(now: { 0 }),
      log: TestFolder.log, patience: 60
    ) { listening.yield($0) }
    let running = Task { try await daemon.run() }
    for await place in places {
      #expect(place?.hasPrefix("127.0.0.1:") == true)
      break
    }
    #expect(AgentClient(folders, patience: 60_000).ids() == [])
    #expect(AgentClient(folders).isThere)
    #expect(throws: VaultError.self) { try presence(folders) }
    daemon.end()
    try await running.value
    #expect(!AgentClient(folders).isThere)
  }

  @Test("where nobody reads what it says first, it ends")
  func unheard() async throws {
    let folder = try TestFolder()
    defer { folder.remove() }
    let (vault, folders) = try vault(in: folder)
    defer { vault.close() }
    let daemon = Daemon(
      vault, folders, try presence(folders), at: .off, by: LocalDialler(now: { 0 }), log: TestFolder.log, patience: 60
    ) { place in
      #expect(place == nil)
      throw VaultError(.inputOutput, "nobody reads")
    }
    let error = await #expect(throws: VaultError.self) { try await daemon.run() }
    #expect(error?.reason == "nobody reads")
  }
}
