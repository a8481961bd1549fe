import PeerAuth
import ShamirKit
import Sodium
import Testing
import VaultProtocol

@testable import SecretVault
@testable import VaultStore

extension VaultTests {
  /// Ada dealt to ben and cleo; dan holds nothing; eva is nobody's peer. Somebody sends parcels that he shouldn't.
  @Suite struct HostileParcels {
    let world: TestWorld
    let office: ParcelOffice
    let forged: ForgedSecret
    var header: SecretHeader { forged.header }

    init() async throws {
      world = try TestWorld(5)
      office = try ParcelOffice(world)
      forged = try ForgedSecret(by: world[0], to: [world[1], world[2]], threshold: 2, byteCount: 200_000)
      try await forged.deliverAll()
      for member in 0..<4 { try world[member].forget(world[4]) }
    }

    private var ben: Vault { world[1].vault }

    /// It isn't taken, and not this device's to delete, whose clock may be wrong, or to which its sender may become a peer.
    private func expectLeft(
      _ parcel: [UInt8], as taking: ParcelTaking = .full, sourceLocation: SourceLocation = #_sourceLocation
    ) async throws {
      #expect(try ben.takeParcel(parcel, folder: office.folders[1]) == taking, sourceLocation: sourceLocation)
      #expect(try await !ben.answering.answerParcels(), sourceLocation: sourceLocation)
      #expect(try ben.parcelRecords(.received).isEmpty, sourceLocation: sourceLocation)
    }

    private func expectIgnored(_ parcel: [UInt8], sourceLocation: SourceLocation = #_sourceLocation) async throws {
      guard case .ignored = try ben.takeParcel(parcel, folder: office.folders[1]) else {
        Issue.record("it was taken", sourceLocation: sourceLocation)
        return
      }
      #expect(try await !ben.answering.answerParcels(), sourceLocation: sourceLocation)
      #expect(try ben.parcelRecords(.received).isEmpty, sourceLocation: sourceLocation)
    }

    // MARK: - On the way

    @Test func `a parcel of which any byte was changed is ignored`() async throws {
      let parcel = try ForgedParcel(world[2], to: world[1])
      let sealed = try parcel.sealed(parcel.frames(header))
      for place in [0, 1, 17, 35, 40, 45, 100, sealed.count - 1] {
        var changed = sealed
        changed[place] ^= 1
        try await expectIgnored(changed)
      }
      try await expectIgnored(Array(sealed.dropLast()))
      try await expectIgnored([])
    }

    @Test func `a parcel of a stranger, or to somebody else, isn't taken`() async throws {
      let stranger = try ForgedParcel(world[4], to: world[1])
      try await expectLeft(stranger.sealed(forged.frames(1)), as: .unknownSender)
      let other = try ForgedParcel(world[2], to: world[0])
      try await expectIgnored(other.sealed(other.frames(header)))
      // Sealed to ben by somebody who has got a parcel that was for ada, and says so inside.
      #expect(
        ben.post.isOwnParcel(
          try Parcel.tag(of: other.envelope.id, for: ben.core.identity.keys.digest), other.envelope.id))
    }

    @Test func `a parcel of a peer that was removed meanwhile isn't answered`() async throws {
      let parcel = try ForgedParcel(world[2], to: world[1])
      let sealed = try parcel.sealed(parcel.frames(header))
      #expect(try ben.takeParcel(sealed, folder: office.folders[1]).isTaken)
      try world[1].forget(world[2])
      #expect(try await !ben.answering.answerParcels())
      #expect(try office.post(by: 1).isEmpty)
      #expect(try ben.takeParcel(sealed, folder: office.folders[1]) == .unknownSender)
      #expect(try await !ben.answering.answerParcels())
    }

    @Test func `an expired parcel is not taken, also by a clock that is set back`() async throws {
      let parcel = try ForgedParcel(world[2], to: world[1])
      let sealed = try parcel.sealed(parcel.frames(header))
      #expect(try ben.takeParcel(sealed, folder: office.folders[1]).isTaken)
      #expect(try await ben.answering.answerParcels())
      for time in [Post.parcelLifetime + 3_600_000, Post.sweepDelay] {
        world.clock.advance(milliseconds: time)
        #expect(try await !ben.answering.answerParcels())
      }
      try await expectLeft(sealed)
      world.clock.turn(milliseconds: -Post.parcelLifetime)
      try await expectLeft(sealed)
      let fresh = try ForgedParcel(world[2], to: world[1], lifetime: Post.parcelLifetime)
      #expect(try ben.takeParcel(fresh.sealed(fresh.frames(header)), folder: office.folders[1]).isTaken)
    }

    @Test func `a parcel from too far in the future is not taken`() async throws {
      let now = world.clock.now
      let later = try ForgedParcel(world[2], to: world[1], at: now + Post.parcelClockTolerance + 60_000)
      try await expectLeft(later.sealed(later.frames(header)))
      let longer = try ForgedParcel(
        world[2], to: world[1], lifetime: Parcel.lifetimeLimit - Parcel.hour, at: now + 23 * Parcel.hour)
      try await expectLeft(longer.sealed(longer.frames(header)))
      let sound = try ForgedParcel(world[2], to: world[1], at: now + 60_000)
      #expect(try ben.takeParcel(sound.sealed(sound.frames(header)), folder: office.folders[1]).isTaken)
    }

    @Test func `a parcel under the id of somebody else's doesn't take its place`() async throws {
      let parcel = try ForgedParcel(world[2], to: world[1])
      let other = try ForgedSecret(by: world[0], to: [world[1], world[2]], threshold: 2)
      let copy = try ParcelLetter.seal(
        seed: parcel.envelope.seed, createdAt: parcel.envelope.createdAt, expiresAt: parcel.envelope.expiresAt,
        kind: .request, replyKey: parcel.envelope.replyKey.publicKey, frames: other.frames(1),
        from: world[0].vault.core.identity, to: ben.core.identity.keys
      ).encoded()
      #expect(try ben.takeParcel(copy, folder: office.folders[1]).isTaken)
      #expect(try await parcel.answer(parcel.frames(header), by: office, 1) != nil)
      let senders = Set([0, 2].map { world[$0].vault.core.identity.keys.digest })
      #expect(try Set(ben.parcelRecords(.answer).map(\.peer)) == senders)
    }

    // MARK: - Requests

    @Test func `messages that make up no request are ignored`() async throws {
      let parcel = try ForgedParcel(world[2], to: world[1])
      let sound = try parcel.frames(header)
      let deposit = try forged.frames(1)
      let wrong: [[ParcelFrame]] = [
        Array(sound.dropFirst()), Array(sound.prefix(2)), [sound[0]], sound + sound.dropFirst(),
        [sound[0]] + deposit.dropFirst() + sound.dropFirst(), Array(deposit.dropLast()),
        [sound[0], try ParcelFrame(Ping(request: 1)), sound[2]],
        [sound[0], try ParcelFrame(Probe(request: 1, fragmentByteCount: 1)), sound[2]],
        sound.prefix(3) + [sound[3], sound[3], sound[3], sound[3], sound[3]],
      ]
      for frames in wrong {
        let parcel = try ForgedParcel(world[2], to: world[1])
        try await expectIgnored(parcel.sealed(frames))
      }
    }

    @Test func `a proof releases by the parcel that it was made for`() async throws {
      let parcel = try ForgedParcel(world[2], to: world[1])
      let answer = try #require(try await parcel.answer(parcel.frames(header), by: office, 1))
      #expect(answer.hasRelease && answer.last?.type == PiecesEnd.type.rawValue)
      #expect(answer.count { $0.type == ProvenPiece.type.rawValue } == Int(header.dispersal.stripeCount))
    }

    @Test func `a proof made for another parcel, or as in a session, releases nothing`() async throws {
      let first = try ForgedParcel(world[2], to: world[1])
      let second = try ForgedParcel(world[2], to: world[1])
      let borrowed = try await second.answer(first.frames(header), by: office, 1)
      #expect(borrowed?.refusal == .unavailable && borrowed?.hasRelease == false)
      let third = try ForgedParcel(world[2], to: world[1])
      #expect(try await third.answer(third.frames(header, kind: .session), by: office, 1)?.refusal == .unavailable)
      let fourth = try ForgedParcel(world[2], to: world[1])
      let nonce = [UInt8](repeating: 1, count: 32)
      #expect(try await fourth.answer(fourth.frames(header, nonce: nonce), by: office, 1)?.refusal == .unavailable)
    }

    @Test func `a proof of a session made for a parcel releases nothing`() async throws {
      let cleo = try await HostileRequester(world[2], dials: world[1], in: world)
      let nonce = try await cleo.ask(header)
      let held = try world[2].held(header)
      let exchange = PossessionExchange(
        Epoch(header), purpose: .release, prover: world[2].vault.core.identity.keys.digest,
        verifier: ben.core.identity.keys.digest, kind: .parcel, binding: cleo.session.handshakeHash, nonce: nonce)
      let possession = try exchange.prove(
        request: 1, share: held.share, salt: held.salt, evaluation: held.share.evaluation())
      #expect(try await cleo.submit(possession) == .unavailable)
      await cleo.session.close()
    }

    @Test func `who holds no share gets none`() async throws {
      let parcel = try ForgedParcel(world[3], to: world[1])
      let frames = try parcel.frames(header, share: world[2])
      #expect(try await parcel.answer(frames, by: office, 1)?.refusal == .unavailable)
    }

    @Test func `a request for pieces that don't exist gets no answer`() async throws {
      let parcel = try ForgedParcel(world[2], to: world[1])
      let answer = try await parcel.answer(parcel.frames(header, pieces: 4000), by: office, 1)
      #expect(answer == nil)
      #expect(try ben.parcelRecords(.received).map(\.state) == [.answered])
    }

    @Test func `a share that is wrong, or not the sender's, isn't kept`() async throws {
      let other = try ForgedSecret(by: world[0], to: [world[1], world[2]], threshold: 2)
      let wrong = try ForgedParcel(world[0], to: world[1])
      let frames = try other.frames(1, sealed: other.sealed(1, share: 2))
      #expect(try await wrong.answer(frames, by: office, 1)?.offerRefusal == .invalidShare)
      let foreign = try ForgedParcel(world[2], to: world[1])
      #expect(try await foreign.answer(other.frames(1), by: office, 1)?.offerRefusal == .notTheDealer)
      let short = try ForgedParcel(world[0], to: world[1])
      #expect(try await short.answer(other.frames(1, pieces: []), by: office, 1)?.depositRefusal == .invalidFragment)
      #expect(try ben.overview.secrets().count == 1)
    }

    @Test func `a deposit that was begun in a session goes on by parcel`() async throws {
      let other = try ForgedSecret(by: world[0], to: [world[1], world[2]], threshold: 2, byteCount: 1_000_000)
      world.set(.diesAfterSending(200_000), for: world[1])
      #expect(try await other.deliver(other.job(1), to: world[1]) != nil)
      world.set(.none, for: world[1])
      #expect(
        try await eventually { try ben.core.database.fragment(of: other.header.id, index: 1) != nil }
      )
      let parcel = try ForgedParcel(world[0], to: world[1])
      // The session may not have noticed its end: then the parcel waits a little.
      let answer = try await onceFree {
        let answer = try await parcel.answer(other.frames(1), by: office, 1)
        if answer == nil { world.clock.advance(milliseconds: 15_000) }
        return answer
      }
      #expect(answer.depositRefusal == .some(nil))
      #expect(try ben.overview.secret(other.header.id.description).summary.ownIndex == 1)
    }

    @Test func `one peer's parcels don't fill the room of others`() async throws {
      _ = try ben.core.set("release-policy", to: "ask")
      for number in 0...Post.parcelsOfPeer {
        let parcel = try ForgedParcel(world[2], to: world[1])
        let sealed = try parcel.sealed(parcel.frames(header))
        let isLast = number == Post.parcelsOfPeer
        #expect(try ben.takeParcel(sealed, folder: office.folders[1]).isTaken != isLast)
      }
      let other = try ForgedParcel(world[0], to: world[1])
      let deposit = try ForgedSecret(by: world[0], to: [world[1], world[2]], threshold: 2)
      #expect(try await other.answer(deposit.frames(1), by: office, 1)?.depositRefusal == .some(nil))
    }

    @Test func `two programs of one vault answer a parcel once`() async throws {
      let parcel = try ForgedParcel(world[2], to: world[1])
      let sealed = try parcel.sealed(parcel.frames(header))
      #expect(try ben.takeParcel(sealed, folder: office.folders[1]).isTaken)
      let other = try world[1].opened()
      async let one = ben.answering.answerParcels()
      async let two = other.answering.answerParcels()
      let answered = try await [one, two]
      #expect(answered.count { $0 } == 1)
      #expect(try ben.parcelRecords(.answer).count == 1)
      other.close()
    }
  }
}
