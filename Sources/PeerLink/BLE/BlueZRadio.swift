import Concurrency
import Glibc
import PeerAuth
import SystemBus

/// bluetoothd, over the system's bus: an ordinary user may use it, and it shares the adapters among all who want them
/// (BlueZ, doc/adapter-api.txt, device-api.txt, advertising-api.txt).
struct BlueZRadio: BLERadio {
  private static let service = "org.bluez"
  private static let properties = "org.freedesktop.DBus.Properties"
  private static let bus = "org.freedesktop.DBus"
  private static let manager = "org.freedesktop.DBus.ObjectManager"
  private static let device = "org.bluez.Device1"
  private static let adapter = "org.bluez.Adapter1"
  private static let advertising = "org.bluez.LEAdvertisingManager1"
  private static let advertisement = "org.bluez.LEAdvertisement1"
  private static let beaconPath = "/org/vault/beacon"
  /// Milliseconds for a call: bluetoothd asks the radio first.
  private static let patience: Int64 = 15_000
  /// Milliseconds for what bluetoothd knows by itself.
  private static let quickPatience: Int64 = 3000
  /// Milliseconds after which looking for devices is begun again when others were at it.
  private static let pause: Int64 = 1000
  /// Milliseconds after which it is begun anew: bluetoothd itself rests for five seconds of fifteen, and many adapters
  /// tell of each device only once.
  private static let rhythm: Int64 = 4000

  let name = "bluetoothd"
  let bus: [String]

  static func isThere(_ paths: [String]) -> Bool {
    guard var connection = try? BusConnection.open(paths: paths) else { return false }
    let answer = try? connection.call(
      "NameHasOwner", of: bus, at: "/org/freedesktop/DBus", to: bus, [.text(service)])
    return answer?.reply.body == [.flag(true)]
  }

  // MARK: - Being heard

  func advertise(
    _ tag: BeaconTag, on adapters: [BLEAdapter], until stop: StopSignal, ready: () -> Void
  ) throws(BLEError) {
    var connection = try open()
    let beacon = BlueZBeacon(path: Self.beaconPath, tag: tag)
    let owner = try watchOwner(&connection)
    // Anybody on the bus could end the advertisement.
    connection.answering = { $0.sender == owner ? beacon.answer($0) : nil }
    try watchObjects(&connection, "InterfacesRemoved")
    for adapter in adapters {
      try call(
        "RegisterAdvertisement", of: Self.advertising, adapter, [.path(Self.beaconPath), .properties([])], &connection)
    }
    ready()
    while !stop.isRaised() {
      let signal: BusMessage?
      do throws(BusConnection.Failure) { signal = try connection.nextSignal(orInput: stop.descriptor) } catch {
        throw Self.failure(error, adapters)
      }
      if beacon.isReleased { throw .failed("bluetoothd has ended the advertisement") }
      if let signal { try Self.check(signal, owner, adapters) }
    }
    for adapter in adapters {
      // The end of the connection says the same.
      try? call("UnregisterAdvertisement", of: Self.advertising, adapter, [.path(Self.beaconPath)], &connection)
    }
  }

  // MARK: - Hearing others

  func scan(on adapters: [BLEAdapter], until stop: StopSignal, found: (BLESighting) -> Void) throws(BLEError) {
    var connection = try open()
    let owner = try watchOwner(&connection)
    try watchObjects(&connection, "InterfacesRemoved")
    try watchObjects(&connection, "InterfacesAdded")
    try match(
      &connection,
      "type='signal',sender='\(Self.service)',interface='\(Self.properties)',member='PropertiesChanged',arg0='\(Self.device)'"
    )
    var devices = BlueZDevices(adapters)
    var looking: Set<UInt16> = []
    var hasAsked = false
    while !stop.isRaised() {
      for adapter in adapters where !looking.contains(adapter.index) {
        do throws(BLEError) {
          // Not by the service: bluetoothd looks for it in lists of services alone, and beside the tag there is no room
          // for one.
          let filter = BusValue.properties([("Transport", .text("le")), ("DuplicateData", .flag(true))])
          try call("SetDiscoveryFilter", of: Self.adapter, adapter, [filter], &connection)
          try call("StartDiscovery", of: Self.adapter, adapter, [], &connection)
          looking.insert(adapter.index)
        } catch .busy {
          continue
        }
      }
      if !hasAsked {
        hasAsked = true
        for sighting in try known(&connection, &devices, adapters) { found(sighting) }
      }
      let limit = Monotonic.milliseconds() + (looking.count == adapters.count ? Self.rhythm : Self.pause)
      // In a crowd there is always another signal.
      while !stop.isRaised() {
        let signal: BusMessage?
        do throws(BusConnection.Failure) {
          signal = try connection.nextSignal(orInput: stop.descriptor, until: limit)
        } catch { throw Self.failure(error, adapters) }
        guard let signal else { break }
        try Self.check(signal, owner, adapters)
        // The bus checks whom a signal says to come from when it chooses who gets it, but one to this connection alone
        // comes from anybody.
        guard signal.sender == owner else { continue }
        if let path = devices.stranger(in: signal) { ask(path, &connection, &devices) }
        if let sighting = devices.take(signal) { found(sighting) }
      }
      for adapter in adapters where looking.remove(adapter.index) != nil {
        try? call("StopDiscovery", of: Self.adapter, adapter, [], &connection)
      }
    }
  }

  /// Learns what bluetoothd knows of one device. It may have gone meanwhile.
  private func ask(_ path: String, _ connection: inout BusConnection, _ devices: inout BlueZDevices) {
    let answer = try? connection.call(
      "GetAll", of: Self.properties, at: path, to: Self.service, [.text(Self.device)], within: Self.quickPatience)
    if let facts = answer?.reply.body.first { _ = devices.learn(path, facts) }
  }

  /// Devices that bluetoothd hears already. In a crowd they are too many for one answer; then each is asked for when it
  /// is heard.
  private func known(
    _ connection: inout BusConnection, _ devices: inout BlueZDevices, _ adapters: [BLEAdapter]
  ) throws(BLEError) -> [BLESighting] {
    do throws(BusConnection.Failure) {
      let (reply, _) = try connection.call(
        "GetManagedObjects", of: Self.manager, at: "/", to: Self.service, within: Self.patience)
      return (reply.body.first?.pairs ?? []).compactMap { object in
        guard let path = object.key.words, let facts = object.value[Self.device] else { return nil }
        return devices.learn(path, facts)
      }
    } catch .tooLong {
      return []
    } catch { throw Self.failure(error, adapters) }
  }

  // MARK: - Calls

  private func open() throws(BLEError) -> BusConnection {
    do throws(BusConnection.Failure) { return try BusConnection.open(paths: bus) } catch { throw .serviceGone }
  }

  private func call(
    _ member: String, of interface: String, _ adapter: BLEAdapter, _ body: [BusValue],
    _ connection: inout BusConnection
  ) throws(BLEError) {
    do throws(BusConnection.Failure) {
      _ = try connection.call(
        member, of: interface, at: "/org/bluez/\(adapter.name)", to: Self.service, body, within: Self.patience)
    } catch { throw Self.failure(error, [adapter]) }
  }

  private func match(_ connection: inout BusConnection, _ rule: String) throws(BLEError) {
    do throws(BusConnection.Failure) {
      _ = try connection.call("AddMatch", of: Self.bus, at: "/org/freedesktop/DBus", to: Self.bus, [.text(rule)])
    } catch { throw Self.failure(error, []) }
  }

  /// Who bluetoothd is on the bus. One that is started anew has forgotten what it was asked for, so a change ends
  /// everything.
  private func watchOwner(_ connection: inout BusConnection) throws(BLEError) -> String {
    try match(
      &connection,
      "type='signal',sender='\(Self.bus)',interface='\(Self.bus)',member='NameOwnerChanged',arg0='\(Self.service)'")
    do throws(BusConnection.Failure) {
      let (reply, _) = try connection.call(
        "GetNameOwner", of: Self.bus, at: "/org/freedesktop/DBus", to: Self.bus, [.text(Self.service)])
      guard let owner = reply.body.first?.words else { throw .misunderstood(.malformed) }
      return owner
    } catch { throw .serviceGone }
  }

  private func watchObjects(_ connection: inout BusConnection, _ member: String) throws(BLEError) {
    try match(&connection, "type='signal',sender='\(Self.service)',interface='\(Self.manager)',member='\(member)'")
  }

  /// Throws if a signal says that bluetoothd or an adapter is no more: one that is plugged in again at once has
  /// forgotten everything, too.
  private static func check(_ signal: BusMessage, _ owner: String, _ adapters: [BLEAdapter]) throws(BLEError) {
    if signal.sender == bus, signal.member == "NameOwnerChanged", signal.body.first == .text(service) {
      throw .serviceGone
    }
    guard signal.sender == owner, signal.member == "InterfacesRemoved", let path = signal.body.first?.words else {
      return
    }
    if adapters.contains(where: { path == "/org/bluez/\($0.name)" }) { throw .gone }
  }

  private static func failure(_ failure: BusConnection.Failure, _ adapters: [BLEAdapter]) -> BLEError {
    guard case .refused(let name) = failure else { return .serviceGone }
    switch name {
    case "org.bluez.Error.InProgress": return .busy
    case "org.bluez.Error.NotReady": return .off(adapters.map(\.name))
    case "org.bluez.Error.NotPermitted": return .failed("the adapter has no room for another advertisement")
    case "org.freedesktop.DBus.Error.AccessDenied", "org.bluez.Error.NotAuthorized":
      return .failed("bluetoothd does not let this user use the adapter")
    case "org.freedesktop.DBus.Error.UnknownObject", "org.freedesktop.DBus.Error.UnknownMethod": return .gone
    case "org.freedesktop.DBus.Error.ServiceUnknown", "org.freedesktop.DBus.Error.NoReply": return .serviceGone
    default: return .failed("bluetoothd refuses: \(name.filter { $0.isASCII && $0 > " " }.prefix(80))")
    }
  }
}
