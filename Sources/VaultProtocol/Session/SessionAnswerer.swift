import WireCodec

/// How a session begins: with one greeting, before which nothing else is heard. Whether it is alive may be asked at any time.
package struct SessionAnswerer: ExchangeAnswerer {
  /// What is asked, and to be answered.
  package enum Request: Sendable {
    case hello(Hello)
    case ping(Ping)
  }

  private var hasGreeted = false

  var isUnderWay: Bool { !hasGreeted }

  static func read(_ type: MessageType, _ body: RawSpan) throws(WireError) -> Request? {
    switch type {
    case .hello: .hello(try .read(body))
    case .ping: .ping(try .read(body))
    default: nil
    }
  }

  mutating func receive(_ request: Request) -> Request? {
    switch request {
    case .hello where !hasGreeted: hasGreeted = true
    case .ping where hasGreeted: break
    default: return nil
    }
    return request
  }
}
