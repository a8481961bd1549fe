import Concurrency
import Foundation
import Glibc
import Synchronization
import Testing

/// Takes connections on loopback, each on a thread of its own.
final class LoopbackListener: Sendable {
  let port: Int
  private let descriptor: Int32
  private let hasEnded = Mutex(false)

  /// `serve` has a connection for itself; it is closed when that returns.
  init(_ serve: @escaping @Sendable (_ connection: Int32) -> Void) throws {
    descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
    var address = Self.loopback(port: 0)
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let descriptor = descriptor
    let isListening = withUnsafeMutablePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
        bind(descriptor, pointer, length) == 0 && listen(descriptor, 64) == 0
          && getsockname(descriptor, pointer, &length) == 0
      }
    }
    try #require(isListening)
    port = Int(UInt16(bigEndian: address.sin_port))
    // The thread closes what it listens on: whoever else did might close what has got its number since.
    let hasStarted = BackgroundThread.start {
      while true {
        let connection = accept(descriptor, nil, nil)
        guard connection >= 0 else { break }
        _ = fcntl(connection, F_SETFD, FD_CLOEXEC)
        BackgroundThread.start {
          serve(connection)
          close(connection)
        }
      }
      close(descriptor)
    }
    try #require(hasStarted)
  }

  deinit { end() }

  /// Ends it: nobody answers at its port from then on.
  func end() {
    hasEnded.withLock { hasEnded in
      if !hasEnded { shutdown(descriptor, Int32(SHUT_RDWR)) }
      hasEnded = true
    }
  }

  /// A connection to a port on loopback; nil if nobody takes it.
  static func connect(port: Int) -> Int32? {
    let connection = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
    var address = loopback(port: port)
    let status = withUnsafePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        Glibc.connect(connection, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
      }
    }
    if status == 0 { return connection }
    close(connection)
    return nil
  }

  /// Sends all of it; false if the other side has gone.
  static func send(_ bytes: some Collection<UInt8>, to connection: Int32) -> Bool {
    var rest = Array(bytes)[...]
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes { Glibc.send(connection, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
      guard count > 0 else { return false }
      rest = rest.dropFirst(count)
    }
    return true
  }

  private static func loopback(port: Int) -> sockaddr_in {
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = in_port_t(port).bigEndian
    address.sin_addr.s_addr = in_addr_t(0x7f00_0001).bigEndian
    return address
  }
}

/// A request or an answer of HTTP, whole.
struct HTTPText: Sendable {
  /// The first line and the fields, without the empty line after them.
  var head: String
  var body: [UInt8]

  /// Takes the next one from a connection; nil if that ends before.
  init?(from connection: Int32) {
    var bytes: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 1 << 16)
    while true {
      if let end = bytes.firstRange(of: Array("\r\n\r\n".utf8)) {
        let head = String(decoding: bytes[..<end.lowerBound], as: UTF8.self)
        if bytes.count >= end.upperBound + Self.bodyLength(head) {
          self.head = head
          body = Array(bytes[end.upperBound...])
          return
        }
      }
      let count = recv(connection, &buffer, buffer.count, 0)
      guard count > 0 else { return nil }
      bytes += buffer[..<count]
    }
  }

  /// As it goes over the wire, with the length that the body has now.
  var bytes: [UInt8] {
    var lines = head.components(separatedBy: "\r\n").filter { !$0.lowercased().hasPrefix("content-length:") }
    if !head.hasPrefix("HTTP/1.1 204") { lines.append("Content-Length: \(body.count)") }
    return Array((lines.joined(separator: "\r\n") + "\r\n\r\n").utf8) + body
  }

  private static func bodyLength(_ head: String) -> Int {
    let name = "content-length: "
    let line = head.lowercased().split(separator: "\r\n").first { $0.hasPrefix(name) }
    return line.flatMap { Int($0.dropFirst(name.count)) } ?? 0
  }
}
