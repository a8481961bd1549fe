import Concurrency
import Glibc
import PeerAuth
import SystemBus

/// The kernel's own management of adapters, where no bluetoothd runs. It needs CAP_NET_ADMIN.
struct KernelRadio: BLERadio {
  /// Milliseconds after which looking for devices is begun again, when it ended by itself or others were at it.
  private static let pause: Int64 = 300
  /// Milliseconds within which an adapter says that it looks no more, once whoever wants that waits for it.
  private static let lastSettling: Int64 = 250

  let name = "the kernel"
  /// Milliseconds after which looking for devices is begun anew: many adapters tell of each device only once.
  var rhythm: Int64 = 3000
  /// Milliseconds within which an adapter says that it looks no more.
  var settling: Int64 = 1000

  /// Throws unless this process may use the adapters.
  static func checkPermission(_ adapters: [BLEAdapter]) throws(BLEError) {
    var management = try ManagementSocket()
    for adapter in adapters { _ = try management.run(.readAdvertising, adapter: adapter.index) }
  }

  func advertise(
    _ tag: BeaconTag, on adapters: [BLEAdapter], until stop: StopSignal, ready: () -> Void
  ) throws(BLEError) {
    var management = try ManagementSocket()
    try advertise(tag, on: adapters, with: &management, until: stop, ready: ready)
  }

  func advertise(
    _ tag: BeaconTag, on adapters: [BLEAdapter], with management: inout ManagementSocket, until stop: StopSignal,
    ready: () -> Void
  ) throws(BLEError) {
    var shown: [(adapter: UInt16, instance: UInt8)] = []
    // It would outlive this process.
    func remove() {
      for place in shown {
        _ = try? management.run(.removeAdvertising(instance: place.instance), adapter: place.adapter)
      }
    }
    do throws(BLEError) {
      for adapter in adapters {
        if !adapter.hasLE { _ = try management.run(.setLE(true), adapter: adapter.index) }
        let instance = try instance(on: adapter, &management)
        _ = try management.run(
          .addAdvertising(
            instance: instance, data: AdvertisementData.advertisement(of: tag), response: AdvertisementData.scanResponse
          ),
          adapter: adapter.index)
        shown.append((adapter.index, instance))
      }
      ready()
      let numbers = Set(adapters.map(\.index))
      while !stop.isRaised() {
        guard let event = try management.next(until: .max, orInput: stop.descriptor) else { continue }
        guard numbers.contains(event.adapter) else { continue }
        switch event.content {
        case .removed: throw .gone
        case .settings(let settings) where settings & 1 == 0:
          throw .off(adapters.filter { $0.index == event.adapter }.map(\.name))
        default: continue
        }
      }
    } catch {
      remove()
      throw error
    }
    remove()
  }

  /// The number of the own advertisement: the last one that the adapter has. Others take theirs from the first on; what
  /// stands there is what an earlier process of ours left behind when it was killed.
  private func instance(on adapter: BLEAdapter, _ management: inout ManagementSocket) throws(BLEError) -> UInt8 {
    let facts = try management.run(.readAdvertising, adapter: adapter.index)
    guard let limit = try? ManagementResult.advertising(facts).limit, limit > 0 else {
      throw .failed("\(adapter.name) can't advertise")
    }
    return limit
  }

  func scan(on adapters: [BLEAdapter], until stop: StopSignal, found: (BLESighting) -> Void) throws(BLEError) {
    var management = try ManagementSocket()
    try scan(on: adapters, with: &management, until: stop, found: found)
  }

  func scan(
    on adapters: [BLEAdapter], with management: inout ManagementSocket, until stop: StopSignal,
    found: (BLESighting) -> Void
  ) throws(BLEError) {
    // Others' is theirs to end; the kernel tells everybody what is heard meanwhile.
    var own: Set<UInt16> = []
    do throws(BLEError) {
      for adapter in adapters where !adapter.hasLE { _ = try management.run(.setLE(true), adapter: adapter.index) }
      while !stop.isRaised() {
        for adapter in adapters where !own.contains(adapter.index) {
          do throws(BLEError) {
            _ = try management.run(.startDiscovery, adapter: adapter.index)
            own.insert(adapter.index)
          } catch .off {
            throw .off([adapter.name])
          } catch .busy {
            continue
          }
        }
        let limit = Monotonic.milliseconds() + (own.count == adapters.count ? rhythm : Self.pause)
        while let event = try management.next(until: limit, orInput: stop.descriptor) {
          // It ends by itself after some ten seconds.
          if event.content == .discovering(false), own.remove(event.adapter) != nil { break }
          try Self.take(event, adapters, found)
        }
        try end(&own, &management, adapters, until: stop, found)
      }
    } catch {
      for adapter in own { _ = try? management.run(.stopDiscovery, adapter: adapter) }
      throw error
    }
  }

  /// Has the adapters look no more, and hears them out. Once it is time to stop it doesn't wait long for one that says
  /// nothing.
  private func end(
    _ own: inout Set<UInt16>, _ management: inout ManagementSocket, _ adapters: [BLEAdapter], until stop: StopSignal,
    _ found: (BLESighting) -> Void
  ) throws(BLEError) {
    for adapter in own { _ = try? management.run(.stopDiscovery, adapter: adapter) }
    var limit = Monotonic.milliseconds() + settling
    var isLast = false
    while !own.isEmpty {
      if !isLast, stop.isRaised() {
        isLast = true
        limit = min(limit, Monotonic.milliseconds() + Self.lastSettling)
      }
      guard let event = try management.next(until: limit, orInput: isLast ? -1 : stop.descriptor) else {
        if !isLast, stop.isRaised() { continue }
        break
      }
      if event.content == .discovering(false) { own.remove(event.adapter) }
      try Self.take(event, adapters, found)
    }
    own = []
  }

  private static func take(
    _ event: ManagementEvent, _ adapters: [BLEAdapter], _ found: (BLESighting) -> Void
  ) throws(BLEError) {
    guard let adapter = adapters.first(where: { $0.index == event.adapter }) else { return }
    if case .removed = event.content { throw .gone }
    guard case .found(let address, let strength, let data) = event.content,
      let tag = (try? AdvertisementData(bytes: data))?.tag
    else { return }
    found(BLESighting(address: address, tag: tag, strength: strength.map { Int($0) }, adapter: adapter))
  }
}
