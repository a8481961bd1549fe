import PeerAuth
import PeerLink
import SecretVault
import Synchronization

/// Finds peers over Bluetooth for the whole program. It does nothing before it is asked.
final class NearbyDialler: Sendable {
  private let choice: AdapterBox
  private let dialler: BLEDialler

  init() {
    let choice = AdapterBox()
    self.choice = choice
    dialler = BLEDialler(
      now: { Clocks.now() }, equipment: { () throws(BLEError) in try BLEEquipment.find(choice.value) })
  }

  func connect(_ access: NearbyAccess) async throws(TransportError) -> any PeerTransport {
    choice.set(BLEAdapterChoice(access.adapters) ?? .all)
    return try await dialler.connect(access.beacon)
  }

  /// The adapters that the setting named last.
  private final class AdapterBox: Sendable {
    private let current = Mutex(BLEAdapterChoice.all)
    var value: BLEAdapterChoice { current.withLock { $0 } }
    func set(_ choice: BLEAdapterChoice) { current.withLock { $0 = choice } }
  }
}
