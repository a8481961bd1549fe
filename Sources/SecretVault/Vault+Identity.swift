public import PeerAuth
import Sodium
import VaultStore
import WireCodec

extension Vault {
  /// This device's card, fingerprint and texts.
  public func ownIdentity() throws(VaultError) -> OwnIdentity {
    let card = try ownCard()
    let beacon = try stored { () throws(StoreError) in try database.beaconKey() }
    do {
      let beaconBytes = beacon.withUnsafeBytes { Array($0) }
      let withBeacon = try identity.card(
        label: card.label, addresses: card.addresses, serial: card.serial, beaconKey: beaconBytes)
      return OwnIdentity(
        card: card, fingerprint: card.fingerprint, text: card.text(),
        qrText: withBeacon.qrText())
    } catch {
      throw VaultError(.damaged, "this device's card can't be drawn: \(error)")
    }
  }

  /// Publishes other addresses in this device's card.
  public func setOwnAddresses(_ addresses: [PeerAddress]) throws(VaultError) -> OwnIdentity {
    guard var record = try stored({ () throws(StoreError) in try database.identity() }) else {
      throw VaultError(.damaged, "the vault in \(folders.data) has no identity")
    }
    guard record.addresses != addresses.map(\.description) else { return try ownIdentity() }
    record.serial += 1
    record.addresses = addresses.map(\.description)
    do {
      let card = try identity.card(
        label: record.label, addresses: addresses, serial: UInt64(record.serial), beaconKey: nil)
      record.card = try card.encoded()
    } catch {
      throw VaultError(.usage, "an address can't stand in a card: \(error)")
    }
    let changed = record
    try stored { () throws(StoreError) in try database.updateIdentity(changed) }
    return try ownIdentity()
  }

  /// The newest signed card of this device, without the beacon key.
  func ownCard() throws(VaultError) -> PeerCard {
    guard let record = try stored({ () throws(StoreError) in try database.identity() }) else {
      throw VaultError(.damaged, "the vault in \(folders.data) has no identity")
    }
    do { return try cards.decode(record.card) } catch {
      throw VaultError(.damaged, "this device's card in \(folders.data) is damaged")
    }
  }
}
