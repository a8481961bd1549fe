import WireCodec

/// The order in which a requester may speak of releases: each nonce once, and pieces only behind a proof.
///
/// It needn't wait for each answer: pieces may be asked for right behind the proof.
package struct ReleaseAnswerer: ExchangeAnswerer {
  /// Most releases of one session whose pieces may still be asked for.
  package static let limit = 64

  package enum Request: Sendable {
    case release(ReleaseRequest)
    case possession(Possession)
    case pieces(PieceRequest)
  }

  package enum Step: Sendable {
    /// Draw a nonce, call ``challenged(_:nonce:)``, send the challenge.
    case challenge(ReleaseRequest)
    /// Nothing: the proof for the session's first request follows, over its opening challenge.
    case awaitProof(ReleaseRequest)
    /// Check a proof against the nonce that was drawn for it, then answer; call ``released(request:)`` if it held.
    case judge(Possession, ReleaseRequest, nonce: [UInt8])
    /// Send pieces of a fragment whose share was released under this request.
    case sendPieces(PieceRequest)
    /// Say that there are none: they were asked for behind a question that doesn't lead to them.
    case withholdPieces(PieceRequest)
    /// Nothing: it was sent before the requester could know that its proof doesn't hold.
    case drop
  }

  /// The request whose proof is waited for.
  private var challenge: (request: ReleaseRequest, nonce: [UInt8])?
  private var releases: Set<UInt64> = []
  /// The nonce of the first request, until there was one.
  private var opening: [UInt8]?
  /// The request whose proof came last and didn't hold, until the next message: pieces may have been asked for with it.
  private var refused: UInt64?
  /// The question about a secret's holders behind which no pieces are given.
  private var withheld: UInt64?

  /// Waits for requests in the session with this ``OpeningChallenge``.
  init(opening: [UInt8]) { self.opening = opening }

  var isUnderWay: Bool { challenge != nil }

  static func read(_ type: MessageType, _ body: RawSpan) throws(WireError) -> Request? {
    switch type {
    case .releaseRequest: .release(try .read(body))
    case .possession: .possession(try .read(body))
    case .pieceRequest: .pieces(try .read(body))
    default: nil
    }
  }

  mutating func receive(_ request: Request) -> Step? {
    let refused = refused.take()
    switch (challenge, request) {
    case (nil, .release(let request)) where !hasReleased(request.request):
      guard let nonce = opening.take() else { return .challenge(request) }
      challenge = (request, nonce)
      return .awaitProof(request)
    case (let (request, nonce)?, .possession(let possession)) where possession.request == request.request:
      challenge = nil
      self.refused = request.request
      return .judge(possession, request, nonce: nonce)
    case (nil, .pieces(let request)) where hasReleased(request.request): return .sendPieces(request)
    case (nil, .pieces(let request)) where request.request == refused: return .drop
    case (nil, .pieces(let request)) where request.request == withheld: return .withholdPieces(request)
    default: return nil
    }
  }

  /// Something else has come: no pieces were asked for with a proof.
  mutating func passOver() { refused = nil }

  /// Whether a proof has held under this number.
  func hasReleased(_ request: UInt64) -> Bool { releases.contains(request) }

  /// A nonce was drawn for a request; only a proof for that request may follow.
  package mutating func challenged(_ request: ReleaseRequest, nonce: [UInt8]) { challenge = (request, nonce) }

  /// A question about a secret's holders was answered, and leads to no pieces.
  package mutating func withhold(request: UInt64) { withheld = request }

  /// A proof held: pieces may be asked for under its request number.
  /// Throws when a session asks for more releases than any recovery needs.
  package mutating func released(request: UInt64) throws(ProtocolError) {
    refused = nil
    guard releases.count < Self.limit else { throw .unexpectedMessage(MessageType.releaseRequest.rawValue) }
    releases.insert(request)
  }
}
