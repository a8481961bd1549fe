package import PeerAuth
import PeerLink
package import SecretVault

/// Finds peers over Bluetooth for the whole program. It does nothing before it is asked.
package struct NearbyDialler: Sendable {
  private let dialler = BLEDialler(now: { Clocks.now() })

  package init() {}

  package func connect(_ access: NearbyAccess) async throws(TransportError) -> any PeerTransport {
    let choice: BLEAdapterChoice
    do { choice = try BLEAdapterChoice(setting: access.adapters) } catch { throw error.unreachable }
    return try await dialler.connect(access.beacon, by: choice)
  }
}
