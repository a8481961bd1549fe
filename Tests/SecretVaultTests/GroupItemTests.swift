import SealedPayload
import Sodium
import Testing
import VaultProtocol
import VaultStore

@testable import SecretVault

extension VaultTests {
  /// A key of ada's of which ben holds a share too, and dan none; what a group says is played by the tests.
  @Suite struct GroupItems {
    let world: TestWorld
    private let group = [UInt8](repeating: 1, count: 8)
    private let slot = [UInt8](repeating: 2, count: 16)

    init() async throws {
      world = try TestWorld(4)
      _ = try await world[0].vault.items.createKey(named: "family", threshold: 2, recipients: ["ben", "cleo"]) { _ in }
    }

    /// Message `sequence` of a member, who knows of others' messages what `knows` says.
    private func place(
      _ member: UInt8, _ sequence: UInt64, knows: [UInt8: UInt64] = [:], slot: [UInt8]? = nil
    ) -> GroupPlace {
      GroupPlace(
        group: group, slot: slot ?? self.slot, author: [UInt8](repeating: member, count: 24), sequence: sequence,
        own: [UInt8](repeating: 99, count: 16)
      ) { author, sequence in knows[author[0]] ?? 0 >= sequence }
    }

    private func add(_ text: String) async throws -> GroupItemSource {
      let path = try world.scratch.write(Array(text.utf8), as: text)
      let item = try await world[0].vault.items.addItem(ItemRequest(source: .file(path: path)), under: "family")
      return try world[0].vault.items.itemForGroup(item.id)
    }

    @discardableResult
    private func bring(
      _ item: GroupItemSource, to member: Int, _ place: GroupPlace, pieces: Int = 100
    ) throws -> GroupItemOutcome {
      try world[member].vault.items.keepGroupItem(place, header: item.header) { write in
        var offset: UInt64 = 0
        while offset < item.byteCount {
          let count = Int(min(UInt64(pieces), item.byteCount - offset))
          try write(item.read(at: offset, count: count))
          offset += UInt64(count)
        }
      }
    }

    private func names(_ member: Int) throws -> [String] { try world[member].vault.items.items().map(\.id).sorted() }

    @Test func `what a group brings is here, new, and opens`() async throws {
      let item = try await add("letter")
      #expect(try bring(item, to: 1, place(1, 1)) == .kept)
      let summary = try world[1].vault.items.item(hexadecimal(item.id))
      #expect(summary.state == .new && summary.origin == .group && summary.sender == nil)
      let content = try await world[1].vault.items.itemContent(summary.id)
      let body = content.body.withUnsafeBytes { Array($0) }
      #expect(body == Array("letter".utf8))
      #expect(try world[1].vault.items.groupItems(of: group).map(\.id) == [hexadecimal(item.id)])
      #expect(try world[1].vault.items.groups(ofItem: summary.id).map(\.slot) == [slot])
    }

    @Test func `the same again changes nothing`() async throws {
      let item = try await add("letter")
      try bring(item, to: 1, place(1, 1))
      let before = try world[1].vault.items.groupItems(of: group).map(\.changedAt)
      #expect(try bring(item, to: 1, place(1, 1)) == .kept)
      #expect(try world[1].vault.items.groupItems(of: group).map(\.changedAt) == before)
      #expect(try names(1).count == 1)
    }

    @Test func `a change takes the place of what its maker knew`() async throws {
      let (first, second) = (try await add("first"), try await add("second"))
      try bring(first, to: 1, place(1, 1))
      try bring(second, to: 1, place(3, 1, knows: [1: 1]))
      #expect(try names(1) == [hexadecimal(second.id)])
      #expect(try world[1].vault.items.groupItems(of: group).map(\.id) == [hexadecimal(second.id)])
    }

    @Test func `what is pushed aside unseen stays in the group, beside what counts`() async throws {
      _ = try world[1].vault.core.set("notify-command", to: "tell")
      let (first, second) = (try await add("first"), try await add("second"))
      try bring(first, to: 1, place(1, 2))
      try bring(second, to: 1, place(3, 1, knows: [1: 1]))
      #expect(try names(1) == [hexadecimal(first.id), hexadecimal(second.id)].sorted())
      let aside = try SecretVault.Items.asideSlot(of: slot, item: first.id)
      #expect(try world[1].vault.items.groups(ofItem: hexadecimal(first.id)).map(\.slot) == [aside])
      let entries = try world[1].vault.items.groupItems(of: group)
      #expect(entries.filter(\.isAside).map(\.id) == [hexadecimal(first.id)])
      #expect(entries.map(\.counts).contains(hexadecimal(second.id)) && entries.allSatisfy(\.isShared))
      #expect(world.notifications.told(to: world[1]).last?.event.event == "item-overtaken")
    }

    @Test func `what a group has no more goes, unless who took it out didn't know of it`() async throws {
      let (first, second) = (try await add("first"), try await add("second"))
      let other = [UInt8](repeating: 3, count: 16)
      try bring(first, to: 1, place(1, 1))
      try bring(second, to: 1, place(1, 2, slot: other))
      try world[1].vault.items.dropGroupItem(place(3, 1, knows: [1: 1]))
      try world[1].vault.items.dropGroupItem(place(3, 2, knows: [1: 1], slot: other))
      #expect(try names(1) == [hexadecimal(second.id)])
      let left = try world[1].vault.items.groupItems(of: group)
      #expect(left.map(\.id) == [hexadecimal(second.id)] && left[0].isAside && left[0].counts == nil)
      try world[1].vault.items.dropGroupItem(place(3, 2, knows: [1: 1], slot: other))
      // At the place where it stands now it is taken away like any other.
      try world[1].vault.items.dropGroupItem(
        place(3, 3, knows: [1: 2], slot: SecretVault.Items.asideSlot(of: other, item: second.id)))
      #expect(try names(1).isEmpty)
    }

    @Test func `a version that its maker has put aside already counts as the group's, and is noted once`() async throws
    {
      let (first, second) = (try await add("first"), try await add("second"))
      let aside = try SecretVault.Items.asideSlot(of: slot, item: first.id)
      try bring(first, to: 1, place(1, 2))
      try bring(first, to: 1, place(1, 3, slot: aside))
      try bring(second, to: 1, place(3, 1, knows: [1: 1]))
      let entries = try world[1].vault.items.asideGroupItems(of: group)
      #expect(entries.map(\.sequence) == [3] && entries.map(\.slot) == [aside])
      #expect(try names(1).count == 2)
    }

    @Test func `an item that two places have stays until the last of them gives it up`() async throws {
      let item = try await add("letter")
      let other = [UInt8](repeating: 3, count: 16)
      try bring(item, to: 1, place(1, 1))
      try bring(item, to: 1, place(1, 2, slot: other))
      try world[1].vault.items.dropGroupItem(place(1, 3, knows: [1: 9]))
      #expect(try names(1) == [hexadecimal(item.id)])
      try world[1].vault.items.dropGroupItem(place(1, 4, knows: [1: 9], slot: other))
      #expect(try names(1).isEmpty)
    }

    @Test func `an item under a key that isn't held is noted, and missed once the key is here`() async throws {
      let item = try await add("letter")
      #expect(try bring(item, to: 3, place(1, 1)) == .keyNotHeld)
      #expect(try names(3).isEmpty)
      #expect(try world[3].vault.items.missingGroupItems(of: group).isEmpty)
      let entry = try #require(try world[3].vault.items.groupItems(of: group).first)
      #expect(entry.item == nil && !entry.isKeyHeld)
      // On a device that holds one, an item that is lost is missed, and may come again.
      try bring(item, to: 1, place(1, 1))
      _ = try world[1].vault.items.deleteItem(hexadecimal(item.id))
      #expect(try world[1].vault.items.missingGroupItems(of: group) == [slot])
      #expect(try bring(item, to: 1, place(1, 1)) == .kept)
      #expect(try world[1].vault.items.missingGroupItems(of: group).isEmpty)
    }

    @Test(arguments: [-1, 1]) func `bytes that are too few or too many leave nothing`(_ difference: Int) async throws {
      let item = try await add("letter")
      let failure = await refusal {
        _ = try world[1].vault.items.keepGroupItem(place(1, 1), header: item.header) { write in
          try write([UInt8](repeating: 0, count: Int(item.byteCount) + difference))
        }
      }
      #expect(failure?.code == .damaged)
      #expect(try names(1).isEmpty)
      #expect(try world[1].vault.items.groupItems(of: group).isEmpty)
    }

    @Test func `what was here before the group brought it is nobody else's to remove`() async throws {
      let item = try await add("letter")
      _ = try await world[0].vault.items.sendItem(hexadecimal(item.id), to: "ben")
      _ = try await world[1].vault.items.acceptItem(hexadecimal(item.id))
      try bring(item, to: 1, place(3, 1))
      try world[1].vault.items.dropGroupItem(place(3, 2, knows: [3: 1]))
      #expect(try names(1) == [hexadecimal(item.id)])
      #expect(try world[1].vault.items.groupItems(of: group).isEmpty)
    }

    @Test func `what somebody else puts into a group that was here before is not in step until the user says so`()
      async throws
    {
      let item = try await add("letter")
      try bring(item, to: 0, place(1, 1))
      let entries = try world[0].vault.items.groupItems(of: group)
      #expect(entries.map(\.id) == [hexadecimal(item.id)] && entries.map(\.isShared) == [false])
      // The same again, and from another place, says nothing new; the user's own word does.
      try bring(item, to: 0, place(3, 1, knows: [1: 1]))
      #expect(try world[0].vault.items.groupItems(of: group).map(\.isShared) == [false])
      try bring(item, to: 0, place(99, 1, knows: [1: 1, 3: 1]))
      #expect(try world[0].vault.items.groupItems(of: group).map(\.isShared) == [true])
      try bring(item, to: 0, place(3, 2, knows: [99: 1]))
      #expect(try world[0].vault.items.groupItems(of: group).map(\.isShared) == [true], "nobody takes his word back")
    }

    @Test func `another group that has what a group has brought neither has its changes nor takes it`() async throws {
      let (item, newer) = (try await add("letter"), try await add("newer"))
      let other = GroupPlace(
        group: [UInt8](repeating: 7, count: 8), slot: slot, author: [UInt8](repeating: 3, count: 24), sequence: 1,
        own: [UInt8](repeating: 99, count: 16)
      ) { _, _ in true }
      try bring(item, to: 1, place(1, 1))
      try bring(item, to: 1, other)
      #expect(try world[1].vault.items.groupItems(of: other.group).map(\.isShared) == [false])
      try bring(newer, to: 1, place(1, 2, knows: [1: 1]))
      try world[1].vault.items.dropGroupItem(other)
      #expect(try names(1) == [hexadecimal(item.id), hexadecimal(newer.id)].sorted())
    }

    @Test func `other bytes than those that are here are said to be others, whoever made the item`() async throws {
      let item = try await add("letter")
      let outcome = try world[0].vault.items.keepGroupItem(place(3, 1), header: item.header) { write in
        try write([UInt8](repeating: 0, count: Int(item.byteCount)))
      }
      #expect(outcome == .another)
      #expect(try world[0].vault.items.groupItems(of: group).map(\.isShared) == [false])
      #expect(try bring(item, to: 0, place(1, 1, slot: [UInt8](repeating: 5, count: 16))) == .kept)
      _ = try await world[0].vault.items.itemContent(hexadecimal(item.id))
    }

    @Test func `what an earlier version noted is settled by who made it and where it came from`() async throws {
      let (brought, own) = (try await add("brought"), try await add("own"))
      try bring(brought, to: 1, place(1, 1))
      try bring(own, to: 0, place(3, 1))
      for member in 0...1 {
        for entry in try world[member].vault.core.database.groupEntries(of: group) {
          try world[member].vault.core.database.putGroupEntry(entry.again(placing: .notRecorded), replaced: .stays)
        }
        try world[member].vault.items.settleGroupItems(of: group, own: [UInt8](repeating: 99, count: 16))
      }
      #expect(try world[1].vault.core.database.groupEntries(of: group).map(\.placing) == [.shared])
      #expect(try world[0].vault.core.database.groupEntries(of: group).map(\.placing) == [.foreign])
    }

    @Test func `another header under the id of an item that was made here is refused`() async throws {
      let (item, other) = (try await add("letter"), try await add("other"))
      try bring(item, to: 0, place(1, 1))
      var forged = other.header
      forged.replaceSubrange(27..<59, with: item.id)
      // Of the other padding: all else is the same.
      forged[10] = 2
      let failure = await refusal {
        _ = try world[0].vault.items.keepGroupItem(place(3, 1), header: forged) { _ in }
      }
      #expect(failure?.code == .damaged)
      #expect(try world[0].vault.items.groupItems(of: group).map(\.id) == [hexadecimal(item.id)])
    }

    @Test func `an item that waits to be accepted can't be put into a group`() async throws {
      let item = try await add("letter")
      _ = try await world[0].vault.items.sendItem(hexadecimal(item.id), to: "ben")
      #expect(await refusal { _ = try world[1].vault.items.itemForGroup(hexadecimal(item.id)) }?.code == .refused)
    }

    @Test func `a copy that doesn't open makes room for another place's`() async throws {
      let item = try await add("letter")
      let other = [UInt8](repeating: 3, count: 16)
      func bring(at slot: [UInt8], _ sequence: UInt64) throws {
        guard slot == other else { return _ = try self.bring(item, to: 1, place(1, sequence)) }
        _ = try world[1].vault.items.keepGroupItem(place(2, sequence, slot: other), header: item.header) { write in
          try write([UInt8](repeating: 0, count: Int(item.byteCount)))
        }
      }
      try bring(at: other, 1)
      try bring(at: slot, 1)
      let id = hexadecimal(item.id)
      var turns = 0
      while turns < 4, await refusal({ _ = try await world[1].vault.items.itemContent(id) })?.code == .damaged {
        turns += 1
        let missing = try world[1].vault.items.missingGroupItems(of: group)
        #expect(missing.count == 1)
        for slot in missing { try bring(at: slot, 1) }
      }
      #expect((1...2).contains(turns))
      let content = try await world[1].vault.items.itemContent(id)
      #expect(content.body.withUnsafeBytes { Array($0) } == Array("letter".utf8))
    }

    @Test func `what a group brings accepts nothing that a peer has sent, which stays the peer's once it is`()
      async throws
    {
      let item = try await add("letter")
      let id = hexadecimal(item.id)
      _ = try await world[0].vault.items.sendItem(id, to: "ben")
      #expect(try bring(item, to: 1, place(1, 1)) == .kept)
      #expect(try Set(world[1].vault.items.items().map(\.state)) == [.new, .waiting])
      _ = try await world[1].vault.items.acceptItem(id)
      let summary = try world[1].vault.items.item(id)
      #expect(summary.state == .new && summary.origin == .sent)
      #expect(try world[1].vault.items.items().count == 1)
      _ = try await world[1].vault.items.itemContent(id)
      try world[1].vault.items.dropGroupItem(place(1, 2, knows: [1: 1]))
      #expect(try names(1) == [id], "nobody in the group can take it away")
    }

    @Test func `what a group brings doesn't keep away what a peer sends, and makes room for it once it is accepted`()
      async throws
    {
      let item = try await add("letter")
      let id = hexadecimal(item.id)
      let kept = try world[1].vault.items.keepGroupItem(place(2, 1), header: item.header) { write in
        try write([UInt8](repeating: 0, count: Int(item.byteCount)))
      }
      #expect(kept == .kept)
      _ = try await world[0].vault.items.sendItem(id, to: "ben")
      #expect(try await world[1].vault.items.acceptItem(id).item.origin == .sent)
      #expect(try world[1].vault.items.items().count == 1)
      let content = try await world[1].vault.items.itemContent(id)
      #expect(content.body.withUnsafeBytes { Array($0) } == Array("letter".utf8))
      try world[1].vault.items.dropGroupItem(place(1, 2, knows: [2: 1]))
      #expect(try names(1) == [id], "nobody in the group can take it away")
    }

    @Test func `what a group brings under another header doesn't keep away what a peer sends either`() async throws {
      let item = try await add("letter")
      let id = hexadecimal(item.id)
      var forged = item.header
      // Its padding: behind the magic number, the version and the mode.
      forged[ItemHeader.magic.count + 2] ^= 3
      let kept = try world[1].vault.items.keepGroupItem(place(2, 1), header: forged) { write in
        try write([UInt8](repeating: 0, count: Int(item.byteCount)))
      }
      #expect(kept == .kept)
      _ = try await world[0].vault.items.sendItem(id, to: "ben")
      #expect(try await world[1].vault.items.acceptItem(id).item.origin == .sent)
      #expect(try world[1].vault.items.items().count == 1)
      _ = try await world[1].vault.items.itemContent(id)
    }

    @Test func `an id that somebody has used for another header comes to be the true item's`() async throws {
      let item = try await add("letter")
      var header = item.header
      // Its padding: behind the magic number, the version and the mode.
      header[ItemHeader.magic.count + 2] ^= 3
      let other = [UInt8](repeating: 3, count: 16)
      let forged = header
      func bringForged() throws -> GroupItemOutcome {
        try world[1].vault.items.keepGroupItem(place(2, 1, slot: other), header: forged) { write in
          try write([UInt8](repeating: 0, count: Int(item.byteCount)))
        }
      }
      try #require(try bringForged() == .kept)
      #expect(try bring(item, to: 1, place(1, 1)) == .another)
      let id = hexadecimal(item.id)
      for _ in 0..<4 where await refusal({ _ = try await world[1].vault.items.itemContent(id) }) != nil {
        for missing in try world[1].vault.items.missingGroupItems(of: group) {
          _ = missing == slot ? try bring(item, to: 1, place(1, 1)) : try bringForged()
        }
      }
      _ = try await world[1].vault.items.itemContent(id)
    }

    @Test func `a change for which there is no room leaves what was there`() async throws {
      let (old, new) = (try await add("old"), try await add("new"))
      _ = try world[1].vault.core.set("quota-shares", to: "1")
      #expect(try bring(old, to: 1, place(1, 1)) == .kept)
      // In the place of what goes there is room.
      #expect(try bring(new, to: 1, place(1, 2, knows: [1: 1])) == .kept)
      #expect(try names(1) == [hexadecimal(new.id)])
      _ = try world[1].vault.core.set("quota-shares", to: "0")
      let third = try await add("third")
      #expect(try bring(third, to: 1, place(1, 3, knows: [1: 2])) == .noRoom)
      #expect(try names(1) == [hexadecimal(new.id)])
      // What no group has any more counts as well.
      _ = try world[1].vault.core.set("quota-shares", to: "1")
      #expect(try world[1].vault.items.missingGroupItems(of: group).isEmpty)
    }

    @Test func `a group brings no more than a peer may`() async throws {
      let items = [try await add("first"), try await add("second")]
      let other = [UInt8](repeating: 3, count: 16)
      _ = try world[1].vault.core.set("quota-shares", to: "1")
      #expect(try bring(items[0], to: 1, place(1, 1)) == .kept)
      #expect(try bring(items[1], to: 1, place(1, 2, slot: other)) == .noRoom)
      #expect(try names(1) == [hexadecimal(items[0].id)])
      #expect(try world[1].vault.items.missingGroupItems(of: group).isEmpty)
      _ = try world[1].vault.core.set("quota-shares", to: "2")
      #expect(try world[1].vault.items.missingGroupItems(of: group) == [other])
      #expect(try bring(items[1], to: 1, place(1, 2, slot: other)) == .kept)
      _ = try world[1].vault.core.set("quota-bytes", to: "1")
      let third = try await add("third")
      #expect(try bring(third, to: 1, place(1, 3, slot: [UInt8](repeating: 4, count: 16))) == .noRoom)
    }

    @Test func `what was typed is kept although nobody can be reached any more`() async throws {
      let path = try world.scratch.write(Array("old".utf8), as: "note.txt")
      let item = try await world[0].vault.items.addItem(ItemRequest(source: .file(path: path)), under: "family")
      let world = world
      let change = try await world[0].vault.items.changeItem(
        item.id,
        .contents { content in
          for member in [1, 2] { world.set(.refuses, for: world[member]) }
          do {
            let header = try content.header.duplicate()
            return SecretContent(header: header, body: try content.body.duplicate())
          } catch { throw VaultError(.other, "\(error)") }
        })
      #expect(change.old.id == item.id && change.new.id != item.id)
      #expect(try world[0].vault.items.items().count == 2)
    }

    @Test func `who takes an item out, or leaves, keeps it`() async throws {
      let item = try await add("letter")
      try bring(item, to: 1, place(1, 1))
      // Its own deletion, as often as it is said.
      for _ in 1...2 { try world[1].vault.items.dropGroupItem(place(99, 2, knows: [1: 1])) }
      #expect(try names(1) == [hexadecimal(item.id)])
      try bring(item, to: 1, place(1, 3))
      try world[1].vault.items.forgetGroup(group)
      #expect(try names(1) == [hexadecimal(item.id)])
      #expect(try world[1].vault.items.groupItems(of: group).isEmpty)
    }

    // MARK: - One id, two items

    /// An item of dan's under the id of somebody else's and a key of his own, of which ben holds a share too, or another key.
    private func steal(
      _ id: [UInt8], _ text: String = "stolen", under name: String = "dan's", by member: Int = 3
    ) async throws -> GroupItemSource {
      if try name == "dan's" && world[3].vault.items.encryptionKeys().isEmpty {
        _ = try await world[3].vault.items.createKey(named: "dan's", threshold: 2, recipients: ["ben", "cleo"]) { _ in }
      }
      let dan = world[member].vault
      let path = try world.scratch.write(Array(text.utf8), as: text)
      let plaintext = try ItemPlaintext(
        ItemRequest(source: .file(path: path)), stagingFolder: dan.core.folders.stagingPath)
      let key = try dan.items.resolveKey(name)
      let secret = try await dan.items.itemKey(key, ItemAccess())
      let count = try PayloadSealer.ciphertextByteCount(
        header: plaintext.header, bodyByteCount: plaintext.body.byteCount, hasPassword: false, padding: .standard)
      let header = try ItemHeader(
        mode: .shared, padding: .standard, keyID: key.id, id: id, ciphertextByteCount: count)
      var sealer = try PayloadSealer(
        key: ItemKeys.streamKey(of: header, key: secret), header: plaintext.header,
        bodyByteCount: plaintext.body.byteCount, password: nil, padding: .standard)
      var sealed = [UInt8](repeating: 0, count: Int(count))
      let written = try sealed.withUnsafeMutableBytes { buffer in
        try sealer.next(into: buffer) { target in try plaintext.body.read(into: target) }
      }
      #expect(written == sealed.count)
      let file = try dan.core.database.itemFiles.begin()
      try file.write(header.encoded() + sealed, at: 0)
      try dan.items.keep(dan.items.itemRecord(header, state: .seen, origin: .made, label: plaintext.label), file)
      return try dan.items.itemForGroup(hexadecimal(id))
    }

    private func text(_ id: [UInt8], by member: Int = 1) async throws -> String {
      let content = try await world[member].vault.items.itemContent(hexadecimal(id))
      return content.body.withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
    }

    private func waiting() throws -> [String?] {
      try world[1].vault.items.items().filter { $0.state == .waiting }.map(\.sender)
    }

    @Test(arguments: [[0, 3], [3, 0]])
    func `what two peers send under one id and two keys are two items, of which the user chooses one`(
      _ order: [Int]
    ) async throws {
      let item = try await add("letter")
      let id = hexadecimal(item.id)
      _ = try await steal(item.id)
      for member in order { _ = try await world[member].vault.items.sendItem(id, to: "ben") }
      let unclear = await refusal { _ = try await world[1].vault.items.acceptItem(id) }
      #expect(unclear?.code == .ambiguous && unclear?.hint?.contains("--from ada") == true)
      #expect(unclear?.reason.contains("dan under the key dan's") == true)
      #expect(try await world[1].vault.items.acceptItem(id, from: "ada").item.sender == "ada")
      #expect(try await text(item.id) == "letter")
      #expect(try waiting() == ["dan"])
      #expect(try world[1].vault.items.deleteItem(id, from: "dan").sender == "dan")
      #expect(try await text(item.id) == "letter")
      #expect(try await world[0].vault.items.sendItem(id, to: "ben").isKnown)
    }

    @Test func `an item that was accepted keeps none away that is under another key`() async throws {
      let item = try await add("letter")
      let id = hexadecimal(item.id)
      _ = try await steal(item.id)
      _ = try await world[3].vault.items.sendItem(id, to: "ben")
      _ = try await world[1].vault.items.acceptItem(id)
      #expect(try await !world[0].vault.items.sendItem(id, to: "ben").isKnown)
      #expect(await refusal { _ = try await world[1].vault.items.acceptItem(id) }?.code == .refused)
      #expect(try await text(item.id) == "stolen")
      #expect(try waiting() == ["ada"])
      // Its name is that of what is here; by its id it could be both.
      #expect(await refusal { _ = try world[1].vault.items.deleteItem(id) }?.code == .ambiguous)
      #expect(try world[1].vault.items.deleteItem("stolen").sender == "dan")
      _ = try await world[1].vault.items.acceptItem(id)
      #expect(try await text(item.id) == "letter")
    }

    @Test(arguments: [false, true])
    func `nothing under another key takes the place of what a group has brought`(_ isOpened: Bool) async throws {
      let item = try await add("letter")
      let id = hexadecimal(item.id)
      let stolen = try await steal(item.id)
      try bring(item, to: 1, place(1, 1))
      if isOpened { #expect(try await text(item.id) == "letter") }
      _ = try await world[3].vault.items.sendItem(id, to: "ben")
      #expect(await refusal { _ = try await world[1].vault.items.acceptItem(id) }?.code == .refused)
      let file = world.scratch.path + "/stolen-item"
      let place = RecoveryDestination.file(path: file, overwrites: false)
      _ = try world[3].vault.items.exportItem(hexadecimal(stolen.id), armored: false, to: place)
      #expect(await refusal { _ = try await world[1].vault.items.importItem(.file(path: file)) }?.code == .refused)
      #expect(try await text(item.id) == "letter")
      #expect(try world[1].vault.items.groupItems(of: group).map(\.isShared) == [true])
      #expect(try waiting() == ["dan"])
      // And its refusal touches nothing else.
      #expect(try world[1].vault.items.deleteItem(id, from: "dan").state == .waiting)
      #expect(try world[1].vault.items.items().map(\.origin) == [.group])
      #expect(try world[1].vault.items.groupItems(of: group).map(\.isShared) == [true])
      _ = try await world[0].vault.items.sendItem(id, to: "ben")
      _ = try await world[1].vault.items.acceptItem(id)
      #expect(try await text(item.id) == "letter")
    }

    @Test func `a group's item comes once what has its id under another key is gone`() async throws {
      let item = try await add("letter")
      let stolen = try await steal(item.id)
      let other = [UInt8](repeating: 3, count: 16)
      #expect(try bring(stolen, to: 1, place(3, 1, slot: other)) == .kept)
      #expect(try bring(item, to: 1, place(1, 1)) == .another)
      let entries = try world[1].vault.items.groupItems(of: group)
      #expect(entries.filter { $0.slot == hexadecimal(slot) }.map(\.isShared) == [false])
      #expect(entries.filter { $0.item != nil }.map(\.slot) == [hexadecimal(other)])
      #expect(try world[1].vault.items.groups(ofItem: hexadecimal(item.id)).map(\.slot) == [other])
      #expect(try await text(item.id) == "stolen")
      // Who has put it there takes it away, or this device's user does.
      try world[1].vault.items.dropGroupItem(place(3, 2, knows: [3: 1], slot: other))
      #expect(try names(1).isEmpty)
      #expect(try world[1].vault.items.missingGroupItems(of: group) == [slot])
      #expect(try bring(item, to: 1, place(1, 1)) == .kept)
      #expect(try await text(item.id) == "letter")
      // What somebody puts there and takes away again leaves it alone.
      #expect(try bring(stolen, to: 1, place(3, 3, slot: other)) == .another)
      try world[1].vault.items.dropGroupItem(place(3, 4, knows: [3: 3], slot: other))
      #expect(try await text(item.id) == "letter")
    }

    // MARK: - What becomes the user's own

    @Test func `accepting what a group has brought, and was opened, leaves all groups in step`() async throws {
      let item = try await add("letter")
      let id = hexadecimal(item.id)
      try bring(item, to: 1, place(1, 1))
      #expect(try await text(item.id) == "letter")
      _ = try await world[0].vault.items.sendItem(id, to: "ben")
      let arrival = try await world[1].vault.items.acceptItem(id)
      #expect(arrival.isKnown && arrival.item.origin == .group)
      #expect(try waiting().isEmpty)
      #expect(try world[1].vault.core.database.groupEntries(of: group).map(\.placing) == [.shared])
    }

    @Test func `what the user accepts counts where the group's is another one under the same key`() async throws {
      let item = try await add("letter")
      let id = hexadecimal(item.id)
      let twin = try await steal(
        item.id, "twin", under: #require(world[0].vault.items.encryptionKeys().first).secret.id, by: 2)
      #expect(try bring(twin, to: 1, place(3, 1)) == .kept)
      #expect(try await text(item.id) == "twin")
      _ = try await world[0].vault.items.sendItem(id, to: "ben")
      #expect(try await !world[1].vault.items.acceptItem(id).isKnown)
      #expect(try waiting().isEmpty)
      #expect(try await text(item.id) == "letter")
    }

    @Test(arguments: [false, true])
    func `where the user has put an item himself it stays in step when it becomes his own`(
      _ isImported: Bool
    ) async throws {
      let item = try await add("letter")
      let id = hexadecimal(item.id)
      let mine = [UInt8](repeating: 6, count: 16)
      try bring(item, to: 1, place(1, 1))
      try bring(item, to: 1, place(99, 1, slot: mine))
      if isImported {
        #expect(try await text(item.id) == "letter")
        let file = world.scratch.path + "/own"
        _ = try world[0].vault.items.exportItem(id, armored: false, to: .file(path: file, overwrites: false))
        let arrival = try await world[1].vault.items.importItem(.file(path: file))
        #expect(arrival.isKnown && arrival.item.origin == .imported && arrival.item.state == .seen)
      } else {
        _ = try await world[0].vault.items.sendItem(id, to: "ben")
        #expect(try await world[1].vault.items.acceptItem(id).item.origin == .sent)
      }
      try world[1].vault.items.settleGroupItems(of: group, own: [UInt8](repeating: 99, count: 16))
      let inStep = try world[1].vault.items.groupItems(of: group).filter(\.isShared).map(\.slot)
      #expect(inStep == [hexadecimal(mine)])
      try world[1].vault.items.dropGroupItem(place(1, 2, knows: [1: 1]))
      #expect(try names(1) == [id], "nobody in the group can take it away")
      #expect(try await text(item.id) == "letter")
    }

    @Test func `what one group leaves behind takes no room from another`() async throws {
      let (old, new, third) = (try await add("old"), try await add("new"), try await add("third"))
      let other = GroupPlace(
        group: [UInt8](repeating: 7, count: 8), slot: slot, author: [UInt8](repeating: 3, count: 24), sequence: 1,
        own: [UInt8](repeating: 99, count: 16)
      ) { _, _ in true }
      #expect(try bring(old, to: 1, place(1, 1)) == .kept)
      _ = try world[1].vault.core.set("quota-shares", to: "0")
      #expect(try bring(new, to: 1, place(1, 2, knows: [1: 1])) == .noRoom)
      _ = try world[1].vault.core.set("quota-shares", to: "1")
      #expect(try names(1) == [hexadecimal(old.id)])
      #expect(try world[1].vault.items.groupItems(of: group).map(\.id) == [hexadecimal(new.id)])
      #expect(try world[1].vault.items.groups(ofItem: hexadecimal(old.id)).isEmpty)
      #expect(try bring(third, to: 1, other) == .kept)
      // It counts against its own group until it is deleted.
      #expect(try world[1].vault.items.missingGroupItems(of: group).isEmpty)
      _ = try world[1].vault.items.deleteItem(hexadecimal(old.id))
      #expect(try world[1].vault.items.missingGroupItems(of: group) == [slot])
    }
  }
}
