import PeerAuth
import ShamirKit
import Sodium
import Testing
import VaultProtocol

@testable import SecretVault
@testable import VaultStore

extension VaultTests {
  /// Ada dealt to ben, cleo and dan, any two of whom can recover. Ben asks by parcel, and cleo's answers are a test's.
  @Suite struct HostileParcelAnswers {
    let world: TestWorld
    let office: ParcelOffice
    let forged: ForgedSecret

    init() async throws {
      world = try TestWorld(4)
      office = try ParcelOffice(world)
      forged = try ForgedSecret(
        by: world[0], to: [world[1], world[2], world[3]], threshold: 2, byteCount: 500_000)
      try await forged.deliverAll()
      world.cutOff()
    }

    private var ben: Vault { world[1].vault }
    private var header: SecretHeader { forged.header }

    /// Ben asks everybody, without success, and what he asks of cleo is taken out of the group.
    private func question() async throws -> ParcelLetter {
      _ = await recoveryError(for: 50)
      try office.post(by: 1)
      let cleo = world[2].vault
      let post = try #require(office.posts.first { cleo.post.isOwnParcel($0.tag, $0.id) })
      for other in office.posts { office.remove(other.id) }
      let keys = ben.core.identity.keys
      return try ParcelLetter.open(Parcel.decode(post.bytes, limit: Parcel.byteLimit), with: cleo.core.identity) { _ in
        keys
      }
    }

    /// Tries to recover without any more parcels, and says what was wrong with whom.
    private func recoveryError(for time: Int64, problems: Collected<String> = Collected()) async -> VaultError? {
      let (vault, path, id) = (ben, world[1].desk + "/recovered", header.id.description)
      world.clock.pass(.milliseconds(time))
      return await refusal {
        try await vault.recovering.patiently(for: time, waits: { _, _ in }) { () async throws in
          try await vault.recovering.recover(
            id, to: .file(path: path, overwrites: true), passwords: Recovering.noPassword
          ) { event in
            if case .problem(let peer, let reason) = event { problems.add(peer + " " + reason) }
          }
        }
      }
    }

    private func send(
      _ frames: [ParcelFrame], to letter: ParcelLetter, by member: Int = 2, inReplyTo: ParcelID? = nil
    ) throws -> ParcelTaking {
      let parcel = try ParcelLetter.seal(
        seed: try .fresh(), createdAt: world.clock.now, expiresAt: letter.expiresAt, kind: .answer,
        inReplyTo: inReplyTo ?? letter.id, frames: frames, from: world[member].vault.core.identity,
        to: ben.core.identity.keys
      ).encoded()
      return try ben.takeParcel(parcel, folder: office.folders[1])
    }

    /// What cleo would answer, with the share of `holder` and pieces that `change` has changed.
    private func frames(
      _ letter: ParcelLetter, share holder: Int = 2, key: [UInt8]? = nil, request: UInt64? = nil, pieces index: Int = 2,
      _ change: (inout [UInt8], UInt64) -> Void = { _, _ in }
    ) throws -> [ParcelFrame] {
      let number = try request ?? ReleaseRequest.decode(letter.frames[1].bytes, limit: 512).request
      let held = try world[holder].held(header)
      let sealed = try SealedRelease.seal(
        request: number, share: held.share, salt: held.salt, to: key ?? #require(letter.replyKey))
      var frames = [
        try ParcelFrame(Hello(services: PeerServiceKind.allCases)),
        ParcelFrame(type: SealedRelease.type.rawValue, bytes: sealed),
      ]
      let reader = try world[index].vault.core.database.openFragment(of: header.id, index: index)
      let local = LocalPieces(reader: reader, header: header, index: UInt8(index))
      for stripe in 0..<header.dispersal.stripeCount {
        let proven = try local.provenPiece(stripe)
        var bytes = proven.bytes
        change(&bytes, stripe)
        frames.append(
          try ParcelFrame(ProvenPiece(request: number, number: stripe, path: proven.path, bytes: bytes)))
      }
      return frames + [try ParcelFrame(PiecesEnd(request: number, refusal: nil))]
    }

    @Test func `an honest answer recovers`() async throws {
      let letter = try await question()
      #expect(try send(frames(letter), to: letter).isTaken)
      #expect(await recoveryError(for: 50) == nil)
      #expect(try ben.parcelRecords(.request).allSatisfy { $0.state == .withdrawn })
      #expect(try ben.core.database.replySecret(letter.id) == nil)
    }

    /// The answer names cleo as soon as it is read, is dropped for good, and dan's recovers.
    private func expectDropped(_ frames: [ParcelFrame], _ letter: ParcelLetter, _ words: String) async throws {
      #expect(try send(frames, to: letter).isTaken)
      let problems = Collected<String>()
      #expect(await recoveryError(for: 50, problems: problems)?.code == .belowThreshold)
      #expect(problems.all.contains { $0.hasPrefix("cleo ") && $0.contains(words) })
      #expect(try ben.core.database.replySecret(letter.id) == nil)
      #expect(try ben.core.database.parcelContent(letter.id) == nil)
      // She isn't asked again by parcel, and doesn't stand in the way of others.
      #expect(
        try !ben.core.database.parcels(.request, [.waiting]).contains {
          $0.peer == world[2].vault.core.identity.keys.digest
        })
      world.set(.none, for: world[3])
      #expect(await recoveryError(for: 50) == nil)
    }

    @Test func `a piece that was changed names its sender`() async throws {
      let letter = try await question()
      let changed = try frames(letter) { bytes, number in if number == 3 { bytes[7] ^= 1 } }
      try await expectDropped(changed, letter, "damaged piece")
    }

    @Test func `another holder's share names its sender`() async throws {
      let letter = try await question()
      try await expectDropped(try frames(letter, share: 3), letter, "does not verify")
    }

    @Test func `pieces of another fragment name their sender`() async throws {
      let letter = try await question()
      try await expectDropped(try frames(letter, pieces: 3), letter, "piece")
    }

    @Test func `an answer under another number, or sealed to another key, names its sender`() async throws {
      let letter = try await question()
      let other = try AgreementKeyPair.generate()
      try await expectDropped(try frames(letter, key: other.publicKey), letter, "does not verify")
    }

    @Test func `messages out of turn name their sender`() async throws {
      let letter = try await question()
      try await expectDropped([try ParcelFrame(Ping(request: 1))], letter, "out of turn")
    }

    @Test func `an answer of somebody else, or to nothing, is ignored`() async throws {
      let letter = try await question()
      guard case .ignored = try send(frames(letter), to: letter, by: 3) else {
        Issue.record("dan answers what cleo was asked")
        return
      }
      guard case .ignored = try send(frames(letter), to: letter, inReplyTo: ParcelSeed.fresh().parcelID()) else {
        Issue.record("nobody has asked this")
        return
      }
      #expect(try send(frames(letter), to: letter).isTaken)
      #expect(await recoveryError(for: 50) == nil)
      // It comes again, after all is over.
      let again = try send(frames(letter), to: letter)
      #expect(again.isTaken || again == .ignored("nobody waits for it"))
      #expect(try ben.parcelRecords(.request).allSatisfy { $0.state == .withdrawn })
    }

    @Test func `a refusal by parcel is told, and the peer isn't asked again the same day`() async throws {
      let letter = try await question()
      let number = try ReleaseRequest.decode(letter.frames[1].bytes, limit: 512).request
      let refusal = [
        try ParcelFrame(Hello(services: PeerServiceKind.allCases)),
        try ParcelFrame(Refusal(request: number, reason: .notAccepted)),
      ]
      #expect(try send(refusal, to: letter).isTaken)
      let problems = Collected<String>()
      #expect(await recoveryError(for: 50, problems: problems)?.code == .belowThreshold)
      #expect(problems.all.contains { $0.hasPrefix("cleo ") && $0.contains(RefusalReason.notAccepted.explanation) })
      let cleo = world[2].vault.core.identity.keys.digest
      #expect(try ben.core.database.parcels(.request).count { $0.peer == cleo } == 1)
      world.clock.advance(milliseconds: 2 * 86_400_000)
      _ = await recoveryError(for: 50)
      _ = await recoveryError(for: 50)
      #expect(try ben.core.database.parcels(.request, [.waiting]).contains { $0.peer == cleo })
    }

    @Test func `a fragment that is damaged there leaves its share of use`() async throws {
      let letter = try await question()
      let all = try frames(letter)
      let number = try ReleaseRequest.decode(letter.frames[1].bytes, limit: 512).request
      let cut = Array(all.prefix(4)) + [try ParcelFrame(PiecesEnd(request: number, refusal: .fragmentDamaged))]
      #expect(try send(cut, to: letter).isTaken)
      #expect(await recoveryError(for: 50)?.code == .belowThreshold)
      world.set(.none, for: world[3])
      #expect(await recoveryError(for: 50) == nil)
    }
  }
}
