import PeerAuth
import Synchronization
@testable import SystemBus
import Testing

@testable import PeerLink

/// A search by way of bluetoothd, on a bus of the test's own.
@Suite("Searching with bluetoothd", .timeLimit(.minutes(5)))
struct BlueZSearchTests {
  private static let tag: [UInt8] = [1, 2, 3, 4, 5, 6, 7, 8]
  private let bus: RoomBus
  private let equipment: BLEEquipment

  init() throws {
    bus = try RoomBus()
    let adapter = BLEAdapter(
      index: 0, address: try #require(BLEAddress("00:AA:01:00:00:00", .public)), isOn: true, knowsLE: true, hasLE: true,
      isPrivate: false)
    equipment = BLEEquipment(radio: BlueZRadio(bus: [bus.path]), adapters: [adapter])
  }

  /// Searches while `body` runs.
  private func search(_ body: (Search) async throws -> Void) async throws {
    let search = Search()
    let begun = BLEScan(equipment, found: { search.found($0) }, ended: { search.end($0) })
    let scan = try #require(begun)
    try await body(search)
    bus.stop()
    await scan.end()
  }

  private final class Search: Sendable {
    private let state = Watched((heard: [BLESighting](), outcome: Result<Void, BLEError>?.none))
    func found(_ sighting: BLESighting) { state.change { $0.heard.append(sighting) } }
    func end(_ outcome: Result<Void, BLEError>) { state.change { $0.outcome = outcome } }
    var addresses: [String] { state.value.heard.map(\.address.description) }
    var error: BLEError? { if case .failure(let error) = state.value.outcome { error } else { nil } }
    var hasEnded: Bool { state.value.outcome != nil }
    func hears(_ count: Int) async { await state.until { $0.heard.count >= count } }
    func ends() async { await state.until { $0.outcome != nil } }
  }

  @Test("in a room with more devices than an answer may have, a vault is found when it is heard")
  func crowd() async throws {
    bus.know([RoomBus.path(1): RoomBus.facts(1, tag: Self.tag)], andOthers: 6000)
    try await search { search in
      await bus.isCalled("GetManagedObjects")
      bus.hear(1)
      await search.hears(1)
      #expect(search.addresses == [RoomBus.address(1)])
      // It was asked for once.
      #expect(bus.calls.filter { $0 == "GetAll" }.count == 1)
      bus.hear(1)
      await search.hears(2)
      #expect(bus.calls.filter { $0 == "GetAll" }.count == 1)
      // Who is gone when it is asked for ends nothing.
      bus.hear(2)
      bus.hear(1)
      await search.hears(3)
      #expect(!search.hasEnded)
    }
  }

  @Test("what others on the bus say counts for nothing")
  func strangers() async throws {
    try await search { search in
      await bus.isCalled("GetManagedObjects")
      bus.appear(1, tag: Self.tag, from: ":1.66")
      bus.hear(1, from: ":1.66")
      bus.remove("hci0", from: ":1.66")
      bus.appear(2, tag: Self.tag)
      await search.hears(1)
      #expect(search.addresses == [RoomBus.address(2)])
      #expect(!search.hasEnded && !bus.calls.contains("GetAll"))
    }
  }

  @Test("a search ends when bluetoothd goes, and when its adapter does", arguments: [BLEError.serviceGone, .gone])
  func gone(error: BLEError) async throws {
    try await search { search in
      await bus.isCalled("GetManagedObjects")
      bus.remove("hci1")
      if error == .gone { bus.remove("hci0") } else { bus.restart() }
      await search.ends()
      #expect(search.error == error)
    }
  }

  @Test("an advertisement ends when bluetoothd goes, but nobody else on the bus ends it")
  func beacon() async throws {
    let tag = try #require(BeaconTag(Self.tag))
    let beacon = try #require(BLEBeacon(tag, equipment))
    await beacon.begun()
    #expect(beacon.state == .shown)
    bus.call("Release", of: "org.bluez.LEAdvertisement1", at: "/org/vault/beacon", from: ":1.66")
    bus.remove("hci0", from: ":1.66")
    // Behind these: with another reason than theirs it is what has ended it.
    bus.restart()
    await ended(beacon)
    #expect(beacon.state == .ended(.serviceGone))
    bus.stop()
  }

  @Test("an advertisement ends when its adapter goes")
  func beaconsAdapter() async throws {
    let tag = try #require(BeaconTag(Self.tag))
    let beacon = try #require(BLEBeacon(tag, equipment))
    await beacon.begun()
    bus.remove("hci0")
    await ended(beacon)
    #expect(beacon.state == .ended(.gone))
    bus.stop()
  }

  private func ended(_ beacon: BLEBeacon) async { while beacon.state == .shown { await Task.yield() } }

  @Test(
    "of more devices than are remembered those are forgotten that were heard longest ago, first those that are no vaults"
  )
  func forgetting() throws {
    var devices = BlueZDevices(equipment.adapters)
    for number in 0..<8 {
      let sighting = devices.learn(RoomBus.path(number), RoomBus.facts(number, tag: Self.tag))
      #expect(sighting != nil)
    }
    for number in 100..<(100 + 3 * BlueZDevices.limit) {
      _ = devices.learn(RoomBus.path(number), RoomBus.facts(number, tag: nil))
      #expect(devices.count <= BlueZDevices.limit)
    }
    func signal(_ number: Int) -> BusMessage {
      BusMessage(
        kind: .signal, serial: 1, path: RoomBus.path(number), interface: "org.freedesktop.DBus.Properties",
        member: "PropertiesChanged", sender: RoomBus.owner,
        body: [.text(RoomBus.device), .properties([("RSSI", .int16(-40))]), .array(of: "s", [])])
    }
    for number in 0..<8 { #expect(devices.stranger(in: signal(number)) == nil) }
    #expect(devices.stranger(in: signal(100)) == RoomBus.path(100))
    // Vaults by the thousand push out vaults, the latest last.
    for number in 4000..<(4000 + BlueZDevices.limit) {
      _ = devices.learn(RoomBus.path(number), RoomBus.facts(number, tag: Self.tag))
    }
    #expect(devices.stranger(in: signal(0)) == RoomBus.path(0))
    #expect(devices.stranger(in: signal(4000 + BlueZDevices.limit - 1)) == nil)
    var other = signal(0)
    other.body[1] = .properties([("Paired", .flag(true))])
    #expect(devices.stranger(in: other) == nil)
  }
}
