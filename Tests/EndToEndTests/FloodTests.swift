import Foundation
import PeerAuth
import Testing

@Suite("Under attack, honest peers go on", .serialized)
struct FloodTests {
  /// What docs/SECURITY.md states, in seconds, of sharing and of recovering: until it is done, however many attempts it takes. Seconds count where
  /// the machine does nothing else.
  private static let timeLimit = Effort.isSoak ? 30.0 : 120
  /// What docs/SECURITY.md states of a daemon's memory under attack, in KiB.
  private static let memoryLimit = (160 << 10) * Sanitizer.memoryFactor
  /// What the second flood may take that the first has not, in KiB.
  private static let growthLimit = (24 << 10) * Sanitizer.memoryFactor

  private static let local: UInt32 = 0x7F00_0001
  private static let stranger: UInt32 = 0x7F00_0002
  private static let crowd: [UInt32] = (0..<3000).map { 0x7F01_0000 + UInt32($0) }

  @Test("connections that say nothing, garbage, or half of something, from one address and from many")
  func strangers() async throws {
    try await Bench.run { bench in
      let peers = try await bench.friends(["alice", "bob", "carol"])
      let bob = peers[1]
      let first = try await Self.firstMessage(to: bob)
      let harmless: [Attacker.Habit] = [.silent, .drip, .halfClosed]
      let loud: [Attacker.Habit] = [
        .sends([0xFF, 0xFF] + sample(70_000)), .sends(sample(3000)), .sends(Array("GET / HTTP/1.1\r\n\r\n".utf8)),
      ]
      let waves: [(String, [Attacker.Habit], [UInt32], Double)] = [
        ("silence from one address", harmless, [Self.stranger], 500),
        ("silence from the address of the honest", harmless, [Self.local], 500),
        ("silence and garbage from thousands of addresses", harmless + loud, Self.crowd, 500),
        ("handshakes from one address", [.sends(first)], [Self.stranger], 300),
        ("handshakes from thousands of addresses", [.sends(first)], Self.crowd, 300),
      ]
      let process = try bob.daemonProcess
      var before = try ProcessFacts(process)
      print("before: \(before)")
      for round in 1...2 {
        // The second round tells whether the first one's memory is used again: the widest of the waves does.
        for (number, (name, habits, sources, rate)) in waves.enumerated() where round == 1 || number == 2 {
          let attacker = Attacker(bob, habits, from: sources, width: 1500, rate: rate)
          try attacker.start()
          let many = Effort.isSoak ? 1000 : 300
          try await bench.wait(for: "\(many) connections") { attacker.connectionCount >= many }
          let label = "\(name), round \(round)"
          try await Self.shareAndRecover(peers, "note-\(round)-\(number)", label)
          let count = attacker.connectionCount
          try await attacker.stop()
          let facts = try ProcessFacts(process)
          print("\(label): \(count) connections; \(facts)")
          #expect(facts.peak < Self.memoryLimit, "\(label): \(facts)")
          #expect(facts.descriptors < 1300, "\(label): \(facts)")
        }
        try await bench.wait(for: "the daemon to let go of all connections") {
          try ProcessFacts(process).descriptors <= before.descriptors + 8
        }
        let after = try ProcessFacts(process)
        print("after round \(round): \(after)")
        // What the first round has taken is used again by the second.
        if round == 2 { #expect(after.resident < before.resident + Self.growthLimit, "\(before), then \(after)") }
        before = after
      }
      // Nothing of it is left: no secret of a stranger, and a line a minute and address at most.
      #expect(bob.daemonLog.split(separator: "\n").count < 4000)
    }
  }

  @Test("a trusted peer that floods, and never reads what it is answered")
  func hostilePeer() async throws {
    try await Bench.run { bench in
      let peers = try await bench.friends(["alice", "bob", "carol"])
      let mallory = try await bench.peer("mallory")
      let card = try await mallory.card()
      for peer in peers {
        try await peer.succeed("peer", "add", card)
        try await mallory.succeed("peer", "add", try await peer.card())
      }
      try await mallory.startDaemon()
      try await peers[0].succeed("peer", "address", "mallory", mallory.address)
      try peers[0].write(sample(1000), to: "bait")
      let bait = try await peers[0].succeed("share", "bait", "--threshold", "2").line
      try await mallory.stopDaemon()

      let process = try peers[1].daemonProcess
      let before = try ProcessFacts(process)
      let hostile = try await HostilePeer(mallory, against: peers[1])
      let attack = Task { await hostile.attack(width: 48, secret: bait) }
      try await bench.wait(upTo: 180, for: "refused proofs") { hostile.refusals >= (Effort.isSoak ? 3 : 1) }
      let many = Effort.isSoak ? 3000 : 500
      try await bench.wait(for: "requests by the thousand") { hostile.counts.requests >= many }
      for number in 0..<(Effort.isSoak ? 3 : 1) {
        try await Self.shareAndRecover(peers, "note-\(number)", "a hostile peer, \(number)")
      }
      let counts = hostile.counts
      hostile.stop()
      await attack.value
      let facts = try ProcessFacts(process)
      print("hostile peer: \(counts), \(hostile.refusals) refusals; \(facts)")
      #expect(facts.peak < Self.memoryLimit, "\(facts)")
      try await bench.wait(for: "the daemon to let go of its sessions") {
        try ProcessFacts(process).descriptors <= before.descriptors + 8
      }
      // Its requests fill neither the log nor the audit log.
      #expect(peers[1].daemonLog.split(separator: "\n").count < 1000)
      let log = try await peers[1].succeed("device", "log", "--limit", "100000", "--json").json()
      #expect(log.array.count < 1000)
    }
  }

  @Test("a trusted peer that proves itself hundreds of times, and never opens a session")
  func unfinishedSessions() async throws {
    try await Bench.run { bench in
      let peers = try await bench.friends(["alice", "bob", "carol"])
      let mallory = try await bench.peer("mallory")
      try await peers[1].succeed("peer", "add", try await mallory.card())
      let hostile = try await HostilePeer(mallory, against: peers[1])
      // More than there is room for from one address, and the honest come from the same.
      let attack = Task { await hostile.stopShort(width: 300) }
      try await bench.wait(for: "connections at the last step") { hostile.lastSteps >= 280 }
      try await Self.shareAndRecover(peers, "note", "unfinished sessions")
      let count = hostile.lastSteps
      hostile.stop()
      await attack.value
      print("unfinished sessions: \(count)")
    }
  }

  @Test("a daemon that has no descriptor left for a connection goes on when there is one again")
  func fewDescriptors() async throws {
    try await Bench.run { bench in
      let (alice, bob) = try await bench.pair()
      try await bob.stopDaemon()
      for limit in [40, 160] {
        try await bob.startDaemon(descriptors: limit)
        let attacker = Attacker(
          bob, [.silent, .sends([1, 2, 3])], from: Self.crowd, width: 400, rate: 2000)
        try attacker.start()
        // More than there can be at a time: it has let some go for others.
        try await bench.wait(for: "connections") { attacker.connectionCount >= 800 }
        try await attacker.stop()
        try await bench.wait(every: 250, for: "an answer with \(limit) descriptors") {
          try await alice.run("peer", "ping", "bob").status == 0
        }
        try await bob.stopDaemon()
      }
    }
  }

  /// What somebody who knows bob's card sends first.
  private static func firstMessage(to bob: Peer) async throws -> [UInt8] {
    let keys = try PeerCard.parse(text: try await bob.card()).keys
    var handshake = try NoiseHandshake(
      .xk, role: .initiator, prologue: Array("vault/peer/1".utf8), staticKey: .generate(), remoteStatic: keys.noise)
    let message = try handshake.write()
    return [UInt8(message.count >> 8), UInt8(message.count & 0xFF)] + message
  }

  /// Alice shares with all, and then Carol cannot do without Bob: three of three. An attempt may run into a deadline; what
  /// counts is how long it takes until it is done.
  private static func shareAndRecover(_ peers: [Peer], _ name: String, _ label: String) async throws {
    let bytes = sample(100_000, seed: UInt64(name.utf8.reduce(0) { $0 + Int($1) }))
    try peers[0].write(bytes, to: name)
    let limit = timeLimit
    var began = Child.now()
    let shared = try await peers[0].run("share", name, "--threshold", "3", "--to", "bob", "--to", "carol")
    var status = shared.status
    while status != 0, Child.now() - began < limit { status = try await peers[0].run("secret", "deliver").status }
    try #require(status == 0, "\(shared)")
    let sharing = Child.now() - began
    began = Child.now()
    var recovered = try await peers[2].run("recover", shared.line, "-o", name)
    while recovered.status != 0, Child.now() - began < limit {
      recovered = try await peers[2].run("recover", shared.line, "-o", name)
    }
    try #require(recovered.status == 0, "\(recovered)")
    let recovery = Child.now() - began
    try peers[2].expect(name, toHold: bytes)
    print("\(label): shared in \(sharing) s, recovered in \(recovery) s")
    #expect(sharing < limit && recovery < limit, "\(label): \(sharing), \(recovery) s")
  }
}
