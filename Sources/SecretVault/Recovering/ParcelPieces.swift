import PeerAuth
import ShamirKit
import Sodium
import VaultProtocol
import VaultStore

/// Pieces of a peer's fragment that came by parcel, and were verified then.
struct ParcelPieces: PieceSource {
  let peer: AskedHolder
  let index: UInt8
  let pieces: [VerifiedPiece]

  var holder: AskedHolder? { peer }

  func fetch(first: UInt64, count: Int, each: @Sendable (VerifiedPiece) -> Void) async throws(LinkFailure) {
    guard count > 0 else { return }
    for number in first..<(first + UInt64(count)) {
      // The peer has said that its fragment is damaged from there on.
      guard let position = Int(exactly: number), position < pieces.count else { throw .refused(.fragmentDamaged) }
      each(pieces[position])
    }
  }

  func close() async {}

  /// From the first one on, until the peer says that there are no more.
  static func read(
    _ frames: ArraySlice<ParcelFrame>, request: UInt64, _ header: SecretHeader, _ index: UInt8
  ) throws(LinkFailure) -> [VerifiedPiece] {
    let root: Digest
    do { root = try header.root(of: index) } catch { throw LinkFailure(error) }
    var pieces: [VerifiedPiece] = []
    for frame in frames {
      if frame.type == PiecesEnd.type.rawValue {
        let end: PiecesEnd = try Post.parse(frame)
        guard end.request == request else { throw .notAsked }
        continue
      }
      guard frame.type == ProvenPiece.type.rawValue else {
        throw LinkFailure(ProtocolError.unexpectedMessage(frame.type))
      }
      let piece: ProvenPiece = try Post.parse(frame)
      pieces.append(try piece.verified(UInt64(pieces.count), of: request, header, index, root))
    }
    return pieces
  }
}

/// Reads the answer to a request for a share, with the same checks as in a session.
struct ParcelReleaseReader {
  let epoch: Epoch
  let own: HeldShare
  /// The number of the request.
  let request: UInt64
  let peer: PeerRecord

  /// Share, row and pieces are verified against the header.
  func read(_ frames: [ParcelFrame], with key: AgreementKeyPair) throws(LinkFailure) -> ReleasedShare {
    var rest = frames[...]
    if rest.first?.type == Hello.type.rawValue { rest.removeFirst() }
    guard let first = rest.popFirst() else { throw LinkFailure(.misbehaved, "answered nothing") }
    switch first.type {
    case Refusal.type.rawValue:
      let refusal: Refusal = try Post.parse(first)
      guard refusal.request == request else { throw .notAsked }
      throw .refused(refusal)
    case MessageType.unsupported.rawValue: throw .tooOld(peer.name)
    case SealedRelease.type.rawValue: break
    default: throw LinkFailure(ProtocolError.unexpectedMessage(first.type))
    }
    do {
      let release = try SealedRelease.open(first.bytes.span.bytes, with: key)
      guard release.request == request, release.share.index != own.share.index else {
        throw ProtocolError.foreignShare("index")
      }
      let index = release.share.index
      try epoch.verifyHolder(index: index, card: peer.digest, salt: release.salt.bytes)
      try release.share.verify(against: epoch.commitments)
      let share = try KeyShare(index: index, bytes: try release.share.bytes.duplicate())
      let pieces = try ParcelPieces.read(rest, request: request, epoch.header, index)
      return ReleasedShare(
        peer: peer.asked, share: share, pieces: ParcelPieces(peer: peer.asked, index: index, pieces: pieces))
    } catch let error as LinkFailure {
      throw error
    } catch let error as ProtocolError {
      throw LinkFailure(error)
    } catch {
      throw LinkFailure(.misbehaved, "sent a share that does not verify")
    }
  }
}
