import Glibc
import PeerAuth

/// The kernel's own management of adapters, where no bluetoothd runs. It needs CAP_NET_ADMIN.
struct KernelRadio: BLERadio {
  /// Milliseconds after which looking for devices is begun again, when it ended by itself or others were at it.
  private static let pause: Int64 = 300

  let name = "the kernel"

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

  /// The number of the own advertisement: the last one that the adapter has. Others take theirs from the first on; what stands there is
  /// what an earlier process of ours left behind when it was killed.
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
    var own: Set<UInt16> = []
    // Others' is theirs to end; the kernel tells everybody what is heard meanwhile.
    func end() { for adapter in own { _ = try? management.run(.stopDiscovery, adapter: adapter) } }
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
        // As long as all look; else until it is time to begin again.
        let limit = own.count == adapters.count ? Int64.max : Monotonic.milliseconds() + Self.pause
        while let event = try management.next(until: limit, orInput: stop.descriptor) {
          guard let adapter = adapters.first(where: { $0.index == event.adapter }) else { continue }
          if case .removed = event.content { throw .gone }
          // It ends by itself after some ten seconds.
          if event.content == .discovering(false), own.remove(adapter.index) != nil { break }
          guard case .found(let address, let strength, let data) = event.content,
            let tag = (try? AdvertisementData(bytes: data))?.tag
          else { continue }
          found(BLESighting(address: address, tag: tag, strength: strength.map { Int($0) }, adapter: adapter))
        }
      }
    } catch {
      end()
      throw error
    }
    end()
  }
}
