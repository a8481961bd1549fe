import Sodium
import WireCodec

/// What the database has of this device and its peers, in a file of its own, `companions/trust`: enough to make these rows anew. Nothing in it is
/// readable that isn't so in the database. The byte-exact format is in `docs/formats/store.md`.
struct TrustCompanion: WireValue {
  static let magic = Array("VAULTTRU".utf8)
  static let version: UInt8 = 1
  private static let peerLimit = 1 << 20
  private static let sealedByteLimit = 4096
  private static let cardByteLimit = 65_535

  let identity: IdentityRecord
  let sealed: VaultDatabase.SealedIdentity
  /// In the order of their names.
  let peers: [VaultDatabase.StoredPeer]
  /// Cards that the user has removed, ascending.
  let removedCards: [Digest]
  /// What a later version has added, as it was read.
  private(set) var extensions = Extensions()

  init(
    identity: IdentityRecord, sealed: VaultDatabase.SealedIdentity, peers: [VaultDatabase.StoredPeer],
    removedCards: Set<Digest> = []
  ) {
    self.removedCards = removedCards.sorted { $0.bytes.lexicographicallyPrecedes($1.bytes) }
    self.identity = identity
    self.sealed = sealed
    self.peers = peers
  }

  func encode(into writer: inout Writer) throws(WireError) {
    try writer.bytes(Self.magic)
    try writer.u8(Self.version)
    try writer.bytes16(sealed.secrets)
    try writer.bytes16(sealed.beacon)
    try writer.bytes16(identity.card)
    try writer.signed(identity.serial)
    try writer.text16(identity.label)
    try TextList(identity.addresses).encode(into: &writer)
    try writer.signed(identity.createdAt)
    try writer.count32(peers.count)
    for peer in peers { try Self.encode(peer, into: &writer) }
    try writer.count32(removedCards.count)
    for card in removedCards { try writer.bytes(card.bytes) }
    try extensions.encode(into: &writer)
  }

  private static func encode(_ peer: VaultDatabase.StoredPeer, into writer: inout Writer) throws(WireError) {
    let record = peer.record
    try writer.bytes(record.digest.bytes)
    for key in [record.signingKey, record.noiseKey, record.boxKey] { try writer.bytes(key) }
    try writer.text16(record.name)
    try writer.text16(peer.nameKey)
    try writer.bytes16(record.card)
    try TextList(record.addresses).encode(into: &writer)
    try writer.flag(peer.beacon != nil)
    if let beacon = peer.beacon { try writer.bytes16(beacon) }
    try writer.flag(record.state == .proven)
    try writer.optionalDigest(record.person)
    try writer.signed(record.addedAt)
  }

  init(from reader: inout Reader) throws(WireError) {
    try reader.head(Self.magic, version: Self.version)
    sealed = VaultDatabase.SealedIdentity(
      secrets: try reader.bytes16(limit: Self.sealedByteLimit, "keys"),
      beacon: try reader.bytes16(limit: Self.sealedByteLimit, "beacon key"))
    let card = try reader.bytes16(limit: Self.cardByteLimit, "card")
    let serial = try reader.signed("serial")
    let label = try reader.text16(limit: 65_535, "label")
    let addresses = try TextList(from: &reader).texts
    identity = IdentityRecord(
      card: card, serial: serial, label: label, addresses: addresses,
      createdAt: try reader.signed("created"))
    var peers: [VaultDatabase.StoredPeer] = []
    for _ in 0..<(try reader.count32(limit: Self.peerLimit, "peers")) { peers.append(try Self.peer(from: &reader)) }
    self.peers = peers
    var removed: [Digest] = []
    for _ in 0..<(try reader.count32(limit: Self.peerLimit, "removed cards")) {
      let card = try reader.digest("removed card")
      guard removed.last?.bytes.lexicographicallyPrecedes(card.bytes) != false else {
        throw .invalidValue(field: "removed card")
      }
      removed.append(card)
    }
    removedCards = removed
    extensions = try reader.extensions()
  }

  private static func peer(from reader: inout Reader) throws(WireError) -> VaultDatabase.StoredPeer {
    let digest = try reader.digest("peer")
    let signingKey = try reader.bytes(32, "signing key")
    let noiseKey = try reader.bytes(32, "noise key")
    let boxKey = try reader.bytes(32, "box key")
    let name = try reader.text16(limit: 1024, "name")
    let nameKey = try reader.text16(limit: 65_535, "name key")
    let card = try reader.bytes16(limit: cardByteLimit, "card")
    let addresses = try TextList(from: &reader).texts
    let beacon =
      try reader.flag("whether there is a beacon key") ? reader.bytes16(limit: sealedByteLimit, "beacon key") : nil
    let isProven = try reader.flag("whether it is proven")
    let person = try reader.optionalDigest("whether there is a person")
    let addedAt = try reader.signed("added")
    return VaultDatabase.StoredPeer(
      record: PeerRecord(
        digest: digest, signingKey: signingKey, noiseKey: noiseKey, boxKey: boxKey, name: name, card: card,
        addresses: addresses, state: isProven ? .proven : .scanned, person: person, addedAt: addedAt),
      beacon: beacon, nameKey: nameKey)
  }
}
