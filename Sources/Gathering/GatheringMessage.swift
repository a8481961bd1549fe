import PeerAuth
import Sodium
import WireCodec

/// What an opener and a guest say to each other; `docs/formats/gathering.md` names every byte.
///
/// The first four go in the clear and are of one length each. All others are sealed.
enum GatheringMessage: Hashable, WireValue {
  static let version: UInt8 = 1
  static let nonceByteCount = 32
  /// Most bytes of a message in the clear.
  static let clearLimit = 128
  /// Bytes of whatever a user says, and of an end, before it is sealed: zeros are put behind it.
  static let wordByteCount = 2 + Yes.byteCount
  /// The same of what is revealed. No message is longer.
  static let sealedLimit = 4 + PeerCard.byteLimit + Reveal.subkeyByteCount

  /// The opener's first word: which opening this is, and its part of the session identifier of this connection.
  case greeting(number: UInt16, opening: [UInt8], nonce: [UInt8])
  /// The guest's part, its share, and what it commits to.
  case hello(nonce: [UInt8], share: [UInt8], commitment: Digest)
  /// The opener's share, and what it commits to.
  case answer(share: [UInt8], commitment: Digest)
  /// Of either side.
  case confirmation([UInt8])
  /// The closed list, the opener first.
  case list([Digest])
  /// A guest opens its commitment.
  case reveal(Reveal)
  /// The opener passes on what a participant, or itself, has revealed.
  case revealed(position: UInt8, Reveal)
  /// A guest's user says yes.
  case yes(Yes)
  /// A guest's user says no.
  case no
  /// A participant's yes, passed on.
  case saidYes(position: UInt8, Yes)
  /// A guest's beacon key, once all have said yes.
  case key([UInt8])
  /// A participant's, passed on.
  case keyed(position: UInt8, [UInt8])
  /// The opener ends it for all; `position` says whose doing it is, 0 also where nobody's; `other` is 0 but where it is
  /// one of two.
  case ended(GatheringEnd, position: UInt8, other: UInt8)

  private enum Kind: UInt8 {
    case greeting = 1
    case hello, answer, confirmation
    case list = 16
    case reveal, revealed, yes, no, saidYes, ended, key, keyed
  }

  func encode(into writer: inout Writer) throws(WireError) {
    switch self {
    case .greeting(let number, let opening, let nonce):
      try writer.u8(Kind.greeting.rawValue)
      try writer.u8(Self.version)
      try writer.u16(number)
      try writer.bytes(opening)
      try writer.bytes(nonce)
    case .hello(let nonce, let share, let commitment):
      try writer.u8(Kind.hello.rawValue)
      try writer.bytes(nonce)
      try writer.bytes(share)
      try writer.bytes(commitment.bytes)
    case .answer(let share, let commitment):
      try writer.u8(Kind.answer.rawValue)
      try writer.bytes(share)
      try writer.bytes(commitment.bytes)
    case .confirmation(let confirmation):
      try writer.u8(Kind.confirmation.rawValue)
      try writer.bytes(confirmation)
    case .list(let commitments):
      try writer.u8(Kind.list.rawValue)
      try writer.u8(UInt8(clamping: commitments.count))
      for commitment in commitments { try writer.bytes(commitment.bytes) }
    case .reveal(let reveal):
      try writer.u8(Kind.reveal.rawValue)
      try reveal.encode(into: &writer)
    case .revealed(let position, let reveal):
      try writer.u8(Kind.revealed.rawValue)
      try writer.u8(position)
      try reveal.encode(into: &writer)
    case .yes(let yes):
      try writer.u8(Kind.yes.rawValue)
      try yes.encode(into: &writer)
    case .no: try writer.u8(Kind.no.rawValue)
    case .saidYes(let position, let yes):
      try writer.u8(Kind.saidYes.rawValue)
      try writer.u8(position)
      try yes.encode(into: &writer)
    case .key(let key):
      try writer.u8(Kind.key.rawValue)
      try writer.bytes(key)
    case .keyed(let position, let key):
      try writer.u8(Kind.keyed.rawValue)
      try writer.u8(position)
      try writer.bytes(key)
    case .ended(let reason, let position, let other):
      try writer.u8(Kind.ended.rawValue)
      try writer.u8(reason.rawValue)
      try writer.u8(position)
      try writer.u8(other)
    }
  }

  init(from reader: inout Reader) throws(WireError) {
    let kind: Kind = try reader.choice("message")
    switch kind {
    case .greeting:
      try reader.version(Self.version, "version")
      let number = try reader.u16("number")
      guard (1...GatheringCode.numberLimit).contains(number) else { throw .invalidValue(field: "number") }
      self = .greeting(
        number: number, opening: try reader.bytes(Commitment.openingByteCount, "opening"),
        nonce: try reader.bytes(Self.nonceByteCount, "nonce"))
    case .hello:
      self = .hello(
        nonce: try reader.bytes(Self.nonceByteCount, "nonce"),
        share: try reader.bytes(CPace.shareByteCount, "share"), commitment: try digest(from: &reader, "commitment"))
    case .answer:
      self = .answer(
        share: try reader.bytes(CPace.shareByteCount, "share"), commitment: try digest(from: &reader, "commitment"))
    case .confirmation: self = .confirmation(try reader.bytes(CPaceKeys.confirmationByteCount, "confirmation"))
    case .list:
      let count = try reader.count8(limit: Roll.sizes.upperBound, "list")
      guard count >= Roll.sizes.lowerBound else { throw .invalidValue(field: "list") }
      var commitments: [Digest] = []
      for _ in 0..<count { commitments.append(try digest(from: &reader, "commitment")) }
      self = .list(commitments)
    case .reveal: self = .reveal(try Reveal(from: &reader))
    case .revealed: self = .revealed(position: try position(from: &reader), try Reveal(from: &reader))
    case .yes: self = .yes(try Yes(from: &reader))
    case .no: self = .no
    case .saidYes: self = .saidYes(position: try position(from: &reader), try Yes(from: &reader))
    case .key: self = .key(try reader.bytes(PeerCard.beaconKeyByteCount, "beacon key"))
    case .keyed:
      self = .keyed(
        position: try position(from: &reader), try reader.bytes(PeerCard.beaconKeyByteCount, "beacon key"))
    case .ended:
      self = .ended(
        try reader.choice("reason"), position: try position(from: &reader), other: try position(from: &reader))
    }
  }

  /// How long it is before it is sealed, so that lengths show neither names and addresses nor what a user says. That of
  /// a list shows how many there are, which their streams show as well.
  private var sealedByteCount: Int {
    switch self {
    case .reveal, .revealed: Self.sealedLimit
    case .yes, .no, .saidYes, .ended, .key, .keyed: Self.wordByteCount
    case .list, .greeting, .hello, .answer, .confirmation: encodedByteCount
    }
  }

  /// The message with the zeros behind it.
  func padded() throws(WireError) -> [UInt8] {
    let encoded = try encoded()
    return encoded + [UInt8](repeating: 0, count: max(0, sealedByteCount - encoded.count))
  }

  /// Reads what ``padded()`` writes: so many zeros, and nothing else behind it.
  static func unpadded(_ bytes: [UInt8]) throws(WireError) -> GatheringMessage {
    var reader = Reader(bytes.span.bytes)
    let message = try GatheringMessage(from: &reader)
    let padding = try reader.bytes(reader.remaining, "padding")
    guard bytes.count == message.sealedByteCount, padding.allSatisfy({ $0 == 0 }) else {
      throw .invalidValue(field: "padding")
    }
    return message
  }
}

/// Why an opener ends a gathering.
enum GatheringEnd: UInt8, Sendable {
  /// A user said no.
  case saidNo = 1
  /// Somebody left, or couldn't be reached any more.
  case left
  /// It has taken too long.
  case timeIsUp
  /// Somebody said what it may not say.
  case brokeRules
  /// The code was guessed at too often.
  case wrongCodes
  /// There are as many as there may be.
  case full
  /// Two have shown the same key.
  case sameKey
}

/// What a participant had committed to.
struct Reveal: Hashable, WireValue {
  static let subkeyByteCount = 32

  /// Signed, and without a beacon key.
  let card: PeerCard
  let subkey: [UInt8]

  init(card: PeerCard, subkey: [UInt8]) {
    self.card = card
    self.subkey = subkey
  }

  func encode(into writer: inout Writer) throws(WireError) {
    try writer.bytes16(card.encoding)
    try writer.bytes(subkey)
  }

  init(from reader: inout Reader) throws(WireError) {
    let encoded = try reader.bytes16(limit: PeerCard.byteLimit, "card")
    card = try PeerCard.decode(encoded, limit: PeerCard.byteLimit)
    guard card.beaconKey == nil, card.signature != nil else { throw .invalidValue(field: "card") }
    subkey = try reader.bytes(Self.subkeyByteCount, "subkey")
  }
}

/// What a participant says whose user has found everything right. By its beacon key a device is recognised on a network or
/// in the air, so that itself goes to the others only when all have said yes.
struct Yes: Hashable, WireValue {
  static let byteCount = Ed25519.signatureByteCount + Digest.byteCount

  /// By the card's own key, over the transcript, the position and what its beacon key is bound by.
  let signature: [UInt8]
  let binding: Digest

  init(signature: [UInt8], binding: Digest) {
    self.signature = signature
    self.binding = binding
  }

  func encode(into writer: inout Writer) throws(WireError) {
    try writer.bytes(signature)
    try writer.bytes(binding.bytes)
  }

  init(from reader: inout Reader) throws(WireError) {
    signature = try reader.bytes(Ed25519.signatureByteCount, "signature")
    binding = try digest(from: &reader, "binding")
  }
}

private func digest(from reader: inout Reader, _ field: StaticString) throws(WireError) -> Digest {
  let bytes = try reader.bytes(Digest.byteCount, field)
  guard let digest = try? Digest(bytes) else { throw .invalidValue(field: field.description) }
  return digest
}

private func position(from reader: inout Reader) throws(WireError) -> UInt8 {
  UInt8(truncatingIfNeeded: try reader.count8(limit: Roll.sizes.upperBound - 1, "position"))
}
