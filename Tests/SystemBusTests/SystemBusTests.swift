import Foundation
import Testing

@testable import SystemBus

@Suite("The system's bus")
struct SystemBusTests {
  private static let messages = [
    BusMessage.call(
      "Hello", of: "org.freedesktop.DBus", at: "/org/freedesktop/DBus", to: "org.freedesktop.DBus", serial: 1),
    BusMessage.call(
      "Inhibit", of: "a.b", at: "/x", to: "a.c",
      [.text("sleep"), .text(""), .text("ÄÖ"), .number(7), .flag(true), .descriptor(0)], serial: 0xFFFF_FFFF),
    BusMessage(kind: .reply, serial: 9, replySerial: 2, sender: ":1.3", descriptorCount: 1, body: [.descriptor(0)]),
    BusMessage(
      kind: .signal, serial: 3, path: "/org/freedesktop/login1", interface: "org.freedesktop.login1.Manager",
      member: "PrepareForSleep", sender: ":1.2", body: [.flag(true)]),
    BusMessage(kind: .failure, serial: 4, replySerial: 1, body: []),
  ]

  @Test("messages read themselves", arguments: messages)
  func roundTrip(message: BusMessage) throws {
    let bytes = message.encoded()
    #expect(try BusMessage.byteCount(start: Array(bytes.prefix(16))) == bytes.count)
    #expect(try BusMessage(bytes: bytes) == message)
  }

  // The greeting of every client, as dbus-daemon takes it, written out by hand after the specification.
  @Test("hello is what the specification says")
  func hello() {
    let expected: [UInt8] =
      Array("l".utf8) + [1, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0x6D, 0, 0, 0]
      + [1, 1] + Array("o".utf8) + [0, 0x15, 0, 0, 0] + Array("/org/freedesktop/DBus".utf8) + [0, 0, 0]
      + [2, 1] + Array("s".utf8) + [0, 0x14, 0, 0, 0] + Array("org.freedesktop.DBus".utf8) + [0, 0, 0, 0]
      + [3, 1] + Array("s".utf8) + [0, 5, 0, 0, 0] + Array("Hello".utf8) + [0, 0, 0]
      + [6, 1] + Array("s".utf8) + [0, 0x14, 0, 0, 0] + Array("org.freedesktop.DBus".utf8) + [0, 0, 0, 0]
    #expect(Self.messages[0].encoded() == expected)
  }

  @Test("what is cut off, too long or of another order is refused", arguments: messages)
  func broken(message: BusMessage) throws {
    let bytes = message.encoded()
    for count in 0..<bytes.count {
      #expect(throws: BusMessage.Fault.self) { try BusMessage(bytes: Array(bytes[..<count])) }
    }
    #expect(throws: BusMessage.Fault.self) { try BusMessage(bytes: bytes + [0]) }
    for (place, byte) in [(0, UInt8(ascii: "B")), (1, 0), (1, 9), (3, 2), (7, 1), (15, 0xFF), (16, 255)] {
      var changed = bytes
      changed[place] = byte
      if place == 16 { changed[17] = 9 }
      #expect(throws: BusMessage.Fault.self, "\(place)") { try BusMessage(bytes: changed) }
    }
  }

  @Test(arguments: [
    ("unix:path=/run/dbus/system_bus_socket", ["/run/dbus/system_bus_socket"]),
    ("unix:path=/a,guid=0123;tcp:host=b,port=1;unix:abstract=c;unix:path=/d%20e", ["/a", "/d e"]),
    ("", []), ("unix:", []),
  ])
  func `an address may have several places`(text: String, paths: [String]) {
    #expect(BusAddress.paths(text) == paths)
  }

  @Test(arguments: [
    "unix", "unix:path", "unix:path=relative", "unix:path=/%0", "unix:path=/%zz", "unix:path=/a%00b", "unix:=x",
  ])
  func `a broken address is none`(text: String) { #expect(BusAddress.paths(text) == nil) }
}

@Suite("Values on the system's bus")
struct BusValueTests {
  private func message(_ body: [BusValue]) -> BusMessage {
    BusMessage(kind: .signal, serial: 1, member: "M", body: body)
  }

  static let values: [BusValue] = [
    .byte(255), .int16(-2), .uint16(65535), .int32(-7), .int64(-9), .uint64(.max), .double(0x3FF0_0000_0000_0000),
    .path("/a"), .signature("a{sv}"), .bytes([]), .bytes([1, 2, 3]), .array(of: "s", [.text("a"), .text("")]),
    .array(of: "t", []), .array(of: "(yt)", [.structure([.byte(1), .uint64(2)])]), .variant(.variant(.text("x"))),
    .properties([("Type", .text("peripheral")), ("ServiceData", .properties([("uuid", .bytes([9]))]))]),
    .dictionary(
      of: "oa{sa{sv}}",
      [
        BusValue.Pair(.path("/o"), .dictionary(of: "sa{sv}", [BusValue.Pair(.text("i"), .properties([]))]))
      ]),
  ]

  @Test("values of all types read themselves, wherever they begin", arguments: values)
  func roundTrip(value: BusValue) throws {
    for before: [BusValue] in [[], [.byte(1)], [.byte(1), .byte(2), .byte(3)], [.number(1)]] {
      let message = message(before + [value])
      #expect(try BusMessage(bytes: message.encoded()) == message)
    }
  }

  // Written out by hand after the specification: a dictionary's length counts from its first entry, which begins at a multiple of eight.
  @Test("a dictionary is laid out as the specification says")
  func layout() {
    let bytes = message([.properties([("A", .bytes([7, 8]))])]).encoded()
    #expect(
      Array(bytes.suffix(26)) == [
        18, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 65, 0, 2, 97, 121, 0, 0, 0, 2, 0, 0, 0, 7, 8,
      ])
  }

  // A call by libdbus, and what bluetoothd 5.66 sent: see BlueZTests.
  @Test("recorded messages are read, and their values written as they were")
  func recorded() throws {
    let path = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent("Vectors/bluez.bus")
    var rest = [UInt8](try Data(contentsOf: path))[...]
    var count = 0
    while !rest.isEmpty {
      let length = try BusMessage.byteCount(start: Array(rest.prefix(16)))
      let bytes = Array(rest.prefix(length))
      rest = rest.dropFirst(length)
      let message = try BusMessage(bytes: bytes)
      let again = message.encoded()
      #expect(try BusMessage(bytes: again) == message)
      let body = Int(bytes[4]) | Int(bytes[5]) << 8
      #expect(again.suffix(body) == bytes.suffix(body))
      count += 1
    }
    #expect(count == 5)
  }

  @Test(
    "signatures that are none, or too deep, are refused",
    arguments: [
      "a", "a{", "a{s", "a{sv", "a{vs}", "(", "()", ")", "}", "z", "a{sss}", String(repeating: "a", count: 20) + "y",
      String(repeating: "(", count: 20) + "y" + String(repeating: ")", count: 20), String(repeating: "y", count: 256),
    ])
  func signatures(text: String) { #expect(throws: BusMessage.Fault.self) { try BusType.all(text) } }

  @Test("a value inside so many others is refused, and so are more values than anybody needs")
  func limits() throws {
    var deep = BusValue.byte(1)
    for _ in 0..<17 { deep = .variant(deep) }
    #expect(throws: BusMessage.Fault.tooLong) { try BusMessage(bytes: message([deep]).encoded()) }
    let many = BusValue.array(of: "b", [BusValue](repeating: .flag(true), count: BusMessage.valueLimit))
    #expect(throws: BusMessage.Fault.tooLong) { try BusMessage(bytes: message([many]).encoded()) }
    let long = BusValue.bytes([UInt8](repeating: 1, count: BusMessage.byteLimit))
    #expect(throws: BusMessage.Fault.tooLong) { try BusMessage(bytes: message([long]).encoded()) }
  }

  @Test("what is cut off inside a value is refused", arguments: values)
  func broken(value: BusValue) throws {
    let bytes = message([value]).encoded()
    for count in 16..<bytes.count {
      #expect(throws: BusMessage.Fault.self) { try BusMessage(bytes: Array(bytes[..<count])) }
    }
  }

  @Test("properties are found by name, out of their variants")
  func lookup() {
    let value = BusValue.variant(.properties([("A", .variant(.text("x"))), ("B", .number(3))]))
    #expect(value["A"]?.words == "x")
    #expect(value["B"] == .number(3))
    #expect(value["C"] == nil)
    #expect(BusValue.text("a")["A"] == nil)
    #expect(BusValue.path("/p").words == "/p")
  }
}
