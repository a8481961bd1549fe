import PeerAuth
import ShamirKit
import Sodium
import TestTime
import Testing
import VaultProtocol
import VaultStore

@testable import SecretVault

extension VaultTests {
  /// What one trusted peer can make a device write and hash: ada deals by hand to ben and cleo, and all three hold a key.
  @Suite struct Arrivals {
    let world: TestWorld
    let forged: ForgedSecret
    private let keyID: SecretID

    init() async throws {
      world = try TestWorld(4)
      forged = try ForgedSecret(by: world[0], to: [world[1], world[2]], threshold: 2, byteCount: 300_000)
      let key = try await world[0].vault.items.createKey(named: "family", threshold: 2, recipients: ["ben", "cleo"]) {
        _ in
      }
      keyID = try SecretID(try #require(bytes(hexadecimal: key.id)))
    }

    private var ben: Vault { world[1].vault }
    private var ada: Digest { world[0].vault.core.identity.keys.digest }

    private func header(_ byteCount: UInt64, id: [UInt8]) throws -> ItemHeader {
      try ItemHeader(
        mode: .shared, padding: .standard, keyID: keyID, id: id, ciphertextByteCount: byteCount)
    }

    private func digest(of body: [UInt8]) throws -> Digest {
      var hash = try ItemDigest(byteCount: UInt64(body.count))
      for number in 0..<ItemDigest.pieceCount(UInt64(body.count)) {
        try hash.take(number: number, bytes: piece(body, number).span.bytes)
      }
      return try hash.digest()
    }

    private func piece(_ body: [UInt8], _ number: UInt64) -> [UInt8] {
      Array(body[Int(number) * 65_536..<min(body.count, Int(number + 1) * 65_536)])
    }

    /// A session in which an offer was made that ben isn't busy with elsewhere.
    private func offer(
      _ header: ItemHeader, _ digest: Digest, by member: Int = 0
    ) async throws -> (HostileRequester, OfferVerdict) {
      while true {
        let before = Happenings.ends.count
        let peer = try await HostileRequester(world[member], dials: world[1], in: world)
        try await peer.session.send(ItemOffer(request: 1, digest: digest, header: header.encoded()))
        let verdict = try await peer.session.expect(ItemAnswer.self).verdict
        guard verdict == .refused(.busy) else { return (peer, verdict) }
        await peer.session.close()
        try await Happenings.ends.wait(beyond: before)
      }
    }

    private func offerShare() async throws -> (HostileRequester, OfferVerdict) {
      while true {
        let before = Happenings.ends.count
        let peer = try await HostileRequester(world[0], dials: world[1], in: world)
        try await peer.session.send(
          Offer(request: 9, index: 1, sealedShare: forged.sealed(1), header: forged.header.bytes))
        let verdict = try await peer.session.expect(OfferAnswer.self).verdict
        guard verdict == .refused(.busy) else { return (peer, verdict) }
        await peer.session.close()
        try await Happenings.ends.wait(beyond: before)
      }
    }

    // MARK: - Room

    @Test func `an item that takes the place of one that arrives counts against the quota, and the other no more`()
      async throws
    {
      _ = try ben.core.set("quota-bytes", to: "1M")
      let (id, any) = (randomBytes(32), try Digest([UInt8](repeating: 1, count: 32)))
      for (byteCount, verdict) in [
        (UInt64(1000), OfferVerdict.wants(from: 0)), (8 << 20, .refused(.quotaBytes)),
        (700_000, .wants(from: 0)), (800_000, .wants(from: 0)), (1 << 20 + 1, .refused(.quotaBytes)),
      ] {
        let (peer, answer) = try await offer(header(byteCount, id: id), any)
        #expect(answer == verdict, "\(byteCount)")
        await peer.session.close()
      }
      #expect(try ben.core.database.item(ben.core.database.arrivalID(of: id, from: ada))?.byteCount == 800_000)
    }

    @Test func `whatever the quotas say, a share of the disk stays free of what others bring`() async throws {
      _ = try world[0].say("hello", to: world[1])
      let parcel = try #require(try world[0].vault.core.database.parcels(.message).first)
      let content = try #require(try world[0].vault.core.database.parcelContent(parcel.id))
      _ = try ben.core.set("keep-free", to: "100000T")
      #expect(try await forged.deliver(forged.job(1), to: world[1])?.refusal == .diskFull)
      let (peer, answer) = try await offer(header(10, id: randomBytes(32)), Digest([UInt8](repeating: 1, count: 32)))
      #expect(answer == .refused(.diskFull))
      try await peer.session.send(Probe(request: 3, fragmentByteCount: 1))
      #expect(try await peer.session.expect(ProbeAnswer.self).refusal == .diskFull)
      await peer.session.close()
      guard case .full = try ben.intake.takeParcel(content, by: ParcelArrival(way: .account)) else {
        throw VaultError(.other, "a parcel was taken")
      }
      #expect(try await world[0].meet(world[1]).given == 0)
      #expect(try world[1].texts().isEmpty)
      let item = try header(10, id: randomBytes(32))
      let place = GroupPlace(
        group: [UInt8](repeating: 1, count: 8), slot: [UInt8](repeating: 2, count: 16),
        author: [UInt8](repeating: 3, count: 24), sequence: 1, own: [UInt8](repeating: 99, count: 16)
      ) { _, _ in true }
      #expect(
        try ben.items.keepGroupItem(place, header: item.encoded()) { write in try write(randomBytes(10)) } == .noRoom)

      _ = try ben.core.set("keep-free", to: "0")
      #expect(try await forged.deliver(forged.job(1), to: world[1]) == nil)
      #expect(try ben.intake.takeParcel(content, by: ParcelArrival(way: .account)).isTaken)
      #expect(try !world[1].texts().isEmpty)
    }

    @Test func `without a word a twentieth of the disk stays free, and no more than a gibibyte`() throws {
      let room = try #require(world[1].folders.diskRoom())
      let usual = DiskReserve(world[1].folders, byteCount: nil)
      let kept = min(room.total / 20, 1 << 30)
      // Others write to this disk meanwhile.
      let slack: UInt64 = 1 << 28
      if room.free > kept + 2 * slack { #expect(usual.allows(room.free - kept - 2 * slack)) }
      #expect(!usual.allows(room.free &+ slack - min(room.free, kept)) || room.free < kept)
      #expect(!usual.allows(.max))
      #expect(throws: VaultError.self) { try SettingKey.keepFree.validate("some") }
      for value in ["auto", "0", "5G"] { try SettingKey.keepFree.validate(value) }
    }

    // MARK: - Hashing

    @Test func `what has arrived of a share isn't read again when it goes on, and an end before it is whole ends it`()
      async throws
    {
      let (first, verdict) = try await offerShare()
      #expect(verdict == .wants(from: 0))
      for number in UInt64(0)..<2 {
        try await first.session.send(Piece(request: 9, number: number, bytes: forged.piece(1, number)))
      }
      try await first.session.send(DepositEnd(request: 9))
      #expect(try await first.session.expect(DepositResult.self).refusal == .invalidFragment)
      #expect(await first.isHungUp())
      for _ in 0..<3 {
        let (again, verdict) = try await offerShare()
        #expect(verdict == .wants(from: 2))
        // Nor does a wrong piece make it be read again.
        try await again.session.send(Piece(request: 9, number: 7, bytes: [1]))
        try await again.session.send(DepositEnd(request: 9))
        #expect(try await again.session.expect(DepositResult.self).refusal == .invalidFragment)
        #expect(await again.isHungUp())
      }
      #expect(ben.answering.arrivals.rereadByteCount(for: ada) == 0)
      try world[1].restart()
      #expect(try await forged.deliverOnceFree(forged.job(1), to: world[1]) == nil)
      #expect(ben.answering.arrivals.rereadByteCount(for: ada) == 131_072)
      #expect(try ben.overview.secrets().contains { $0.id == forged.header.id.description })
    }

    @Test func `what has arrived of an item isn't read again either, nor what waits to be accepted`() async throws {
      let body = randomBytes(200_000)
      let item = try header(UInt64(body.count), id: randomBytes(32))
      let digest = try digest(of: body)
      for round in 0..<3 {
        let (peer, verdict) = try await offer(item, digest)
        #expect(verdict == .wants(from: round == 0 ? 0 : 2))
        for number in (round == 0 ? 0 : 2)..<UInt64(2) {
          try await peer.session.send(ItemPiece(request: 1, number: number, bytes: piece(body, number)))
        }
        try await peer.session.send(ItemEnd(request: 1))
        #expect(try await peer.session.expect(ItemResult.self).refusal == .invalidFragment)
        #expect(await peer.isHungUp())
      }
      #expect(ben.answering.arrivals.rereadByteCount(for: ada) == 0)
      try world[1].restart()
      let (peer, verdict) = try await offer(item, digest)
      #expect(verdict == .wants(from: 2))
      #expect(ben.answering.arrivals.rereadByteCount(for: ada) >= 131_072)
      for number in UInt64(2)..<4 {
        try await peer.session.send(ItemPiece(request: 1, number: number, bytes: piece(body, number)))
      }
      try await peer.session.send(ItemEnd(request: 1))
      #expect(try await peer.session.expect(ItemResult.self).refusal == nil)
      await peer.session.close()

      // It waits for its user now. Offered again, it is known without being read.
      let before = ben.answering.arrivals.rereadByteCount(for: ada)
      for _ in 0..<3 {
        let (again, verdict) = try await offer(item, digest)
        #expect(verdict == .complete)
        await again.session.close()
      }
      #expect(ben.answering.arrivals.rereadByteCount(for: ada) == before)
      try world[1].restart()
      for _ in 0..<2 {
        let (again, verdict) = try await offer(item, digest)
        #expect(verdict == .complete)
        await again.session.close()
      }
      #expect(ben.answering.arrivals.rereadByteCount(for: ada) == UInt64(body.count))
    }

    @Test func `a peer has so much read anew in an hour and no more`() throws {
      let memory = ArrivalMemory()
      #expect(memory.mayReread(ArrivalMemory.rereadLimit * 2, for: ada, at: 0), "what is here has to go on once")
      #expect(!memory.mayReread(1, for: ada, at: 3_599_000))
      #expect(memory.mayReread(1, for: world[2].vault.core.identity.keys.digest, at: 1000), "others have their own")
      #expect(memory.mayReread(ArrivalMemory.rereadLimit - 1, for: ada, at: 3_600_000))
      #expect(memory.mayReread(1, for: ada, at: 3_600_001))
      #expect(!memory.mayReread(1, for: ada, at: 3_600_002))
      #expect(!memory.mayReread(.max, for: ada, at: 3_600_003))
    }

    @Test func `beyond that it is told to come later, and what has arrived stays`() async throws {
      let body = randomBytes(100_000)
      let item = try header(UInt64(body.count), id: randomBytes(32))
      let digest = try digest(of: body)
      let (first, _) = try await offer(item, digest)
      try await first.session.send(ItemPiece(request: 1, number: 0, bytes: piece(body, 0)))
      try await first.session.send(ItemEnd(request: 1))
      _ = try await first.session.expect(ItemResult.self)
      #expect(await first.isHungUp())
      try world[1].restart()
      #expect(ben.answering.arrivals.mayReread(ArrivalMemory.rereadLimit, for: ada, at: world.clock.monotonic))
      let peer = try await HostileRequester(world[0], dials: world[1], in: world)
      try await peer.session.send(ItemOffer(request: 1, digest: digest, header: item.encoded()))
      #expect(try await peer.session.expect(ItemAnswer.self).verdict == .refused(.busy))
      world.clock.advance(milliseconds: 3_600_000)
      try await peer.session.send(ItemOffer(request: 2, digest: digest, header: item.encoded()))
      #expect(try await peer.session.expect(ItemAnswer.self).verdict == .wants(from: 1))
      await peer.session.close()
    }

    @Test func `what was hashed of a file counts only as long as that is as it was`() throws {
      let memory = ArrivalMemory()
      let path = try world.scratch.write([1, 2, 3], as: "file")
      func mark() throws -> FileMark { try #require(FileMark(ofFile: path)) }
      func name(_ number: UInt8, of peer: Digest) -> ArrivalMemory.Name {
        ArrivalMemory.Name(peer: peer, id: [number], index: 1, header: [])
      }
      let receiver = DepositReceiver(header: forged.header, index: 1)
      func keep(_ number: UInt8, of peer: Digest) throws {
        memory.keep(.fragment(receiver, LeafList()), name(number, of: peer), try mark())
      }
      let cleo = world[2].vault.core.identity.keys.digest
      try keep(0, of: cleo)
      for number in UInt8(0)..<5 { try keep(number, of: ada) }
      #expect(memory.take(name(0, of: ada), try mark()) == nil, "only the last four of a peer")
      #expect(memory.take(name(4, of: ada), try mark()) != nil)
      #expect(memory.take(name(4, of: ada), try mark()) == nil, "once")
      let before = try mark()
      _ = try world.scratch.write([1, 2, 3, 4], as: "file")
      #expect(try mark() != before)
      #expect(memory.take(name(0, of: cleo), try mark()) == nil)
    }
  }
}
