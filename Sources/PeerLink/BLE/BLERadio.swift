package import Concurrency
package import PeerAuth
import SystemBus

package struct BLESighting: Hashable, Sendable {
  package let address: BLEAddress
  package let tag: BeaconTag
  /// How strong it is heard, in dBm; nil if the radio doesn't say.
  package let strength: Int?
  package let adapter: BLEAdapter
}

/// A way to be heard and to hear others. Its functions wait, each on a thread of its own, until they are told to stop.
package protocol BLERadio: Sendable {
  var name: String { get }
  /// Shows a tag on adapters until `stop`; `ready` is called once it is in the air. Throws when that can't be, or not
  /// any more.
  func advertise(
    _ tag: BeaconTag, on adapters: [BLEAdapter], until stop: StopSignal, ready: () -> Void
  ) throws(BLEError)
  /// Looks for vaults with adapters until `stop`, again and again; `found` is called for each time that one is heard.
  func scan(on adapters: [BLEAdapter], until stop: StopSignal, found: (BLESighting) -> Void) throws(BLEError)
}

package struct BLEEquipment: Sendable {
  package let radio: any BLERadio
  /// The adapters that are chosen, on, and able to do LE.
  package let adapters: [BLEAdapter]

  /// All adapters of this machine; asks the kernel, and needs no right. It may wait.
  package static func adapters() throws(BLEError) -> [BLEAdapter] {
    var management = try ManagementSocket()
    return try management.adapters()
  }

  /// Finds out what can be used: bluetoothd if it is on the bus, as an ordinary user may use that and shares it with
  /// others; else the kernel itself. It may wait.
  package static func find(_ choice: BLEAdapterChoice, bus: [String] = BusAddress.system) throws(BLEError)
    -> BLEEquipment
  {
    let all = try adapters().filter { choice.includes($0) }
    guard !all.isEmpty else { throw .noAdapter }
    let able = all.filter(\.knowsLE)
    guard !able.isEmpty else { throw .noLE(all.map(\.name)) }
    let usable = able.filter(\.isOn)
    guard !usable.isEmpty else { throw .off(able.map(\.name)) }
    if BlueZRadio.isThere(bus) { return BLEEquipment(radio: BlueZRadio(bus: bus), adapters: usable) }
    try KernelRadio.checkPermission(usable)
    return BLEEquipment(radio: KernelRadio(), adapters: usable)
  }
}

/// Time as it passes over Bluetooth. Tests hand in a time of their own.
package struct BLETime: Sendable {
  /// What has passed since some moment. Never goes back.
  let passed: @Sendable () -> Duration
  let sleep: @Sendable (Duration) async throws -> Void

  package static let machine = {
    let began = ContinuousClock.now
    return BLETime(passed: { ContinuousClock.now - began }, sleep: { try await Task.sleep(for: $0) })
  }()
}
