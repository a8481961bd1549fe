package import PeerAuth
import Sodium
package import VaultStore
import WireCodec

extension VaultCore {
  package func ownIdentity() throws -> OwnIdentity {
    let card = try ownCard()
    do {
      return OwnIdentity(
        card: card, fingerprint: card.fingerprint, text: card.text(), qrText: try recognisableCard().qrText())
    } catch {
      throw VaultError(.damaged, "this device's card can't be drawn: \(error)")
    }
  }

  /// The newest signed card of this device with its beacon key: for peers alone.
  package func recognisableCard() throws -> PeerCard {
    let beacon = try database.beaconKey().withUnsafeBytes { Array($0) }
    return try ownCard().recognisable(by: beacon)
  }

  package func setOwnAddresses(_ addresses: [PeerAddress]) throws -> OwnIdentity {
    var record = try identityRecord()
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
    try database.updateIdentity(record)
    return try ownIdentity()
  }

  /// The newest signed card of this device, without the beacon key.
  func ownCard() throws -> PeerCard {
    let record = try identityRecord()
    do { return try cards.decode(record.card) } catch {
      throw VaultError(.damaged, "this device's card in \(folders.data) is damaged")
    }
  }

  private func identityRecord() throws -> IdentityRecord {
    guard let record = try database.identity() else {
      throw VaultError(.damaged, "the vault in \(folders.data) has no identity")
    }
    return record
  }

  /// The text form of this device's card, from the copy that needs no passphrase. Nil if there is none; throws if this device has not
  /// written it so.
  package static func lockedCard(at folders: VaultFolders) throws -> String? {
    let bytes: [UInt8]
    do { bytes = try CardCopy.read(folders) } catch StoreError.notFound { return nil } catch { throw error }
    do {
      let card = try PeerCard.decode(bytes, limit: PeerCard.byteLimit)
      try card.verify()
      return card.text()
    } catch {
      throw VaultError(.damaged, "the copy of this device's card in \(folders.cardPath) is damaged")
    }
  }

  /// Mends the copy of the card that ``lockedCard(at:)`` shows, and says so where that wasn't this device's card.
  func keepCardCopy() {
    let place = folders.cardPath
    let fault: CardCopy.Fault?
    do { fault = try database.keepCardCopy() } catch {
      return environment.log.error("the copy of this device's card in \(place) can't be written: \(error)")
    }
    switch fault {
    case .none: return
    case .unverified:
      tell(
        "\(place) was not as this device had written it: it is damaged, or somebody has changed it; now it has this device's card again"
      )
    case .other(let bytes):
      let card = try? PeerCard.decode(bytes, limit: PeerCard.byteLimit)
      // An earlier one of its own.
      if let card, card.keys == identity.keys, (try? card.verify()) != nil { return }
      tell(
        "somebody who can read and change the files of this vault has put another card into \(place), with the fingerprint \(card?.fingerprint ?? "of none"); whoever was shown the card of this vault while it was locked may have that one: compare fingerprints again"
      )
    }
  }

  private func tell(_ text: String) {
    environment.log.error("\(text)")
    record(.cardReplaced, detail: text)
  }
}
