import Foundation
import PeerAuth
import SystemBus
import Testing

@testable import PeerLink

@Suite("bluetoothd")
struct BlueZTests {
  /// Recorded in a guest with two virtual controllers, bluetoothd 5.66: a vault on one was heard by the other. In order: a call of
  /// SetDiscoveryFilter, InterfacesAdded, PropertiesChanged, the answer of GetManagedObjects, PropertiesChanged.
  static func recorded() throws -> [BusMessage] {
    let path = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
      .appendingPathComponent("../SystemBusTests/Vectors/bluez.bus")
    var rest = [UInt8](try Data(contentsOf: path))[...]
    var messages: [BusMessage] = []
    while !rest.isEmpty {
      let count = try BusMessage.byteCount(start: Array(rest.prefix(BusMessage.startByteCount)))
      messages.append(try BusMessage(bytes: Array(rest.prefix(count))))
      rest = rest.dropFirst(count)
    }
    return messages
  }

  private func adapter(_ index: UInt16) throws -> BLEAdapter {
    BLEAdapter(
      index: index, address: try #require(BLEAddress("00:AA:01:01:00:01", .public)), isOn: true, knowsLE: true,
      hasLE: true, isPrivate: false)
  }

  @Test("a vault is recognised when it appears")
  func appears() throws {
    let messages = try Self.recorded()
    var devices = BlueZDevices([try adapter(1)])
    let heard = devices.take(messages[1])
    let sighting = try #require(heard)
    #expect(sighting.tag.bytes == Array(0..<8))
    #expect(sighting.address.description == "00:AA:01:00:00:00")
    #expect(sighting.address.kind == .public)
    #expect(sighting.adapter.index == 1)
    // The virtual radio has no strength.
    #expect(sighting.strength == nil)
    var stronger = messages[2]
    stronger.body = [.text("org.bluez.Device1"), .properties([("RSSI", .int16(-61))]), .array(of: "s", [])]
    let heardAgain = devices.take(stronger)
    #expect(heardAgain?.strength == -61)
    var other = BlueZDevices([try adapter(2)])
    let elsewhere = other.take(messages[1])
    #expect(elsewhere == nil)
  }

  @Test("a vault that was there already is found among the objects")
  func isThere() throws {
    let messages = try Self.recorded()
    var devices = BlueZDevices([try adapter(1)])
    let objects = try #require(messages[3].body.first?.pairs)
    let found = objects.compactMap { object -> BLESighting? in
      guard let path = object.key.words, let facts = object.value["org.bluez.Device1"] else { return nil }
      return devices.learn(path, facts)
    }
    #expect(found.map(\.tag.bytes) == [Array(0..<8)])
  }

  @Test("a device that is only remembered is not near")
  func remembered() throws {
    var devices = BlueZDevices([try adapter(1)])
    let facts = BusValue.properties([
      ("Address", .text("00:AA:01:00:00:00")), ("AddressType", .text("random")),
      ("ServiceData", .properties([(VaultService.uuidText.uppercased(), .bytes([1, 2, 3, 4, 5, 6, 7, 8]))])),
    ])
    let before = devices.learn("/org/bluez/hci1/dev_00", facts)
    #expect(before == nil)
    let now = devices.learn("/org/bluez/hci1/dev_00", .properties([("RSSI", .int16(-40))]))
    #expect(now?.strength == -40)
    #expect(now?.address.kind == .random)
  }

  @Test("nonsense of any type is no sighting")
  func nonsense() throws {
    var devices = BlueZDevices([try adapter(1)])
    let path = "/org/bluez/hci1/dev_00"
    for facts: BusValue in [
      .text("x"), .properties([("Address", .number(1)), ("RSSI", .text("loud"))]),
      .properties([("Address", .text("00:AA")), ("ServiceData", .bytes([1])), ("RSSI", .int16(-1))]),
      .properties([
        ("Address", .text("00:AA:01:00:00:00")), ("RSSI", .int16(-1)),
        ("ServiceData", .properties([(VaultService.uuidText, .bytes([1]))])),
      ]),
    ] {
      let sighting = devices.learn(path, facts)
      #expect(sighting == nil)
    }
  }

  @Test("the object that bluetoothd asks about says what to advertise, and notes that it was dropped")
  func beacon() throws {
    let tag = try #require(BeaconTag([1, 2, 3, 4, 5, 6, 7, 8]))
    let beacon = BlueZBeacon(path: "/b", tag: tag)
    func ask(_ member: String, _ body: [BusValue], at path: String = "/b", of interface: String? = nil) -> BusMessage? {
      var call = BusMessage.call(
        member, of: interface ?? "org.freedesktop.DBus.Properties", at: path, to: ":1.9", body, serial: 77)
      call.sender = ":1.2"
      return beacon.answer(call)
    }
    let name = BusValue.text("org.bluez.LEAdvertisement1")
    let all = try #require(ask("GetAll", [name]))
    #expect(all.replySerial == 77 && all.destination == ":1.2" && all.kind == .reply)
    #expect(all.body.first?["Type"] == .text("peripheral"))
    #expect(all.body.first?["ServiceData"]?[VaultService.uuidText] == .bytes(tag.bytes))
    #expect(ask("Get", [name, .text("Discoverable")])?.body == [.variant(.flag(true))])
    #expect(ask("Get", [name, .text("Timeout")])?.kind == .failure)
    #expect(ask("GetAll", [.text("other")]) == nil)
    #expect(ask("GetAll", [name], at: "/other") == nil)
    #expect(!beacon.isReleased)
    #expect(ask("Release", [], of: "org.bluez.LEAdvertisement1")?.kind == .reply)
    #expect(beacon.isReleased)
  }
}
