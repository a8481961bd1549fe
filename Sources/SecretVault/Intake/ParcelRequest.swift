import ShamirKit
import Sodium
import VaultProtocol
import WireCodec

/// What a request that came by parcel is about: one thing, and all that belongs to it.
enum ParcelRequest: Hashable, Sendable {
  /// A share to be kept, of the secret with this id as far as its header can be read.
  case deposit(secret: SecretID?)
  case release(tag: Digest)
  case item
  case introduction
  /// What is known of a secret's holders; with nil in which secrets the sender has a place.
  case lifecycle(tag: Digest?, wantsPieces: Bool)

  var hasLargeAnswer: Bool {
    switch self {
    case .release: true
    case .lifecycle(_, let wantsPieces): wantsPieces
    case .deposit, .item, .introduction: false
    }
  }

  /// Most requests for pieces.
  private static let pieceRequestLimit = 4

  /// Throws ``ProtocolError/unexpectedMessage(_:)`` for messages that don't belong together.
  init(_ frames: [ParcelFrame]) throws(ProtocolError) {
    guard frames.count >= 2, frames[0].type == MessageType.hello.rawValue else {
      throw .unexpectedMessage(frames.first?.type ?? 0)
    }
    let rest = frames.dropFirst(2)
    switch frames[1].type {
    case Offer.type.rawValue:
      try Self.check(rest, are: Piece.type, until: DepositEnd.type)
      let offer: Offer = try Self.decode(frames[1])
      self = .deposit(secret: (try? SecretHeader(bytes: offer.header))?.id)
    case ReleaseRequest.type.rawValue:
      guard let proof = rest.first, proof.type == Possession.type.rawValue else {
        throw .unexpectedMessage(rest.first?.type ?? 0)
      }
      try Self.checkPieceRequests(rest.dropFirst())
      let request: ReleaseRequest = try Self.decode(frames[1])
      self = .release(tag: request.tag)
    case ItemOffer.type.rawValue:
      try Self.check(rest, are: ItemPiece.type, until: ItemEnd.type)
      self = .item
    case LifecycleRequest.type.rawValue:
      let items = rest.prefix { $0.type == LifecycleItem.type.rawValue }
      let limits = LifecycleAnswerer.parcelLimits
      // Beside its object an item has 13 bytes.
      guard items.count <= limits.objects, items.reduce(0, { $0 + $1.bytes.count }) <= limits.bytes + 13 * items.count
      else { throw .unexpectedMessage(LifecycleItem.type.rawValue) }
      let end = rest.dropFirst(items.count)
      guard let first = end.first, first.type == LifecycleEnd.type.rawValue else {
        throw .unexpectedMessage(end.first?.type ?? 0)
      }
      try Self.checkPieceRequests(end.dropFirst())
      let request: LifecycleRequest = try Self.decode(frames[1])
      self = .lifecycle(tag: request.tag, wantsPieces: end.count > 1)
    case Introduction.type.rawValue:
      guard rest.isEmpty else { throw .unexpectedMessage(rest.first?.type ?? 0) }
      self = .introduction
    default: throw .unexpectedMessage(frames[1].type)
    }
  }

  /// Throws unless all frames are pieces but for the last, which is the end of them.
  private static func check(
    _ frames: ArraySlice<ParcelFrame>, are piece: MessageType, until end: MessageType
  ) throws(ProtocolError) {
    for frame in frames.dropLast() where frame.type != piece.rawValue { throw .unexpectedMessage(frame.type) }
    guard let last = frames.last, last.type == end.rawValue else { throw .unexpectedMessage(frames.last?.type ?? 0) }
  }

  private static func checkPieceRequests(_ frames: ArraySlice<ParcelFrame>) throws(ProtocolError) {
    for frame in frames where frame.type != PieceRequest.type.rawValue { throw .unexpectedMessage(frame.type) }
    guard frames.count <= pieceRequestLimit else { throw .unexpectedMessage(PieceRequest.type.rawValue) }
  }

  private static func decode<Message: PeerMessage>(_ frame: ParcelFrame) throws(ProtocolError) -> Message {
    do throws(WireError) { return try Message.decode(frame.bytes, limit: Message.type.byteLimit) } catch {
      throw .malformed(error)
    }
  }
}
