import Foundation
import Testing

/// Homes as programs of earlier times have made them: see `Homes/README.md`. One that is put there is tested by being there.
@Suite("Homes of earlier versions")
struct HomesTests {
  // What programs of their time couldn't make.
  private static let itemless: Set = ["schema-v1", "drills", "policies"]
  private static let groupless = itemless.union(["items", "group-entries"])
  private static let speechless = groupless.union(["group-letters", "server-schema-1", "parcels"])
  /// `Homes/make` didn't make backups at first.
  private static let unsaved = itemless.union(["group-letters", "meetings", "copies-of-parcels"])

  @Test("are there, from the first schema on")
  func found() {
    let kept: Set = [
      "schema-v1", "drills", "policies", "items", "group-entries", "group-letters", "server-schema-1", "parcels",
      "messages", "meetings", "copies-of-parcels", "backups",
    ]
    #expect(Set(OldHomes.names).isSuperset(of: kept))
  }

  @Test("show everything that they hold, and are sound", arguments: OldHomes.names)
  func lists(name: String) async throws {
    try await OldHomes.open(name) { old in
      for (peer, others) in [
        (old.alice, ["bob", "carol"]), (old.bob, ["alice", "carol"]), (old.carol, ["alice", "bob"]),
      ] {
        let secrets = Set(try await old.succeed(peer, "list", "--json").json().array.compactMap { $0["id"].string })
        #expect(secrets == Set([old.secret, old.key].compactMap { $0 }), "\(peer.name)")
        let status = try await old.succeed(peer, "status", "--json").json()
        #expect(status["peers"].array.compactMap { $0["name"].string }.sorted() == others, "\(peer.name)")
        #expect(try StoredHome(peer).contradictions().isEmpty, "\(peer.name)")
      }
    }
  }

  @Test(
    "give their shares out, to whoever has shared a secret and to a holder, and keep what is shared from now on",
    arguments: OldHomes.names)
  func recovers(name: String) async throws {
    try await OldHomes.open(name) { old in
      try await old.startDaemons()
      for peer in [old.alice, old.carol] {
        try await old.succeed(peer, "recover", old.secret, "-o", "back.txt")
        try peer.expect("back.txt", toHold: Array(old.note.utf8))
      }
      try old.bob.write([1, 2, 3], to: "new.txt")
      let secret = try await old.succeed(old.bob, "share", "new.txt", "--threshold", "3").line
      try await old.succeed(old.carol, "recover", secret, "-o", "new.txt")
      try old.carol.expect("new.txt", toHold: [1, 2, 3])
    }
  }

  @Test("open their items", arguments: OldHomes.names.filter { !itemless.contains($0) })
  func items(name: String) async throws {
    try await OldHomes.open(name) { old in
      let item = try #require(old.item)
      try await old.startDaemons(of: [old.alice, old.bob])
      let shown = try await old.succeed(old.alice, "item", "show", item, "-o", "item.back")
      #expect(shown.status == 0)
      try old.alice.expect("item.back", toHold: Array("an item of \(name)\n".utf8))
    }
  }

  @Test("show their messages", arguments: OldHomes.names.filter { !speechless.contains($0) })
  func messages(name: String) async throws {
    try await OldHomes.open(name) { old in
      let message = try #require(old.message)
      let texts = try await old.succeed(old.bob, "message", "--json").json().array.compactMap { $0["text"].string }
      #expect(texts == [message])
    }
  }

  @Test(
    "keep their groups in step over the servers of their time",
    arguments: OldHomes.names.filter { !groupless.contains($0) })
  func groups(name: String) async throws {
    try await OldHomes.open(name) { old in
      let group = try #require(old.group)
      try await old.startServers()
      for peer in [old.alice, old.bob] {
        let members = try await old.succeed(peer, "group", "members", group, "--json").json().array
        #expect(members.compactMap { $0["name"].string } == ["alice", "bob"])
        let items = try await old.succeed(peer, "group", "items", group, "--json").json().array
        #expect(items.compactMap { $0["id"].string } == [try #require(old.item)])
      }
      // What is added now reaches the other member by way of the old servers.
      try await old.startDaemons(of: [old.alice, old.bob])
      try old.alice.write(Array("newer".utf8), to: "newer.txt")
      let newer = try await old.succeed(old.alice, "item", "add", "family", "newer.txt").line
      try await old.succeed(old.alice, "group", "add", group, newer)
      try await old.bench.wait(every: 250, for: "the newer item to reach Bob") {
        _ = try await old.bob.run("group", "sync", group)
        let items = try await old.succeed(old.bob, "group", "items", group, "--json").json().array
        return items.contains { $0["id"].string == newer }
      }
    }
  }

  @Test("come back from backups of their time", arguments: OldHomes.names.filter { !unsaved.contains($0) })
  func backups(name: String) async throws {
    try await OldHomes.open(name) { old in
      for peer in [old.alice, old.carol] {
        try await old.restoreBackup(of: peer)
        try await old.succeed(peer, "status")
        #expect(try StoredHome(peer).contradictions().isEmpty, "\(peer.name)")
      }
      if let message = old.message {
        let texts = try await old.succeed(old.alice, "message", "--json").json().array.compactMap { $0["text"].string }
        #expect(texts == [message])
      }
      try await old.startDaemons()
      for peer in [old.alice, old.carol] {
        try await old.succeed(peer, "recover", old.secret, "-o", "back.txt")
        try peer.expect("back.txt", toHold: Array(old.note.utf8))
      }
      let item = try #require(old.item)
      try await old.succeed(old.alice, "item", "show", item, "-o", "item.back")
      try old.alice.expect("item.back", toHold: Array("an item of \(name)\n".utf8))
      if let group = old.group {
        try await old.startServers()
        let items = try await old.succeed(old.alice, "group", "items", group, "--json").json().array
        #expect(items.compactMap { $0["id"].string } == [item])
      }
    }
  }
}
