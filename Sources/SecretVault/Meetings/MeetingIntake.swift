import Courier
import VaultProtocol

/// Parcels that come in a meeting: each wanted copy once, of exactly the size that was offered, one at a time in memory.
struct MeetingIntake: Sendable {
  /// A parcel all of whose pieces have come.
  struct Whole: Sendable {
    let header: ParcelHeader
    /// Nil if there was no memory for it.
    let content: [UInt8]?
  }

  private struct Arriving: Sendable {
    let header: ParcelHeader
    var order: CourierPieceOrder
    let room: MeetingPlace?
    var bytes: [UInt8] = []
  }

  private let memory: MeetingMemory
  private var wanted: [CopyKey: CarriedOffer] = [:]
  private var arriving: Arriving?

  init(_ offers: [CarriedOffer], _ replies: [CarriedReply], _ memory: MeetingMemory) {
    self.memory = memory
    let copies = Set(
      replies.compactMap { reply -> CopyKey? in
        if case .wanted = reply.answer { reply.copy } else { nil }
      })
    for offer in offers where copies.contains(offer.header.copy) { wanted[offer.header.copy] = offer }
  }

  /// Returns the parcel after its last piece. Throws for an unwanted piece, or one out of order.
  mutating func take(_ piece: CourierPiece) throws(ProtocolError) -> Whole? {
    var current: Arriving
    if let arriving {
      current = arriving
    } else {
      guard let copy = CopyKey(piece.copy), let offer = wanted.removeValue(forKey: copy),
        piece.hopsLeft == offer.header.hopsLeft, piece.branch == offer.header.branch,
        let message = [offer].messages.first
      else { throw .unexpectedMessage(MessageType.courierPiece.rawValue) }
      current = Arriving(
        header: offer.header, order: CourierPieceOrder(message), room: memory.room(for: offer.header.size))
    }
    arriving = nil
    try current.order.take(piece)
    if current.room != nil { current.bytes += piece.bytes }
    guard current.order.isComplete else {
      arriving = current
      return nil
    }
    return Whole(header: current.header, content: current.room == nil ? nil : current.bytes)
  }
}
