import Foundation
import Testing

/// Alice knows Carol's card, and Carol hers, but neither has an address of the other. Bob knows both, and where they are, and is with
/// one of them at a time.
@Suite("Carriers")
struct CarrierTests {
  private struct People {
    let alice: Peer
    let bob: Peer
    let carol: Peer
  }

  /// The three. Bob's and Alice's daemons run.
  private func people(_ bench: Bench) async throws -> People {
    let (alice, bob, carol) = (try Peer("alice", bench), try Peer("bob", bench), try Peer("carol", bench))
    var hidden: [String: String] = [:]
    var open: [String: String] = [:]
    for peer in [alice, bob, carol] {
      try await peer.initialise()
      // A card from before its daemon has run says no address.
      hidden[peer.name] = try await peer.card()
      try await peer.startDaemon()
      open[peer.name] = try await peer.card()
    }
    for (peer, other, cards) in [
      (alice, "bob", open), (bob, "alice", open), (bob, "carol", open), (carol, "bob", open), (alice, "carol", hidden),
      (carol, "alice", hidden),
    ] { try await peer.succeed("peer", "add", try #require(cards[other])) }
    for other in ["alice", "carol"] { try await bob.succeed("peer", "ping", other) }
    #expect(try await alice.run("peer", "ping", "carol").status == 6)
    try await carol.stopDaemon()
    return People(alice: alice, bob: bob, carol: carol)
  }

  /// Bob leaves one of them and comes to the other: daemons that were away start, and look for their peers.
  private func travel(_ bob: Peer, from one: Peer, to other: Peer) async throws {
    try await bob.stopDaemon()
    try await one.stopDaemon()
    try await other.startDaemon()
    try await bob.startDaemon()
  }

  private func carried(by peer: Peer) async throws -> Int {
    try await peer.succeed("carry", "--json").json()["carried"]["count"].int ?? -1
  }

  /// When the newest parcel of this kind was made that a carrier of this peer has; nil if none has.
  private func given(_ kind: String, by peer: Peer, since: String = "") async throws -> String? {
    try await peer.succeed("message", "outbox", "--json").json()["parcels"].array
      .filter { $0["kind"].string == kind && $0["ways"].strings.contains("carriers") }
      .compactMap { $0["createdAt"].string }.filter { $0 > since }.max()
  }

  private func state(of number: String, at peer: Peer) async throws -> JSON {
    try await peer.succeed("message", "show", number, "--json").json()
  }

  @Test("a message reaches whom its sender can't reach, and the receipt comes back the same way")
  func message() async throws {
    try await Bench.run { bench in
      let people = try await people(bench)
      let (alice, bob, carol) = (people.alice, people.bob, people.carol)
      let sent = try await alice.succeed("send", "carol", "the marked words")
      try await bench.wait(upTo: 120, every: 500, for: "bob to carry it") { try await carried(by: bob) > 0 }
      // She hears a little later that he has it.
      try await bench.wait(upTo: 120, every: 500, for: "alice to know that it is on its way") {
        try await state(of: sent.line, at: alice)["state"].string == "underway"
      }
      // Bob can see neither what it is nor from or for whom.
      let outbox = try await bob.succeed("message", "outbox")
      #expect(outbox.output.contains("carried for others: 1 parcel") && !outbox.output.contains("carol"), "\(outbox)")
      #expect(try await bob.shell("grep -rla 'marked words' \"$VAULT_HOME\"").output.isEmpty)

      try await travel(bob, from: alice, to: carol)
      try await bench.wait(upTo: 120, every: 500, for: "carol to have it") {
        try await carol.succeed("message", "inbox", "--json").json().array.count == 1
      }
      let came = try await carol.succeed("message", "inbox", "--json").json()[0]
      #expect(came["text"].string == "the marked words" && came["peer"].string == "alice")
      #expect(came["route"].string == "carriers" && came["hops"].int == 1)
      try await bench.wait(upTo: 120, every: 500, for: "bob to carry her receipt") {
        try await given("receipt", by: carol) != nil
      }

      try await travel(bob, from: carol, to: alice)
      try await bench.wait(upTo: 120, every: 500, for: "alice to hear of it") {
        try await state(of: sent.line, at: alice)["state"].string == "delivered"
      }
      let known = try await state(of: sent.line, at: alice)
      #expect(known["route"].string == "carriers" && known["carriers"].strings == ["bob"], "\(known)")
      let shown = try await alice.succeed("message", "show", sent.line)
      #expect(shown.output.contains("by way of bob"), "\(shown)")
      let counters = try await alice.succeed("carry", "--json").json()["counters"]
      #expect(counters["sentByCarriers"].int == 1 && counters["sentDirectly"].int == 0)
      #expect(try await bob.succeed("carry", "--json").json()["counters"]["deliveredForOthers"].int ?? 0 >= 1)
    }
  }

  @Test("a photo in several parts is carried, too")
  func photo() async throws {
    try await Bench.run { bench in
      let people = try await people(bench)
      let (alice, bob, carol) = (people.alice, people.bob, people.carol)
      let photo = MessageTests.photo(of: sample(2_200_000))
      try alice.write(photo, to: "photo.jpg")
      try await alice.succeed("send", "carol", "--photo", "photo.jpg", "--pigeons-only")
      try await bench.wait(upTo: 120, every: 500, for: "bob to carry all parts") { try await carried(by: bob) == 3 }
      try await travel(bob, from: alice, to: carol)
      try await bench.wait(upTo: 120, every: 500, for: "carol to have it") {
        try await carol.succeed("message", "inbox", "--json").json()[0]["state"].string == "new"
      }
      try await carol.succeed("message", "save", "1", "got.jpg")
      try carol.expect("got.jpg", toHold: photo)
    }
  }

  @Test("a share is left, and comes back, with whom one never meets")
  func sharing() async throws {
    try await Bench.run { bench in
      let people = try await people(bench)
      let (alice, bob, carol) = (people.alice, people.bob, people.carol)
      let note = sample(5000)
      try alice.write(note, to: "note")
      // Who has met nobody of late has nobody to carry anything.
      try await alice.succeed("send", "bob", "hello")
      let shared = try await alice.run("share", "note", "--threshold", "2", "--to", "carol")
      #expect(shared.status == 3, "\(shared)")
      func isDelivered() async throws -> Bool {
        try await alice.succeed("secret", "show", shared.line, "--json").json()["deliveries"][0]["state"].string
          == "delivered"
      }
      // Carol's keys are proved first, by a parcel that only she can open.
      try await bench.wait(upTo: 120, every: 500, for: "bob to carry the probe") {
        try await given("probe", by: alice) != nil
      }
      try await travel(bob, from: alice, to: carol)
      try await bench.wait(upTo: 120, every: 500, for: "bob to carry her receipt") {
        try await given("receipt", by: carol) != nil
      }
      try await travel(bob, from: carol, to: alice)
      try await bench.wait(upTo: 120, every: 500, for: "bob to carry the share") {
        try await given("deposit", by: alice) != nil
      }
      try await travel(bob, from: alice, to: carol)
      try await bench.wait(upTo: 120, every: 500, for: "carol to have the share") {
        try await carol.succeed("list", "--json").json().array.count == 1
      }
      try await bench.wait(upTo: 120, every: 500, for: "bob to carry her answer") {
        try await given("answer", by: carol) != nil
      }
      try await travel(bob, from: carol, to: alice)
      try await bench.wait(upTo: 120, every: 500, for: "alice to hear of her share") { try await isDelivered() }

      let asking = try alice.start(["recover", shared.line, "-o", "out", "--wait", "400s"])
      try await bench.wait(upTo: 120, every: 500, for: "bob to carry the request") {
        try await given("request", by: alice) != nil
      }
      let since = try await given("request", by: alice) ?? ""
      try await travel(bob, from: alice, to: carol)
      try await bench.wait(upTo: 120, every: 500, for: "bob to carry carol's share") {
        try await given("answer", by: carol, since: since) != nil
      }
      try await travel(bob, from: carol, to: alice)
      let recovered = try await asking.end(within: 180)
      #expect(recovered.status == 0, "\(recovered)")
      try alice.expect("out", toHold: note)
    }
  }

  @Test("who doesn't carry takes nothing, and limits are shown and kept")
  func off() async throws {
    try await Bench.run { bench in
      let people = try await people(bench)
      let (alice, bob) = (people.alice, people.bob)
      let off = try await bob.succeed("carry", "off", "--json").json()
      #expect(off["on"].bool == false)
      let sent = try await alice.succeed("send", "carol", "hello")
      try await bench.wait(upTo: 120, every: 500, for: "alice to meet bob") {
        try await alice.succeed("carry", "--diagnostics", "--json").json()["encounters"].array.contains {
          $0["name"].string == "bob"
        }
      }
      #expect(try await carried(by: bob) == 0)
      #expect(try await state(of: sent.line, at: alice)["state"].string == "waiting")
      try await bob.succeed("carry", "limits", "--bytes", "32M", "--battery", "50", "--fair-share", "1M/200")
      let limits = try await bob.succeed("carry", "--json").json()["limits"]
      #expect(limits["bytes"].int == 32 << 20 && limits["leastBattery"].int == 50)
      #expect(limits["fairShare"]["allowance"].int == 1 << 20 && limits["fairShare"]["percent"].int == 200)
      #expect(try await bob.run("carry", "limits", "--battery", "200").status == 64)
      #expect(try await bob.succeed("carry", "limits").lines.count == 6)
    }
  }
}
