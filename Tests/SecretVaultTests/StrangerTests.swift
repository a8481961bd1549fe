import PeerAuth
import Sodium
import Testing

@testable import SecretVault

extension VaultTests {
  /// Ben is told of refusals. Cleo, with a key that he doesn't know, dials; ada is his peer.
  @Suite struct Strangers {
    let world: TestWorld

    init() throws {
      world = try TestWorld(3, everybodyMeets: false)
      try world[0].meets(world[1])
      try world[1].meets(world[0])
      try world[2].meets(world[1])
      _ = try world[1].vault.core.set("notify-command", to: "tell")
      // All within a minute, unless a test says otherwise.
    }

    private func refusals(of peer: String? = nil) throws -> (logged: Int, told: Int) {
      (
        try world[1].vault.overview.log(limit: 1000).count { $0.event == "refused" && $0.peer == peer },
        world.notifications.told(to: world[1]).count { $0.event.event == "refused" && $0.event.peer == peer }
      )
    }

    private func knock(_ times: Int) async throws {
      for _ in 0..<times {
        #expect(await refusal { try await world[2].vault.links.pingPeer("ben") }?.code == .refused)
      }
    }

    @Test func `fifty strangers' dials from one address are one line in the log and one alarm a minute`() async throws {
      try await knock(50)
      #expect(try await eventually { try refusals() == (1, 1) })
      world.clock.advance(milliseconds: 61_000)
      try await knock(10)
      #expect(try await eventually { try refusals() == (2, 2) })
    }

    @Test func `dials from all the addresses of one network of IPv6 are one line`() async throws {
      let ben = world[1]
      let dials = Counter()
      world.network.serve(ben.address) { transport in
        dials.increment()
        await ben.vault.answering.answer(Displaced(transport, to: "[2001:db8::\(dials.value)]:40000"))
      }
      try await knock(5)
      #expect(try await eventually { try refusals() == (1, 1) })
      world.network.serve(ben.address) {
        await ben.vault.answering.answer(Displaced($0, to: "[2001:db8:0:1::1]:40000"))
      }
      try await knock(1)
      #expect(try await eventually { try refusals() == (2, 2) })
    }

    @Test func `dials from other addresses are other lines`() {
      let filter = StrangerFilter()
      #expect(filter.isNew("192.0.2.1", at: 0))
      #expect(filter.isNew("192.0.2.2", at: 1))
      #expect(!filter.isNew("192.0.2.1", at: 59_999))
      #expect(filter.isNew("192.0.2.1", at: 60_000))
      // However many there are, memory and log stay small.
      let passed = (0..<20_000).count { filter.isNew("address \($0)", at: 60_001) }
      #expect(passed < 1100)
    }

    @Test func `every refusal of a known peer is logged and told`() async throws {
      let forged = try ForgedSecret(by: world[2], to: [world[0], world[1]], threshold: 2)
      for _ in 0..<10 {
        #expect(try await forged.deliver(forged.job(2), to: world[1], from: world[0])?.refusal == .notTheDealer)
      }
      #expect(try refusals(of: "ada") == (10, 10))
    }
  }
}

/// A connection that comes from elsewhere, as far as the log can tell.
private struct Displaced: PeerTransport {
  let inner: any PeerTransport
  let remoteDescription: String

  init(_ inner: any PeerTransport, to place: String) {
    self.inner = inner
    remoteDescription = place
  }

  func read(atMost limit: Int) async throws(TransportError) -> [UInt8] { try await inner.read(atMost: limit) }
  func write(_ bytes: [UInt8]) async throws(TransportError) { try await inner.write(bytes) }
  func close() async { await inner.close() }
}
