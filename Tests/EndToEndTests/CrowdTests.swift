import Foundation
import Glibc
import Testing

@Suite("Many at once, and strangers at the door", .serialized)
struct CrowdTests {
  @Test("the daemon and ten commands use one home at the same time")
  func sameHome() async throws {
    try await Bench.run { bench in
      let (alice, bob) = try await bench.pair()
      try await alice.succeed("peer", "ping", "bob")
      for number in 0..<3 { try alice.write(sample(20_000, seed: UInt64(number)), to: "note-\(number)") }
      try bob.write(sample(20_000, seed: 9), to: "from-bob")
      var commands: [(Peer, [String])] = (0..<3).map { (alice, ["share", "note-\($0)", "--threshold", "2"]) }
      commands += [
        (bob, ["share", "from-bob", "--threshold", "2"]), (alice, ["list"]), (alice, ["peer", "list"]),
        (alice, ["device", "log"]), (alice, ["peer", "ping", "bob"]),
        (alice, ["settings", "set", "quota-shares", "100"]),
        (alice, ["id", "--text"]), (alice, ["secret", "deliver"]),
      ]
      let children = try commands.map { try $0.0.start($0.1) }
      for child in children {
        let outcome = try await child.end(within: 90)
        // A retry may meet a share that another command is just sending.
        #expect(
          outcome.status == 0 || (outcome.command.contains("deliver") && [2, 3].contains(outcome.status)), "\(outcome)")
      }
      #expect(try await alice.succeed("list", "--json").json().array.count == 4)
      #expect(try await bob.succeed("list", "--json").json().array.count == 4)
    }
  }

  @Test("several holders recover the same secret at the same time")
  func allRecover() async throws {
    try await Bench.run { bench in
      let peers = try await bench.friends(["alice", "bob", "carol", "dave"])
      try peers[0].write(sample(300_000), to: "note.txt")
      let id = try await peers[0].succeed("share", "note.txt", "--threshold", "3").line
      let children = try peers.map { try $0.start(["recover", id, "-o", "copy"]) }
      for child in children {
        let outcome = try await child.end(within: 90)
        #expect(outcome.status == 0, "\(outcome)")
      }
      for peer in peers { try peer.expect("copy", toHold: sample(300_000)) }
    }
  }

  @Test("a group of ten shares with a threshold of seven, and recovers with three of them gone")
  func tenPeers() async throws {
    try await Bench.run { bench in
      let peers = try await bench.friends((0..<10).map { "peer-\($0)" })
      try peers[0].write(sample(100_000), to: "note.txt")
      let outcome = try await peers[0].succeed("share", "note.txt", "--threshold", "7", "--json")
      #expect(try outcome.json()["shareCount"].int == 10)
      let id = try #require(try outcome.json()["id"].string)
      for peer in peers[0..<3] { try await peer.stopDaemon(SIGKILL) }
      try await peers[9].succeed("recover", id)
      try peers[9].expect("note.txt", toHold: sample(100_000))
      try await peers[3].stopDaemon(SIGKILL)
      let tooFew = try await peers[9].run("recover", id, "-o", "again")
      #expect(tooFew.status == 4)
      #expect(tooFew.complaint.contains("6 of 7 shares"), "\(tooFew)")
    }
  }

  @Test("garbage at the daemon's port doesn't hurt it")
  func garbage() async throws {
    try await Bench.run { bench in
      let (alice, bob) = try await bench.pair()
      let inputs: [[UInt8]] = [
        [], [0], [0xFF, 0xFF], [0xFF, 0xFF] + sample(65_535), [0, 0], Array("GET / HTTP/1.1\r\n\r\n".utf8), sample(48),
        [0, 48] + sample(48), sample(200_000),
      ]
      for (number, input) in inputs.enumerated() {
        let socket = try Connection(bob)
        socket.send(input)
        if number.isMultiple(of: 2) { socket.close() }
      }
      try await alice.succeed("peer", "ping", "bob")
    }
  }

  @Test("a hundred silent connections don't keep a peer out")
  func silentCrowd() async throws {
    try await Bench.run { bench in
      let (alice, bob) = try await bench.pair()
      let crowd = try (0..<100).map { _ in try Connection(bob) }
      for connection in crowd { connection.send([0, 48, 1, 2, 3]) }
      try await alice.succeed("peer", "ping", "bob")
      crowd.forEach { $0.close() }
    }
  }
}

/// A bare TCP connection to a peer's daemon.
final class Connection {
  private let descriptor: Int32

  init(_ peer: Peer) throws {
    descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
    try #require(descriptor >= 0)
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = UInt16(truncatingIfNeeded: peer.daemonPort).bigEndian
    try #require(inet_pton(AF_INET, peer.host, &address.sin_addr) == 1)
    let connected = withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
      }
    }
    try #require(connected == 0, "connect: \(String(cString: strerror(errno)))")
    _ = fcntl(descriptor, F_SETFL, O_NONBLOCK)
  }

  deinit { Glibc.close(descriptor) }

  /// Sends what the other side takes at once.
  func send(_ bytes: [UInt8]) {
    _ = Glibc.send(descriptor, bytes, bytes.count, Int32(MSG_NOSIGNAL))
  }

  /// Says that nothing more comes.
  func close() { shutdown(descriptor, Int32(SHUT_RDWR)) }
}
