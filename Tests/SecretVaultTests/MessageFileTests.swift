import PeerAuth
import Sodium
import Testing
import VaultProtocol

@testable import SecretVault
@testable import VaultStore

extension VaultTests {
  /// Files and photos, which come in parts.
  @Suite struct MessageFiles {
    let world: TestWorld
    private let arrival = ParcelArrival(way: .account)

    init() throws { world = try TestWorld(2) }

    private var ada: Vault { world[0].vault }
    private var ben: Vault { world[1].vault }

    private func parcels() throws -> [[UInt8]] {
      try ada.post.ownParcels().filter { $0.direction == .message }.map {
        try #require(try ada.post.parcelContent($0.id))
      }
    }

    @Test(arguments: [0, 1, MessagePart.byteLimit, MessagePart.byteLimit + 1])
    func `a file comes whole`(byteCount: Int) throws {
      let bytes = randomBytes(byteCount)
      let sent = try ada.send(file: bytes, to: "ben")
      for parcel in try parcels() { #expect(try ben.intake.takeParcel(parcel, by: arrival).isTaken) }
      let received = try #require(try ben.messages.messages().first)
      #expect(received.state == "new" && received.kind == .photo && received.name == "photo.jpg")
      #expect(received.parts == sent.parts && received.byteCount == Int64(byteCount))
      #expect(try ben.file(of: received.number) == bytes)
    }

    @Test func `parts come in any order and more than once, and nothing is shown before all are there`() throws {
      _ = try ben.core.set("notify-command", to: "true")
      let bytes = randomBytes(3 * MessagePart.byteLimit + 5)
      let sent = try ada.send(file: bytes, caption: "the harbour", to: "ben")
      #expect(sent.parts == 4)
      var rest = try parcels().shuffled()
      let last = rest.removeLast()
      for parcel in rest + rest.shuffled() { #expect(try ben.intake.takeParcel(parcel, by: arrival).isTaken) }
      let partial = try #require(try ben.messages.messages().first)
      #expect(partial.state == "partial" && partial.partsDone == 3)
      #expect(try ben.messages.messages(unreadOnly: true).isEmpty)
      #expect(throws: VaultError.self) { try ben.file(of: partial.number) }
      #expect(world.notifications.told(to: world[1]).allSatisfy { $0.event.event != "message-received" })
      #expect(try ben.intake.takeParcel(last, by: arrival).isTaken)
      #expect(try ben.messages.messages().map(\.state) == ["new"])
      #expect(try ben.file(of: partial.number) == bytes)
      #expect(try ben.text(of: partial.number) == "the harbour")
      #expect(world.notifications.told(to: world[1]).filter { $0.event.event == "message-received" }.count == 1)
    }

    @Test func `a file has arrived once all of its parts have`() throws {
      let sent = try ada.send(file: randomBytes(2 * MessagePart.byteLimit), to: "ben")
      var states: [String] = []
      for record in try ada.post.ownParcels() {
        let parcel = try #require(try ada.post.parcelContent(record.id))
        guard case .taken(let receipt?) = try ben.intake.takeParcel(parcel, by: ParcelArrival(way: .session)) else {
          continue
        }
        #expect(try ada.post.takeReceipt(receipt, handedOverBy: .session))
        states.append(try ada.messages.message(sent.number).state)
      }
      #expect(states == ["underway", "delivered"])
    }

    @Test func `a file that isn't what its sender says is dropped`() throws {
      let bytes = randomBytes(MessagePart.byteLimit + 10)
      var hash = try FileDigest()
      hash.add(try SecretBytes(copying: bytes.span.bytes))
      let file = try MessagePart.File(
        kind: .file, name: "a.txt", mediaType: "", byteCount: UInt64(bytes.count), digest: hash.digest())
      let id = randomBytes(16)
      for number in 0..<2 {
        let part = bytes[(number * MessagePart.byteLimit)...].prefix(MessagePart.byteLimit)
        let content = MessageContent.part(
          try MessagePart(
            message: id, address: nil, file: file, caption: nil, number: UInt16(number), bytes: held(Array(part))))
        let parcel = try ForgedMessage(world[0], to: world[1]).sealed(content)
        #expect(try ben.intake.takeParcel(parcel, by: arrival).isTaken)
      }
      #expect(try ben.messages.messages().isEmpty)
      #expect(try ben.overview.log(limit: 10).contains { $0.event == "refused" && $0.peer == "ada" })
    }

    @Test func `a part of another file under the same id is refused`() throws {
      try ada.send(file: randomBytes(MessagePart.byteLimit + 10), to: "ben")
      #expect(try ben.intake.takeParcel(parcels()[0], by: arrival).isTaken)
      let id = try #require(try ada.post.ownParcels().first?.message)
      var hash = try FileDigest()
      hash.add(try SecretBytes(copying: [UInt8](repeating: 1, count: 5).span.bytes))
      let file = try MessagePart.File(
        kind: .photo, name: "photo.jpg", mediaType: "image/jpeg", byteCount: 5, digest: hash.digest())
      let content = MessageContent.part(
        try MessagePart(
          message: id, address: nil, file: file, caption: nil, number: 0, bytes: held([UInt8](repeating: 1, count: 5))))
      guard
        case .ignored = try ben.intake.takeParcel(ForgedMessage(world[0], to: world[1]).sealed(content), by: arrival)
      else {
        Issue.record("it was taken")
        return
      }
    }

    @Test func `a file of which parts are missing is given up when its time is over`() async throws {
      try ada.send(file: randomBytes(MessagePart.byteLimit + 10), to: "ben")
      #expect(try ben.intake.takeParcel(parcels()[0], by: arrival).isTaken)
      #expect(try ben.messages.messages().map(\.state) == ["partial"])
      for _ in 0..<4 {
        world.clock.advance(milliseconds: 8 * 86_400_000)
        try await ben.answering.messageRunnerStep()
      }
      #expect(try ben.messages.messages().isEmpty)
    }

    @Test func `the rest of a file that was deleted before it was whole isn't kept`() throws {
      try ada.send(file: randomBytes(3 * MessagePart.byteLimit), to: "ben")
      let parts = try parcels()
      #expect(try ben.intake.takeParcel(parts[0], by: arrival).isTaken)
      try ben.messages.deleteMessage(#require(try ben.messages.messages().first).number)
      // Its sender hears that they have arrived, and sends them to nobody any more.
      for part in parts { #expect(try ben.intake.takeParcel(part, by: arrival).isTaken) }
      #expect(try ben.messages.messages().isEmpty)
      #expect(try ben.core.database.messageCounts(peer: world[0].vault.core.identity.keys.digest).bytes == 0)
    }

    @Test func `a peer leaves no more here than its quota allows, shares and messages together`() throws {
      _ = try ben.core.set("quota-bytes", to: "3000")
      try ada.send(file: randomBytes(2000), to: "ben")
      try ada.send(file: randomBytes(999), to: "ben")
      try ada.send("ab", to: "ben")
      let takings = try ada.post.ownParcels().sorted { $0.createdAt < $1.createdAt }.map { record in
        try ben.intake.takeParcel(#require(try ada.post.parcelContent(record.id)), by: arrival)
      }
      #expect(takings.count(where: \.isTaken) == 2 && takings.contains(.full))
      #expect(try ben.messages.messages().reduce(0) { $0 + $1.byteCount } <= 3000)
      // Whoever makes room gets the others.
      for message in try ben.messages.messages() { try ben.messages.deleteMessage(message.number) }
      for record in try ada.post.ownParcels() {
        #expect(try ben.intake.takeParcel(#require(try ada.post.parcelContent(record.id)), by: arrival).isTaken)
      }
      #expect(try ben.messages.messages().count == 1)
    }

    @Test func `a file that changes while it is read isn't sent`() async throws {
      let reads = Collected<UInt64>()
      let file = MessageFile(name: "a", mediaType: "", byteCount: 10, isPhoto: false, caption: nil) {
        (offset, count) throws in
        reads.add(offset)
        do { return try held([UInt8](repeating: UInt8(reads.all.count), count: count)) } catch {
          throw VaultError(.other, "no memory")
        }
      }
      let error = await refusal { _ = try ada.messages.send(.file(file), to: "ben") }
      #expect(error?.code == .inputOutput)
      #expect(try ada.messages.messages().isEmpty)
    }

    @Test func `a file on this device is sent as it is`() throws {
      let bytes = randomBytes(70_000)
      let path = try world.scratch.write(bytes, as: "a letter.txt")
      let file = try MessageFile(path: path, isPhoto: false, mediaType: "text/plain", caption: nil)
      _ = try ada.messages.send(.file(file), to: "ben")
      for parcel in try parcels() { #expect(try ben.intake.takeParcel(parcel, by: arrival).isTaken) }
      let received = try #require(try ben.messages.messages().first)
      #expect(received.name == "a letter.txt" && received.mediaType == "text/plain" && received.kind == .file)
      #expect(try ben.file(of: received.number) == bytes)
    }

    @Test func `no folder is named, whatever the file's name begins with`() throws {
      let path = try world.scratch.write([1], as: "\u{301}letter.txt")
      let file = try MessageFile(path: path, isPhoto: false, mediaType: "text/plain", caption: nil)
      #expect(file.name.utf8.elementsEqual("\u{301}letter.txt".utf8))
    }
  }
}
