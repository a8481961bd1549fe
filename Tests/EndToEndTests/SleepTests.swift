import Foundation
import Glibc
@testable import SystemBus
import Testing

@Suite("Before the machine sleeps")
struct SleepTests {
  /// Alice, whose daemon is at a bus, with a secret that takes Bob.
  private func atBus(_ bench: Bench) async throws -> (alice: Peer, daemon: Child, bus: FakeBus, id: String) {
    let (alice, _) = try await bench.pair()
    try alice.write(sample(1000), to: "note")
    let id = try await alice.succeed("share", "note", "--threshold", "2").line
    try await alice.stopDaemon()
    let bus = try FakeBus(bench.folder + "/bus")
    let address = ["DBUS_SYSTEM_BUS_ADDRESS": "unix:path=/nonexistent/bus;unix:path=\(bus.path)"]
    let daemon = try bench.start(
      Bench.vault, ["daemon", "--listen", "\(alice.host):0"], environment: alice.environment.merging(address) { $1 },
      folder: alice.folder)
    bench.expectToLive("alice", daemon)
    try await bench.wait(for: "the daemon to be told of sleep") {
      daemon.written.contains("told before the machine goes to sleep")
    }
    return (alice, daemon, bus, id)
  }

  @Test("logind is asked to wait, everything is locked, and only then does the machine sleep")
  func locks() async throws {
    try await Bench.run { bench in
      let (alice, daemon, bus, id) = try await atBus(bench)
      defer { bus.stop() }
      #expect(bus.isInhibited)
      #expect(bus.calls.last == "Inhibit sleep vault lock what is unlocked delay", "\(bus.calls)")
      try await alice.succeed("unlock", id)
      // Anybody on the bus can say something; it counts only from logind.
      bus.announce(sleep: true, from: ":1.99")
      // It takes one message after the other.
      bus.ask()
      try await bench.wait(for: "an answer to what came behind that") { bus.answerCount == 1 }
      #expect(bus.isInhibited)
      #expect(try await alice.succeed("unlock", "--list", "--json").json()["secrets"].array.count == 1)

      bus.announce(sleep: true)
      try await bench.wait(every: 2, for: "the lock to be given back") { !bus.isInhibited }
      #expect(try await alice.succeed("unlock", "--list").output == "nothing is unlocked\n")
      try await bench.wait(for: "a line about it") {
        daemon.written.contains("everything is locked: the machine goes to sleep")
      }
      // It sleeps in a moment, and what came into memory now would lie there meanwhile.
      let late = try await alice.run("unlock", id)
      #expect(late.status == 5 && late.complaint.contains("about to sleep"), "\(late)")
      bus.announce(sleep: false)
      try await bench.wait(for: "the next lock") { bus.isInhibited }
      try await bench.wait(every: 250, for: "unlocking to be possible again") {
        try await alice.run("unlock", id).status == 0
      }
      bus.announce(sleep: true)
      try await bench.wait(every: 2, for: "the lock to be given back") { !bus.isInhibited }
      #expect(try await alice.succeed("unlock", "--list").output == "nothing is unlocked\n")
    }
  }

  @Test("messages that are not understood, which anybody on the bus may send, are passed over")
  func passedOver() async throws {
    try await Bench.run { bench in
      let (alice, daemon, bus, id) = try await atBus(bench)
      defer { bus.stop() }
      try await alice.succeed("unlock", id)
      // In the other order of bytes; with a longer text than is read; longer than is read.
      let other: [UInt8] = [UInt8(ascii: "B"), 4, 0, 1] + [0, 0, 0, 0] + [0, 0, 0, 1] + [0, 0, 0, 0]
      let text = BusMessage(
        kind: .signal, serial: 5, path: "/x", interface: "a.b", member: "C",
        body: [.text(String(repeating: "x", count: 5000))])
      let long = [UInt8(ascii: "l"), 4, 0, 1] + [0, 0, 32, 0] + [1, 0, 0, 0] + [0, 0, 0, 0]
      for message in [other, text.encoded(), long + [UInt8](repeating: 0, count: 32 << 16)] { bus.send(message) }
      let laden = BusMessage(kind: .signal, serial: 6, path: "/x", interface: "a.b", member: "C", descriptorCount: 3)
      bus.send(laden.encoded(), descriptors: 3)
      bus.announce(sleep: true)
      try await bench.wait(every: 2, for: "the lock to be given back") { !bus.isInhibited }
      #expect(try await alice.succeed("unlock", "--list").output == "nothing is unlocked\n")
      #expect(!daemon.written.contains("nobody tells when the machine"))
    }
  }

  @Test("a bus that talks nonsense, or goes away, costs the warning and nothing else")
  func nonsense() async throws {
    try await Bench.run { bench in
      let (alice, daemon, bus, id) = try await atBus(bench)
      try await alice.succeed("unlock", id)
      bus.send(sample(3000))
      try await bench.wait(for: "the daemon to give up") { daemon.written.contains("nobody tells when the machine") }
      bus.stop()
      #expect(try await alice.succeed("unlock", "--list", "--json").json()["secrets"].array.count == 1)
      bench.expectEnd(of: daemon)
      daemon.signal(SIGTERM)
      #expect(try await daemon.end(within: 90).status == 0)
    }
  }
}
