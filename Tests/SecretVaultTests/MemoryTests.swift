import Glibc
import MemoryScan
import PeerAuth
import SealedPayload
import Sodium
import Testing

@testable import SecretVault
@testable import ShamirKit
@testable import VaultStore

extension VaultTests {
  /// What is left in memory, the heap's freed parts and all stacks included, outside of `SecretBytes`.
  @Suite struct Memory {
    @Test func `after sharing and recovering, memory holds no key, share, passphrase or content`() async throws {
      let passphrase = try SecretBytes(random: 40)
      let content = try SecretBytes(random: 300_000)
      let world = try world(passphrase)
      let path = world.scratch.path + "/letter.txt"
      try write(content, to: path)
      let report = try await world[0].vault.sharing.share(
        ShareRequest(source: .file(path: path), threshold: 2, recipients: []), events: { _ in })
      #expect(report.isFinished)
      try world[1].restart()
      _ = try await world[1].vault.recovering.recover(
        nil, to: .file(path: world[1].desk + "/recovered", overwrites: false), events: { _ in })

      var needles = Needles()
      needles.add("the passphrase", passphrase.bytes)
      for (start, name) in [(0, "the first chunk"), (131_072, "the third chunk"), (299_900, "the last chunk")] {
        needles.add(name, content.bytes.extracting(start..<(start + 64)))
      }
      for member in world.members { try add(member, passphrase, to: &needles) }
      try addSecret(of: world, to: &needles)
      let found = try ProcessMemory.own.search(for: needles)
      #expect(found.summary == [], "\(found.findings)")
      // It has looked somewhere, and left out no more than what SecretBytes takes.
      #expect(found.scanned > 8 << 20 && found.leftOut < 64 << 20, "\(found.scanned), \(found.leftOut)")
    }

    @Test func `after recovering, memory holds nothing of the header but the name`() async throws {
      let world = try TestWorld(3)
      let field = try SecretBytes(random: 64)
      let hidden: SecretBytes? = try field.duplicate()
      let forged = try ForgedSecret(
        by: world[0], to: [world[1], world[2]], threshold: 2, byteCount: 1000, field: hidden)
      try await forged.deliverAll()
      _ = try await world[1].vault.recovering.recover(
        nil, to: .file(path: world[1].desk + "/recovered", overwrites: false), events: { _ in })
      var needles = Needles()
      needles.add("a field of the header", field.bytes)
      #expect(try ProcessMemory.own.search(for: needles).summary == [])
    }

    @Test func `the search finds a secret in the heap, in freed memory and on a stack, and none in SecretBytes`() throws
    {
      let secret = try SecretBytes(random: 48)
      var needles = Needles()
      needles.add("it", secret.bytes)
      #expect(try ProcessMemory.own.search(for: needles).findings == [])

      // Large enough to have pages of its own, at an odd address.
      let heap = UnsafeMutableRawPointer.allocate(byteCount: 200_000, alignment: 16)
      heap.initializeMemory(as: UInt8.self, repeating: 0, count: 200_000)
      secret.withUnsafeBytes { bytes in
        UnsafeMutableRawBufferPointer(start: heap + 100_003, count: 48).copyMemory(from: bytes)
      }
      // Which part of the memory it lies in is the allocator's choice.
      let found = try ProcessMemory.own.search(for: needles)
      #expect(found.findings.map(\.secret) == Array(repeating: "it", count: 5), "\(found.summary)")
      memset(heap, 0, 200_000)
      heap.deallocate()
      #expect(try ProcessMemory.own.search(for: needles).findings == [])

      // Some of it is used again at once, not all.
      var arrays = (0..<300).map { _ in secret.withUnsafeBytes { Array($0) } + [UInt8](repeating: 1, count: 1000) }
      arrays = []
      #expect(try !ProcessMemory.own.search(for: needles).findings.isEmpty && arrays.isEmpty)
    }

    @Test func `the search finds a secret on the stack`() throws {
      let secret = try SecretBytes(random: 48)
      var needles = Needles()
      needles.add("it", secret.bytes)
      let found = try withUnsafeTemporaryAllocation(byteCount: 48, alignment: 16) { stack in
        secret.withUnsafeBytes { stack.copyMemory(from: $0) }
        let report = try ProcessMemory.own.search(for: needles)
        stack.initializeMemory(as: UInt8.self, repeating: 0)
        return report.findings
      }
      #expect(found.count == 6, "\(found)")
      #expect(try ProcessMemory.own.search(for: needles).findings == [])
    }

    private func world(_ passphrase: borrowing SecretBytes) throws -> TestWorld {
      let kept = Kept(try passphrase.duplicate())
      return try TestWorld(3, passphrase: { try kept.secret.duplicate() })
    }

    /// Writes secret bytes to a file without another copy.
    private func write(_ content: borrowing SecretBytes, to path: String) throws {
      let file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
      try #require(file >= 0)
      defer { close(file) }
      let written = content.withUnsafeBytes { Glibc.write(file, $0.baseAddress, $0.count) }
      try #require(written == content.count)
    }

    /// The keys that keep a vault closed, and those that it keeps.
    private func add(_ member: Member, _ passphrase: borrowing SecretBytes, to needles: inout Needles) throws {
      let folders = member.folders
      let file = try MasterKeyFile.read(folders.masterKeyPath)
      let device = try AtomicFile.readSecret(folders.deviceKeyPath, count: 32)
      let given: SecretBytes? = try passphrase.duplicate()
      let key = try VaultKeys.keyEncryptionKey(
        device: device, passphrase: given, costLogarithm: file.costLogarithm, salt: file.salt)
      let master = try SecretBox.open(file.sealed.span.bytes, key: key, nonce: file.nonce)
      needles.add("the device key of \(member.name)", device.bytes)
      needles.add("the key that wraps \(member.name)'s master key", key.bytes)
      needles.add("the master key of \(member.name)", master.bytes)
      let macKey = try DomainHash("vault/store-mac/v1", key: master.bytes).secret()
      needles.add("the key of \(member.name)'s stored MACs", macKey.bytes)
      let identity = try member.vault.core.identity.stored()
      needles.add("the signing key of \(member.name)", identity.bytes.extracting(1..<33))
      needles.add("the session key of \(member.name)", identity.bytes.extracting(33..<65))
      needles.add("the box key of \(member.name)", identity.bytes.extracting(65..<97))
    }

    /// The shares of the only secret, the scalar that they share, and the key that encrypts the file.
    private func addSecret(of world: TestWorld, to needles: inout Needles) throws {
      let record = try world[0].vault.directory.resolve(try world[0].vault.overview.secrets()[0].id)
      let header = try world[0].vault.directory.header(of: record)
      var collector = try ShareCollector(scheme: header.scheme, commitments: header.commitments)
      for member in world.members {
        let held = try share(of: member, record)
        held.share.bytes.withUnsafeBytes { needles.add("the share of \(member.name)", $0) }
        // Whoever recovers shows its salt to the holders, as bytes like any other.
        if member !== world[1] { held.salt.withUnsafeBytes { needles.add("the salt of \(member.name)", $0) } }
        try collector.add(KeyShare(index: held.share.index, bytes: held.share.bytes.duplicate()))
      }
      try collector.verify()
      let constants = try collector.constants(from: [1, 2])
      needles.add("the scalar", constants.bytes.extracting(first: 32))
      let key = try collector.fileKey(for: header.id)
      needles.add("the file key", key.bytes)
    }

    private func share(of member: Member, _ record: SecretRecord) throws -> HeldShare {
      guard let stored = try member.vault.core.database.share(ofSecret: record.id) else {
        throw VaultError(.notFound, "\(member.name) has no share")
      }
      return try HeldShare(index: stored.index, record: stored.bytes, of: "it")
    }
  }
}

/// A secret that closures share.
private final class Kept: Sendable {
  let secret: SecretBytes
  init(_ secret: consuming SecretBytes) { self.secret = secret }
}
