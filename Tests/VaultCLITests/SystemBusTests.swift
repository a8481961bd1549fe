import Testing

@testable import VaultCLI

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
