import Foundation
import Glibc
import NIOCore
import PeerAuth
import Sodium
import TestTime
import Testing

@testable import PeerLink

@Suite("TCP", .timeLimit(.minutes(5))) struct TCPTests {
  private func connected(
    _ host: String = "127.0.0.1", lingerTime: TimeAmount = TCPTransport.lingerTime
  ) async throws -> (listener: TCPListener, dialled: any PeerTransport, accepted: any PeerTransport) {
    let listener = try await TCPListener.bind(host: host, port: 0)
    var connector = TCPConnector()
    connector.lingerTime = lingerTime
    let dialled = try await connector.connect(listener.address)
    let accepted = try await #require(first(listener))
    return (listener, dialled, accepted)
  }

  private func first(_ listener: TCPListener) async -> (any PeerTransport)? {
    var iterator = listener.incoming.makeAsyncIterator()
    return await iterator.next()
  }

  @Test("carries bytes both ways, and the end of the stream", arguments: ["127.0.0.1", "localhost"])
  func roundTrip(host: String) async throws { try await carry(host) }

  @Test("does so over IPv6", .enabled(if: hasIPv6, "this machine has no IPv6"))
  func roundTripOverIPv6() async throws { try await carry("::1") }

  @Test(
    "at :: both families are answered, and who comes by IPv4 is told by that address",
    .enabled(if: hasIPv6, "this machine has no IPv6"))
  func bothFamilies() async throws {
    let listener = try await TCPListener.bind(host: "::", port: 0)
    var arrivals = listener.incoming.makeAsyncIterator()
    for host in ["127.0.0.1", "::1"] {
      let dialled = try await TCPConnector().connect(try PeerAddress(host: host, port: listener.address.port))
      let next = await arrivals.next()
      let accepted = try #require(next)
      let place = try PeerAddress(parsing: accepted.remoteDescription)
      #expect(place.host == host)
      await dialled.close()
      await accepted.close()
    }
    await listener.close()
  }

  /// Asked of the system by itself, so that a listener that fails there is noticed.
  private static let hasIPv6: Bool = {
    let descriptor = socket(AF_INET6, Int32(SOCK_STREAM.rawValue), 0)
    guard descriptor >= 0 else { return false }
    defer { close(descriptor) }
    var address = sockaddr_in6()
    address.sin6_family = sa_family_t(AF_INET6)
    address.sin6_addr = in6addr_loopback
    return withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in6>.size)) == 0
      }
    }
  }()

  private func carry(_ host: String) async throws {
    let (listener, dialled, accepted) = try await connected(host)
    #expect(listener.address.port > 0)
    #expect(dialled.remoteDescription == listener.address.description)
    #expect(accepted.remoteDescription.hasPrefix(host == "127.0.0.1" ? "127.0.0.1:" : accepted.remoteDescription))
    try await dialled.write([1, 2, 3])
    #expect(try await accepted.read(atMost: 2) == [1, 2])
    #expect(try await accepted.read(atMost: 10) == [3])
    try await accepted.write([4])
    #expect(try await dialled.read(atMost: 10) == [4])
    await dialled.close()
    #expect(try await accepted.read(atMost: 10) == [])
    #expect(try await accepted.read(atMost: 10) == [])
    await #expect(throws: TransportError.closed) { try await dialled.read(atMost: 1) }
    await #expect(throws: TransportError.closed) { try await dialled.write([1]) }
    await listener.close()
  }

  @Test("reaches a name as well as a number") func names() async throws {
    let listener = try await TCPListener.bind(host: "127.0.0.1", port: 0)
    let address = try PeerAddress(host: "localhost", port: listener.address.port)
    let dialled = try await TCPConnector().connect(address)
    let accepted = try await #require(first(listener))
    try await dialled.write([9])
    #expect(try await accepted.read(atMost: 1) == [9])
  }

  /// Of one that isn't open yet when its listener closes nobody would ever hear that it has ended.
  @Test("a connection is handed out once it is open", arguments: 0..<20) func handedOut(_: Int) async throws {
    let both = try await connected()
    #expect(try #require(both.accepted as? TCPTransport).channel.isActive)
    withExtendedLifetime(both) {}
  }

  @Test("carries more than any buffer holds, and what was written arrives although the writer closes")
  func bulk() async throws {
    // However long the reader takes.
    let (listener, dialled, accepted) = try await connected(lingerTime: .hours(1))
    defer { withExtendedLifetime(listener) {} }
    let piece = (0..<100_000).map { UInt8(truncatingIfNeeded: $0 % 251) }
    let sending = Task {
      for _ in 0..<100 { try await dialled.write(piece) }
      await dialled.close()
    }
    var received = 0
    var matches = true
    while case let bytes = try await accepted.read(atMost: 1 << 18), !bytes.isEmpty {
      for (offset, byte) in bytes.enumerated() where byte != piece[(received + offset) % piece.count] {
        matches = false
      }
      received += bytes.count
    }
    try await sending.value
    #expect(received == 100 * piece.count)
    #expect(matches)
  }

  @Test("a writer waits for a reader that doesn't read") func backpressure() async throws {
    let (listener, dialled, accepted) = try await connected()
    let written = Counter()
    // What waits is in the system's socket buffers and in two small ones here, a few megabytes at most.
    let limit = 200
    let writing = Task { () -> TransportError? in
      do {
        while written.value < limit {
          try await dialled.write([UInt8](repeating: 0, count: 1 << 18))
          written.add()
        }
        return nil
      } catch { return error as? TransportError }
    }
    while written.value < limit, try !isAskingForRoom(to: listener.address.port) {
      try await Task.sleep(for: .milliseconds(1))
    }
    #expect(written.value < limit)
    writing.cancel()
    #expect(await writing.value == .closed)
    await accepted.close()
  }

  /// Whether the system has more to send to a port and has asked the other side already whether there is room again: that has taken
  /// nothing for so long that the system doesn't count on hearing of it by itself (`tcp_info` in tcp(7), `tcpi_backoff`).
  private func isAskingForRoom(to port: Int) throws -> Bool {
    for name in try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd") {
      guard let descriptor = Int32(name) else { continue }
      var address = sockaddr_in()
      var length = socklen_t(MemoryLayout<sockaddr_in>.size)
      let status = withUnsafeMutablePointer(to: &address) { pointer in
        pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { getpeername(descriptor, $0, &length) }
      }
      guard status == 0, address.sin_family == AF_INET, Int(UInt16(bigEndian: address.sin_port)) == port else {
        continue
      }
      var info = tcp_info()
      length = socklen_t(MemoryLayout<tcp_info>.size)
      try #require(getsockopt(descriptor, Int32(IPPROTO_TCP), TCP_INFO, &info, &length) == 0)
      if info.tcpi_backoff > 0 { return true }
    }
    return false
  }

  @Test("a cancelled read returns promptly and closes the connection") func cancelledRead() async throws {
    let (_, dialled, accepted) = try await connected()
    let stage = Stage()
    let reading = Task(executorPreference: stage) { () -> TransportError? in
      do throws(TransportError) { _ = try await dialled.read(atMost: 1) } catch { return error }
      return nil
    }
    await stage.rests()
    reading.cancel()
    #expect(await reading.value == .closed)
    #expect(try await accepted.read(atMost: 1) == [])
  }

  @Test("closing ends a pending read") func closing() async throws {
    let (_, dialled, accepted) = try await connected()
    let stage = Stage()
    let reading = Task(executorPreference: stage) { () -> TransportError? in
      do throws(TransportError) { _ = try await dialled.read(atMost: 1) } catch { return error }
      return nil
    }
    await stage.rests()
    await dialled.close()
    #expect(await reading.value == .closed)
    #expect(try await accepted.read(atMost: 1) == [])
  }

  @Test("a port where nobody listens, and a name that isn't, are unreachable with a reason") func unreachable()
    async throws
  {
    // Bound, so that nobody else gets it, but nobody listens.
    let bound = try BoundSocket()
    defer { withExtendedLifetime(bound) {} }
    let address = try PeerAddress(host: "127.0.0.1", port: bound.port)
    await #expect(throws: TransportError.unreachable("connection refused")) {
      try await TCPConnector().connect(address)
    }
    let nowhere = try PeerAddress(host: "nobody.invalid", port: 1)
    await #expect(throws: TransportError.unreachable("the name nobody.invalid has no address")) {
      try await TCPConnector().connect(nowhere)
    }
  }

  @Test("a cancelled attempt to connect ends") func cancelledConnect() async throws {
    let listener = try await TCPListener.bind(host: "127.0.0.1", port: 0)
    let address = listener.address
    let attempt = Task { () -> TransportError? in
      do throws(TransportError) { _ = try await TCPConnector().connect(address) } catch { return error }
      return nil
    }
    attempt.cancel()
    let error = await attempt.value
    #expect(error == .closed || error == nil)
  }

  @Test("a port that is taken can't be listened at") func taken() async throws {
    let listener = try await TCPListener.bind(host: "127.0.0.1", port: 0)
    await #expect(throws: TransportError.unreachable("address already in use")) {
      try await TCPListener.bind(host: "127.0.0.1", port: listener.address.port)
    }
  }

  @Test("a newcomer beyond the limit takes the place of the oldest stranger, never of a proven peer") func limits()
    async throws
  {
    let listener = try await TCPListener.bind(host: "127.0.0.1", port: 0, limits: .init(perAddress: 2, total: 10))
    var iterator = listener.incoming.makeAsyncIterator()
    let connector = TCPConnector()
    let one = try await connector.connect(listener.address)
    let first = try #require(await iterator.next())
    let two = try await connector.connect(listener.address)
    let second = try #require(await iterator.next())
    #expect(listener.connectionCount == 2)
    let three = try await connector.connect(listener.address)
    let third = try #require(await iterator.next())
    #expect((try? await one.read(atMost: 1)) ?? [] == [])
    #expect(try await first.read(atMost: 1) == [])
    try await three.write([3])
    #expect(try await third.read(atMost: 1) == [3])
    let keys = try Identity.generate().keys
    second.reached(.peer(keys))
    third.reached(.peer(keys))
    let four = try await connector.connect(listener.address)
    #expect((try? await four.read(atMost: 1)) ?? [] == [])
    try await two.write([2])
    #expect(try await second.read(atMost: 1) == [2])
    await second.close()
    while listener.connectionCount > 1 { try await Task.sleep(for: .milliseconds(1)) }
    let five = try await connector.connect(listener.address)
    let fifth = try #require(await iterator.next())
    try await five.write([5])
    #expect(try await fifth.read(atMost: 1) == [5])
  }

  @Test("only a proven peer may send ahead more than a handshake") func readAhead() throws {
    let stream = TCPStream(readMark: TCPStream.strangersReadMark)
    stream.append(.init(bytes: [UInt8](repeating: 0, count: 5000)))
    #expect(!stream.wantsMore())
    #expect(stream.raiseReadMark())
    #expect(stream.wantsMore())
    #expect(!stream.raiseReadMark())
  }

  @Test("bytes that come one by one take little more room than they are") func crumbs() throws {
    let stream = TCPStream()
    var taken: [UInt8] = []
    for number in 0..<20_000 {
      // As the loop reads: into a buffer of a KiB at least.
      var buffer = ByteBufferAllocator().buffer(capacity: 1024)
      buffer.writeInteger(UInt8(truncatingIfNeeded: number % 251))
      stream.append(buffer)
      // A reader that never quite catches up.
      if number.isMultiple(of: 2), case .bytes(let bytes, _) = try stream.take(atMost: 1) { taken += bytes }
    }
    #expect(stream.waitingRoom < 4 * 10_000)
    while case .bytes(let bytes, _) = try stream.take(atMost: 1000) { taken += bytes }
    #expect(taken == (0..<20_000).map { UInt8($0 % 251) })
    #expect(stream.waitingRoom == 0)
  }

  @Test("a closed listener ends its sequence, refuses newcomers and leaves connections open") func stopping()
    async throws
  {
    let (listener, dialled, accepted) = try await connected()
    await listener.close()
    await listener.close()
    let next = await first(listener)
    #expect(next == nil)
    await #expect(throws: TransportError.unreachable("connection refused")) {
      try await TCPConnector().connect(listener.address)
    }
    try await dialled.write([1])
    #expect(try await accepted.read(atMost: 1) == [1])
  }
}

/// A TCP port of this machine that is taken and doesn't listen, as long as this lives.
private final class BoundSocket {
  let port: Int
  private let descriptor: Int32

  init() throws {
    let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    var count = socklen_t(MemoryLayout<sockaddr_in>.size)
    let isBound = withUnsafeMutablePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
        bind(descriptor, pointer, count) == 0 && getsockname(descriptor, pointer, &count) == 0
      }
    }
    try #require(isBound)
    self.descriptor = descriptor
    port = Int(UInt16(bigEndian: address.sin_port))
  }

  deinit { close(descriptor) }
}
