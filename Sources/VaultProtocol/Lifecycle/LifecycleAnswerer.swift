import WireCodec

/// The order in which a peer may speak of how sharings change: a question, then what is wanted of it, then an end.
package struct LifecycleAnswerer: ExchangeAnswerer {
  /// Most questions of one session.
  package static let questionLimit = 1024
  /// Most bytes that one question brings.
  package static let byteLimit = 4 << 20
  /// Most objects, and bytes of them, that go in one parcel, so that pieces of a fragment have room behind them. More go in the next.
  package static let parcelLimits = (objects: 240, bytes: 1 << 20)

  package enum Request: Sendable {
    case question(LifecycleRequest)
    case item(LifecycleItem)
    case end(LifecycleEnd)
  }

  package enum Step: Sendable {
    /// Answer it: objects, and an end. Call ``refused()`` behind a no: then nothing of it follows.
    case answer(LifecycleRequest)
    case take(LifecycleObject)
    /// All of it is here: keep it, and say so by an end.
    case end(LifecycleEnd)
    /// Nothing: it was sent before the peer could know that it is refused.
    case drop
  }

  private var running: UInt64?
  private var refusedRequest: UInt64?
  private var count = 0
  private var byteCount = 0

  package var isUnderWay: Bool { running != nil }

  static func read(_ type: MessageType, _ body: RawSpan) throws(WireError) -> Request? {
    switch type {
    case .lifecycleRequest: .question(try .read(body))
    case .lifecycleItem: .item(try .read(body))
    case .lifecycleEnd: .end(try .read(body))
    default: nil
    }
  }

  mutating func receive(_ request: Request) throws(ProtocolError) -> Step? {
    switch request {
    case .question(let question) where running == nil && count < Self.questionLimit:
      count += 1
      byteCount = 0
      running = question.request
      refusedRequest = nil
      return .answer(question)
    case .item(let item) where item.request == running:
      byteCount += item.bytes.count
      guard byteCount <= Self.byteLimit else { return nil }
      return .take(try LifecycleObject(item.kind, item.bytes))
    case .end(let end) where end.request == running:
      running = nil
      return .end(end)
    case .item(let item) where item.request == refusedRequest: return .drop
    case .end(let end) where end.request == refusedRequest:
      refusedRequest = nil
      return .drop
    default: return nil
    }
  }

  /// The question was answered by a no.
  package mutating func refused() {
    refusedRequest = running
    running = nil
  }

  mutating func passOver() { refusedRequest = nil }
}
