import Glibc
import MemoryScan
import Sodium
import Testing
import VaultProtocol

@testable import SecretVault

extension VaultTests {
  /// What items leave in memory, the heap's freed parts and all stacks included, outside of `SecretBytes`.
  @Suite struct ItemMemory {
    @Test func `after items were made, opened, read in part and copied, memory holds no key and no content`()
      async throws
    {
      let world = try TestWorld(2)
      let vault = world[0].vault
      for name in ["one", "two"] { _ = try await vault.items.createKey(named: name, threshold: 2) { _ in } }
      let content = try SecretBytes(random: 300_000)
      let small = try SecretBytes(random: 200)
      try write(content, to: world.scratch.path + "/large")
      try write(small, to: world.scratch.path + "/small")
      let item = try await vault.items.addItem(
        ItemRequest(source: .file(path: world.scratch.path + "/large")), under: "one")
      let sealed = try await vault.items.addItem(
        ItemRequest(source: .file(path: world.scratch.path + "/small"), usesPublicHalf: true), under: "one")
      _ = try await vault.items.sendItem(item.id, to: "ben")
      _ = try await world[1].vault.items.acceptItem(item.id)
      let desk = world[1].desk
      _ = try await world[1].vault.items.openItem(item.id, to: .file(path: desk + "/whole", overwrites: false))
      _ = try await world[1].vault.items.openItem(
        item.id, to: .file(path: desk + "/part", overwrites: false), range: ItemRange(offset: 70_000, length: 80_000))
      _ = try await vault.items.copyItem(item.id, to: "two")
      _ = try await vault.items.itemQRText(sealed.id)
      _ = try await vault.items.itemContent(sealed.id)

      var needles = Needles()
      for (start, name) in [(0, "the first chunk"), (70_100, "the second chunk"), (299_900, "the last chunk")] {
        needles.add(name, content.bytes.extracting(start..<(start + 64)))
      }
      needles.add("the small item", small.bytes.extracting(0..<64))
      for name in ["one", "two"] {
        let record = try vault.items.resolveKey(name)
        let key = try await vault.items.itemKey(record, ItemAccess())
        needles.add("key \(name)", key.bytes)
        for stored in try vault.core.database.items(ofKey: record.id) {
          let header = try vault.items.itemHeader(of: stored)
          let stream = try ItemKeys.streamKey(of: header, key: key)
          needles.add("the stream key of an item under \(name)", stream.bytes)
        }
      }
      let found = try ProcessMemory.own.search(for: needles)
      #expect(found.summary == [], "\(found.findings)")
      #expect(found.scanned > 8 << 20, "\(found.scanned)")
    }

    /// Writes secret bytes to a file without another copy.
    private func write(_ content: borrowing SecretBytes, to path: String) throws {
      let file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
      try #require(file >= 0)
      defer { close(file) }
      let written = content.withUnsafeBytes { Glibc.write(file, $0.baseAddress, $0.count) }
      try #require(written == content.count)
    }
  }
}
