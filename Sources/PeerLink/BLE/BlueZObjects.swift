import PeerAuth
import Synchronization
import SystemBus

/// The object by which bluetoothd learns what is to be advertised: it asks for its properties, and says when it drops
/// it.
final class BlueZBeacon: Sendable {
  private static let interface = "org.bluez.LEAdvertisement1"
  private static let properties = "org.freedesktop.DBus.Properties"

  private let path: String
  private let facts: [(String, BusValue)]
  private let released = Mutex(false)

  init(path: String, tag: BeaconTag) {
    self.path = path
    facts = [
      ("Type", .text("peripheral")),
      ("ServiceData", .properties([(VaultService.uuidText, .bytes(tag.bytes))])),
      // bluetoothd shows others only those that want to be found.
      ("Discoverable", .flag(true)),
    ]
  }

  var isReleased: Bool { released.withLock { $0 } }

  func answer(_ call: BusMessage) -> BusMessage? {
    guard call.path == path else { return nil }
    switch (call.interface, call.member) {
    case (Self.interface, "Release"):
      released.withLock { $0 = true }
      return call.reply()
    case (Self.properties, "GetAll") where call.body == [.text(Self.interface)]:
      return call.reply([.properties(facts)])
    case (Self.properties, "Get") where call.body.count == 2 && call.body[0] == .text(Self.interface):
      guard let fact = facts.first(where: { call.body[1] == .text($0.0) }) else {
        return call.refusal("org.freedesktop.DBus.Error.UnknownProperty")
      }
      return call.reply([.variant(fact.1)])
    default: return nil
    }
  }
}

/// The devices that bluetoothd hears, by the paths of their objects.
///
/// Only so many are remembered. When there are more, those go that were heard longest ago, and first those that are no
/// vaults. What is said of a device that is not known, or not any more, doesn't tell its address: it has to be asked
/// for (``stranger(in:)``).
struct BlueZDevices {
  static let limit = 1024
  private static let batch = limit / 4
  private static let interface = "org.bluez.Device1"

  private struct Device {
    var address: BLEAddress?
    var tag: BeaconTag?
    /// Whether it is heard now, and not only remembered.
    var isHeard = false
    var strength: Int?
    /// Grows with each time that something was said of a device.
    var turn: UInt64 = 0
    let adapter: BLEAdapter
  }

  private let adapters: [BLEAdapter]
  private var devices: [String: Device] = [:]
  private var turn: UInt64 = 0

  var count: Int { devices.count }

  init(_ adapters: [BLEAdapter]) { self.adapters = adapters }

  /// What a signal says: a device that is new, or heard anew.
  mutating func take(_ signal: BusMessage) -> BLESighting? {
    switch signal.member {
    case "InterfacesAdded":
      guard signal.body.count == 2, let path = signal.body[0].words, let facts = signal.body[1][Self.interface] else {
        return nil
      }
      return learn(path, facts)
    case "PropertiesChanged":
      guard signal.body.count == 3, signal.body[0] == .text(Self.interface), let path = signal.path else { return nil }
      return learn(path, signal.body[1])
    default: return nil
    }
  }

  /// The path of a device of which a signal says that it is heard, and of which nothing else is known.
  func stranger(in signal: BusMessage) -> String? {
    guard signal.member == "PropertiesChanged", signal.body.count == 3, signal.body[0] == .text(Self.interface),
      let path = signal.path, adapter(of: path) != nil, devices[path]?.address == nil,
      signal.body[1]["RSSI"] != nil || signal.body[1]["ServiceData"] != nil
    else { return nil }
    return path
  }

  private func adapter(of path: String) -> BLEAdapter? {
    adapters.first { path.hasPrefix("/org/bluez/\($0.name)/") }
  }

  /// A sighting, if it is a vault that is heard; bluetoothd gives a strength only to those.
  mutating func learn(_ path: String, _ facts: BusValue) -> BLESighting? {
    guard let adapter = adapter(of: path) else { return nil }
    var device = devices[path] ?? Device(adapter: adapter)
    if let text = facts["Address"]?.words {
      device.address = BLEAddress(text, facts["AddressType"]?.words == "random" ? .random : .public)
    }
    if let data = facts["ServiceData"] { device.tag = Self.tag(data) }
    if case .int16(let strength)? = facts["RSSI"] {
      device.isHeard = true
      // The number for none.
      device.strength = strength == 127 ? nil : Int(strength)
    }
    if devices[path] == nil, devices.count >= Self.limit { forgetSome() }
    turn += 1
    device.turn = turn
    devices[path] = device
    guard let address = device.address, let tag = device.tag, device.isHeard else { return nil }
    return BLESighting(address: address, tag: tag, strength: device.strength, adapter: device.adapter)
  }

  private mutating func forgetSome() {
    let order = devices.map { (isVault: $0.value.tag != nil, turn: $0.value.turn, path: $0.key) }
      .sorted { $0.isVault == $1.isVault ? $0.turn < $1.turn : $1.isVault }
    for device in order.prefix(Self.batch) { devices[device.path] = nil }
  }

  private static func tag(_ data: BusValue) -> BeaconTag? {
    let entry = data.pairs?.first { $0.key.words?.lowercased() == VaultService.uuidText }
    guard case .bytes(let bytes)? = entry?.value.inner else { return nil }
    return BeaconTag(bytes)
  }
}
