import PeerAuth
import Sodium
import Testing
import VaultProtocol
import VaultStore

@testable import SecretVault

/// One side of a meeting with real keys, whose every message a test decides.
struct HostileMeeting: Sendable {
  static let request: UInt64 = 7

  let session: PeerSession

  /// Dials and greets, in the session and in the meeting.
  init(
    _ member: Member, dials target: Member, in world: TestWorld, receipts: [ParcelReceipt] = []
  ) async throws {
    session = try await HostileRequester(member, dials: target, in: world).session
    try await session.send(CourierGreeting(request: Self.request, copies: [], takes: true, receipts: receipts))
  }

  private init(session: PeerSession) { self.session = session }

  /// What the other side says first.
  @discardableResult
  func greeting() async throws -> CourierGreeting { try await session.expect(CourierGreeting.self) }

  func offer(_ offers: [CourierOffer], receipts: [ParcelReceipt] = []) async throws -> CourierReplies {
    try await session.send(CourierOffers(request: Self.request, receipts: receipts, offers: offers))
    return try await session.expect(CourierReplies.self)
  }

  /// Sends bytes as the parcel that was offered.
  func give(_ bytes: [UInt8], as offer: CourierOffer) async throws {
    for offset in stride(from: 0, to: bytes.count, by: CourierPiece.byteLimit) {
      try await session.send(
        CourierPiece(
          request: Self.request, copy: offer.copy, hopsLeft: offer.hopsLeft, branch: offer.branch, of: bytes,
          offset: offset))
    }
  }

  /// The same, with what becomes of it.
  func giving(_ bytes: [UInt8], as offer: CourierOffer) async throws -> CourierTaken {
    try await give(bytes, as: offer)
    return try await session.expect(CourierTaken.self)
  }

  /// Whether the other side ends the session rather than answer.
  func isHungUp() async -> Bool {
    do { return try await session.nextType() == ReceivedMessage.goodbyeType } catch { return true }
  }

  /// From now on whoever dials `member` meets a program that greets and then does what `body` says.
  static func install(
    as member: Member, in world: TestWorld,
    _ body: @escaping @Sendable (HostileMeeting, _ request: UInt64) async throws -> Void
  ) {
    world.network.serve(member.address) { transport in
      do {
        let vault = member.vault
        let session = try await PeerSession.answer(
          transport, identity: vault.core.identity, ownCard: try vault.core.ownCard()
        ) {
          key in
          (try? vault.core.database.peer(noiseKey: key)).flatMap { $0 }.flatMap {
            try? vault.directory.storedCard($0).keys
          }
        }
        _ = try await session.expect(Hello.self)
        try await session.send(Hello(services: PeerServiceKind.allCases))
        let greeting = try await session.expect(CourierGreeting.self)
        try await body(HostileMeeting(session: session), greeting.request)
        _ = try await session.nextType()
      } catch {}
      await transport.close()
    }
  }
}

extension CourierOffer {
  /// An offer of the very copy that these bytes are, with every other part at choice.
  init(_ bytes: [UInt8], hopsLeft: UInt8 = 2, branch: UInt8 = 0, isYours: Bool = false, allowsServers: Bool = false)
    throws
  {
    let parcel = try Parcel.decode(bytes, limit: Parcel.byteLimit)
    self.init(
      copy: try parcel.copy(), tag: parcel.tag, size: bytes.count, expiresAt: parcel.expiresAt, hopsLeft: hopsLeft,
      branch: branch, isYours: isYours, allowsServers: allowsServers)
  }
}

extension Member {
  /// The parcels of what it has written that hasn't arrived, oldest first.
  func ownParcels() throws -> [(record: ParcelRecord, bytes: [UInt8])] {
    try vault.post.outgoingRecords(way: .session, at: environment.now()).map { record in
      (record, try #require(try vault.post.parcelContent(record.id)))
    }
  }
}
