import CShims
import Foundation
import Glibc
import PeerAuth
import Sodium
import Synchronization
import TestTime
import Testing
import WireCodec

@testable import PeerLink

/// A pair of local sockets that keep the bounds of messages, as the kernel's sockets for Bluetooth do, stands in for a channel.
@Suite("Bytes over Bluetooth LE", .timeLimit(.minutes(5)))
struct BLETransportTests {
  private func pair(_ sendLimit: Int = 8192) throws -> (BLETransport, BLETransport) {
    let (one, other) = try sockets()
    return (
      BLETransport(PacketSocket(owning: one), sendLimit: sendLimit, description: "one"),
      BLETransport(PacketSocket(owning: other), sendLimit: sendLimit, description: "other")
    )
  }

  private func sockets() throws -> (Int32, Int32) {
    var ends: [Int32] = [-1, -1]
    let kind = Int32(SOCK_SEQPACKET.rawValue) | Int32(SOCK_CLOEXEC.rawValue) | Int32(SOCK_NONBLOCK.rawValue)
    try #require(socketpair(AF_UNIX, kind, 0, &ends) == 0)
    return (ends[0], ends[1])
  }

  private func read(_ count: Int, from transport: BLETransport, atMost: Int = 1000) async throws -> [UInt8] {
    var bytes: [UInt8] = []
    while bytes.count < count {
      let more = try await transport.read(atMost: atMost)
      guard !more.isEmpty else { break }
      #expect(more.count <= atMost)
      bytes += more
    }
    return bytes
  }

  @Test("the bounds of messages mean nothing: what is read in part is not lost", arguments: [1, 7, 1000, 100_000])
  func stream(atMost: Int) async throws {
    let (one, other) = try pair()
    let sent = (0..<50_000).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 >> 8) }
    let writing = Task {
      for start in stride(from: 0, to: sent.count, by: 777) {
        try await one.write(Array(sent[start..<min(start + 777, sent.count)]))
      }
      await one.close()
    }
    #expect(try await read(sent.count, from: other, atMost: atMost) == sent)
    #expect(try await other.read(atMost: 10).isEmpty)
    try await writing.value
  }

  @Test("a connection that breaks because of this side says so, in reading and in writing, and no other one does")
  func loss() async throws {
    for reason in ["the adapter is off", nil] {
      let (mine, theirs) = try sockets()
      let transport = BLETransport(PacketSocket(owning: mine), sendLimit: 100, description: "", loss: { reason })
      let sent = Glibc.send(theirs, "ab", 2, 0)
      #expect(sent == 2)
      close(theirs)
      // What came before the end is read first.
      #expect(try await transport.read(atMost: 10) == Array("ab".utf8))
      if let reason {
        await #expect(throws: TransportError.lost(reason)) { try await transport.read(atMost: 10) }
        await #expect(throws: TransportError.lost(reason)) { try await transport.write([1]) }
      } else {
        #expect(try await transport.read(atMost: 10).isEmpty)
        await #expect(throws: TransportError.io(BLEReason.text(EPIPE))) { try await transport.write([1]) }
      }
      await transport.close()
      await #expect(throws: TransportError.closed) { try await transport.read(atMost: 10) }
    }
  }

  /// Returns when the thread that watches sockets has had a turn, in which it has taken all that was there to be taken: it looks at
  /// all of them at once, and ends waits last.
  private func turn(of watch: DescriptorWatch = .shared) async throws {
    let (awaited, other) = try sockets()
    defer { close(other) }
    let socket = PacketSocket(owning: awaited, watch: watch)
    try #require(vault_send_packet(other, [1], 1) == 1)
    await socket.wait(for: POLLIN)
  }

  /// Returns when the thread of a watch waits for its sockets.
  private func rest(of watch: DescriptorWatch) async throws {
    let (awaited, other) = try sockets()
    defer { close(other) }
    let socket = PacketSocket(owning: awaited, watch: watch)
    let thread = Mutex("")
    try #require(vault_send_packet(other, [1], 1) == 1)
    let isAttended = socket.attend {
      let name = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/thread-self")
      thread.withLock { $0 = name ?? "" }
      return false
    }
    #expect(isAttended)
    try await turn(of: watch)
    let path = "/proc/" + thread.withLock { $0 } + "/stat"
    while try String(contentsOfFile: path, encoding: .utf8).split(separator: ")").last?.hasPrefix(" S ") != true {
      try await Task.sleep(for: .milliseconds(1))
    }
  }

  /// Sends messages of 1000 bytes until nobody takes any more, and returns how many bytes were taken.
  private func flood(_ socket: Int32, atMost limit: Int) async throws -> Int {
    var sent = 0
    var hasHadTurn = false
    let message = [UInt8](repeating: 7, count: 1000)
    while sent < limit {
      if Glibc.send(socket, message, message.count, Int32(MSG_DONTWAIT)) == message.count {
        sent += message.count
        hasHadTurn = false
      } else {
        // Whoever still takes something has emptied the kernel's room by then.
        guard !hasHadTurn else { break }
        try await turn()
        hasHadTurn = true
      }
    }
    return sent
  }

  @Test("what a peer sends is taken from the kernel before anybody reads it, up to a limit")
  func inbox() async throws {
    let (socket, sender) = try sockets()
    defer { close(sender) }
    let transport = BLETransport(PacketSocket(owning: socket), sendLimit: 8192, description: "")
    let stranger = try await flood(sender, atMost: 4 << 20)
    #expect(stranger >= PacketInbox.strangerLimit && stranger < 3 << 20, "a stranger has little room")
    transport.reached(.peer(try Identity.generate().keys))
    let more = try await flood(sender, atMost: 32 << 20)
    #expect(stranger + more >= PacketInbox.limit && stranger + more < PacketInbox.limit + 3 << 20)
    #expect(try await read(stranger + more, from: transport, atMost: 65_536).count == stranger + more)
    #expect(try await flood(sender, atMost: 1000) == 1000)
    #expect(try await transport.read(atMost: 2000).count == 1000)
    await transport.close()
  }

  @Test("no message is longer than the peer takes, nor than the kernel sends", arguments: [(64, 64), (100_000, 8192)])
  func sendLimit(theirs: Int, longest: Int) async throws {
    let (socket, other) = try sockets()
    let reader = PacketSocket(owning: other)
    let transport = BLETransport(PacketSocket(owning: socket), sendLimit: theirs, description: "")
    let writing = Task { try await transport.write([UInt8](repeating: 5, count: 20_000)) }
    var buffer = [UInt8](repeating: 0, count: 1 << 17)
    var lengths: [Int] = []
    while lengths.reduce(0, +) < 20_000 {
      let got = try #require(reader.use { vault_receive_packet($0, &buffer, buffer.count) })
      if got.result < 0, got.error == EAGAIN {
        await reader.wait(for: POLLIN)
        continue
      }
      try #require(got.result > 0)
      lengths.append(got.result)
    }
    try await writing.value
    #expect(lengths.max() == longest)
  }

  @Test("whoever writes waits for a reader, and goes on when there is one")
  func backPressure() async throws {
    let (one, other) = try pair()
    let count = 4_000_000
    let stage = Stage()
    let writing = Task(executorPreference: stage) { try await one.write([UInt8](repeating: 9, count: count)) }
    await stage.rests()
    #expect(try await read(count, from: other, atMost: 1 << 16).count == count)
    try await writing.value
  }

  @Test("closing sends what was written, and the rest is there after the end")
  func closing() async throws {
    let (one, other) = try pair()
    try await one.write([1, 2, 3])
    let closed = Task { await one.close() }
    #expect(try await read(3, from: other) == [1, 2, 3])
    await closed.value
    #expect(try await other.read(atMost: 10).isEmpty)
    await #expect(throws: TransportError.closed) { try await one.read(atMost: 1) }
    await #expect(throws: TransportError.closed) { try await one.write([1]) }
  }

  @Test("closing waits for nobody who doesn't read, longer than some seconds")
  func stuckPeer() async throws {
    let (mine, theirs) = try sockets()
    let clock = TestClock()
    let one = BLETransport(PacketSocket(owning: mine), sendLimit: 8192, description: "one", time: BLETime(clock))
    try await one.write([UInt8](repeating: 1, count: 10_000))
    async let closing: Void = one.close()
    await clock.isAwaited(.milliseconds(5))
    clock.advance(by: .seconds(30))
    await closing
    let other = BLETransport(PacketSocket(owning: theirs), sendLimit: 8192, description: "other")
    #expect(try await read(10_000, from: other).count == 10_000)
  }

  @Test("a peer that is gone ends reading, and refuses writing in plain words")
  func gone() async throws {
    let (one, other) = try pair()
    await other.close()
    #expect(try await one.read(atMost: 10).isEmpty)
    await #expect(throws: TransportError.io("the peer is gone")) { try await one.write([1]) }
  }

  @Test("cancelling a read or a write closes the connection at once")
  func cancellation() async throws {
    let (one, other) = try pair()
    let stage = Stage()
    let reading = Task(executorPreference: stage) { try await one.read(atMost: 1) }
    await stage.rests()
    reading.cancel()
    await #expect(throws: TransportError.closed) { try await reading.value }
    #expect(try await other.read(atMost: 1).isEmpty)

    let (writer, silent) = try pair()
    let writing = Task(executorPreference: stage) { try await writer.write([UInt8](repeating: 0, count: 8_000_000)) }
    await stage.rests()
    writing.cancel()
    await #expect(throws: TransportError.closed) { try await writing.value }
    _ = silent
  }

  // With a watch of its own thread, what is closed while that waits there stays open in the kernel until it is woken.
  @Test("what is closed while somebody waits for it is closed at once", arguments: [true, false])
  func closedWhileWaiting(isCancelledFirst: Bool) async throws {
    let (one, other) = try sockets()
    defer { close(other) }
    // Nobody else's sockets wake it.
    let watch = DescriptorWatch()
    let socket = PacketSocket(owning: one, watch: watch)
    let stage = Stage()
    let waiting = Task(executorPreference: stage) { await socket.wait(for: POLLIN) }
    await stage.rests()
    try await rest(of: watch)
    if isCancelledFirst { waiting.cancel() }
    socket.close()
    await waiting.value
    var byte: UInt8 = 0
    var got = vault_receive_packet(other, &byte, 1)
    for _ in 0..<6000 where got < 0 {
      try await Task.sleep(for: .milliseconds(10))
      got = vault_receive_packet(other, &byte, 1)
    }
    #expect(got == 0)
    // Nobody holds the other end any more.
    #expect(vault_send_packet(other, &byte, 1) < 0)
  }

  @Test("one task reads while another writes")
  func bothWays() async throws {
    let (one, other) = try pair()
    let bytes = [UInt8](repeating: 3, count: 300_000)
    async let there: Void = one.write(bytes)
    async let back: Void = other.write(bytes)
    async let first = read(bytes.count, from: one, atMost: 1 << 16)
    async let second = read(bytes.count, from: other, atMost: 1 << 16)
    _ = try await (there, back)
    #expect(try await first.count + second.count == 600_000)
  }

  @Test("a message of no bytes is not the end")
  func emptyMessage() async throws {
    let (socket, sender) = try sockets()
    let transport = BLETransport(PacketSocket(owning: socket), sendLimit: 100, description: "")
    #expect(vault_send_packet(sender, [], 0) == 0)
    #expect(vault_send_packet(sender, [7], 1) == 1)
    #expect(try await transport.read(atMost: 10) == [7])
    #expect(vault_send_packet(sender, [], 0) == 0)
    let stage = Stage()
    let reading = Task(executorPreference: stage) { try await transport.read(atMost: 10) }
    await stage.rests()
    try await turn()
    #expect(vault_send_packet(sender, [8], 1) == 1)
    #expect(try await reading.value == [8])
    close(sender)
  }

  @Test("a session runs over it, and ends with a goodbye both ways")
  func session() async throws {
    let (one, other) = try pair(500)
    let alice = try Identity.generate()
    let bob = try Identity.generate()
    let aliceCard = try alice.card(label: "alice", serial: 1)
    let bobCard = try bob.card(label: "bob", serial: 1)
    let known = alice.keys
    async let answering = PeerSession.answer(other, identity: bob, ownCard: bobCard) { _ in known }
    let dialled = try await PeerSession.dial(one, identity: alice, peer: bob.keys, ownCard: aliceCard)
    let answered = try await answering
    let bytes = [UInt8](repeating: 0x5A, count: 100_000)
    async let sending: Void = dialled.send(type: 7, count: bytes.count) { (writer) throws(WireError) in
      try writer.bytes(bytes)
    }
    let received = try await answered.receive { _ in 1 << 20 }
    try await sending
    #expect(received.body.withUnsafeBytes { Array($0) } == bytes)
    await dialled.close()
    #expect(try await answered.receive { _ in nil }.isGoodbye)
    await answered.close()
  }
}
