import Foundation
import Testing

/// What holds on every machine, with Bluetooth or without: the adapter that is chosen here is never there.
@Suite("Bluetooth")
struct BluetoothTests {
  private func status(_ bench: Bench, of peer: Peer, until isRight: (JSON) -> Bool) async throws -> JSON {
    var facts = try await peer.succeed("status", "--json").json()["bluetooth"]
    try await bench.wait(every: 100, for: "Bluetooth to be as wanted") {
      facts = try await peer.succeed("status", "--json").json()["bluetooth"]
      return isRight(facts)
    }
    return facts
  }

  @Test("a daemon that can't use Bluetooth says why, and answers over the network all the same")
  func noAdapter() async throws {
    try await Bench.run { bench in
      let (alice, bob) = try await bench.pair()
      try await bob.succeed("settings", "set", "ble-adapter", "hci9999")
      try await bob.succeed("settings", "set", "ble", "on")
      let on = try await status(bench, of: bob) { !$0["problem"].isNull }
      #expect(on["on"].bool == true)
      #expect(on["shown"].bool == false)
      #expect(on["problem"].string?.contains("Bluetooth") == true)
      try await alice.succeed("peer", "ping", "bob")
      #expect(try await bob.run("peer", "list", "--near").status == 1)

      try await bob.succeed("settings", "set", "ble", "off")
      let off = try await status(bench, of: bob) { $0["problem"].isNull }
      #expect(off["on"].bool == false)
      #expect(off["problem"].isNull)
      #expect(try await bob.run("peer", "list", "--near").status == 64)
      try await alice.succeed("peer", "ping", "bob")
    }
  }
}
