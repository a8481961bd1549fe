import ShamirKit
import Sodium
import Synchronization
import VaultProtocol

/// Pieces of a peer's fragment, from the session in which it released its share.
struct SessionPieces: PieceSource {
  let conversation: Conversation
  let request: UInt64
  let header: SecretHeader
  let index: UInt8
  /// Asked for and not here yet.
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
      // What was asked for with the proof is on its way, wanted by now or not.
      let piece = try await piece(number, root)
      if number == due {
        each(piece)
        due += 1
      }
      guard asked.came() else { continue }
      let last = try await conversation.receive(PiecesEnd.self)
      guard last.request == request, last.refusal == nil else { throw .refused(last.refusal ?? .fragmentDamaged) }
      // Nothing more can be asked, and the holder waits for the end.
      if asked.isOver { await conversation.close() }
    }
  }

  private func piece(_ number: UInt64, _ root: Digest) async throws(LinkFailure) -> VerifiedPiece {
    let received = try await conversation.receiveAny()
    if received.type == MessageType.piecesEnd.rawValue {
      throw .refused(try conversation.parse(received, as: PiecesEnd.self).refusal ?? .fragmentDamaged)
    }
    let piece = try conversation.parse(received, as: ProvenPiece.self)
    return try piece.verified(number, of: request, header, index, root)
  }

  func close() async { await conversation.close() }
}

/// Pieces that a holder was asked for and that aren't here yet. They come in order, and one request is answered before the next is made.
final class AskedPieces: Sendable {
  /// Bytes of pieces that are asked for together with the share.
  static let aheadLimit = 65_536

  private let request: UInt64
  private let pieceCount: UInt64
  private let range = Mutex<Range<UInt64>>(0..<0)
  private let hasSaidGoodbye = Mutex(false)

  init(request: UInt64, pieceCount: UInt64) {
    self.request = request
    self.pieceCount = pieceCount
  }

  /// Nil if none was asked for.
  var next: UInt64? { range.withLock { $0.isEmpty ? nil : $0.lowerBound } }

  /// The next one has come; returns whether it was the last.
  func came() -> Bool {
    range.withLock { range in
      range = range.dropFirst()
      return range.isEmpty
    }
  }

  /// Asks for pieces, and says goodbye with the request for the last one.
  func ask(_ first: UInt64, _ count: UInt32, _ conversation: Conversation) async throws(LinkFailure) {
    let count = min(count, PieceRequest.countLimit)
    try await conversation.send(PieceRequest(request: request, first: first, count: count))
    let end = first + UInt64(count)
    range.withLock { $0 = first..<end }
    guard end >= pieceCount else { return }
    try await conversation.endAsking()
    hasSaidGoodbye.withLock { $0 = true }
  }

  /// Whether all has come, and nothing more can be asked for.
  var isOver: Bool { hasSaidGoodbye.withLock { $0 } && next == nil }

  /// How many pieces from `first` on are asked for together with the share.
  static func countAhead(_ plan: DispersalPlan, from first: UInt64) -> UInt32 {
    guard first < plan.stripeCount else { return 0 }
    let count = UInt64(max(1, aheadLimit / plan.maximumPieceByteCount))
    return UInt32(clamping: min(count, plan.stripeCount - first))
  }
}
