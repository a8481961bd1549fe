import Foundation
import Glibc
import MemoryScan
import ShamirKit
import Sodium
import Testing
import VaultProtocol

@testable import SecretVault
@testable import VaultStore

@Suite("The memory of an agent")
struct UnlockedMemoryTests {
  @Test(
    "it has keys in secret memory only, none after locking, and never the plaintext",
    .enabled(if: geteuid() == 0, "only root may read the memory of a daemon"))
  func scan() async throws {
    try await Bench.run { bench in
      let (alice, bob) = try await bench.pair()
      try alice.write(sample(200_000, seed: 7), to: "note")
      let id = try await alice.succeed("share", "note", "--threshold", "2").line
      var key = Needles()
      try Self.add(alice, bob, id, to: &key)
      var content = Needles()
      content.add("the content", sample(200_000, seed: 7).span.bytes.extracting(100_000..<100_064))
      let memory = ProcessMemory.of(try alice.daemonProcess)

      try await alice.succeed("unlock", id)
      for _ in 0..<3 { try await alice.succeed("recover", id, "-o", "note", "--force") }
      #expect(try memory.search(for: key).summary == [])
      #expect(try !memory.search(for: key, everywhere: true).findings.isEmpty)
      #expect(try memory.search(for: content, everywhere: true).summary == [])
      try await alice.succeed("lock", id)
      #expect(try memory.search(for: key, everywhere: true).summary == [])
    }
  }

  /// The file key of a secret of which both hold a share, two of which are needed.
  private static func add(_ one: Peer, _ other: Peer, _ id: String, to needles: inout Needles) throws {
    var collector: ShareCollector?
    let secret = try #require(SecretID(named: id))
    for peer in [one, other] {
      let folders = VaultFolders(home: peer.home)
      let database = try VaultDatabase(folders, keys: VaultKeys.unlock(folders, passphrase: nil))
      let record = try #require(try database.secret(secret))
      let header = try SecretHeader(bytes: record.header)
      var shares = try collector.take() ?? ShareCollector(scheme: header.scheme, commitments: header.commitments)
      guard let stored = try database.share(ofSecret: secret) else {
        throw VaultError(.notFound, "\(peer.name) has no share")
      }
      let held = try HeldShare(index: stored.index, record: stored.bytes, of: id)
      try shares.add(KeyShare(index: held.share.index, bytes: held.share.bytes.duplicate()))
      collector = consume shares
    }
    guard var shares = collector.take() else { return }
    try shares.verify()
    let key = try shares.fileKey(for: secret)
    needles.add("the file key", key.bytes)
  }
}
