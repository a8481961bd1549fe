import Sodium
public import WireCodec

/// What a peer shows to be trusted: three public keys, a label, where it listens, and a serial that grows with each change.
///
/// The same keys with a higher serial are an update; other keys are another peer. A card is signed by its own signing
/// key over everything but the beacon key, which comes by QR code, file or session only and is protected by those.
public struct PeerCard: WireValue, Hashable, Sendable {
  package static let byteLimit = 2048
  package static let addressLimit = 8
  package static let beaconKeyByteCount = 16

  public let keys: CardKeys
  /// What the owner calls this device; a hint for people. At most 64 bytes of UTF-8.
  public let label: String
  /// Where the peer listens, best first. At most 8.
  public let addresses: [PeerAddress]
  /// Grows whenever the owner changes label, addresses or beacon key.
  public let serial: UInt64
  /// 16 bytes that let a friend recognise this peer's announcements; nil in a published card. Not signed.
  package private(set) var beaconKey: [UInt8]?
  /// Ed25519 over the signed contents; nil in a QR code.
  package private(set) var signature: [UInt8]?
  /// Room for later versions. Signed.
  package let extensions: Extensions

  package var version: UInt8 { CardKeys.version }

  /// The 5×5 digits of ``CardKeys/fingerprint``.
  package var fingerprint: String { keys.fingerprint.description }

  /// Takes the parts and checks their limits, not the signature: see ``verify()``.
  package init(
    keys: CardKeys, label: String, addresses: [PeerAddress] = [], serial: UInt64, beaconKey: [UInt8]? = nil,
    signature: [UInt8]? = nil, extensions: Extensions = Extensions()
  ) throws(CardError) {
    guard CardLabel.isAcceptable(label) else { throw .invalidLabel }
    guard addresses.count <= Self.addressLimit else { throw .tooManyAddresses(limit: Self.addressLimit) }
    guard addresses.allSatisfy({ $0.port > 0 }) else { throw .invalidAddress }
    guard beaconKey == nil || beaconKey?.count == Self.beaconKeyByteCount else { throw .invalidBeaconKey }
    guard signature == nil || signature?.count == Ed25519.signatureByteCount else { throw .wrongSignature }
    self.keys = keys
    self.label = label
    self.addresses = addresses
    self.serial = serial
    self.beaconKey = beaconKey
    self.signature = signature
    self.extensions = extensions
    guard encodedByteCount <= Self.byteLimit else { throw .tooLong(limit: Self.byteLimit) }
  }

  /// The same card without its beacon key: what may be published. The signature stays valid.
  package var published: PeerCard { with(beaconKey: nil, signature) }

  /// The same card with a beacon key that came beside it. Throws ``CardError/invalidBeaconKey`` of another length.
  package func recognisable(by beaconKey: [UInt8]) throws(CardError) -> PeerCard {
    guard beaconKey.count == Self.beaconKeyByteCount else { throw .invalidBeaconKey }
    return with(beaconKey: beaconKey, signature)
  }

  func signed(with signature: [UInt8]) -> PeerCard { with(beaconKey: beaconKey, signature) }

  /// The same card without its signature, for a QR code.
  var unsigned: PeerCard { with(beaconKey: beaconKey, nil) }

  private func with(beaconKey: [UInt8]?, _ signature: [UInt8]?) -> PeerCard {
    var card = self
    card.beaconKey = beaconKey
    card.signature = signature
    return card
  }

  /// What the card's owner signs.
  func signedDigest() throws(SodiumError) -> Digest {
    var hash = try DomainHash("vault/card-signature/v1")
    hash.append(keys.digest)
    hash.append(label)
    hash.append(encodedAddresses)
    hash.append(serial)
    hash.append(encodedExtensions)
    return hash.digest()
  }
}
