import Foundation
import Logging
import PeerAuth
import SecretVault
import TestTime
import VaultStore

/// A new folder of a test, which the test removes.
struct TestFolder {
  let path: String

  init() throws {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("vault-daemon-" + UUID().uuidString)
    // Sockets lie in it, and others see nothing of it.
    try FileManager.default.createDirectory(
      at: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    path = folder.path
  }

  /// Writes a file, and the folder where it lies if that isn't there.
  func write(_ text: String, to name: String) throws {
    let file = URL(fileURLWithPath: "\(path)/\(name)")
    try FileManager.default.createDirectory(at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
    try Data(text.utf8).write(to: file)
  }

  /// What a file holds; nothing if it isn't there.
  func contents(_ name: String) -> String {
    FileManager.default.contents(atPath: "\(path)/\(name)").map { String(decoding: $0, as: UTF8.self) } ?? ""
  }

  static let log = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }

  var folders: VaultFolders { VaultFolders(home: path) }

  /// A vault in it without a network, for which time stands still but for waits of these lengths, which are over at once.
  func makeVault(skipping moments: [Duration] = []) throws -> Vault {
    let clock = TestClock()
    for moment in moments { clock.skip(moment) }
    let environment = VaultEnvironment(
      now: { clock.now }, monotonic: { clock.monotonic }, sleep: { try await clock.sleep(for: $0) }, log: Self.log,
      connect: { (_) async throws(TransportError) in throw .unreachable("no network") })
    return try Vault.create(at: folders, label: "Ada", addresses: [], passphrase: nil, environment: environment)
  }

  func remove() { try? FileManager.default.removeItem(atPath: path) }
}
