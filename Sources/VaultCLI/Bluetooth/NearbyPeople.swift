import PeerAuth
import PeerLink
import SecretVault

/// Who is in the same room, as far as Bluetooth can tell. A tag proves nothing: somebody else may repeat it.
enum NearbyPeople {
  /// Seconds for which it is listened if nobody says otherwise.
  static let usualSeconds = 6

  /// How a peer was heard.
  struct Heard {
    let strength: Int?
    let address: BLEAddress
    let adapter: String

    var words: String { strength.map { "\($0) dBm" } ?? "near" }

    var json: JSONValue {
      [
        "strength": JSONValue(strength), "address": .string(address.description),
        "addressKind": address.kind == .public ? "public" : "random", "adapter": .string(adapter),
      ]
    }
  }

  /// Listens, and returns who was heard, by name.
  static func listen(_ vault: Vault, for seconds: Int) async throws -> [String: Heard] {
    let settings = vault.core.nearbySettings()
    guard settings.isOn else {
      throw VaultError(
        .usage, "Bluetooth is not used: the setting ble is off", hint: "switch it on: vault settings set ble on")
    }
    let names = try vault.directory.peersByTag()
    let sightings: [BLESighting]
    do {
      let choice = try BLEAdapterChoice(setting: settings.adapters)
      let equipment = try await WaitingThread.run { () throws(BLEError) in try BLEEquipment.find(choice) }
      sightings = try await BLEScan.collect(Set(names.keys), equipment, for: .seconds(seconds))
    } catch {
      throw VaultError(.inputOutput, "\(error)", hint: error.hint)
    }
    var heard: [String: Heard] = [:]
    for sighting in sightings {
      guard let name = names[sighting.tag] else { continue }
      if let known = heard[name], known.strength ?? Int.min >= sighting.strength ?? Int.min { continue }
      heard[name] = Heard(
        strength: sighting.strength, address: sighting.address, adapter: sighting.adapter.name)
    }
    return heard
  }
}
