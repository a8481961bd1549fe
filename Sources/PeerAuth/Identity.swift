package import Sodium

/// This device's three key pairs. The secrets stay in secret memory; callers ask for what they compute.
public final class Identity: Sendable {
  /// Bytes of ``stored()``: a version and three secrets.
  public static let storedByteCount = 97
  static let storedVersion: UInt8 = 1

  public let keys: CardKeys
  /// The seed, then the public key.
  let signingKey: SecretBytes
  let noiseKey: AgreementKeyPair
  let boxKey: AgreementKeyPair

  init(
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

  convenience init(generated stored: borrowing SecretBytes) throws(SodiumError) {
    do throws(CardError) { try self.init(stored: stored) } catch {
      if case .sodium(let error) = error { throw error }
      // Three random keys that collide or are of small order: the random generator is broken.
      throw .unavailable
    }
  }

  static func part(_ stored: borrowing SecretBytes, _ range: Range<Int>) throws(CardError) -> SecretBytes {
    do throws(SodiumError) { return try SecretBytes(copying: stored.bytes.extracting(range)) } catch {
      throw .sodium(error)
    }
  }

  /// Signs the digest that a ``DomainHash`` ended with.
  package func sign(_ digest: Digest) throws(SodiumError) -> [UInt8] {
    try Ed25519.sign(digest, expanded: signingKey)
  }

  /// Opens a sealed box made for this identity's box key.
  package func openBox(_ sealed: RawSpan) throws(SodiumError) -> SecretBytes { try boxKey.openBox(sealed) }

  /// The shared secret of this identity's box key with another X25519 key. To be hashed under a label before any use.
  package func boxSharedSecret(with publicKey: [UInt8]) throws(SodiumError) -> SecretBytes {
    try boxKey.sharedSecret(with: publicKey)
  }

  /// This identity's card with a beacon key, signed.
  package func card(
    label: String, addresses: [PeerAddress] = [], serial: UInt64, beaconKey: [UInt8]?
  ) throws(CardError) -> PeerCard {
    let card = try PeerCard(keys: keys, label: label, addresses: addresses, serial: serial, beaconKey: beaconKey)
    do throws(SodiumError) {
      return card.signed(with: try sign(try card.signedDigest()))
    } catch { throw .sodium(error) }
  }
}
