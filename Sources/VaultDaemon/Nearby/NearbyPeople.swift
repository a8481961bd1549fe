import Concurrency
package import PeerLink
package import SecretVault

/// Who is in the same room, as far as Bluetooth and the network can tell. A tag proves nothing: somebody else may repeat it.
package enum NearbyPeople {
  /// Seconds for which it is listened if nobody says otherwise.
  package static let usualSeconds = 6

  /// How a peer was heard.
  package struct Heard {
    package let strength: Int?
    package let address: BLEAddress
    package let adapter: String
  }

  /// Listens, and returns who was heard, by name.
  package static func listen(_ vault: Vault, for seconds: Int) async throws -> [String: Heard] {
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
    } catch { throw VaultError(.inputOutput, "\(error)", hint: error.hint) }
    var heard: [String: Heard] = [:]
    for sighting in sightings {
      guard let name = names[sighting.tag] else { continue }
      if let known = heard[name], known.strength ?? Int.min >= sighting.strength ?? Int.min { continue }
      heard[name] = Heard(strength: sighting.strength, address: sighting.address, adapter: sighting.adapter.name)
    }
    return heard
  }

  /// Names of those who are heard, over Bluetooth or on the same network. Without these, or with trouble of its own, nobody is: the listeners tell of
  /// that.
  static func names(_ vault: Vault, _ dialler: LocalDialler) async -> Set<String> {
    var names = localNames(vault, dialler)
    guard vault.core.nearbySettings().isOn, let heard = try? await listen(vault, for: usualSeconds) else {
      return names
    }
    names.formUnion(heard.keys)
    return names
  }

  private static func localNames(_ vault: Vault, _ dialler: LocalDialler) -> Set<String> {
    let tags = dialler.room.tags
    guard !tags.isEmpty, let names = try? vault.directory.peersByTag() else { return [] }
    return Set(tags.compactMap { names[$0] })
  }
}
