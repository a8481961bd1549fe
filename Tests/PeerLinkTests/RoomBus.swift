import CShims
import Foundation
import Glibc
@testable import SystemBus
import Synchronization
import Testing

/// A message bus with bluetoothd on it, as far as a search asks for them: it takes one client at a time, and says of devices what a test tells it
/// to.
final class RoomBus: Sendable {
  private struct State {
    var client: Int32 = -1
    var devices: [String: BusValue] = [:]
    var filler = 0
  }

  static let owner = ":1.2"
  static let device = "org.bluez.Device1"
  let path: String
  private let folder: URL
  private let listener: Int32
  private let state = Mutex(State())
  private let called = Watched<[String]>([])

  init() throws {
    folder = FileManager.default.temporaryDirectory.appendingPathComponent("room-\(UUID().uuidString.prefix(8))")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    path = folder.path + "/bus"
    listener = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    try #require(path.utf8.count < MemoryLayout.size(ofValue: address.sun_path))
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
    let listener = listener
    let bound = withUnsafePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(listener, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
      }
    }
    try #require(bound == 0 && listen(listener, 4) == 0)
    Thread.detachNewThread { [self] in serve() }
  }

  func stop() {
    shutdown(listener, Int32(SHUT_RDWR))
    state.withLock { if $0.client >= 0 { shutdown($0.client, Int32(SHUT_RDWR)) } }
    try? FileManager.default.removeItem(at: folder)
  }

  /// The members that were called, in order.
  var calls: [String] { called.value }

  /// Returns when a member was called.
  func isCalled(_ member: String) async { await called.until { $0.contains(member) } }

  /// The devices that bluetoothd knows, and so many more that are nobody's.
  func know(_ devices: [String: BusValue], andOthers filler: Int = 0) {
    state.withLock { ($0.devices, $0.filler) = (devices, filler) }
  }

  static func path(_ number: Int) -> String { "/org/bluez/hci0/dev_\(address(number).replacing(":", with: "_"))" }
  static func address(_ number: Int) -> String {
    "00:00:00:00:"
      + [number >> 8, number & 255].map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined(separator: ":")
      .uppercased()
  }

  /// What bluetoothd says of a device, with a tag or without.
  static func facts(_ number: Int, tag: [UInt8]?) -> BusValue {
    var facts: [(String, BusValue)] = [
      ("Address", .text(address(number))), ("AddressType", .text("random")), ("RSSI", .int16(-50)),
    ]
    if let tag { facts.append(("ServiceData", .properties([(serviceUUID, .bytes(tag))]))) }
    return .properties(facts)
  }

  static let serviceUUID = "226f3fd0-f33d-499c-8e7d-93dccfba5417"

  /// Says that a device is heard anew.
  func hear(_ number: Int, from sender: String = RoomBus.owner) {
    emit(
      "PropertiesChanged", of: "org.freedesktop.DBus.Properties", at: Self.path(number), from: sender,
      [.text(Self.device), .properties([("RSSI", .int16(-47))]), .array(of: "s", [])])
  }

  /// Says that a device is new.
  func appear(_ number: Int, tag: [UInt8], from sender: String = RoomBus.owner) {
    emit(
      "InterfacesAdded", of: "org.freedesktop.DBus.ObjectManager", at: "/", from: sender,
      [.path(Self.path(number)), Self.interfaces(Self.facts(number, tag: tag))])
  }

  /// Says that an adapter is no more.
  func remove(_ adapter: String, from sender: String = RoomBus.owner) {
    emit(
      "InterfacesRemoved", of: "org.freedesktop.DBus.ObjectManager", at: "/", from: sender,
      [.path("/org/bluez/\(adapter)"), .array(of: "s", [.text("org.bluez.Adapter1")])])
  }

  private static func interfaces(_ facts: BusValue) -> BusValue {
    .dictionary(of: "sa{sv}", [BusValue.Pair(.text(device), facts)])
  }

  /// Calls a method of the client, as somebody on the bus.
  func call(_ member: String, of interface: String, at path: String, from sender: String) {
    var call = BusMessage.call(member, of: interface, at: path, to: ":1.7", serial: 11)
    call.sender = sender
    state.withLock { Self.write($0.client, call.encoded()) }
  }

  /// Says that bluetoothd has gone.
  func restart() {
    emit(
      "NameOwnerChanged", of: "org.freedesktop.DBus", at: "/org/freedesktop/DBus", from: "org.freedesktop.DBus",
      [.text("org.bluez"), .text(Self.owner), .text("")])
  }

  private func emit(_ member: String, of interface: String, at path: String, from sender: String, _ body: [BusValue]) {
    let signal = BusMessage(
      kind: .signal, serial: 9, path: path, interface: interface, member: member, sender: sender, body: body)
    state.withLock { Self.write($0.client, signal.encoded()) }
  }

  private static func write(_ client: Int32, _ bytes: [UInt8]) {
    var done = 0
    while done < bytes.count {
      let count = bytes[done...].withUnsafeBytes { Glibc.send(client, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
      guard count > 0 else { return }
      done += count
    }
  }

  private func serve() {
    while true {
      let client = accept(listener, nil, nil)
      guard client >= 0 else { break }
      state.withLock { $0.client = client }
      talk(client)
      state.withLock { $0.client = -1 }
      close(client)
    }
    close(listener)
  }

  private func talk(_ client: Int32) {
    guard line(client)?.hasPrefix("\0AUTH EXTERNAL ") == true else { return }
    Self.write(client, Array("OK 0123456789abcdef0123456789abcdef\r\n".utf8))
    guard line(client) == "NEGOTIATE_UNIX_FD" else { return }
    Self.write(client, Array("AGREE_UNIX_FD\r\n".utf8))
    guard line(client) == "BEGIN" else { return }
    while let start = read(client, BusMessage.startByteCount), let count = try? BusMessage.byteCount(start: start),
      let rest = read(client, count - start.count), let call = try? BusMessage(bytes: start + rest)
    {
      guard call.kind == .call else { continue }
      called.change { $0.append(call.member ?? "") }
      state.withLock { Self.write(client, answer(call, $0).encoded()) }
    }
  }

  private func answer(_ call: BusMessage, _ state: State) -> BusMessage {
    var reply = BusMessage(kind: .reply, serial: 7, replySerial: call.serial, sender: Self.owner)
    switch call.member {
    case "Hello": reply.body = [.text(":1.7")]
    case "GetNameOwner": reply.body = [.text(Self.owner)]
    case "GetManagedObjects":
      var objects = state.devices.map { BusValue.Pair(.path($0.key), Self.interfaces($0.value)) }
      for number in 0..<state.filler {
        objects.append(
          BusValue.Pair(.path(Self.path(1000 + number)), Self.interfaces(Self.facts(1000 + number, tag: nil))))
      }
      reply.body = [.dictionary(of: "oa{sa{sv}}", objects)]
    case "GetAll":
      guard let facts = call.path.flatMap({ state.devices[$0] }) else {
        return call.refusal("org.freedesktop.DBus.Error.UnknownObject")
      }
      reply.body = [facts]
    default: break
    }
    return reply
  }

  private func line(_ client: Int32) -> String? {
    var bytes: [UInt8] = []
    while !bytes.suffix(2).elementsEqual([13, 10]) {
      guard bytes.count < 200, let next = read(client, 1) else { return nil }
      bytes += next
    }
    return String(decoding: bytes.dropLast(2), as: UTF8.self)
  }

  private func read(_ client: Int32, _ count: Int) -> [UInt8]? {
    var bytes = [UInt8](repeating: 0, count: count)
    var done = 0
    while done < count {
      let got = bytes.withUnsafeMutableBytes { Glibc.read(client, $0.baseAddress?.advanced(by: done), count - done) }
      guard got > 0 else { return nil }
      done += got
    }
    return bytes
  }
}
