import ShamirKit
import Sodium
import VaultProtocol
import WireCodec

/// What a request that came by parcel is about. It is about one thing, and says all that belongs to it.
enum ParcelRequest: Hashable, Sendable {
  /// A share to be kept, of the secret with this id as far as its header can be read.
  case deposit(secret: [UInt8]?)
  /// A share that is asked for.
  case release(tag: Digest)
  /// An item to be left for the user.
  case item
  /// A dealer's word on the other holders of its secret.
  case introduction

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
      for frame in rest.dropLast() where frame.type != Piece.type.rawValue { throw .unexpectedMessage(frame.type) }
      guard let last = rest.last, last.type == DepositEnd.type.rawValue else {
        throw .unexpectedMessage(rest.last?.type ?? 0)
      }
      let offer: Offer
      do throws(WireError) { offer = try .decode(frames[1].bytes, limit: Offer.type.byteLimit) } catch {
        throw .malformed(error)
      }
      self = .deposit(secret: (try? SecretHeader(bytes: offer.header))?.id.bytes)
    case ReleaseRequest.type.rawValue:
      guard let proof = rest.first, proof.type == Possession.type.rawValue else {
        throw .unexpectedMessage(rest.first?.type ?? 0)
      }
      for frame in rest.dropFirst() where frame.type != PieceRequest.type.rawValue {
        throw .unexpectedMessage(frame.type)
      }
      guard rest.count <= 1 + Self.pieceRequestLimit else { throw .unexpectedMessage(PieceRequest.type.rawValue) }
      let request: ReleaseRequest
      do throws(WireError) { request = try .decode(frames[1].bytes, limit: ReleaseRequest.type.byteLimit) } catch {
        throw .malformed(error)
      }
      self = .release(tag: request.tag)
    case ItemOffer.type.rawValue:
      for frame in rest.dropLast() where frame.type != ItemPiece.type.rawValue { throw .unexpectedMessage(frame.type) }
      guard let last = rest.last, last.type == ItemEnd.type.rawValue else {
        throw .unexpectedMessage(rest.last?.type ?? 0)
      }
      self = .item
    case Introduction.type.rawValue:
      guard rest.isEmpty else { throw .unexpectedMessage(rest.first?.type ?? 0) }
      self = .introduction
    default: throw .unexpectedMessage(frames[1].type)
    }
  }
}
