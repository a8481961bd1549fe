import CShims
import Foundation
import Glibc
import Synchronization
import Testing

@testable import SystemBus

/// A message bus with logind on it, as far as a daemon asks for them: it takes one client at a time, hands out an inhibitor
/// lock, and says when the machine goes to sleep.
final class FakeBus: Sendable {
  private struct State {
    var client: Int32 = -1
    /// The reading end of the pipe whose other end is the inhibitor lock.
    var lock: Int32 = -1
    var calls: [BusMessage] = []
    /// Answers of the client to what it was asked.
    var answers = 0
    var serial: UInt32 = 1
  }

  static let login = ":1.2"
  let path: String
  private let listener: Int32
  private let state = Mutex(State())

  /// Listens at `path`.
  init(_ path: String) throws {
    self.path = path
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
    try #require(bound == 0 && listen(listener, 4) == 0, "\(String(cString: strerror(errno)))")
    Thread.detachNewThread { [self] in serve() }
  }

  /// Ends it, and cuts the client off.
  func stop() {
    shutdown(listener, Int32(SHUT_RDWR))
    state.withLock { if $0.client >= 0 { shutdown($0.client, Int32(SHUT_RDWR)) } }
  }

  /// What the client has called, in order: members and texts.
  var calls: [String] {
    state.withLock { state in
      state.calls.map { call in
        ([call.member ?? ""] + call.body.compactMap { if case .text(let text) = $0 { text } else { nil } })
          .joined(separator: " ")
      }
    }
  }

  /// Whether somebody holds the inhibitor lock.
  var isInhibited: Bool {
    let lock = state.withLock { $0.lock }
    var wait = pollfd(fd: lock, events: Int16(POLLIN), revents: 0)
    return lock >= 0 && poll(&wait, 1, 0) == 0
  }

  /// Answers of the client to what ``ask()`` has asked it.
  var answerCount: Int { state.withLock { $0.answers } }

  /// Asks the client for something that it doesn't know: it has to say that it doesn't.
  func ask() {
    send(BusMessage.call("Nothing", of: "org.example.Nothing", at: "/", to: ":1.7", [], serial: 8).encoded())
  }

  /// Says that the machine goes to sleep, or has woken up.
  func announce(sleep: Bool, from sender: String = FakeBus.login) {
    send(
      BusMessage(
        kind: .signal, serial: 1, path: "/org/freedesktop/login1", interface: "org.freedesktop.login1.Manager",
        member: "PrepareForSleep", sender: sender, body: [.flag(sleep)]
      ).encoded())
  }

  /// Sends bytes to the client.
  func send(_ bytes: [UInt8]) {
    state.withLock { state in
      var done = 0
      while done < bytes.count {
        let count = bytes[done...].withUnsafeBytes {
          Glibc.send(state.client, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
        }
        guard count > 0 else { return }
        done += count
      }
    }
  }

  /// Sends bytes, and with them so many descriptors.
  func send(_ bytes: [UInt8], descriptors count: Int) {
    // A header of 16 bytes (cmsg(3)), then the numbers.
    var control = [UInt32](repeating: 0, count: 4 + (count + 1) / 2 * 2)
    control[0] = UInt32(16 + 4 * count)
    control[2] = UInt32(SOL_SOCKET)
    control[3] = 1
    for place in 0..<count { control[4 + place] = UInt32(STDERR_FILENO) }
    var bytes = bytes
    state.withLock { state in
      let sent = control.withUnsafeMutableBytes { control in
        bytes.withUnsafeMutableBytes { bytes in
          var part = iovec(iov_base: bytes.baseAddress, iov_len: bytes.count)
          return withUnsafeMutablePointer(to: &part) { part in
            var message = msghdr()
            (message.msg_iov, message.msg_iovlen) = (part, 1)
            (message.msg_control, message.msg_controllen) = (control.baseAddress, 16 + 4 * count)
            return sendmsg(state.client, &message, 0)
          }
        }
      }
      if sent != bytes.count { print("only \(sent) bytes went to the program") }
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
    guard line(client) == "\0AUTH EXTERNAL " + "\(geteuid())".utf8.map({ String($0, radix: 16) }).joined() else {
      return
    }
    write(client, "OK 0123456789abcdef0123456789abcdef\r\n")
    guard line(client) == "NEGOTIATE_UNIX_FD" else { return }
    write(client, "AGREE_UNIX_FD\r\n")
    guard line(client) == "BEGIN" else { return }
    while let start = read(client, BusMessage.startByteCount),
      let count = try? BusMessage.byteCount(start: start), let rest = read(client, count - start.count),
      let call = try? BusMessage(bytes: start + rest)
    {
      if call.kind == .call { answer(call, client) } else { state.withLock { $0.answers += 1 } }
    }
  }

  private func answer(_ call: BusMessage, _ client: Int32) {
    var reply = BusMessage(kind: .reply, serial: 7, replySerial: call.serial, sender: "org.freedesktop.DBus")
    if call.member == "Hello" { reply.body = [.text(":1.7")] }
    var ends: [Int32] = [-1, -1]
    if call.member == "Inhibit", pipe(&ends) == 0 {
      for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
      reply.sender = Self.login
      reply.descriptorCount = 1
      reply.body = [.descriptor(0)]
    }
    let bytes = reply.encoded()
    state.withLock { state in
      state.calls.append(call)
      _ = vault_send_message(client, bytes, bytes.count, ends[1])
      guard ends[0] >= 0 else { return }
      close(ends[1])
      if state.lock >= 0 { close(state.lock) }
      state.lock = ends[0]
    }
  }

  private func write(_ client: Int32, _ text: String) { _ = Glibc.write(client, text, text.utf8.count) }

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
