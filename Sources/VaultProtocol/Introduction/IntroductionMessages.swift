package import ShamirKit
package import WireCodec

/// The dealer's word on who holds the other shares of a secret, behind the deposit or later.
package struct Introduction: PeerMessage {
  package static let type = MessageType.introduction
  /// Comes back in the answer.
  package let request: UInt64
  package let secret: SecretID
  /// The number of the recipient's share.
  package let index: UInt8
  /// An ``IntroductionBundle``, sealed to the recipient's box key.
  package let sealed: [UInt8]

  package init(request: UInt64, secret: SecretID, index: UInt8, sealed: [UInt8]) {
    self.request = request
    self.secret = secret
    self.index = index
    self.sealed = sealed
  }
  package func encode(into writer: inout Writer) throws(WireError) {
    try writer.u64(request)
    try secret.encode(into: &writer)
    try writer.u8(index)
    try writer.bytes32(sealed)
  }
  package init(from reader: inout Reader) throws(WireError) {
    request = try reader.u64("request")
    secret = try SecretID(from: &reader)
    index = try reader.u8("index")
    sealed = try reader.bytes32(limit: IntroductionBundle.sealedByteLimit, "introduction")
  }
}

/// "It is durable here", or "no, because".
package typealias IntroductionResult = OutcomeMessage<IntroductionResultKind>
package enum IntroductionResultKind: MessageKind { package static let type = MessageType.introductionResult }

/// "Have you newer cards of those who hold this secret?" Under the number of a release, or of the last drill, whose proof held.
package struct CardRequest: PeerMessage {
  /// A card that the asker has.
  package struct Known: Hashable, Sendable {
    /// The number of the holder's share.
    package let index: UInt8
    package let serial: UInt64

    package init(index: UInt8, serial: UInt64) {
      self.index = index
      self.serial = serial
    }
  }

  package static let type = MessageType.cardRequest
  /// The number of the release or drill.
  package let request: UInt64
  /// What the asker has, in the order of shares.
  package let known: [Known]

  package init(request: UInt64, known: [Known]) {
    self.request = request
    self.known = known
  }
  package func encode(into writer: inout Writer) throws(WireError) {
    try Self.check(known)
    try writer.u64(request)
    try writer.u8(UInt8(clamping: known.count))
    for card in known {
      try writer.u8(card.index)
      try writer.u64(card.serial)
    }
  }
  package init(from reader: inout Reader) throws(WireError) {
    request = try reader.u64("request")
    let count = Int(try reader.u8("card count"))
    guard count <= HolderCard.countLimit else {
      throw .limitExceeded(field: "card count", limit: HolderCard.countLimit)
    }
    known = try values(count, from: &reader) { reader throws(WireError) in
      Known(index: try reader.u8("card index"), serial: try reader.u64("serial"))
    }
    try Self.check(known)
  }

  private static func check(_ known: [Known]) throws(WireError) {
    guard known.count <= HolderCard.countLimit else {
      throw .limitExceeded(field: "card count", limit: HolderCard.countLimit)
    }
    try HolderCard.check(ascending: known.map(\.index))
  }
}

/// Newer cards, and from the secret's dealer also those that the asker doesn't have.
package struct Cards: PeerMessage {
  package static let type = MessageType.cards
  /// The number of the question.
  package let request: UInt64
  /// The cards, in the order of shares.
  package let cards: [HolderCard]

  package init(request: UInt64, cards: [HolderCard]) {
    self.request = request
    self.cards = cards
  }
  package func encode(into writer: inout Writer) throws(WireError) {
    try writer.u64(request)
    try HolderCard.encode(cards, into: &writer)
  }
  package init(from reader: inout Reader) throws(WireError) {
    request = try reader.u64("request")
    cards = try HolderCard.decode(from: &reader)
  }
}
