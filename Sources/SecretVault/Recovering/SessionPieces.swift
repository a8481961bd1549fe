import PeerAuth
import ShamirKit
import Sodium
import Synchronization
import VaultProtocol

/// Pieces of a peer's fragment, asked for in the session in which it released its share.
struct SessionPieces: PieceSource {
  let conversation: Conversation
  let request: UInt64
  let header: SecretHeader
  let index: UInt8
  /// What was asked for and hasn't come yet.
  let asked: AskedPieces

  var holder: AskedHolder? { conversation.recipient.asked }

  func fetch(first: UInt64, count: Int, each: @Sendable (VerifiedPiece) -> Void) async throws(LinkFailure) {
    guard count > 0 else { return }
    let root: Digest
    do { root = try header.root(of: index) } catch { throw LinkFailure(error) }
    var due = first
    let end = first + UInt64(count)
    while due < end {
      guard let number = asked.next else {
        try await asked.ask(due, UInt32(clamping: end - due), conversation)
        continue
      }
      // What was asked for with the proof may not be what is wanted by now; it is on its way all the same.
      let piece = try await piece(number, root)
      if number == due {
        each(piece)
        due += 1
      }
      guard asked.came() else { continue }
      let last = try await conversation.receive(PiecesEnd.self)
      guard last.request == request, last.refusal == nil else { throw .refused(last.refusal ?? .fragmentDamaged) }
      // Nothing can be asked any more, and the holder waits for the end.
      if asked.isOver { await conversation.close() }
    }
  }

  private func piece(_ number: UInt64, _ root: Digest) async throws(LinkFailure) -> VerifiedPiece {
    let received = try await conversation.receiveAny()
    if received.type == MessageType.piecesEnd.rawValue {
      let end = try conversation.parse(received, as: PiecesEnd.self)
      throw .refused(end.refusal ?? .fragmentDamaged)
    }
    let piece = try conversation.parse(received, as: ProvenPiece.self)
    return try piece.verified(number, of: request, header, index, root)
  }

  func close() async { await conversation.close() }
}

/// The pieces that a holder was asked for and that haven't come yet. They come in order, and one request is answered before the next is made.
final class AskedPieces: Sendable {
  /// Most bytes of pieces that are asked for together with the share.
  static let aheadLimit = 65_536

  private let request: UInt64
  private let pieceCount: UInt64
  private let range = Mutex<Range<UInt64>>(0..<0)
  private let hasSaidGoodbye = Mutex(false)

  init(request: UInt64, pieceCount: UInt64) {
    self.request = request
    self.pieceCount = pieceCount
  }

  /// The piece that comes next, if one was asked for.
  var next: UInt64? { range.withLock { $0.isEmpty ? nil : $0.lowerBound } }

  /// It has come; whether it was the last one.
  func came() -> Bool {
    range.withLock { range in
      range = range.dropFirst()
      return range.isEmpty
    }
  }

  /// Asks for pieces, and says goodbye behind the last one.
  func ask(_ first: UInt64, _ count: UInt32, _ conversation: Conversation) async throws(LinkFailure) {
    let count = min(count, PieceRequest.countLimit)
    try await conversation.send(PieceRequest(request: request, first: first, count: count))
    let end = first + UInt64(count)
    range.withLock { $0 = first..<end }
    guard end >= pieceCount else { return }
    try await conversation.endAsking()
    hasSaidGoodbye.withLock { $0 = true }
  }

  /// Whether all that was asked for has come, and nothing more will be.
  var isOver: Bool { hasSaidGoodbye.withLock { $0 } && next == nil }

  /// How many pieces from `first` on are asked for together with the share.
  static func countAhead(_ plan: DispersalPlan, from first: UInt64) -> UInt32 {
    guard first < plan.stripeCount else { return 0 }
    let count = UInt64(max(1, aheadLimit / plan.maximumPieceByteCount))
    return UInt32(clamping: min(count, plan.stripeCount - first))
  }
}
