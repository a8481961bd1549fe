public import Sodium
public import WireCodec

/// The three public keys that are a peer. New keys are a new peer.
///
/// Noise forbids sharing its static key with another protocol, so signing, Noise and boxes have a key pair each.
public struct CardKeys: WireValue, Hashable, Sendable {
  public enum Purpose: String, Hashable, Sendable {
    /// Ed25519 signatures.
    case signing
    /// X25519 as the static key of the Noise handshake.
    case noise
    /// X25519 for sealed boxes.
    case box
  }

  /// Version of cards and of their digest.
  package static let version: UInt8 = 1

  /// Ed25519 public key, 32 bytes.
  package let signing: [UInt8]
  /// X25519 public key for Noise, 32 bytes.
  package let noise: [UInt8]
  /// X25519 public key for boxes, 32 bytes.
  package let box: [UInt8]
  /// The card digest: BLAKE2b-256("vault/card/v1", version, the three keys).
  public let digest: Digest
  /// The digits that two people compare.
  public let fingerprint: Fingerprint

  /// Takes three public keys: canonical, not of small order (the signing key in the prime-order subgroup), all different.
  package init(signing: [UInt8], noise: [UInt8], box: [UInt8]) throws(CardError) {
    do throws(SodiumError) { try Ed25519.validate(publicKey: signing) } catch { throw Self.refusal(error, .signing) }
    do throws(SodiumError) { try X25519.validate(publicKey: noise) } catch { throw Self.refusal(error, .noise) }
    do throws(SodiumError) { try X25519.validate(publicKey: box) } catch { throw Self.refusal(error, .box) }
    guard signing != noise, noise != box, box != signing else { throw .keysNotDistinct }
    self.signing = signing
    self.noise = noise
    self.box = box
    do throws(SodiumError) {
      var hash = try DomainHash("vault/card/v1")
      hash.append([Self.version])
      hash.append(signing)
      hash.append(noise)
      hash.append(box)
      digest = hash.digest()
      fingerprint = try Fingerprint(of: digest)
    } catch { throw .sodium(error) }
  }

  private static func refusal(_ error: SodiumError, _ purpose: Purpose) -> CardError {
    switch error {
    case .invalidLength, .invalidPoint, .smallOrderKey: .invalidKey(purpose)
    default: .sodium(error)
    }
  }

  /// Whether two peers share any key: such a card is never imported.
  package func sharesKey(with other: CardKeys) -> Bool {
    let others = [other.signing, other.noise, other.box]
    return [signing, noise, box].contains { others.contains($0) }
  }

  package func encode(into writer: inout Writer) throws(WireError) {
    try writer.bytes(signing)
    try writer.bytes(noise)
    try writer.bytes(box)
  }

  package init(from reader: inout Reader) throws(WireError) {
    let signing = try reader.bytes(32, "signing key")
    let noise = try reader.bytes(32, "noise key")
    let box = try reader.bytes(32, "box key")
    do throws(CardError) {
      try self.init(signing: signing, noise: noise, box: box)
    } catch {
      switch error {
      case .invalidKey(let purpose): throw .invalidValue(field: "\(purpose.rawValue) key")
      default: throw .invalidValue(field: "keys")
      }
    }
  }

  /// Compares the digests, which stand for the keys.
  public static func == (left: CardKeys, right: CardKeys) -> Bool { left.digest == right.digest }
  public func hash(into hasher: inout Hasher) { hasher.combine(digest) }
}
