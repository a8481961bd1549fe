import PeerAuth
import PeerLink
import SecretVault

/// Finds peers over Bluetooth for the whole program. It does nothing before it is asked.
struct NearbyDialler: Sendable {
  private let dialler = BLEDialler(now: { Clocks.now() })

  func connect(_ access: NearbyAccess) async throws(TransportError) -> any PeerTransport {
    let choice: BLEAdapterChoice
    do { choice = try BLEAdapterChoice(setting: access.adapters) } catch { throw error.unreachable }
    return try await dialler.connect(access.beacon, by: choice)
  }
}
