import Foundation
import PeerAuth
import Sodium
import VaultProtocol

/// The daemon's memory while every peer of a large group is connected, has just been answered, and some deposit.
struct MemoryLoad {
  private let options: Options

  init(_ options: Options) { self.options = options }

  func run() async throws -> [Figure] {
    let home = try LoadHome(in: options.directory, peers: options.number("peers", 255))
    defer { home.remove() }
    var claims: [Claim] = []
    for (number, person) in home.people.enumerated() {
      let dealer = home.people[(number + 1) % home.people.count]
      let dealt = try home.deal(number, dealer: dealer, requester: person)
      try home.store(dealt, from: dealer, at: 1_700_000_000_000 + Int64(number))
      claims.append(dealt.claim)
    }
    let daemon = try DaemonProcess(options.program, home: home.path)
    defer { daemon.stop() }
    let address = try PeerAddress(host: daemon.host, port: daemon.port)
    let idle = try daemon.status("VmRSS") / 1024
    let keys = home.keys
    // A few at a time: on a busy machine hundreds of handshakes at once would miss their deadlines.
    var open: [(person: Person, session: Requester)] = []
    for start in stride(from: 0, to: claims.count, by: 16) {
      open += try await withThrowingTaskGroup(of: (Person, Requester).self) { group in
        for claim in claims[start..<min(start + 16, claims.count)] {
          group.addTask {
            let requester = try await Requester.open(address, holder: keys, as: claim.requester)
            try await requester.ask(for: claim, number: 1)
            return (claim.requester, requester)
          }
        }
        return try await group.reduce(into: []) { $0.append($1) }
      }
    }
    let connected = try daemon.status("VmRSS") / 1024
    try await deposit(in: home, over: open)
    let peak = try daemon.status("VmHWM") / 1024
    for (_, session) in open { await session.close() }
    return [
      Figure(name: "memory at start", value: idle, unit: "MiB"),
      Figure(name: "memory with \(open.count) peers connected", value: connected, unit: "MiB"),
      Figure(name: "peak with deposits in progress", value: peak, unit: "MiB", bound: "at most 64"),
    ]
  }

  /// Deposits by many peers at once, in the sessions that are open: more connections would be too many for one address.
  private func deposit(in home: LoadHome, over open: [(person: Person, session: Requester)]) async throws {
    let byteCount = UInt64(options.number("mebibytes", 8)) << 20
    try await withThrowingTaskGroup(of: Void.self) { group in
      for (person, dealer) in open.prefix(options.number("deposits", 32)) {
        let offered = try home.offer(from: person, byteCount: byteCount)
        group.addTask {
          try await dealer.send(Offer(request: 2, index: 1, sealedShare: offered.sealed, header: offered.header.bytes))
          let answer = try await dealer.receive(OfferAnswer.self)
          guard case .wants = answer.verdict else { throw Requester.Failure(words: "a deposit was not wanted") }
          let plan = offered.header.dispersal
          for number in 0..<plan.stripeCount {
            let bytes = [UInt8](repeating: 7, count: plan.pieceByteCount(number))
            try await dealer.send(Piece(request: 2, number: number, bytes: bytes))
          }
          try await dealer.send(DepositEnd(request: 2))
          let result = try await dealer.receive(DepositResult.self)
          guard result.refusal == nil else { throw Requester.Failure(words: "a deposit was refused") }
        }
      }
      try await group.waitForAll()
    }
  }
}
