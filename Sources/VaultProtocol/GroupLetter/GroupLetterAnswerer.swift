import WireCodec

/// How often in one session a peer may send letters about groups.
package struct GroupLetterAnswerer: ExchangeAnswerer {
  /// Most letters of one session.
  package static let limit = 16

  private var count = 0

  static func read(_ type: MessageType, _ body: RawSpan) throws(WireError) -> GroupLetter? {
    type == .groupLetter ? try .read(body) : nil
  }

  mutating func receive(_ letter: GroupLetter) -> GroupLetter? {
    guard count < Self.limit else { return nil }
    count += 1
    return letter
  }
}
