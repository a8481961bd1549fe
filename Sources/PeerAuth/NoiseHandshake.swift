package import Sodium

/// Noise_XK or Noise_XX with 25519, ChaChaPoly and SHA256 (Noise specification, revision 34).
///
/// Sessions use XK: the initiator knows the responder's static key, the responder learns the initiator's in the third
/// message. XX is here because its vectors check the same machinery. Payloads of handshake messages are public.
/// After any error the handshake is over.
package struct NoiseHandshake: ~Copyable {
  /// Which static keys are known beforehand.
  package enum Pattern: String, Sendable {
    /// The initiator knows the responder's.
    case xk = "XK"
    /// Nobody knows anything.
    case xx = "XX"
  }

  private enum Token { case ephemeral, staticKey, ee, es, se }

  /// Most bytes of any Noise message.
  package static let messageLimit = 65535

  private let role: SessionRole
  private let messages: [[Token]]
  private var position = 0
  private var hasFailed = false
  private var symmetric: SymmetricState
  private let staticKey: AgreementKeyPair
  private let ephemeral: AgreementKeyPair
  private var remoteEphemeral: [UInt8]?

  /// The other side's static public key, once it is known.
  package private(set) var remoteStatic: [UInt8]?

  /// Starts a handshake. `remoteStatic` is needed by an XK initiator and nobody else.
  package init(
    _ pattern: Pattern, role: SessionRole, prologue: [UInt8], staticKey: AgreementKeyPair, remoteStatic: [UInt8]? = nil
  ) throws(NoiseError) {
    let ephemeral = try noise(AgreementKeyPair.generate())
    try self.init(
      pattern, role: role, prologue: prologue, staticKey: staticKey, remoteStatic: remoteStatic, ephemeral: ephemeral)
  }

  /// With a given ephemeral key, for vectors and walked examples.
  init(
    _ pattern: Pattern, role: SessionRole, prologue: [UInt8], staticKey: AgreementKeyPair, remoteStatic: [UInt8]?,
    ephemeral: AgreementKeyPair
  ) throws(NoiseError) {
    let known = pattern == .xk ? (role == .initiator ? remoteStatic : staticKey.publicKey) : nil
    guard pattern == .xx || known?.count == X25519.keyByteCount else { throw .invalidLength }
    var symmetric = try SymmetricState(protocolName: "Noise_\(pattern.rawValue)_25519_ChaChaPoly_SHA256")
    try symmetric.mixHash(prologue)
    if let known { try symmetric.mixHash(known) }
    self.role = role
    self.staticKey = staticKey
    self.ephemeral = ephemeral
    self.symmetric = symmetric
    self.remoteStatic = role == .initiator ? known : nil
    messages =
      pattern == .xk
      ? [[.ephemeral, .es], [.ephemeral, .ee], [.staticKey, .se]]
      : [[.ephemeral], [.ephemeral, .ee, .staticKey, .es], [.staticKey, .se]]
  }

  /// Whether all three messages have gone over.
  package var isComplete: Bool { !hasFailed && position == messages.count }

  /// The next message, if it is this side's turn.
  package mutating func write(_ payload: [UInt8] = []) throws(NoiseError) -> [UInt8] {
    let tokens = try begin(writing: true)
    guard payload.count <= Self.messageLimit - 128 else { throw .invalidLength }
    var message: [UInt8] = []
    for token in tokens {
      switch token {
      case .ephemeral:
        message += ephemeral.publicKey
        try symmetric.mixHash(ephemeral.publicKey)
      case .staticKey: message += try symmetric.encryptAndHash(staticKey.publicKey)
      default: try mix(token)
      }
    }
    message += try symmetric.encryptAndHash(payload)
    end()
    return message
  }

  /// The payload of the other side's next message.
  package mutating func read(_ message: [UInt8]) throws(NoiseError) -> [UInt8] {
    let tokens = try begin(writing: false)
    guard message.count <= Self.messageLimit else { throw .invalidLength }
    var rest = message[...]
    func take(_ count: Int) throws(NoiseError) -> [UInt8] {
      guard rest.count >= count else { throw .invalidLength }
      defer { rest = rest.dropFirst(count) }
      return Array(rest.prefix(count))
    }
    for token in tokens {
      switch token {
      case .ephemeral:
        let key = try take(X25519.keyByteCount)
        remoteEphemeral = key
        try symmetric.mixHash(key)
      case .staticKey:
        remoteStatic = try symmetric.decryptAndHash(try take(X25519.keyByteCount + symmetric.overhead))
      default: try mix(token)
      }
    }
    guard rest.count >= symmetric.overhead else { throw .invalidLength }
    let payload = try symmetric.decryptAndHash(Array(rest))
    end()
    return payload
  }

  /// The session's ciphers and the handshake hash, which names this session and no other.
  package consuming func finish() throws(NoiseError) -> NoiseTransport {
    guard isComplete else { throw .outOfTurn }
    return try symmetric.split(role)
  }

  /// Marks the handshake as failed until ``end()`` says that the whole message went well.
  private mutating func begin(writing: Bool) throws(NoiseError) -> [Token] {
    let initiatorWrites = position.isMultiple(of: 2)
    guard !hasFailed, position < messages.count, (role == .initiator) == (initiatorWrites == writing) else {
      hasFailed = true
      throw .outOfTurn
    }
    hasFailed = true
    return messages[position]
  }

  private mutating func end() {
    position += 1
    hasFailed = false
  }

  /// Mixes in a Diffie–Hellman result. "es" is the initiator's ephemeral key with the responder's static one.
  private mutating func mix(_ token: Token) throws(NoiseError) {
    let usesOwnEphemeral = token == .ee || (token == .es) == (role == .initiator)
    let usesRemoteEphemeral = token == .ee || (token == .se) == (role == .initiator)
    guard let remote = usesRemoteEphemeral ? remoteEphemeral : remoteStatic else { throw .outOfTurn }
    let own = usesOwnEphemeral ? ephemeral : staticKey
    try symmetric.mixKey(try noise(own.sharedSecret(with: remote)))
  }
}

/// What a finished handshake leaves.
package struct NoiseTransport: ~Copyable {
  package var sending: CipherState
  package var receiving: CipherState
  /// The same on both sides, and in no other session.
  package let handshakeHash: Digest
}
