import Foundation
import Glibc
import Synchronization

/// Sockets of the tests.
package enum Loopback {
  static func address(_ port: UInt16) -> sockaddr_in {
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = port.bigEndian
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    return address
  }

  static func with<Result>(_ port: UInt16, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Result) -> Result {
    var address = address(port)
    let size = socklen_t(MemoryLayout<sockaddr_in>.size)
    return withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { body($0, size) }
    }
  }

  /// A listening socket on a free port.
  package static func listener() throws -> (socket: Int32, port: UInt16) {
    let socket = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    guard socket >= 0, with(0, { bind(socket, $0, $1) }) == 0, listen(socket, 8) == 0 else {
      throw ChatServer.Failure("no socket can listen")
    }
    var address = address(0)
    var size = socklen_t(MemoryLayout<sockaddr_in>.size)
    let result = withUnsafeMutablePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(socket, $0, &size) }
    }
    guard result == 0 else { throw ChatServer.Failure("a socket has no port") }
    return (socket, UInt16(bigEndian: address.sin_port))
  }

  /// A port that nobody listens on, below those that the system gives whoever asks for any: nobody else comes by it, also while its server is down.
  package static func freePort(of host: String = "127.0.0.1") throws -> Int {
    var address = address(0)
    guard inet_pton(AF_INET, host, &address.sin_addr) == 1 else { throw ChatServer.Failure("\(host) is no address") }
    for _ in 0..<ports.count {
      let socket = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
      defer { close(socket) }
      let port = ports.lowerBound + next.wrappingAdd(1, ordering: .relaxed).oldValue % ports.count
      address.sin_port = UInt16(port).bigEndian
      let isFree = withUnsafePointer(to: &address) { pointer in
        pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
          bind(socket, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
        }
      }
      if isFree { return port }
    }
    throw ChatServer.Failure("\(host) has no free port")
  }

  private static let ports = 10_000..<30_000
  /// Far from where other processes of tests begin.
  private static let next = Atomic(Int(getpid()) * 397)

  /// Whether somebody listens there.
  package static func answers(_ port: UInt16) -> Bool {
    let socket = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    defer { close(socket) }
    return socket >= 0 && with(port) { connect(socket, $0, $1) } == 0
  }
}
