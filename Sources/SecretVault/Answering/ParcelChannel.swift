import PeerAuth
import Sodium
import Synchronization
import VaultProtocol
import WireCodec

/// The messages of a request that came by parcel, in order as in a session, and the answers, which go into another parcel.
///
/// Whoever made the parcel heard no answer: what would have been left unsaid in a session is left out here. A share goes into its answer sealed
/// to the key that the request brought.
final class ParcelChannel: AnswererChannel {
  enum Outcome: Sendable {
    /// It is to be looked at again: the user or the time has to be waited for, or else somebody who is at the same work.
    case postponed(isForUser: Bool)
    case answers([ParcelFrame])
  }

  fileprivate struct State {
    var frames: ArraySlice<ParcelFrame>
    var answers: [ParcelFrame] = []
    var byteCount = 1
    /// Pieces below this number are here already.
    var firstWanted: UInt64 = 0
    var isOver = false
    /// Set once it has to wait.
    var waitsForUser: Bool?
  }

  let handshakeHash: Digest
  private let replyKey: [UInt8]
  private let state: Mutex<State>

  /// The messages of a request, which ``ParcelRequest`` has found in order.
  init(_ letter: ParcelLetter) throws(ProtocolError) {
    guard letter.kind == .request, let replyKey = letter.replyKey else { throw .foreignParcel("kind") }
    do throws(SodiumError) { handshakeHash = try letter.binding() } catch { throw .sodium(error) }
    self.replyKey = replyKey
    state = Mutex(State(frames: letter.frames[...]))
  }

  var outcome: Outcome {
    state.withLock { state in
      if let waitsForUser = state.waitsForUser { return .postponed(isForUser: waitsForUser) }
      return .answers(state.answers)
    }
  }

  // MARK: - Hearing

  func receive(limit: @Sendable (UInt16) -> Int?) async throws(SessionError) -> ReceivedMessage {
    guard let frame = state.withLock({ $0.next() }) else { return try .goodbye() }
    guard let most = limit(frame.type) else { return try .unknown(type: frame.type) }
    guard frame.bytes.count <= most else { throw .messageTooLarge(type: frame.type, limit: most) }
    do throws(SodiumError) {
      return ReceivedMessage(type: frame.type, body: try SecretBytes(copying: frame.bytes.span.bytes))
    } catch { throw .sodium(error) }
  }

  func close() async { state.withLock { $0.isOver = true } }

  func closeBehindPeer() async { await close() }

  // MARK: - Saying

  nonisolated(nonsending) func send(
    type: UInt16, count: Int, body: (inout Writer) throws(WireError) -> Void
  ) async throws(SessionError) {
    if type == Release.type.rawValue { return try add(ParcelFrame(type: Self.sealed, bytes: try seal(count, body))) }
    let bytes: [UInt8]
    do throws(WireError) { bytes = try publicBytes(count: count, body) } catch { throw .malformed(error) }
    try add(ParcelFrame(type: type, bytes: bytes))
  }

  private static let sealed = SealedRelease.type.rawValue

  /// A release goes from secret memory into its seal.
  private func seal(_ count: Int, _ body: (inout Writer) throws(WireError) -> Void) throws(SessionError) -> [UInt8] {
    let plain = try SecretBytes(count: count, allocation: { SessionError.sodium($0) }) {
      (output) throws(SessionError) in
      do throws(WireError) { try write(into: &output, body) } catch { throw .malformed(error) }
    }
    do throws(ProtocolError) { return try Self.seal(plain, to: replyKey) } catch {
      if case .sodium(let error) = error { throw .sodium(error) }
      throw .malformed(.invalidValue(field: "release"))
    }
  }

  private static func seal(_ plain: borrowing SecretBytes, to key: [UInt8]) throws(ProtocolError) -> [UInt8] {
    let release = try Release.decode(plain.bytes)
    return try SealedRelease.seal(request: release.request, share: release.share, salt: release.salt, to: key)
  }

  private func add(_ frame: ParcelFrame) throws(SessionError) {
    let meaning = try Self.meaning(of: frame)
    let isTaken = state.withLock { state in
      switch meaning {
      case .postponed(let isForUser):
        state.waitsForUser = isForUser
        state.isOver = true
        return true
      case .wants(let first): state.firstWanted = first
      case .last: state.isOver = true
      case .usual: break
      }
      state.byteCount += 2 + 4 + frame.bytes.count
      guard state.answers.count < ParcelFrame.countLimit, state.byteCount <= ParcelLetter.bodyLimit else {
        state.isOver = true
        return false
      }
      state.answers.append(frame)
      return true
    }
    guard isTaken else { throw .malformed(.limitExceeded(field: "letter", limit: ParcelLetter.bodyLimit)) }
  }

  private enum Meaning: Hashable {
    case postponed(isForUser: Bool)
    /// Pieces from here on are wanted.
    case wants(from: UInt64)
    /// Nothing more is wanted.
    case last
    case usual
  }

  /// What would change what is said next, if somebody were at the other end.
  private static func meaning(of frame: ParcelFrame) throws(SessionError) -> Meaning {
    do throws(WireError) {
      switch frame.type {
      case OfferAnswer.type.rawValue: return meaning(of: try decode(frame, as: OfferAnswer.self).verdict)
      case ItemAnswer.type.rawValue: return meaning(of: try decode(frame, as: ItemAnswer.self).verdict)
      case DepositResult.type.rawValue: return meaning(of: try decode(frame, as: DepositResult.self).refusal)
      case ItemResult.type.rawValue: return meaning(of: try decode(frame, as: ItemResult.self).refusal)
      case LifecycleResult.type.rawValue:
        // Behind a yes pieces may be asked for.
        guard let refusal = try decode(frame, as: LifecycleResult.self).refusal else { return .usual }
        return meaning(of: refusal)
      case IntroductionResult.type.rawValue: return meaning(of: try decode(frame, as: IntroductionResult.self).refusal)
      case Refusal.type.rawValue:
        let reason = try decode(frame, as: Refusal.self).reason
        if reason == .userAsked || reason == .releaseDelayed { return .postponed(isForUser: true) }
        return meaning(of: reason)
      default: return .usual
      }
    } catch { throw .malformed(error) }
  }

  private static func decode<Message: PeerMessage>(
    _ frame: ParcelFrame, as type: Message.Type
  ) throws(WireError) -> Message {
    try Message.decode(frame.bytes, limit: Message.type.byteLimit)
  }

  private static func meaning(of verdict: OfferVerdict) -> Meaning {
    switch verdict {
    case .wants(let first): .wants(from: first)
    case .asking: .postponed(isForUser: true)
    case .refused(let reason): meaning(of: reason)
    case .complete: .last
    }
  }

  /// With this device's own trouble of the moment the parcel waits.
  private static func meaning(of refusal: RefusalReason?) -> Meaning {
    switch refusal {
    case .busy, .internalFailure, .diskFull: .postponed(isForUser: false)
    default: .last
    }
  }
}

extension ParcelChannel.State {
  fileprivate mutating func next() -> ParcelFrame? {
    while !isOver, let frame = frames.popFirst() {
      let isPiece = frame.type == MessageType.piece.rawValue || frame.type == MessageType.itemPiece.rawValue
      if isPiece, let number = frame.pieceNumber, number < firstWanted { continue }
      return frame
    }
    return nil
  }
}

extension ParcelFrame {
  /// The number of the piece that this is, where it is one.
  fileprivate var pieceNumber: UInt64? {
    var reader = Reader(bytes.span.bytes)
    do throws(WireError) {
      _ = try reader.u64("request")
      return try reader.u64("piece")
    } catch { return nil }
  }
}
