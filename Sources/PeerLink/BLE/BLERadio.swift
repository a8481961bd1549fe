import Concurrency
import Glibc
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

/// Tells a thread that waits for something else to stop.
package final class StopSignal: Sendable {
  /// Has something to read once it is time.
  let descriptor: Int32
  private let line: Int32

  package init?() {
    var ends: [Int32] = [-1, -1]
    let kind = Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue) | Int32(SOCK_NONBLOCK.rawValue)
    guard socketpair(AF_UNIX, kind, 0, &ends) == 0 else { return nil }
    (descriptor, line) = (ends[0], ends[1])
  }

  deinit {
    close(descriptor)
    close(line)
  }

  /// Says that it is time. It stays so.
  package func raise() { _ = write(line, "", 1) }

  /// Whether it is time, or becomes so within a while.
  func isRaised(within milliseconds: Int64 = 0) -> Bool {
    var wait = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
    return poll(&wait, 1, Int32(clamping: milliseconds)) > 0
  }
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

package enum WaitingThread {
  /// Without a thread it is better to hold others up than to do nothing.
  package static func run<Value: Sendable, Failure: Error>(
    _ body: @escaping @Sendable () throws(Failure) -> Value
  ) async throws(Failure) -> Value {
    let outcome = await withCheckedContinuation { (continuation: CheckedContinuation<Result<Value, Failure>, Never>) in
      let work = { @Sendable in
        do throws(Failure) {
          continuation.resume(returning: .success(try body()))
        } catch {
          continuation.resume(returning: .failure(error))
        }
      }
      if !BackgroundThread.start(work) { work() }
    }
    return try outcome.get()
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
