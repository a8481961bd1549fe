import WireCodec

/// The order in which a requester may speak of drills: each nonce once, and a few pieces of what the last drill was about. A drill gives no right to a
/// release.
package struct DrillAnswerer: ExchangeAnswerer {
  /// Most drills of one session.
  package static let limit = 1024
  /// Most pieces that one drill may ask for.
  package static let pieceLimit = 4096

  package enum Request: Sendable {
    case drill(DrillRequest)
    case proof(DrillProof)
    case pieces(DrillPieceRequest)
  }

  package enum Step: Sendable {
    /// Draw a nonce, call ``challenged(_:nonce:)``, send the challenge.
    case challenge(DrillRequest)
    /// Check a proof against the nonce that was drawn for it, then answer; call ``drilled(request:)`` if it held.
    case judge(DrillProof, DrillRequest, nonce: [UInt8])
    /// Show pieces of the fragment that the last drill was about.
    case showPieces(DrillPieceRequest)
  }

  /// The drill whose proof is waited for.
  private var challenge: (request: DrillRequest, nonce: [UInt8])?
  private var count = 0
  /// The last drill, if its proof held, and how many pieces it may still ask for.
  private var last: (request: UInt64, piecesLeft: Int)?

  var isUnderWay: Bool { challenge != nil }

  static func read(_ type: MessageType, _ body: RawSpan) throws(WireError) -> Request? {
    switch type {
    case .drillRequest: .drill(try .read(body))
    case .drillProof: .proof(try .read(body))
    case .drillPieceRequest: .pieces(try .read(body))
    default: nil
    }
  }

  mutating func receive(_ request: Request) -> Step? {
    switch (challenge, request) {
    case (nil, .drill(let request)) where count < Self.limit:
      count += 1
      last = nil
      return .challenge(request)
    case (let (request, nonce)?, .proof(let proof)) where proof.possession.request == request.request:
      challenge = nil
      return .judge(proof, request, nonce: nonce)
    case (nil, .pieces(let request)):
      guard let last, last.request == request.request, request.numbers.count <= last.piecesLeft else { return nil }
      self.last = (last.request, last.piecesLeft - request.numbers.count)
      return .showPieces(request)
    default: return nil
    }
  }

  /// Whether the last drill has this number, and its proof has held.
  func hasDrilled(_ request: UInt64) -> Bool { last?.request == request }

  /// A nonce was drawn for a drill; only a proof for that drill may follow.
  package mutating func challenged(_ request: DrillRequest, nonce: [UInt8]) { challenge = (request, nonce) }

  /// A proof held: pieces may be asked for under its number until the next drill.
  package mutating func drilled(request: UInt64) { last = (request, Self.pieceLimit) }
}
