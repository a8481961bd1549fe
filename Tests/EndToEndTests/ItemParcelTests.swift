import Foundation
import Testing

@Suite("Items for who is away")
struct ItemParcelTests {
  /// Alice and Bob, who each hold a share of a key, and an item of Alice's under it. Bob's daemon doesn't run any more.
  private func apart(_ bench: Bench, item: [UInt8]) async throws -> (alice: Peer, bob: Peer, id: String) {
    let (alice, bob) = try await bench.pair()
    try await alice.succeed("key", "create", "family", "--threshold", "2")
    try alice.write(item, to: "letter.txt")
    let id = try await alice.succeed("item", "add", "family", "letter.txt").line
    try await bob.stopDaemon()
    return (alice, bob, id)
  }

  @Test("an item that can't be sent waits in a parcel, and is there to be accepted when its receiver is back")
  func later() async throws {
    try await Bench.run { bench in
      let body = sample(20_000)
      let (alice, bob, id) = try await apart(bench, item: body)
      let sent = try await alice.succeed("item", "send", "letter.txt", "bob", "--json")
      #expect(try sent.json()["onItsWay"].bool == true && sent.json()["known"].bool == false, "\(sent)")
      #expect(sent.complaint.contains("can't be reached just now"), "\(sent)")
      let waiting = try await alice.succeed("message", "outbox", "--json").json()["parcels"][0]
      #expect(waiting["kind"].string == "item" && waiting["peer"].string == "bob")
      #expect(try #require(waiting["bytes"].int) > body.count)
      try await bob.startDaemon()
      try await bench.wait(upTo: 180, every: 100, for: "the item to be there") {
        try await bob.succeed("item", "list", "--json").json().array.count == 1
      }
      let come = try await bob.succeed("item", "list", "--json").json()[0]
      #expect(come["id"].string == id && come["state"].string == "waiting" && come["sender"].string == "alice")
      #expect(try await bob.succeed("item", "accept").line == id)
      try await bob.succeed("item", "show", "letter.txt", "-o", "copy")
      try bob.expect("copy", toHold: body)
      // Its word of that ends the parcel.
      try await bench.wait(upTo: 180, every: 100, for: "the outbox to be empty") {
        try await alice.succeed("message", "outbox", "--json").json()["parcels"].array.isEmpty
      }
    }
  }

  @Test("what is too large for a parcel is not kept, and said to be unreachable")
  func tooLarge() async throws {
    try await Bench.run { bench in
      let (alice, _, _) = try await apart(bench, item: sample(5 << 20))
      let sent = try await alice.run("item", "send", "letter.txt", "bob")
      #expect(sent.status == 6 && sent.complaint.contains("4 MiB"), "\(sent)")
      #expect(try await alice.succeed("message", "outbox", "--json").json()["parcels"].array.isEmpty)
    }
  }
}
