import Foundation
import PeerAuth
import Synchronization

/// Full request sessions: connect, handshake, card proof, possession proof, share, goodbye.
struct SessionLoad {
  /// A peer may have 16 sessions at once.
  private static let requesterCount = 16

  private let options: Options

  init(_ options: Options) { self.options = options }

  func run() async throws -> [Figure] {
    let home = try LoadHome(in: options.directory, peers: Self.requesterCount + 1)
    defer { home.remove() }
    let dealer = home.people[0]
    var claims: [Claim] = []
    for number in 0..<options.number("secrets", 1000) {
      let requester = home.people[1 + number % Self.requesterCount]
      let dealt = try home.deal(number, dealer: dealer, requester: requester)
      try home.store(dealt, from: dealer, at: 1_700_000_000_000 + Int64(number))
      claims.append(dealt.claim)
    }
    let daemon = try DaemonProcess(options.program, home: home.path)
    defer { daemon.stop() }
    let address = try PeerAddress(host: daemon.host, port: daemon.port)
    let keys = home.keys
    let count = options.number("sessions", 4000)
    let started = ContinuousClock.now
    let before = try daemon.cpuSeconds()
    let next = Counter(limit: count)
    try await withThrowingTaskGroup(of: Void.self) { group in
      for _ in 0..<options.number("connections", 8) {
        group.addTask { [claims, keys] in
          while let number = next.next() {
            let claim = claims[number % claims.count]
            let requester = try await Requester.open(address, holder: keys, as: claim.requester)
            try await requester.ask(for: claim, number: UInt64(number))
            await requester.close()
          }
        }
      }
      try await group.waitForAll()
    }
    let cpu = try daemon.cpuSeconds() - before
    let wall = (ContinuousClock.now - started) / .seconds(1)
    return [
      Figure(name: "sessions per CPU second", value: Double(count) / cpu, unit: "1/s", bound: "at least 500"),
      Figure(name: "CPU a session", value: cpu / Double(count) * 1000, unit: "ms"),
      Figure(name: "sessions per second", value: Double(count) / wall, unit: "1/s"),
      Figure(name: "sessions", value: Double(count), unit: ""),
      Figure(name: "secrets stored", value: Double(claims.count), unit: ""),
      Figure(name: "peak memory", value: try daemon.status("VmHWM") / 1024, unit: "MiB", bound: "at most 64"),
    ]
  }
}

/// Hands out numbers from 0 on to whoever asks.
final class Counter: Sendable {
  private let limit: Int
  private let value = Mutex(0)

  init(limit: Int) { self.limit = limit }

  /// The next number below the limit.
  func next() -> Int? {
    value.withLock { value in
      guard value < limit else { return nil }
      defer { value += 1 }
      return value
    }
  }
}
