import PeerAuth
import ShamirKit
import Sodium
import Testing
import VaultProtocol
import VaultStore
import WireCodec

@testable import SecretVault

extension PeerSession {
  /// Sends a public message.
  func send<Message: PeerMessage>(_ message: Message) async throws {
    try await send(type: Message.type.rawValue, count: message.encodedByteCount) { (writer) throws(WireError) in
      try message.encode(into: &writer)
    }
  }

  /// The next message, which must be of this type.
  func expect<Message: PeerMessage>(_ type: Message.Type) async throws -> Message {
    let received = try await receive { MessageType.byteLimit($0, isPeer: true) }
    guard received.type == Message.type.rawValue else { throw ProtocolError.unexpectedMessage(received.type) }
    return try Message.decode(received.body.bytes, limit: Message.type.byteLimit)
  }

  /// The type of the next message; 0 for a goodbye.
  func nextType() async throws -> UInt16 { try await receive { MessageType.byteLimit($0, isPeer: true) }.type }

  /// Sends a share.
  func release(_ request: UInt64, _ held: HeldShare) async throws {
    try await send(type: Release.type.rawValue, count: Release.byteCount) { (writer) throws(WireError) in
      try Release.encode(request: request, share: held.share, salt: held.salt, into: &writer)
    }
  }
}

/// What a hostile holder does when it is asked for its share or its pieces.
enum Misdeed: String, Sendable, CaseIterable {
  case honest
  case sendsInvalidShare, sendsAnotherHoldersShare, sendsRequestersIndex, sendsGarbageInsteadOfShare
  case refusesShare, hangsUpInsteadOfShare, cutsInsteadOfShare, saysNothingInsteadOfShare
  case hangsUpBehindShare, saysNothingOfCards
  case flipsByteInPiece, sendsAnotherPiece, sendsWrongPath, sendsForeignFragment, sendsShortPiece
  case refusesPieces, endsPiecesEarly, hangsUpInPieces, saysNothingInPieces, sendsGarbageInPieces
}

/// A holder with a real share and real keys, and a program of its own.
struct HostileHolder: Sendable {
  let member: Member
  let misdeed: Misdeed
  /// Somebody else's share and pieces, for the misdeeds that need them.
  let accomplice: Member
  /// Raised once it has said what it has to say about its share.
  let hasAnswered = Flag()
  /// Raised once it says nothing more and the other side waits for that: no deadline of what was sent to it runs then, but the answer's alone.
  let isSilent = Flag()
  /// The requests behind whose answers it was asked for cards, and said nothing.
  let questionsForCards = Collected<ReleaseRequest>()

  /// From now on whoever dials `member` meets this program.
  @discardableResult
  static func install(
    _ misdeed: Misdeed, as member: Member, with accomplice: Member, in world: TestWorld
  ) -> HostileHolder {
    let holder = HostileHolder(member: member, misdeed: misdeed, accomplice: accomplice)
    world.network.serve(member.address) { transport in
      try? await holder.answer(transport)
      await transport.close()
      holder.hasAnswered.raise()
    }
    return holder
  }

  private func answer(_ transport: any PeerTransport) async throws {
    let vault = member.vault
    let session = try await PeerSession.answer(
      transport, identity: vault.core.identity, ownCard: try vault.core.ownCard()
    ) { key in
      (try? vault.core.database.peer(noiseKey: key)).flatMap { $0 }.flatMap { try? vault.directory.storedCard($0).keys }
    }
    _ = try await session.expect(Hello.self)
    // Then it is asked for cards as well.
    let services = [.hangsUpBehindShare, .saysNothingOfCards].contains(misdeed) ? PeerServiceKind.allCases : .usual
    try await session.send(Hello(services: services))
    let asked = try await session.expect(ReleaseRequest.self)
    let possession = try await session.expect(Possession.self)
    guard try await release(asked, possession, session, transport) else { return await session.close() }
    var wanted: PieceRequest
    do { wanted = try await session.expect(PieceRequest.self) } catch {
      if misdeed == .saysNothingOfCards {
        questionsForCards.add(asked)
        try await fallSilent(session, transport)
      }
      throw error
    }
    while true {
      guard try await pieces(wanted, asked, session, transport) else { return await session.close() }
      wanted = try await session.expect(PieceRequest.self)
    }
  }

  private func fallSilent(_ session: PeerSession, _ transport: any PeerTransport) async throws {
    if let end = transport as? LineEnd { _ = try await eventually { end.isAwaited } }
    isSilent.raise()
    _ = try await session.nextType()
  }

  /// False to hang up.
  private func release(
    _ asked: ReleaseRequest, _ possession: Possession, _ session: PeerSession, _ transport: any PeerTransport
  ) async throws -> Bool {
    let own = try Self.held(by: member, asked)
    switch misdeed {
    case .sendsInvalidShare:
      var bytes = own.share.bytes.withUnsafeBytes { Array($0) }
      bytes[3] ^= 1
      let share = try KeyShare(index: own.share.index, bytes: SecretBytes(copying: bytes.span.bytes))
      try await session.release(asked.request, HeldShare(share: share, salt: own.salt.duplicate()))
    case .sendsAnotherHoldersShare:
      try await session.release(asked.request, try Self.held(by: accomplice, asked))
    case .sendsRequestersIndex:
      let share = try KeyShare(index: possession.index, bytes: own.share.bytes.duplicate())
      try await session.release(
        asked.request, HeldShare(share: share, salt: SecretBytes(copying: possession.salt.span.bytes)))
    case .sendsGarbageInsteadOfShare:
      try await session.send(type: Release.type.rawValue, count: 7) { (writer) throws(WireError) in
        try writer.bytes([1, 2, 3, 4, 5, 6, 7])
      }
    case .refusesShare: try await session.send(Refusal(request: asked.request, reason: .unavailable))
    case .hangsUpInsteadOfShare: return false
    case .cutsInsteadOfShare: (transport as? LineEnd)?.cut()
    case .saysNothingInsteadOfShare:
      hasAnswered.raise()
      _ = try await session.nextType()
    case .hangsUpBehindShare:
      try await session.release(asked.request, own)
      hasAnswered.raise()
      return false
    default: try await session.release(asked.request, own)
    }
    hasAnswered.raise()
    return true
  }

  private func pieces(
    _ wanted: PieceRequest, _ asked: ReleaseRequest, _ session: PeerSession, _ transport: any PeerTransport
  ) async throws -> Bool {
    let own = try Self.fragment(of: member, asked)
    let foreign = misdeed == .sendsForeignFragment ? try Self.fragment(of: accomplice, asked) : own
    let last = wanted.first + UInt64(wanted.count) - 1
    for number in wanted.first...last {
      let other: UInt64 = number == 0 ? 1 : 0
      let (bytes, _, path) = try foreign.provenPiece(misdeed == .sendsAnotherPiece ? other : number)
      var piece = ProvenPiece(request: asked.request, number: number, path: path, bytes: bytes)
      switch misdeed {
      case .flipsByteInPiece:
        piece = ProvenPiece(
          request: asked.request, number: number, path: path, bytes: [bytes[0] ^ 1] + bytes.dropFirst())
      case .sendsShortPiece:
        piece = ProvenPiece(request: asked.request, number: number, path: path, bytes: bytes.dropLast())
      case .sendsWrongPath:
        let siblings = try path.siblings.dropLast() + [Digest(Randomness.bytes(32))]
        piece = ProvenPiece(
          request: asked.request, number: number, path: try MerklePath(siblings: Array(siblings)), bytes: bytes)
      case .refusesPieces:
        try await session.send(PiecesEnd(request: asked.request, refusal: .fragmentDamaged))
        return true
      case .endsPiecesEarly:
        if number == last {
          try await session.send(PiecesEnd(request: asked.request, refusal: nil))
          return true
        }
      case .hangsUpInPieces: if number == last { return false }
      case .saysNothingInPieces:
        // Behind the requester's goodbye too, until it hangs up.
        if number == last {
          try await fallSilent(session, transport)
          _ = try await transport.read(atMost: 1)
          return false
        }
      case .sendsGarbageInPieces:
        try await session.send(type: ProvenPiece.type.rawValue, count: 3) { (writer) throws(WireError) in
          try writer.bytes([9, 9, 9])
        }
        return true
      default: break
      }
      try await session.send(piece)
    }
    try await session.send(PiecesEnd(request: asked.request, refusal: nil))
    return true
  }

  private static func held(by member: Member, _ asked: ReleaseRequest) throws -> HeldShare {
    let vault = member.vault
    let record = try #require(try vault.core.database.secret(askTag: asked.tag))
    guard let stored = try vault.core.database.share(ofSecret: record.id) else {
      throw ProtocolError.foreignShare("none")
    }
    return try HeldShare(index: stored.index, record: stored.bytes, of: "a secret")
  }

  private static func fragment(of member: Member, _ asked: ReleaseRequest) throws -> LocalPieces {
    let vault = member.vault
    let record = try #require(try vault.core.database.secret(askTag: asked.tag))
    let index = try #require(record.ownIndex)
    return LocalPieces(
      reader: try vault.core.database.openFragment(of: record.id, index: index),
      header: try vault.directory.header(of: record),
      index: UInt8(index))
  }
}
