import Sodium
import WireCodec

/// One side of CPace with ristretto255 and SHA-512 (draft-irtf-cfrg-cpace-21, sections 6 to 8.3), in its
/// initiator-responder mode: two sides that know the same short secret get the same strong key, and nobody else learns
/// more from a run than whether one guess was right. Abdalla, Haase and Hesse, "Security analysis of CPace", ASIACRYPT
/// 2021, prove it.
///
/// The generator, the scalar, the shared element and the keys are in secret memory; only the share that is sent leaves it.
struct CPace: ~Copyable {
  /// What a side sends, and where its data goes in the transcript.
  enum Role: Sendable {
    /// A of the draft.
    case initiator
    /// B of the draft.
    case responder
  }

  static let shareByteCount = SecretElement.byteCount
  /// G.DSI.
  private static let domain = Array("CPaceRistretto255".utf8)
  /// Input block size of SHA-512.
  private static let blockByteCount = 128

  private let role: Role
  private let session: [UInt8]
  private let associated: [UInt8]
  private let scalar: SecretBytes
  /// What is sent beside the associated data: scalar times generator.
  let share: [UInt8]

  /// Starts with the draft's PRS, CI, sid and this side's AD, under a fresh scalar below the group order,
  /// which is used for nothing else.
  init(
    _ role: Role, password: borrowing SecretBytes, channel: [UInt8], session: [UInt8], associated: [UInt8],
    scalar: consuming SecretBytes
  ) throws(CPaceError) {
    let generator = try Self.generator(password: password, channel: channel, session: session)
    let product = try Self.element(generator.bytes, by: scalar)
    share = product.withUnsafeBytes { Array($0) }
    self.role = role
    self.session = session
    self.associated = associated
    self.scalar = scalar
  }

  /// The same with a scalar out of 64 random bytes.
  init(
    _ role: Role, password: borrowing SecretBytes, channel: [UInt8], session: [UInt8], associated: [UInt8],
    chance: GatheringChance
  ) throws(CPaceError) {
    try self.init(
      role, password: password, channel: channel, session: session, associated: associated,
      scalar: cpace(RistrettoScalar.reduced(chance(RistrettoScalar.wideByteCount))))
  }

  /// Takes the other side's share and associated data, and ends with the keys of this run.
  ///
  /// Throws ``CPaceError/invalidShare`` where the draft demands an end: the share is no canonical encoding of an element, or
  /// is the neutral one.
  consuming func finish(share peerShare: [UInt8], associated peerAssociated: [UInt8]) throws(CPaceError)
    -> CPaceKeys
  {
    guard peerShare.count == Self.shareByteCount else { throw .invalidShare }
    let shared = try Self.element(peerShare.span.bytes, by: scalar)
    let own = try lengthValues(share, associated)
    let peer = try lengthValues(peerShare, peerAssociated)
    let transcript = role == .initiator ? own + peer : peer + own
    let session = session
    let label = Self.domain + Array("_ISK".utf8)
    let input = try secretConcatenation { (writer) throws(WireError) in
      try writer.lengthValue(label.span.bytes)
      try writer.lengthValue(session.span.bytes)
      try writer.lengthValue(shared.bytes)
      try writer.bytes(transcript)
    }
    let key = try cpace(PlainHashes.sha512(input.bytes))
    return try CPaceKeys(key: key, session: session, own: own, peer: peer)
  }

  /// G.calculate_generator: the element that only who knows the password can compute.
  static func generator(
    password: borrowing SecretBytes, channel: [UInt8], session: [UInt8]
  ) throws(CPaceError) -> SecretBytes {
    let domain = domain
    let domainCount = domain.count + lengthByteCount(domain.count)
    let passwordCount = password.count + lengthByteCount(password.count)
    // The first block of the hash is filled by what is always the same and the password, so that its length doesn't show.
    let padding = [UInt8](repeating: 0, count: max(0, blockByteCount - 1 - passwordCount - domainCount))
    let input = try secretConcatenation { (writer) throws(WireError) in
      try writer.lengthValue(domain.span.bytes)
      try writer.lengthValue(password.bytes)
      try writer.lengthValue(padding.span.bytes)
      try writer.lengthValue(channel.span.bytes)
      try writer.lengthValue(session.span.bytes)
    }
    return try cpace(SecretElement.derived(from: PlainHashes.sha512(input.bytes)))
  }

  /// G.scalar_mult_vfy, with an error in the place of G.I.
  static func element(_ element: RawSpan, by scalar: borrowing SecretBytes) throws(CPaceError) -> SecretBytes {
    try cpace(SecretElement.product(of: element, by: scalar))
  }
}

/// What a run of CPace ends with: the draft's ISK, from which everything else is derived under labels.
struct CPaceKeys: ~Copyable {
  static let confirmationByteCount = 64

  /// The draft's ISK, 64 bytes.
  let key: SecretBytes
  private let confirmationKey: SecretBytes
  /// What each side has sent, as the draft writes it in its transcript.
  private let own, peer: [UInt8]

  fileprivate init(
    key: consuming SecretBytes, session: [UInt8], own: [UInt8], peer: [UInt8]
  ) throws(CPaceError) {
    confirmationKey = try Self.confirmationKey(key, session)
    self.key = key
    self.own = own
    self.peer = peer
  }

  private static func confirmationKey(
    _ key: borrowing SecretBytes, _ session: [UInt8]
  ) throws(CPaceError) -> SecretBytes {
    let input = try secretConcatenation { (writer) throws(WireError) in
      try writer.bytes(Array("CPaceMac".utf8))
      try writer.bytes(session)
      try writer.bytes(key.bytes)
    }
    return try cpace(PlainHashes.sha512(input.bytes))
  }

  /// What shows the other side that this one has the same key (section 10.4): HMAC-SHA512 over what this side has sent.
  /// The key stands for what the other has sent, too.
  func confirmation() throws(CPaceError) -> [UInt8] {
    try cpace(PlainHashes.hmacSHA512(key: confirmationKey.bytes, own.span.bytes)).withUnsafeBytes { Array($0) }
  }

  /// Whether this is the other side's confirmation. Constant time.
  func isConfirmed(by confirmation: [UInt8]) throws(CPaceError) -> Bool {
    let expected = try cpace(PlainHashes.hmacSHA512(key: confirmationKey.bytes, peer.span.bytes))
    return constantTimeEqual(expected.bytes, confirmation.span.bytes)
  }
}

/// Why a run of CPace has ended without keys.
enum CPaceError: Error, Hashable, Sendable {
  /// The other side's share is no element that may be sent.
  case invalidShare
  /// The library or the memory failed.
  case sodium(SodiumError)
}

private func cpace<Result: ~Copyable>(
  _ body: @autoclosure () throws(SodiumError) -> Result
) throws(CPaceError) -> Result {
  do throws(SodiumError) { return try body() } catch {
    throw error == .invalidPoint ? .invalidShare : .sodium(error)
  }
}

// MARK: - The draft's strings

/// Bytes of a length in LEB128.
private func lengthByteCount(_ length: Int) -> Int { max(1, (Int.bitWidth - length.leadingZeroBitCount + 6) / 7) }

extension Writer {
  /// The draft's prepend_len (appendix A.1): the length in LEB128, then the bytes.
  @_lifetime(self: copy self)
  fileprivate mutating func lengthValue(_ value: RawSpan) throws(WireError) {
    var length = value.byteCount
    while length >= 0x80 {
      try u8(UInt8(truncatingIfNeeded: length | 0x80))
      length >>= 7
    }
    try u8(UInt8(truncatingIfNeeded: length))
    try bytes(value)
  }
}

/// The draft's lv_cat of two public strings.
func lengthValues(_ first: [UInt8], _ second: [UInt8]) throws(CPaceError) -> [UInt8] {
  try secretConcatenation { (writer) throws(WireError) in
    try writer.lengthValue(first.span.bytes)
    try writer.lengthValue(second.span.bytes)
  }.withUnsafeBytes { Array($0) }
}

/// What `body` writes, in secret memory of just that size.
private func secretConcatenation(
  _ body: (inout Writer) throws(WireError) -> Void
) throws(CPaceError) -> SecretBytes {
  // Counting and writing are the same closure, so there is always room.
  guard let count = try? byteCount(body) else { throw .sodium(.unavailable) }
  return try SecretBytes(count: count, allocation: { .sodium($0) }) { (output) throws(CPaceError) in
    do throws(WireError) { try write(into: &output, body) } catch { throw .sodium(.unavailable) }
  }
}
