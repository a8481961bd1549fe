import PeerAuth
import Synchronization
import SystemBus

/// The object by which bluetoothd learns what is to be advertised: it asks for its properties, and says when it drops it.
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

  /// Whether bluetoothd has dropped it.
  var isReleased: Bool { released.withLock { $0 } }

  /// The answer to a call, nil if there is no such method.
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
struct BlueZDevices {
  /// Most devices that are remembered: a crowd needs no more.
  static let limit = 1024
  private static let interface = "org.bluez.Device1"

  private struct Device {
    var address: BLEAddress?
    var tag: BeaconTag?
    /// Whether it is heard now, and not only remembered.
    var isHeard = false
    var strength: Int?
    let adapter: BLEAdapter
  }

  private let adapters: [BLEAdapter]
  private var devices: [String: Device] = [:]

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

  /// Notes what is known of a device now. A sighting, if it is a vault that is heard; bluetoothd gives a strength only to those.
  mutating func learn(_ path: String, _ facts: BusValue) -> BLESighting? {
    guard let adapter = adapters.first(where: { path.hasPrefix("/org/bluez/\($0.name)/") }) else { return nil }
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
    if devices[path] == nil, devices.count >= Self.limit { devices.removeAll() }
    devices[path] = device
    guard let address = device.address, let tag = device.tag, device.isHeard else { return nil }
    return BLESighting(address: address, tag: tag, strength: device.strength, adapter: device.adapter)
  }

  private static func tag(_ data: BusValue) -> BeaconTag? {
    let entry = data.pairs?.first { $0.key.words?.lowercased() == VaultService.uuidText }
    guard case .bytes(let bytes)? = entry?.value.inner else { return nil }
    return BeaconTag(bytes)
  }
}
