import ShamirKit
import Sodium
import WireCodec

/// What the database has about one secret, in a file of its own: enough to make its rows anew if the database has lost them.
///
/// Nothing in it is readable that isn't so in the database: the own share is sealed as there, shares for others are sealed to
/// them. The byte-exact format is in `docs/formats/store.md`.
struct SecretCompanion: WireValue {
  static let magic = Array("VAULTSEC".utf8)
  /// Of a secret whose sharing has never changed.
  static let version: UInt8 = 2
  private static let lifecycleVersion: UInt8 = 3
  static let byteLimit = 64 << 20
  private static let sealedByteLimit = 4096
  private static let payloadByteLimit = 1 << 20

  let secret: SecretRecord
  /// Its own share as it is sealed in the database; there exactly if ``SecretRecord/ownIndex`` is.
  let sealedShare: [UInt8]?
  /// Under which it is sealed.
  let epoch: Int64
  let policy: String?
  /// Fragments that are complete.
  let fragments: [FragmentRecord]
  /// Deliveries that are still to be done.
  let deliveries: [NewOutboxRecord]
  /// The other holders as the dealer has introduced them, removed ones too.
  let introductions: [IntroductionRecord]
  /// Its own shares of earlier epochs, the newest first.
  let olderShares: [SealedShareRow]
  let lifecycle: [LifecycleRecord]
  /// What a later version has added, as it was read.
  private(set) var extensions = Extensions()

  init(
    secret: SecretRecord, sealedShare: [UInt8]?, epoch: Int64 = 0, policy: String?, fragments: [FragmentRecord],
    deliveries: [NewOutboxRecord], introductions: [IntroductionRecord] = [], olderShares: [SealedShareRow] = [],
    lifecycle: [LifecycleRecord] = []
  ) {
    self.secret = secret
    self.sealedShare = sealedShare
    self.epoch = epoch
    self.policy = policy
    self.fragments = fragments
    self.deliveries = deliveries
    self.introductions = introductions
    self.olderShares = olderShares
    self.lifecycle = lifecycle
  }

  /// All of its own shares, the newest first.
  var shares: [SealedShareRow] {
    guard let sealedShare, let index = secret.ownIndex else { return [] }
    return [SealedShareRow(epoch: epoch, index: index, sealed: sealedShare)] + olderShares
  }

  func encode(into writer: inout Writer) throws(WireError) {
    try writer.bytes(Self.magic)
    let isChanged = !olderShares.isEmpty || !lifecycle.isEmpty
    try writer.u8(isChanged ? Self.lifecycleVersion : Self.version)
    try secret.id.encode(into: &writer)
    try writer.bytes(secret.askTag.bytes)
    try writer.bytes(secret.headerDigest.bytes)
    try writer.bytes32(secret.header)
    try writer.u8(secret.origin.code)
    try writer.u8(secret.state.code)
    try writer.bytes(secret.dealer.bytes)
    try writer.optionalText(secret.description)
    try writer.u8(secret.kind)
    for number in [secret.threshold, secret.shareCount, secret.ownIndex ?? 0] {
      try writer.u8(UInt8(truncatingIfNeeded: number))
    }
    try writer.signed(secret.createdAt)
    try writer.signed(secret.receivedAt)
    try writer.flag(sealedShare != nil)
    if let sealedShare {
      try writer.signed(epoch)
      try writer.bytes16(sealedShare)
    }
    try writer.optionalText(policy)
    try writer.count16(fragments.count)
    for fragment in fragments {
      try writer.u8(UInt8(truncatingIfNeeded: fragment.index))
      try writer.signed(fragment.byteCount)
      try writer.signed(fragment.trailerByteCount)
      try writer.u64(UInt64(truncatingIfNeeded: fragment.pieces))
      try writer.optionalDigest(fragment.source)
    }
    try writer.count16(deliveries.count)
    for delivery in deliveries { try Self.encode(delivery, into: &writer) }
    try writer.count16(introductions.count)
    for introduction in introductions { try Self.encode(introduction, into: &writer) }
    if isChanged { try encodeLifecycle(into: &writer) }
    try extensions.encode(into: &writer)
  }

  private func encodeLifecycle(into writer: inout Writer) throws(WireError) {
    try writer.count16(olderShares.count)
    for share in olderShares {
      try writer.signed(share.epoch)
      try writer.bytes16(share.sealed)
    }
    try writer.count16(lifecycle.count)
    for record in lifecycle {
      try writer.u8(record.name.kind.rawValue)
      try writer.bytes(record.name.digest.bytes)
      try writer.signed(record.addedAt)
      try writer.bytes32(record.content)
    }
  }

  private static func encode(_ delivery: NewOutboxRecord, into writer: inout Writer) throws(WireError) {
    try writer.bytes(delivery.recipient.bytes)
    try writer.text16(delivery.kind)
    try writer.u8(UInt8(truncatingIfNeeded: delivery.index ?? 0))
    try writer.bytes32(delivery.payload)
    try writer.flag(delivery.hasFragment)
    try writer.flag(delivery.expiresAt != nil)
    if let expiresAt = delivery.expiresAt { try writer.signed(expiresAt) }
    try writer.signed(delivery.createdAt)
  }

  private static func encode(_ introduction: IntroductionRecord, into writer: inout Writer) throws(WireError) {
    try writer.bytes(introduction.digest.bytes)
    try writer.bytes(introduction.noiseKey)
    try writer.u8(UInt8(truncatingIfNeeded: introduction.index))
    try writer.flag(introduction.state == .removed)
    try writer.bytes16(introduction.card)
    try writer.signed(introduction.addedAt)
  }

  init(from reader: inout Reader) throws(WireError) {
    let version = try reader.head(Self.magic, versions: Self.version...Self.lifecycleVersion)
    let secret = try Self.secret(from: &reader)
    let hasShare = try reader.flag("whether there is a share")
    epoch = hasShare ? try reader.signed("epoch") : 0
    sealedShare = hasShare ? try reader.bytes16(limit: Self.sealedByteLimit, "share") : nil
    guard (sealedShare == nil) == (secret.ownIndex == nil) else { throw .invalidValue(field: "share") }
    policy = try reader.flag("whether there is a policy") ? reader.text16(limit: 256, "policy") : nil
    var fragments: [FragmentRecord] = []
    for _ in 0..<(try reader.count16(limit: 255, "fragments")) {
      fragments.append(try Self.fragment(of: secret, from: &reader))
    }
    self.fragments = fragments
    var deliveries: [NewOutboxRecord] = []
    for _ in 0..<(try reader.count16(limit: 255, "deliveries")) {
      deliveries.append(try Self.delivery(of: secret, from: &reader))
    }
    self.deliveries = deliveries
    var introductions: [IntroductionRecord] = []
    for _ in 0..<(try reader.count16(limit: IntroductionRecord.countLimit, "introductions")) {
      introductions.append(try Self.introduction(of: secret, from: &reader))
    }
    self.introductions = introductions
    self.secret = secret
    let isChanged = version == Self.lifecycleVersion
    olderShares = isChanged ? try Self.olderShares(of: secret, from: &reader) : []
    lifecycle = isChanged ? try Self.lifecycle(of: secret, from: &reader) : []
    guard !isChanged || !olderShares.isEmpty || !lifecycle.isEmpty else { throw .invalidValue(field: "version") }
    extensions = try reader.extensions()
  }

  private static func olderShares(
    of secret: SecretRecord, from reader: inout Reader
  ) throws(WireError) -> [SealedShareRow] {
    var shares: [SealedShareRow] = []
    for _ in 0..<(try reader.count16(limit: 4096, "older shares")) {
      let epoch = try reader.signed("epoch")
      guard let index = secret.ownIndex else { throw .invalidValue(field: "older shares") }
      shares.append(
        SealedShareRow(epoch: epoch, index: index, sealed: try reader.bytes16(limit: sealedByteLimit, "share")))
    }
    return shares
  }

  private static func lifecycle(
    of secret: SecretRecord, from reader: inout Reader
  ) throws(WireError) -> [LifecycleRecord] {
    var records: [LifecycleRecord] = []
    for _ in 0..<(try reader.count16(limit: LifecycleRecord.countLimit, "lifecycle")) {
      guard let kind = LifecycleRecord.Kind(rawValue: try reader.u8("lifecycle")) else {
        throw .invalidValue(field: "lifecycle")
      }
      let digest = try reader.digest("lifecycle")
      let addedAt = try reader.signed("added")
      records.append(
        LifecycleRecord(
          secretID: secret.id, name: .init(kind, digest),
          content: try reader.bytes32(limit: LifecycleRecord.byteLimit, "lifecycle"), addedAt: addedAt))
    }
    return records
  }

  private static func secret(from reader: inout Reader) throws(WireError) -> SecretRecord {
    let id = try SecretID(from: &reader)
    let askTag = try reader.digest("ask tag")
    let headerDigest = try reader.digest("header digest")
    let header = try reader.bytes32(limit: SecretRecord.headerByteLimit, "header")
    let origin: SecretRecord.Origin = try reader.word("origin")
    let state: SecretRecord.State = try reader.word("state")
    let dealer = try reader.digest("dealer")
    let description =
      try reader.flag("whether there is a description") ? reader.text16(limit: 65_535, "description") : nil
    let kind = try reader.u8("kind")
    let threshold = Int(try reader.u8("threshold"))
    let shareCount = Int(try reader.u8("share count"))
    let ownIndex = Int(try reader.u8("own index"))
    guard threshold > 0, shareCount > 0 else { throw .invalidValue(field: "numbers") }
    return SecretRecord(
      id: id, askTag: askTag, headerDigest: headerDigest, header: header, origin: origin, dealer: dealer,
      description: description, kind: kind, threshold: threshold, shareCount: shareCount,
      ownIndex: ownIndex == 0 ? nil : ownIndex, createdAt: try reader.signed("created"),
      receivedAt: try reader.signed("received"), state: state)
  }

  private static func fragment(
    of secret: SecretRecord, from reader: inout Reader
  ) throws(WireError) -> FragmentRecord {
    let index = Int(try reader.u8("fragment"))
    let byteCount = try reader.signed("fragment bytes")
    let trailerByteCount = try reader.signed("trailer bytes")
    let pieces = try reader.signed("pieces")
    let source = try reader.optionalDigest("whether there is a source")
    guard index > 0, pieces >= 0, FragmentRecord.areLengths(byteCount, trailerByteCount) else {
      throw .invalidValue(field: "fragment")
    }
    return FragmentRecord(
      completeOf: secret.id, index: index, byteCount: byteCount, trailerByteCount: trailerByteCount,
      pieces: Int(pieces), headerDigest: secret.headerDigest, source: source)
  }

  private static func delivery(
    of secret: SecretRecord, from reader: inout Reader
  ) throws(WireError) -> NewOutboxRecord {
    let recipient = try reader.digest("recipient")
    let kind = try reader.text16(limit: 64, "kind")
    let index = Int(try reader.u8("share"))
    let payload = try reader.bytes32(limit: payloadByteLimit, "payload")
    let hasFragment = try reader.flag("whether a fragment goes with it")
    let expiresAt = try reader.flag("whether it expires") ? try reader.signed("expiry") : nil
    let createdAt = try reader.signed("made")
    guard index > 0 || !hasFragment else { throw .invalidValue(field: "share") }
    return NewOutboxRecord(
      recipient: recipient, kind: kind, secretID: secret.id, index: index == 0 ? nil : index, payload: payload,
      hasFragment: hasFragment, nextAttemptAt: createdAt, expiresAt: expiresAt, createdAt: createdAt)
  }

  private static func introduction(
    of secret: SecretRecord, from reader: inout Reader
  ) throws(WireError) -> IntroductionRecord {
    let digest = try reader.digest("holder")
    let noiseKey = try reader.bytes(32, "noise key")
    let index = Int(try reader.u8("share"))
    let isRemoved = try reader.flag("whether it was removed")
    let card = try reader.bytes16(limit: IntroductionRecord.cardByteLimit, "card")
    guard index > 0 else { throw .invalidValue(field: "share") }
    return IntroductionRecord(
      secretID: secret.id, digest: digest, noiseKey: noiseKey, index: index, dealer: secret.dealer, card: card,
      state: isRemoved ? .removed : .active, addedAt: try reader.signed("introduced"))
  }
}
