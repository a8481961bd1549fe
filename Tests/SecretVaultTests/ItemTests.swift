import PeerAuth
import SealedPayload
import Sodium
import Testing
import VaultProtocol
import VaultStore
import WireCodec

@testable import SecretVault

extension VaultTests {
  /// A key of ada's, of which ben and cleo hold shares too, and any two recover; dan holds none.
  @Suite struct Items {
    let world: TestWorld

    init() async throws {
      world = try TestWorld(4)
      _ = try await world[0].vault.items.createKey(named: "family", threshold: 2, recipients: ["ben", "cleo"]) { _ in }
    }

    private func add(
      _ bytes: [UInt8], name: String = "letter.txt", password: String? = nil, by member: Int = 0, isPublic: Bool = false
    ) async throws -> ItemSummary {
      let path = try world.scratch.write(bytes, as: name)
      let lock = try password.map { try SharePassword(word($0), logarithm: 15) }
      return try await world[member].vault.items.addItem(
        ItemRequest(source: .file(path: path), password: lock, usesPublicHalf: isPublic), under: "family")
    }

    private func word(_ text: String) throws -> SecretBytes { try SecretBytes(copying: Array(text.utf8).span.bytes) }

    private func open(
      _ reference: String, by member: Int, passwords: [String] = []
    ) async throws -> [UInt8] {
      let path = world[member].desk + "/opened"
      let access = ItemAccess(passwords: { (attempt) async throws in
        guard attempt.number <= passwords.count else { return nil }
        do throws(SodiumError) {
          return try SecretBytes(copying: Array(passwords[attempt.number - 1].utf8).span.bytes)
        } catch {
          throw VaultError(.other, "no memory")
        }
      })
      _ = try await world[member].vault.items.openItem(
        reference, to: .file(path: path, overwrites: true), access: access)
      return try #require(contents(path))
    }

    @Test func `a transfer that was cut goes on at the piece where it stopped`() async throws {
      let bytes = randomBytes(500_000)
      let item = try await add(bytes)
      world.set(.diesAfterSending(300_000), for: world[1])
      let failure = await refusal { try await world[0].vault.items.sendItem(item.id, to: "ben") }
      #expect(failure?.code == .unreachable)
      #expect(try world[1].vault.items.items().isEmpty)
      world.set(.none, for: world[1])
      let sent = Counter()
      // The daemon's session may need a moment to notice that the line is dead.
      let access = ItemAccess(progress: { _, _ in sent.increment() })
      try await onceFree {
        let again = await refusal { try await world[0].vault.items.sendItem(item.id, to: "ben", access: access) }
        try #require(again == nil || again?.reason.contains("busy") == true, "\(String(describing: again))")
        return again == nil ? () : nil
      }
      #expect(sent.value >= 1 && sent.value < 8, "\(sent.value)")
      _ = try await world[1].vault.items.acceptItem(item.id)
      #expect(try await open(item.id, by: 1) == bytes)
    }

    @Test func `pieces that are missing, wrong, or of a wrong digest are refused, and nothing is kept of wrong ones`()
      async throws
    {
      let item = try await add(randomBytes(100_000))
      let record = try world[0].vault.items.resolveItem(item.id)
      let file = try world[0].vault.core.database.openItem(record)
      let body = try file.read(at: Int64(record.header.count), count: Int(record.byteCount))
      var hash = try ItemDigest(byteCount: UInt64(body.count))
      for number in 0..<ItemDigest.pieceCount(UInt64(body.count)) {
        try hash.take(
          number: number, bytes: body[Int(number) * 65_536..<min(body.count, Int(number + 1) * 65_536)].span.bytes)
      }
      let digest = try hash.digest()
      func offer(_ digest: Digest, _ pieces: [[UInt8]]) async throws -> RefusalReason? {
        var first: UInt64?
        var open: HostileRequester?
        while first == nil {
          let peer = try await HostileRequester(world[0], dials: world[1], in: world)
          try await peer.session.send(ItemOffer(request: 5, digest: digest, header: record.header))
          switch try await peer.session.expect(ItemAnswer.self).verdict {
          case .wants(let number): (first, open) = (number, peer)
          // The session before has not ended there yet.
          case .refused(.busy): await peer.session.close()
          case let other: throw VaultError(.other, "\(other)")
          }
        }
        let peer = try #require(open)
        let start = try #require(first)
        for (number, piece) in pieces.enumerated() where number >= start {
          try await peer.session.send(ItemPiece(request: 5, number: UInt64(number), bytes: piece))
        }
        try await peer.session.send(ItemEnd(request: 5))
        let result = try await peer.session.expect(ItemResult.self).refusal
        await peer.session.close()
        return result
      }
      let (one, two) = (Array(body[..<65_536]), Array(body[65_536...]))
      var wrong = two
      wrong[7] ^= 1
      #expect(try await offer(digest, [one, wrong]) == .invalidFragment)
      #expect(try world[1].vault.core.database.item(record.id) == nil)
      #expect(try await offer(digest, [Array(one.dropLast()), two]) == .invalidFragment)
      #expect(try await offer(digest, [one]) == .invalidFragment)
      // The first piece is there now; the second one makes it whole.
      #expect(try await offer(digest, [one, two]) == nil)
      #expect(try world[1].vault.items.items().map(\.state) == [.waiting])
      _ = try await world[1].vault.items.acceptItem(item.id)
      #expect(try world[1].vault.items.items().map(\.state) == [.new])
    }

    @Test func `an item for a key that isn't held is refused, and so is what is no item`() async throws {
      let item = try await add([1, 2, 3])
      let record = try world[0].vault.items.resolveItem(item.id)
      let digest = try Digest([UInt8](repeating: 1, count: 32))
      let dan = try await HostileRequester(world[0], dials: world[3], in: world)
      try await dan.session.send(ItemOffer(request: 1, digest: digest, header: record.header))
      #expect(try await dan.session.expect(ItemAnswer.self).verdict == .refused(.keyNotHeld))
      try await dan.session.send(ItemOffer(request: 2, digest: digest, header: record.header + [0]))
      #expect(try await dan.session.expect(ItemAnswer.self).verdict == .refused(.invalidHeader))
      #expect(try world[3].vault.items.items().isEmpty)
    }

    @Test func `what is made up by somebody who hasn't the key is found out when it is accepted`() async throws {
      let item = try await add(randomBytes(1000))
      let record = try world[0].vault.items.resolveItem(item.id)
      let header = try ItemHeader.decode(record.header, limit: ItemHeader.byteLimit)
      let forged = try ItemHeader(
        mode: .shared, padding: .standard, keyID: header.keyID, id: randomBytes(32), ciphertextByteCount: 2000)
      let body = randomBytes(2000)
      var hash = try ItemDigest(byteCount: 2000)
      try hash.take(number: 0, bytes: body.span.bytes)
      let peer = try await HostileRequester(world[3], dials: world[1], in: world)
      try await peer.session.send(ItemOffer(request: 1, digest: hash.digest(), header: forged.encoded()))
      _ = try await peer.session.expect(ItemAnswer.self)
      try await peer.session.send(ItemPiece(request: 1, number: 0, bytes: body))
      try await peer.session.send(ItemEnd(request: 1))
      #expect(try await peer.session.expect(ItemResult.self).refusal == nil)
      let failure = await refusal { try await world[1].vault.items.acceptItem(hexadecimal(forged.id)) }
      #expect(failure?.code == .damaged)
      #expect(try world[1].vault.items.items().isEmpty)
    }

    /// Sends ben, as a peer without the key, an item under a true header with other bytes.
    private func poison(_ record: ItemRecord, by member: Int, isWhole: Bool = true) async throws {
      let body = randomBytes(Int(record.byteCount))
      var hash = try ItemDigest(byteCount: UInt64(body.count))
      try hash.take(number: 0, bytes: body.span.bytes)
      let peer = try await HostileRequester(world[member], dials: world[1], in: world)
      try await peer.session.send(ItemOffer(request: 1, digest: hash.digest(), header: record.header))
      _ = try await peer.session.expect(ItemAnswer.self)
      if isWhole {
        try await peer.session.send(ItemPiece(request: 1, number: 0, bytes: body))
        try await peer.session.send(ItemEnd(request: 1))
        #expect(try await peer.session.expect(ItemResult.self).refusal == nil)
      }
      await peer.session.close()
    }

    private func bytes32(_ id: String) throws -> [UInt8] { try #require(bytes(hexadecimal: id)) }

    private func sendPatiently(_ id: String) async throws -> ItemDelivery {
      // The session before has not ended there yet.
      try await onceFree {
        do { return try await world[0].vault.items.sendItem(id, to: "ben") } catch {
          guard VaultError(error).reason.contains("busy") else { throw error }
          return nil
        }
      }
    }

    @Test func `whoever knows a header can't keep the true item away by other bytes`() async throws {
      let bytes = randomBytes(3000)
      let item = try await add(bytes)
      try await poison(world[0].vault.items.resolveItem(item.id), by: 3)
      world.clock.advance(milliseconds: 1000)
      #expect(try await !sendPatiently(item.id).isKnown)
      let line = try world[1].vault.overview.log(limit: 9).first { $0.event == "item-received" && $0.peer == "ada" }
      #expect(line?.detail == "it waits for 'vault item accept'")
      // The same once more is known.
      #expect(try await sendPatiently(item.id).isKnown)
      #expect(try world[1].vault.items.items().map(\.id) == [item.id, item.id])
      let arrival = try await world[1].vault.items.acceptItem(item.id)
      #expect(
        arrival.item.id == item.id && arrival.item.sender == "ada" && arrival.falseSenders.isEmpty)
      #expect(try await open(item.id, by: 1) == bytes)
      #expect(try world[1].vault.items.items().map(\.state) == [.seen])
      #expect(try await sendPatiently(item.id).isKnown)
      #expect(try world[1].vault.core.database.items().map(\.id) == [bytes32(item.id)])
    }

    @Test func `what came last and doesn't open is named with its sender`() async throws {
      let item = try await add(randomBytes(3000))
      _ = try await sendPatiently(item.id)
      world.clock.advance(milliseconds: 1000)
      try await poison(world[0].vault.items.resolveItem(item.id), by: 3)
      let arrival = try await world[1].vault.items.acceptItem(item.id)
      #expect(arrival.falseSenders == ["dan"] && arrival.item.sender == "ada" && arrival.item.state == .new)
      #expect(try world[1].vault.items.items().count == 1)
    }

    @Test func `all that was made up under one id is found out at once`() async throws {
      let item = try await add(randomBytes(3000))
      for member in [0, 3] { try await poison(world[0].vault.items.resolveItem(item.id), by: member) }
      #expect(await refusal { try await world[1].vault.items.acceptItem(item.id) }?.code == .damaged)
      #expect(try world[1].vault.items.items().isEmpty)
    }

    @Test func `false bytes that a group brings as well settle nothing`() async throws {
      let bytes = randomBytes(3000)
      let item = try await add(bytes)
      let record = try world[0].vault.items.resolveItem(item.id)
      try await poison(record, by: 3)
      let place = GroupPlace(
        group: [UInt8](repeating: 1, count: 8), slot: [UInt8](repeating: 2, count: 16),
        author: [UInt8](repeating: 3, count: 24), sequence: 1, own: [UInt8](repeating: 99, count: 16)
      ) { _, _ in true }
      let false1 = try #require(try world[1].vault.core.database.items().first)
      let file = try world[1].vault.core.database.openItem(false1)
      let body = try file.read(at: Int64(record.header.count), count: Int(record.byteCount))
      _ = try world[1].vault.items.keepGroupItem(place, header: record.header) { write in try write(body) }
      #expect(try await !sendPatiently(item.id).isKnown)
      _ = try await world[1].vault.items.acceptItem(item.id)
      #expect(try await open(item.id, by: 1) == bytes)
    }

    @Test func `an item's whole id is that item, whatever somebody else calls another`() async throws {
      let item = try await add([1, 2, 3])
      _ = try await sendPatiently(item.id)
      let header = try ItemHeader.decode(world[0].vault.items.resolveItem(item.id).header, limit: ItemHeader.byteLimit)
      let named = try ItemHeader(
        mode: .shared, padding: .standard, keyID: header.keyID, id: randomBytes(32),
        ciphertextByteCount: header.ciphertextByteCount, description: item.id)
      try await poison(
        ItemRecord(
          id: named.id, keyID: header.keyID, header: named.encoded(), byteCount: Int64(named.ciphertextByteCount),
          state: .waiting, origin: .sent, sender: nil, label: nil, receivedAt: 0), by: 3)
      #expect(try await world[1].vault.items.acceptItem(item.id).item.id == item.id)
    }

    @Test func `of several copies that wait the one is deleted that the user names the sender of`() async throws {
      let item = try await add(randomBytes(3000))
      try await poison(world[0].vault.items.resolveItem(item.id), by: 3)
      _ = try await sendPatiently(item.id)
      let unclear = await refusal { try world[1].vault.items.deleteItem(String(item.id.prefix(12))) }
      #expect(unclear?.code == .ambiguous && unclear?.hint?.contains("--from dan") == true)
      #expect(try world[1].vault.items.items().count == 2)
      #expect(await refusal { try world[1].vault.items.deleteItem(item.id, from: "cleo") }?.code == .notFound)
      #expect(try world[1].vault.items.deleteItem(item.id, from: "dan").sender == "dan")
      #expect(try world[1].vault.items.items().map(\.sender) == ["ada"])
      #expect(try world[1].vault.items.deleteItem(item.id).sender == "ada")
      #expect(try world[1].vault.items.items().isEmpty)
    }

    @Test func `an item that arrives from one peer stays when another begins to send the same`() async throws {
      let item = try await add(randomBytes(3000))
      let record = try world[0].vault.items.resolveItem(item.id)
      let digest = try Digest([UInt8](repeating: 1, count: 32))
      let peer = try await HostileRequester(world[0], dials: world[1], in: world)
      try await peer.session.send(ItemOffer(request: 1, digest: digest, header: record.header))
      #expect(try await peer.session.expect(ItemAnswer.self).verdict == .wants(from: 0))
      let id = try world[1].vault.core.database.arrivalID(
        of: bytes32(item.id), from: world[0].vault.core.identity.keys.digest)
      try await poison(record, by: 3, isWhole: false)
      #expect(try world[1].vault.core.database.item(id)?.state == .arriving)
      await peer.session.close()
    }

    @Test func `what the user brings in counts, whatever waits under its name`() async throws {
      let bytes = randomBytes(3000)
      let item = try await add(bytes)
      try await poison(world[0].vault.items.resolveItem(item.id), by: 3)
      let file = world.scratch.path + "/item"
      _ = try world[0].vault.items.exportItem(item.id, armored: false, to: .file(path: file, overwrites: false))
      let arrival = try await world[1].vault.items.importItem(.file(path: file))
      #expect(!arrival.isKnown && arrival.item.state == .new)
      #expect(try await open(item.id, by: 1) == bytes)
      #expect(try world[1].vault.items.items().count == 1)
    }

    @Test func `an item that somebody else has begun to send doesn't keep the true one away`() async throws {
      let bytes = randomBytes(3000)
      let item = try await add(bytes)
      try await poison(world[0].vault.items.resolveItem(item.id), by: 3, isWhole: false)
      #expect(try await !sendPatiently(item.id).isKnown)
      _ = try await world[1].vault.items.acceptItem(item.id)
      #expect(try await open(item.id, by: 1) == bytes)
    }

    @Test func `an item's password is asked for when the key is there, three times, and told from damage`() async throws
    {
      let bytes = randomBytes(200_000)
      let item = try await add(bytes, password: "sesame")
      #expect(item.hasPassword == true && item.name == nil && item.kind == nil && item.byteCount == nil)
      #expect(try await open(item.id, by: 0, passwords: ["sesam", "sesame"]) == bytes)
      let wrong = await refusal { try await open(item.id, by: 0, passwords: ["a", "b", "c"]) }
      #expect(wrong?.code == .wrongPassword)
      let none = await refusal { try await open(item.id, by: 0) }
      #expect(none?.code == .wrongPassword)
    }

    @Test(arguments: [false, true])
    func `public words have their limit whether the item is kept or not`(keeps: Bool) async throws {
      let items = world[0].vault.items
      let path = try world.scratch.write([1, 2, 3], as: "worded")
      for (count, isTaken) in [(ItemHeader.descriptionByteLimit, true), (ItemHeader.descriptionByteLimit + 1, false)] {
        let request = ItemRequest(source: .file(path: path), description: String(repeating: "x", count: count))
        let failure = await refusal { _ = try await items.encryptInMemory(request, under: "family", keeps: keeps) }
        #expect(isTaken ? failure == nil : failure?.reason.hasPrefix("public words can have at most") == true)
      }
    }

    @Test func `a copy under another key keeps contents, name and password`() async throws {
      _ = try await world[0].vault.items.createKey(named: "other", threshold: 2, recipients: ["dan"]) { _ in }
      let bytes = randomBytes(100_000)
      let item = try await add(bytes, password: "sesame")
      let access = ItemAccess(passwords: { (_) async throws in
        do throws(SodiumError) { return try SecretBytes(copying: Array("sesame".utf8).span.bytes) } catch {
          throw VaultError(.other, "no memory")
        }
      })
      let copy = try await world[0].vault.items.copyItem(item.id, to: "other", access: access)
      #expect(copy.key == "other" && copy.hasPassword == true)
      _ = try await world[0].vault.items.sendItem(copy.id, to: "dan")
      _ = try await world[3].vault.items.acceptItem(copy.id)
      #expect(try await open(copy.id, by: 3, passwords: ["sesame"]) == bytes)
      let plain = try await add([1, 2, 3])
      let second = try await world[0].vault.items.copyItem(plain.id, to: "other", usesPublicHalf: true)
      #expect(second.isSealedToPublicHalf && second.name == "letter.txt")
      #expect(try await open(second.id, by: 0) == [1, 2, 3])
    }

    @Test func `a public half that is not the key's own is found out by whoever recovers the key`() async throws {
      let other = try SecretBytes(random: 32)
      let half = try X25519.publicKey(of: other)
      let content = SecretContent(
        header: try PayloadHeader(kind: .encryptionKey), body: try SecretBytes(random: 32)
      ) { (_, _) throws in
        var extensions = Extensions()
        extensions[ItemKeys.publicHalfExtension] = half
        return extensions
      }
      _ = try await world[1].vault.sharing.share(
        ShareRequest(source: .memory(content), threshold: 2, description: "trap")
      ) { _ in }
      #expect(try world[0].vault.items.encryptionKeys().first { $0.name == "trap" }?.hasPublicHalf == true)
      let path = try world.scratch.write([1], as: "x")
      let failure = await refusal {
        try await world[0].vault.items.addItem(ItemRequest(source: .file(path: path)), under: "trap")
      }
      #expect(failure?.code == .damaged)
      #expect(try world[0].vault.items.items().isEmpty)
    }

    @Test func `a key of another length is none`() async throws {
      let content = SecretContent(
        header: try PayloadHeader(kind: .encryptionKey), body: try SecretBytes(random: 31))
      _ = try await world[1].vault.sharing.share(
        ShareRequest(source: .memory(content), threshold: 2, description: "short")
      ) { _ in }
      let path = try world.scratch.write([1], as: "x")
      let failure = await refusal {
        try await world[0].vault.items.addItem(ItemRequest(source: .file(path: path)), under: "short")
      }
      #expect(failure?.code == .damaged)
    }

    @Test func `an item of any kind opens into memory`() async throws {
      var header = try PayloadHeader(kind: .password, fileName: Array("mail".utf8).span.bytes)
      try header.add(field: "user", value: Array("ada".utf8).span.bytes)
      let content = SecretContent(header: header, body: try word("words"))
      let item = try await world[0].vault.items.addItem(ItemRequest(source: .memory(content)), under: "family")
      #expect(item.kind == "password" && item.name == "mail")
      let opened = try await world[0].vault.items.itemContent("mail")
      let user = opened.header.field("user")?.withUnsafeBytes { Array($0) }
      let body = opened.body.withUnsafeBytes { Array($0) }
      #expect(user == Array("ada".utf8) && body == Array("words".utf8))
    }

    @Test func `names, ids and their beginnings lead to items, and two of one name are told apart`() async throws {
      let one = try await add([1], name: "same")
      let two = try await add([2], name: "same")
      #expect(try world[0].vault.items.item(one.id).id == one.id)
      #expect(try world[0].vault.items.item(String(two.id.prefix(12))).id == two.id)
      let failure = await refusal { try world[0].vault.items.item("same") }
      #expect(failure?.code == .ambiguous)
      #expect(await refusal { try world[0].vault.items.item("else") }?.code == .notFound)
    }

    @Test(arguments: [0, 1, 47, 48, 49, 96, 1000, 65_536, 100_001])
    func `an armor is read as it was written, whatever it is cut into`(_ count: Int) throws {
      let bytes = randomBytes(count)
      var writer = ItemArmorWriter()
      var text: [UInt8] = []
      for start in stride(from: 0, to: count, by: 7001) {
        text += bytes[start..<min(count, start + 7001)].withUnsafeBytes { writer.append($0) }
      }
      text += writer.finish()
      #expect(text.split(separator: 10).allSatisfy { $0.count <= 64 })
      let input = ItemArmorInput(PrefixedInput(text, nil), name: "it")
      #expect(try input.bytes(upTo: count + 10) == bytes)
      let cut = ItemArmorInput(PrefixedInput(Array(text.dropLast(27)), nil), name: "it")
      #expect(throws: VaultError.self) { try cut.bytes(upTo: count + 10) }
    }
  }
}
