import VaultProtocol

/// What the dialogue promises about meetings, followed along with it: two copies of a parcel, which may be offered, wanted, sent and given.
struct MeetingCheck {
  /// A small one, and one of two pieces.
  private static let parcels = [(many(2, 16), 1070), (many(3, 16), 46 + 65_536)].compactMap { digest, size in
    ParcelID(many(1, 16)).flatMap { ParcelCopy(id: $0, digest: digest) }.map { (copy: $0, size: size) }
  }

  private var request: UInt64?
  private var count = 0
  private var offered: [ParcelCopy: Int] = [:]
  private var wanted: Set<ParcelCopy> = []
  /// The parcel whose pieces come, with the bytes that are there.
  private var receiving: (copy: ParcelCopy, byteCount: Int)?
  private var hasOffers = false
  private var hasTurned = false
  private var given: ParcelCopy?

  /// Whether a meeting is under way.
  var isRunning: Bool { request != nil }

  /// Checks a message that the dialogue let in, and answers it.
  mutating func take(_ message: CourierMessage, _ dialogue: inout Exchanges, _ tape: inout Tape) {
    if let request { require(message.request == request, "a meeting has one number") }
    switch message {
    case .greeting(let greeting):
      require(!isRunning, "a meeting has one greeting")
      count += 1
      require(count <= MeetingAnswerer.limit, "meetings are few")
      let count = count
      self = MeetingCheck()
      self.count = count
      request = greeting.request
    case .offers(let offers):
      require(isRunning && !hasOffers, "offers come once, behind the greeting")
      hasOffers = true
      for offer in offers.offers { offered[offer.copy] = offer.size }
      let choice = tape.byte()
      let copies = Self.parcels.enumerated().filter { choice >> $0.offset & 1 == 1 }.map(\.element.copy)
      dialogue.meeting.wants(copies)
      wanted = Set(copies).intersection(offered.keys)
    case .piece(let piece): take(piece)
    case .turn:
      require(hasOffers && !hasTurned && receiving == nil, "the turn comes once, between parcels")
      hasTurned = true
      give(&dialogue, &tape)
    case .taken(let taken):
      require(hasTurned && taken.copy == given, "a word is about what was given")
      given = nil
      give(&dialogue, &tape)
    }
  }

  private mutating func take(_ piece: CourierPiece) {
    require(hasOffers && !hasTurned, "pieces come before the turn")
    if let receiving {
      require(piece.copy == receiving.copy, "no parcel comes within another")
    } else {
      require(wanted.remove(piece.copy) != nil, "a parcel comes once, and only if it is wanted")
    }
    let before = receiving?.byteCount ?? 0
    require(piece.total == offered[piece.copy] && piece.offset == before, "pieces come in their order")
    let byteCount = before + piece.bytes.count
    receiving = byteCount == piece.total ? nil : (piece.copy, byteCount)
  }

  private mutating func give(_ dialogue: inout Exchanges, _ tape: inout Tape) {
    let choice = Int(tape.byte())
    guard Self.parcels.indices.contains(choice) else {
      dialogue.meeting.metToTheEnd()
      request = nil
      return
    }
    given = Self.parcels[choice].copy
    dialogue.meeting.gave(Self.parcels[choice].copy)
  }

  /// A message about these two, of the kinds 18 to 22.
  static func message(_ kind: UInt8, _ number: UInt64, _ tape: inout Tape) -> any PeerMessage {
    switch kind {
    case 18: return CourierGreeting(request: number, copies: [], takes: true, receipts: [])
    case 19:
      let choice = tape.byte()
      let offers = parcels.enumerated().filter { choice >> $0.offset & 1 == 1 }.map { _, parcel in
        CourierOffer(
          copy: parcel.copy, tag: many(7, 16), size: parcel.size, expiresAt: 1, hopsLeft: 2, branch: 1, isYours: false,
          allowsServers: choice & 4 != 0)
      }
      return CourierOffers(request: number, receipts: [], offers: offers)
    case 20:
      // The small one's piece, the other's first, again the small one's, the other's second.
      let choice = Int(tape.byte() & 3)
      let parcel = parcels[choice & 1]
      let offset = choice == 3 ? CourierPiece.byteLimit : 0
      return CourierPiece(
        request: number, copy: parcel.copy, hopsLeft: 2, branch: 1, of: many(5, parcel.size), offset: offset)
    case 21:
      let parcel = parcels[Int(tape.byte() & 1)]
      return CourierTaken(request: number, copy: parcel.copy, outcome: .known)
    default: return CourierTurn(request: number, replies: [])
    }
  }
}
