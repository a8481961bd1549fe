public import Sodium
import WireCodec

// The module's face: what other programs call, in the order in which they do. What the types stand for is said where they
// are declared, each in the file of its name.

// MARK: - Who one is

extension Identity {
  /// Three fresh key pairs.
  public static func generate() throws(CardError) -> Identity {
    do throws(SodiumError) {
      var stored = try SecretBytes(random: storedByteCount)
      stored.withUnsafeMutableBytes { $0[0] = storedVersion }
      return try Identity(generated: stored)
    } catch { throw .sodium(error) }
  }

  /// Takes the 97 bytes that ``stored()`` gave.
  public convenience init(stored: borrowing SecretBytes) throws(CardError) {
    guard stored.count == Self.storedByteCount, stored.withUnsafeBytes({ $0[0] }) == Self.storedVersion else {
      throw .malformed(.invalidValue(field: "identity"))
    }
    try self.init(
      signingSeed: Self.part(stored, 1..<33), noise: Self.part(stored, 33..<65), box: Self.part(stored, 65..<97))
  }

  /// The secrets to be sealed and kept, 97 bytes: version 1, Ed25519 seed, Noise secret, box secret.
  public func stored() throws(SodiumError) -> SecretBytes {
    try SecretBytes(count: Self.storedByteCount) { output throws(SodiumError) in
      output.append(Self.storedVersion)
      signingKey.withUnsafeBytes { for byte in $0[..<Ed25519.seedByteCount] { output.append(byte) } }
      noiseKey.copySecret(into: &output)
      boxKey.copySecret(into: &output)
    }
  }

  /// This identity's card, signed. `label` has at most 64 bytes of UTF-8, there are at most 8 `addresses`, and `serial`
  /// grows with each change.
  public func card(label: String, addresses: [PeerAddress] = [], serial: UInt64) throws(CardError) -> PeerCard {
    try card(label: label, addresses: addresses, serial: serial, beaconKey: nil)
  }
}

// MARK: - Whom one knows

extension PeerCard {
  /// The form to publish: bech32m (BIP 350) behind `vaultpeer1`, lower case, with the signature.
  public func text() -> String { Bech32m.encode(prefix: Self.textPrefix, published.encoding) }

  /// Reads a card's text of at most 4096 characters, in lower or upper case but not mixed; white space around it is
  /// ignored. A signature, where there is one, is verified. Whether the card is whose it says only people know: they
  /// compare ``CardKeys/fingerprint``.
  public init(text: String) throws(CardError) { self = try Self.parse(text: text) }

  /// Throws unless the card carries its own signing key's signature.
  public func verify() throws(CardError) {
    guard let signature else { throw .missingSignature }
    do throws(SodiumError) {
      try Ed25519.verify(signature, of: try signedDigest(), by: keys.signing)
    } catch .verificationFailed {
      throw .wrongSignature
    } catch {
      throw .sodium(error)
    }
  }

  /// Whether this card replaces `known`: same keys, signed, and a higher serial, or the same serial where `known` came
  /// unsigned from a QR code. Throws ``CardError/otherKeys`` if it is another peer's card.
  public func isUpdate(of known: PeerCard) throws(CardError) -> Bool {
    guard keys == known.keys else { throw .otherKeys }
    try verify()
    return serial > known.serial || (serial == known.serial && known.signature == nil)
  }
}

extension PeerAddress {
  /// Takes a host without brackets and a port from 1 to 65535.
  public init(host: String, port: Int) throws(CardError) {
    try self.init(host: host, port: port, allowsAnyPort: false)
  }

  /// Reads `host:port`, `[v6]:port`, `host` or a bare IPv6 address; without a port it is 4721.
  public init(parsing text: String) throws(CardError) { self = try Self.parse(text) }

  /// `host:port`, an IPv6 host in brackets.
  public var description: String { tag == .six ? "[\(host)]:\(port)" : "\(host):\(port)" }
}

// MARK: - Talking

extension PeerSession {
  /// Dials the peer with these keys over a fresh transport.
  ///
  /// Throws ``SessionError/refusedUnknownKey`` if the answerer doesn't know this identity. An answerer with another key
  /// can't read the first message and can only hang up: the dialler sees ``SessionError/cutOff``. On any error the
  /// transport is closed. `ownCard` must be signed.
  public static func dial(
    _ transport: any PeerTransport, identity: Identity, peer: CardKeys, ownCard: PeerCard
  ) async throws(SessionError) -> PeerSession {
    try await dial(transport, identity: identity, peer: peer, ownCard: ownCard, randomness: nil)
  }

  /// Answers a dialler on a fresh transport, if it is one of these `peers`. Another one is told that it isn't known, and
  /// this throws ``SessionError/unknownPeer``. On any error the transport is closed. `ownCard` must be signed.
  public static func answer(
    _ transport: any PeerTransport, identity: Identity, ownCard: PeerCard, peers: [CardKeys]
  ) async throws(SessionError) -> PeerSession {
    try await answer(transport, identity: identity, ownCard: ownCard) { key in peers.first { $0.noise == key } }
  }

  /// Sends a message of a `type` that isn't 0 and fewer than 2^32 bytes; only ciphertext leaves secret memory.
  public nonisolated(nonsending) func send(type: UInt16, _ body: borrowing SecretBytes) async throws(SessionError) {
    try await send(type: type, count: body.count) { writer throws(WireError) in try writer.bytes(body.bytes) }
  }

  /// The next message, or the peer's goodbye, behind which nothing comes from it.
  ///
  /// `limit` gives the most bytes that a message of a type may have, checked before its body is taken; over it,
  /// ``SessionError/messageTooLarge(type:limit:)`` ends the session. A type for which it is nil is skipped up to 64 KiB and
  /// reported as ``ReceivedMessage/Kind/unknown``. A stream that ends without a goodbye is ``SessionError/cutOff``.
  public func receive(limit: @Sendable (UInt16) -> Int?) async throws(SessionError) -> ReceivedMessage {
    try await nextMessage(limit: limit)
  }

  /// Says goodbye, and goes on listening: what was asked before it is still answered. Over a radio that is a turn less
  /// than saying it behind the last answer. Repeating it does nothing.
  public func endSending() async throws(SessionError) { try await sayGoodbye() }

  /// Behind the peer's goodbye: says goodbye too, and closes when the peer has. The last answers may still be on their
  /// way to it, and a transport that is closed drops them.
  public func closeBehindPeer() async {
    try? await sayGoodbye()
    await waitForPeer()
    await close()
  }

  /// Says goodbye, unless it has, and closes the transport. While a message is being sent, or after an error, there is no
  /// goodbye.
  public func close() async { await hangUp() }
}

extension InMemoryTransport {
  /// Two connected ends, 256 KiB between them each way.
  public static func pair() -> (first: InMemoryTransport, second: InMemoryTransport) { pair(capacity: 1 << 18) }
}
