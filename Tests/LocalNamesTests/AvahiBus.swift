import Foundation
import Glibc
import Synchronization
import Testing

@testable import SystemBus

/// A message bus with avahi-daemon on it, as far as it is asked here: it takes one client at a time, and says what a test tells it to.
final class AvahiBus: Sendable {
  static let owner = ":1.5"
  static let group = "/Client1/EntryGroup1"
  static let browser = "/Client1/ServiceBrowser1"

  private struct State {
    var client: Int32 = -1
    var resolvers = 0
    var isThere = true
    var refusal: String?
  }

  let path: String
  /// The calls, in order; without those of the bus itself.
  let calls: AsyncStream<BusMessage>
  private let called: AsyncStream<BusMessage>.Continuation
  private let folder: URL
  private let listener: Int32
  private let state = Mutex(State())

  init() throws {
    folder = FileManager.default.temporaryDirectory.appendingPathComponent("avahi-\(UUID().uuidString.prefix(8))")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    path = folder.path + "/bus"
    (calls, called) = AsyncStream.makeStream(of: BusMessage.self)
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
    called.finish()
    try? FileManager.default.removeItem(at: folder)
  }

  func leave() { state.withLock { $0.isThere = false } }

  /// Has what makes offers refused.
  func refuse(_ name: String) { state.withLock { $0.refusal = name } }

  /// The next call of a member.
  func call(of member: String) async -> BusMessage? {
    for await call in calls where call.member == member { return call }
    return nil
  }

  func emit(
    _ member: String, of interface: String, at path: String, from sender: String = AvahiBus.owner, _ body: [BusValue]
  ) {
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
      state.withLock { Self.write(client, answer(call, &$0).encoded()) }
      if call.destination != "org.freedesktop.DBus" { called.yield(call) }
    }
  }

  private func answer(_ call: BusMessage, _ state: inout State) -> BusMessage {
    var reply = BusMessage(kind: .reply, serial: 7, replySerial: call.serial, sender: Self.owner)
    switch call.member {
    case "Hello": reply.body = [.text(":1.7")]
    case "NameHasOwner": reply.body = [.flag(state.isThere)]
    case "GetNameOwner": reply.body = [.text(Self.owner)]
    case "EntryGroupNew":
      if let refusal = state.refusal { return call.refusal(refusal) }
      reply.body = [.path(Self.group)]
    case "ServiceBrowserNew": reply.body = [.path(Self.browser)]
    case "ServiceResolverNew":
      state.resolvers += 1
      reply.body = [.path("/Client1/ServiceResolver\(state.resolvers)")]
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
