package import PeerAuth
import Sodium
import VaultStore

/// Whom a vault may look for over Bluetooth and on the same network, and what it shows itself.
extension Directory {
  /// What it takes to find a peer in the room; nil if Bluetooth is off, or the peer's card came without a beacon key.
  func nearbyAccess(to peer: PeerRecord) -> NearbyAccess? {
    // The key by which somebody is recognised over Bluetooth is given to peers alone.
    guard environment.connectNearby != nil, peer.introducer == nil else { return nil }
    let settings = core.nearbySettings()
    guard settings.isOn, let beacon = beacon(ofPeer: peer.digest) else { return nil }
    let core = core
    let isWanted: @Sendable () -> Bool = {
      let now = core.nearbySettings()
      return now.isOn && now.adapters == settings.adapters
    }
    return NearbyAccess(
      beacon: beacon, adapters: settings.adapters, byteLimit: settings.byteLimit, isWanted: isWanted,
      untilUnwanted: { try await core.waitForSettings(while: isWanted) })
  }

  /// Looks for a peer on the same network, while the user wants that; nil if he doesn't, the peer's card came without a beacon key, or nobody
  /// can look.
  func localSearch(for peer: PeerRecord) -> (@Sendable () async -> [LocalPlace])? {
    guard let find = environment.findLocally, peer.introducer == nil, core.usesLocalNetwork,
      let beacon = beacon(ofPeer: peer.digest)
    else { return nil }
    let core = core
    return { core.usesLocalNetwork ? await find(beacon) : [] }
  }

  private func beacon(ofPeer digest: Digest) -> BeaconKey? {
    do {
      guard let key = try database.beaconKey(ofPeer: digest) else { return nil }
      return try? BeaconKey(key)
    } catch {
      environment.log.error("a peer's beacon key can't be read: \(error)")
      return nil
    }
  }

  /// What this device shows in the air just now.
  package func beaconTag() throws -> BeaconTag {
    let key = try database.beaconKey()
    do { return try BeaconKey(key).tag(at: environment.now()) } catch {
      throw VaultError(.other, "this device's Bluetooth tag can't be computed")
    }
  }

  /// Which peers show which tags just now, an hour before and after included: names by tag. Peers whose cards came without a beacon key show none
  /// that is known here.
  package func peersByTag() throws -> [BeaconTag: String] {
    let now = environment.now()
    var names: [BeaconTag: String] = [:]
    for peer in try database.peers() {
      guard let tags = try? beacon(ofPeer: peer.digest)?.tags(at: now) else { continue }
      for tag in tags { names[tag] = peer.name }
    }
    return names
  }
}
