import PeerAuth
import ShamirKit
import Sodium
import Testing
import VaultProtocol
import WireCodec

@testable import SecretVault

extension HostileRequester {
  /// Begins a drill and returns the holder's nonce.
  func askForDrill(_ header: SecretHeader, request: UInt64 = 1, digest: Digest? = nil) async throws -> [UInt8] {
    try await session.send(
      DrillRequest(request: request, tag: AskTag.of(header.id), headerDigest: digest ?? header.digest, epoch: 0))
    return try await session.expect(DrillChallenge.self).nonce
  }

  /// What the holder says to a drill's proof: a refusal's reason, nil if it has proved its own share.
  func submitToDrill(_ possession: Possession) async throws -> RefusalReason? {
    try await session.send(DrillProof(possession: possession, nonce: Randomness.bytes(32)))
    let received = try await session.receive { MessageType.byteLimit($0, isPeer: true) }
    if received.type == MessageType.drillAnswer.rawValue { return nil }
    guard received.type == DrillRefusal.type.rawValue else { throw ProtocolError.unexpectedMessage(received.type) }
    return try DrillRefusal.decode(received.body.bytes, limit: DrillRefusal.type.byteLimit).reason
  }
}

extension VaultTests {
  /// Ada dealt to ben and cleo, not to dan. Whoever drills asks ben.
  @Suite struct HostileDrills {
    let world: TestWorld
    let header: SecretHeader

    init() async throws {
      world = try TestWorld(4)
      header = try world[0].header(try await world.share(randomBytes(300_000), threshold: 2, to: [1, 2]).id)
    }

    @Test func `a holder is answered`() async throws {
      let cleo = try await HostileRequester(world[2], dials: world[1], in: world)
      let nonce = try await cleo.askForDrill(header)
      #expect(try await cleo.submitToDrill(cleo.proof(header, nonce: nonce, purpose: .drill)) == nil)
    }

    @Test func `a peer without a share gets nothing, not even with a stolen one`() async throws {
      let dan = try await HostileRequester(world[3], dials: world[1], in: world)
      let nonce = try await dan.askForDrill(header)
      let stolen = try dan.proof(header, nonce: nonce, share: world[2], purpose: .drill)
      #expect(try await dan.submitToDrill(stolen) == .unavailable)
      let again = try await dan.askForDrill(header, request: 2)
      let claimed = try dan.proof(
        header, nonce: again, request: 2, share: world[2], prover: world[2], purpose: .drill)
      #expect(try await dan.submitToDrill(claimed) == .unavailable)
      #expect(try world[1].vault.overview.log(limit: 50).allSatisfy { $0.event != "share-drilled" })
      // Nor does it learn whether ben has such a secret at all.
      let unknown = try await dan.askForDrill(header, request: 3, digest: Digest(Randomness.bytes(32)))
      let other = try dan.proof(header, nonce: unknown, request: 3, share: world[2], purpose: .drill)
      #expect(try await dan.submitToDrill(other) == .unavailable)
    }

    @Test func `a stranger doesn't come as far`() async throws {
      try world[1].forget(world[2])
      await #expect(throws: SessionError.self) {
        _ = try await HostileRequester(world[2], dials: world[1], in: world)
      }
    }

    @Test func `a proof for a release is none for a drill, and the other way round`() async throws {
      let cleo = try await HostileRequester(world[2], dials: world[1], in: world)
      let nonce = try await cleo.askForDrill(header)
      #expect(try await cleo.submitToDrill(cleo.proof(header, nonce: nonce, purpose: .release)) == .unavailable)
      let other = try await cleo.ask(header, request: 2)
      let drilled = try cleo.proof(header, nonce: other, request: 2, purpose: .drill)
      #expect(try await cleo.submit(drilled) == .unavailable)
    }

    @Test func `a proof over an old nonce, or of the holder's own share, is refused`() async throws {
      let cleo = try await HostileRequester(world[2], dials: world[1], in: world)
      let old = try await cleo.askForDrill(header)
      let proof = try cleo.proof(header, nonce: old, purpose: .drill)
      #expect(try await cleo.submitToDrill(proof) == nil)
      _ = try await cleo.askForDrill(header)
      #expect(try await cleo.submitToDrill(proof) == .unavailable)
      let nonce = try await cleo.askForDrill(header)
      let bens = try cleo.proof(header, nonce: nonce, share: world[1], purpose: .drill)
      #expect(try await cleo.submitToDrill(bens) == .unavailable)
    }

    @Test func `pieces are shown to nobody who has not proved a share`() async throws {
      let dan = try await HostileRequester(world[3], dials: world[1], in: world)
      let nonce = try await dan.askForDrill(header)
      #expect(
        try await dan.submitToDrill(dan.proof(header, nonce: nonce, share: world[2], purpose: .drill)) == .unavailable)
      try await dan.session.send(DrillPieceRequest(request: 1, numbers: [0]))
      #expect(await dan.isHungUp())
    }

    @Test func `a drill gives no right to the release's pieces, nor to pieces that don't exist`() async throws {
      let cleo = try await HostileRequester(world[2], dials: world[1], in: world)
      let nonce = try await cleo.askForDrill(header)
      #expect(try await cleo.submitToDrill(cleo.proof(header, nonce: nonce, purpose: .drill)) == nil)
      try await cleo.session.send(PieceRequest(request: 1, first: 0, count: 1))
      #expect(await cleo.isHungUp())
      let again = try await HostileRequester(world[2], dials: world[1], in: world)
      let fresh = try await again.askForDrill(header)
      #expect(try await again.submitToDrill(again.proof(header, nonce: fresh, purpose: .drill)) == nil)
      try await again.session.send(DrillPieceRequest(request: 1, numbers: [0, header.dispersal.stripeCount]))
      #expect(await again.isHungUp())
    }

    // MARK: Holders that lie

    /// What cleo makes of a program of ben's that answers drills in its own way.
    private func check(
      _ answer: @escaping @Sendable (PeerSession, DrillRequest, DrillProof, Member) async throws -> Void
    ) async throws -> HolderCheck {
      let ben = world[1]
      world.network.serve(ben.address) { transport in
        let vault = ben.vault
        do {
          let session = try await PeerSession.answer(
            transport, identity: vault.core.identity, ownCard: try vault.core.ownCard()
          ) { key in
            (try? vault.core.database.peer(noiseKey: key)).flatMap { $0 }.flatMap {
              try? vault.directory.storedCard($0).keys
            }
          }
          _ = try await session.expect(Hello.self)
          try await session.send(Hello(services: .usual))
          let asked = try await session.expect(DrillRequest.self)
          try await session.send(DrillChallenge(request: asked.request, nonce: Randomness.bytes(32)))
          try await answer(session, asked, try await session.expect(DrillProof.self), ben)
          await session.close()
        } catch {
          await transport.close()
        }
      }
      let report = try await world.check(by: 2)
      return try #require(report.holders.first { $0.peer == "ben" })
    }

    private static func answer(
      _ session: PeerSession, _ header: SecretHeader, _ asked: DrillRequest, _ proof: DrillProof, by ben: Member,
      to cleo: Member, share: Member? = nil, role: ProofRole = .holder, nonce: [UInt8]? = nil,
      purpose: ProofPurpose = .drill
    ) async throws {
      let held = try (share ?? ben).held(header)
      let exchange = PossessionExchange(
        Epoch(header), purpose: purpose, role: role, prover: ben.vault.core.identity.keys.digest,
        verifier: cleo.vault.core.identity.keys.digest, binding: session.handshakeHash, nonce: nonce ?? proof.nonce)
      try await session.send(
        DrillAnswer(
          possession: try exchange.prove(
            request: asked.request, share: held.share, salt: held.salt, evaluation: held.share.evaluation())))
    }

    @Test func `a holder's right proof with its true pieces convinces`() async throws {
      let (header, cleo) = (header, world[2])
      let ben = try await check { session, asked, proof, ben in
        try await Self.answer(session, header, asked, proof, by: ben, to: cleo)
        let pieces = try await session.expect(DrillPieceRequest.self)
        let local = LocalPieces(
          reader: try ben.vault.core.database.openFragment(of: header.id, index: 2), header: header, index: 2)
        for number in pieces.numbers {
          let (bytes, _, path) = try local.provenPiece(number)
          try await session.send(DrillPiece(request: asked.request, number: number, path: path, bytes: bytes))
        }
        try await session.send(DrillPiecesEnd(request: asked.request, refusal: nil))
      }
      #expect(ben.state == .answered && ben.hasProvedShare)
    }

    @Test func `the requester's own proof sent back convinces nobody`() async throws {
      let ben = try await check { session, _, proof, _ in
        try await session.send(DrillAnswer(possession: proof.possession))
      }
      #expect(ben.state == .damaged && !ben.hasProvedShare)
      #expect(ben.reason == "sent a proof of its share that does not verify")
    }

    @Test(arguments: ["requester's role", "old nonce", "another's share", "release"])
    func `a proof for another role, nonce, share or purpose convinces nobody`(kind: String) async throws {
      let (header, cleo, ada) = (header, world[2], world[0])
      let ben = try await check { session, asked, proof, ben in
        switch kind {
        case "requester's role":
          try await Self.answer(session, header, asked, proof, by: ben, to: cleo, role: .requester)
        case "old nonce":
          try await Self.answer(session, header, asked, proof, by: ben, to: cleo, nonce: Randomness.bytes(32))
        case "another's share": try await Self.answer(session, header, asked, proof, by: ben, to: cleo, share: ada)
        default: try await Self.answer(session, header, asked, proof, by: ben, to: cleo, purpose: .release)
        }
      }
      #expect(ben.state == .damaged && !ben.hasProvedShare, "\(kind)")
    }

    @Test func `pieces of another fragment, or changed ones, are damage by name`() async throws {
      let (header, cleo) = (header, world[2])
      let ben = try await check { session, asked, proof, ben in
        try await Self.answer(session, header, asked, proof, by: ben, to: cleo)
        let pieces = try await session.expect(DrillPieceRequest.self)
        let local = LocalPieces(
          reader: try ben.vault.core.database.openFragment(of: header.id, index: 2), header: header, index: 2)
        for number in pieces.numbers {
          var (bytes, _, path) = try local.provenPiece(number)
          if number == 1 { bytes[0] ^= 1 }
          try await session.send(DrillPiece(request: asked.request, number: number, path: path, bytes: bytes))
        }
        try await session.send(DrillPiecesEnd(request: asked.request, refusal: nil))
      }
      #expect(ben.state == .damaged && ben.hasProvedShare)
      #expect(ben.reason == "sent a damaged piece (number 1) of the file")
    }

    @Test func `an end of pieces that weren't asked for is no word on the fragment`() async throws {
      let (header, cleo) = (header, world[2])
      let ben = try await check { session, asked, proof, ben in
        try await Self.answer(session, header, asked, proof, by: ben, to: cleo)
        _ = try await session.expect(DrillPieceRequest.self)
        try await session.send(DrillPiecesEnd(request: asked.request + 1, refusal: .fragmentDamaged))
      }
      #expect(ben.reason == LinkFailure.notAsked.reason && ben.hasProvedShare == false)
    }

    @Test func `a damaged fragment of one secret doesn't spoil the drill of another`() async throws {
      let second = try await world.share(randomBytes(100), threshold: 2, to: [1, 2], description: "second").id
      let first = header.id.description
      try damage(try #require(files(below: world[1].folders.fragmentsPath).first { $0.contains(first) }), at: 10)
      let reports = try await world[2].vault.checking.check(nil, pieces: 64) { _ in }
      let states = reports.map { report in
        (report.secret.id, report.holders.first { $0.peer == "ben" }?.state)
      }
      #expect(states.contains { $0.0 == first && $0.1 == .damaged })
      #expect(states.contains { $0.0 == second && $0.1 == .answered })
    }
  }
}
