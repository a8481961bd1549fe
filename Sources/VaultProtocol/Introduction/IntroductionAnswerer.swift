import WireCodec

/// How often in one session somebody may speak of the holders of secrets.
package struct IntroductionAnswerer: ExchangeAnswerer {
  /// Most introductions of one session.
  package static let introductionLimit = 64
  /// Most questions for newer cards of one session.
  package static let cardRequestLimit = 128

  /// What is asked, and to be answered.
  package enum Request: Sendable {
    case introduction(Introduction)
    /// Newer cards of the holders of the secret of which a share was released, or the last drill, under this number.
    case cards(CardRequest)
  }

  private var introductionCount = 0
  private var cardRequestCount = 0

  static func read(_ type: MessageType, _ body: RawSpan) throws(WireError) -> Request? {
    switch type {
    case .introduction: .introduction(try .read(body))
    case .cardRequest: .cards(try .read(body))
    default: nil
    }
  }

  mutating func receive(_ request: Request) -> Request? {
    switch request {
    case .introduction where introductionCount < Self.introductionLimit: introductionCount += 1
    case .cards where cardRequestCount < Self.cardRequestLimit: cardRequestCount += 1
    default: return nil
    }
    return request
  }
}
