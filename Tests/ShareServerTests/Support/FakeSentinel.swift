import Foundation
import Glibc
import Synchronization
import Testing

@testable import ShareServer

/// Answers whatever it is asked as a sentinel does that is asked for the primary.
final class FakeSentinel: Sendable {
  private let descriptor: Int32
  let port: Int
  private let primary: Mutex<Int>

  /// Names the primary at this port of loopback.
  init(primary: Int) throws {
    self.primary = Mutex(primary)
    descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
    var size = socklen_t(MemoryLayout<sockaddr_in>.size)
    let descriptor = descriptor
    let isBound = withUnsafeMutablePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { generic in
        bind(descriptor, generic, size) == 0 && getsockname(descriptor, generic, &size) == 0
      }
    }
    port = Int(UInt16(bigEndian: address.sin_port))
    try #require(isBound && listen(descriptor, 16) == 0)
    Thread.detachNewThread { [weak self] in
      while true {
        let client = accept(descriptor, nil, nil)
        guard client >= 0 else { return }
        var buffer = [UInt8](repeating: 0, count: 4096)
        while recv(client, &buffer, buffer.count, 0) > 0 {
          guard let words = self?.answer else { break }
          _ = send(client, words, words.count, Int32(MSG_NOSIGNAL))
        }
        close(client)
      }
    }
  }

  deinit {
    shutdown(descriptor, Int32(SHUT_RDWR))
    close(descriptor)
  }

  /// Names another one from now on.
  func name(_ port: Int) { primary.withLock { $0 = port } }

  var address: RedisPlace.Address { .init(host: "127.0.0.1", port: port) }

  private var answer: [UInt8] {
    let port = "\(primary.withLock { $0 })"
    return Array("*2\r\n$9\r\n127.0.0.1\r\n$\(port.utf8.count)\r\n\(port)\r\n".utf8)
  }
}
