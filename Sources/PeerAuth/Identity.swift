public import Sodium

/// This device's three key pairs. The secrets stay in secret memory; callers ask for what they compute.
public final class Identity: Sendable {
  /// Bytes of ``stored()``: a version and three secrets.
  public static let storedByteCount = 97
  private static let storedVersion: UInt8 = 1

  /// The public keys.
  public let keys: CardKeys
  /// The seed, then the public key.
  private let signingKey: SecretBytes
  let noiseKey: AgreementKeyPair
  private let boxKey: AgreementKeyPair

  private init(
    signingSeed: consuming SecretBytes, noise: consuming SecretBytes, box: consuming SecretBytes
  ) throws(CardError) {
    let publicSigningKey: [UInt8]
    do throws(SodiumError) {
      signingKey = try Ed25519.expand(signingSeed)
      publicSigningKey = signingKey.withUnsafeBytes { Array($0[Ed25519.seedByteCount...]) }
      noiseKey = try AgreementKeyPair(secret: noise)
      boxKey = try AgreementKeyPair(secret: box)
    } catch { throw .sodium(error) }
    keys = try CardKeys(signing: publicSigningKey, noise: noiseKey.publicKey, box: boxKey.publicKey)
  }

  /// Three fresh key pairs.
  public static func generate() throws(CardError) -> Identity {
    do throws(SodiumError) {
      var stored = try SecretBytes(random: storedByteCount)
      stored.withUnsafeMutableBytes { $0[0] = storedVersion }
      return try Identity(generated: stored)
    } catch { throw .sodium(error) }
  }

  private convenience init(generated stored: borrowing SecretBytes) throws(SodiumError) {
    do throws(CardError) { try self.init(stored: stored) } catch {
      if case .sodium(let error) = error { throw error }
      // Three random keys that collide or are of small order: the random generator is broken.
      throw .unavailable
    }
  }

  /// Takes the 97 bytes that ``stored()`` gave.
  public convenience init(stored: borrowing SecretBytes) throws(CardError) {
    guard stored.count == Self.storedByteCount, stored.withUnsafeBytes({ $0[0] }) == Self.storedVersion else {
      throw .malformed(.invalidValue(field: "identity"))
    }
    try self.init(
      signingSeed: Self.part(stored, 1..<33), noise: Self.part(stored, 33..<65), box: Self.part(stored, 65..<97))
  }

  private static func part(_ stored: borrowing SecretBytes, _ range: Range<Int>) throws(CardError) -> SecretBytes {
    do throws(SodiumError) { return try SecretBytes(copying: stored.bytes.extracting(range)) } catch {
      throw .sodium(error)
    }
  }

  /// The secrets to be sealed and kept: version 1, Ed25519 seed, Noise secret, box secret.
  public func stored() throws(SodiumError) -> SecretBytes {
    try SecretBytes(count: Self.storedByteCount) { output throws(SodiumError) in
      output.append(Self.storedVersion)
      signingKey.withUnsafeBytes { for byte in $0[..<Ed25519.seedByteCount] { output.append(byte) } }
      noiseKey.copySecret(into: &output)
      boxKey.copySecret(into: &output)
    }
  }

  /// Signs the digest that a ``DomainHash`` ended with.
  public func sign(_ digest: Digest) throws(SodiumError) -> [UInt8] {
    try Ed25519.sign(digest, expanded: signingKey)
  }

  /// Opens a sealed box made for this identity's box key.
  public func openBox(_ sealed: RawSpan) throws(SodiumError) -> SecretBytes { try boxKey.openBox(sealed) }

  /// The shared secret of this identity's box key with another X25519 key. To be hashed under a label before any use.
  public func boxSharedSecret(with publicKey: [UInt8]) throws(SodiumError) -> SecretBytes {
    try boxKey.sharedSecret(with: publicKey)
  }

  /// This identity's card, signed.
  public func card(
    label: String, addresses: [PeerAddress] = [], serial: UInt64, beaconKey: [UInt8]? = nil
  ) throws(CardError) -> PeerCard {
    let card = try PeerCard(keys: keys, label: label, addresses: addresses, serial: serial, beaconKey: beaconKey)
    do throws(SodiumError) {
      return card.signed(with: try sign(try card.signedDigest()))
    } catch { throw .sodium(error) }
  }
}
