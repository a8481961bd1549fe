import Sodium

/// Noise's SymmetricState with SHA-256: the chaining key, the handshake hash, and the cipher once there is a key
/// (Noise specification, revision 34, section 5.2).
struct SymmetricState: ~Copyable {
  private var chainingKey: SecretBytes
  private(set) var hash: Digest
  private var cipher: CipherState?

  /// `protocolName` is longer than 32 bytes or padded with zeros, as the specification says.
  init(protocolName: String) throws(NoiseError) {
    let name = Array(protocolName.utf8)
    let start = try noise(
      name.count <= Digest.byteCount
        ? Digest(name + [UInt8](repeating: 0, count: Digest.byteCount - name.count))
        : PlainHashes.sha256(name.span.bytes, RawSpan()))
    let key = try noise(SecretBytes(copying: start.bytes.span.bytes))
    hash = start
    chainingKey = key
    cipher = nil
  }

  mutating func mixHash(_ data: [UInt8]) throws(NoiseError) {
    let mixed = hash
    hash = try noise(PlainHashes.sha256(mixed.bytes.span.bytes, data.span.bytes))
  }

  mutating func mixKey(_ material: borrowing SecretBytes) throws(NoiseError) {
    let keys = try Self.derive(chainingKey, material.bytes)
    chainingKey = keys.first
    cipher = CipherState(key: keys.second)
  }

  /// Encrypts once there is a key, and hashes what goes over the wire. Handshake payloads are public.
  mutating func encryptAndHash(_ plaintext: [UInt8]) throws(NoiseError) -> [UInt8] {
    let sent = try cipher?.seal(plaintext, additionalData: hash.bytes) ?? plaintext
    try mixHash(sent)
    return sent
  }

  mutating func decryptAndHash(_ received: [UInt8]) throws(NoiseError) -> [UInt8] {
    let plaintext = try cipher?.open(received, additionalData: hash.bytes) ?? received
    try mixHash(received)
    return plaintext
  }

  /// Bytes that ``encryptAndHash(_:)`` adds now.
  var overhead: Int { cipher == nil ? 0 : CipherState.overhead }

  /// What the handshake leaves to the side with this role. The initiator's sending key comes first.
  func split(_ role: SessionRole) throws(NoiseError) -> NoiseTransport {
    let keys = try Self.derive(chainingKey, RawSpan())
    let first = CipherState(key: keys.first)
    let second = CipherState(key: keys.second)
    switch role {
    case .initiator: return NoiseTransport(sending: first, receiving: second, handshakeHash: hash)
    case .responder: return NoiseTransport(sending: second, receiving: first, handshakeHash: hash)
    }
  }

  /// HKDF of the Noise specification, section 4.3, with two outputs.
  private static func derive(
    _ chainingKey: borrowing SecretBytes, _ material: RawSpan
  ) throws(NoiseError) -> DerivedKeys {
    let extracted = try hmac(chainingKey, material, [])
    let first = try hmac(extracted, RawSpan(), [1])
    let second = try expand(extracted, first)
    return DerivedKeys(first: first, second: second)
  }

  private static func expand(
    _ extracted: borrowing SecretBytes, _ first: borrowing SecretBytes
  ) throws(NoiseError) -> SecretBytes {
    try hmac(extracted, first.bytes, [2])
  }

  private static func hmac(
    _ key: borrowing SecretBytes, _ data: RawSpan, _ number: [UInt8]
  ) throws(NoiseError) -> SecretBytes {
    try noise(PlainHashes.hmacSHA256(key: key.bytes, data, number.span.bytes))
  }
}

private struct DerivedKeys: ~Copyable {
  let first: SecretBytes
  let second: SecretBytes
}
