import Foundation
import Testing

@Suite("Sharing a file")
struct SharingTests {
  @Test("a threshold of 1 is a usage error that says why")
  func thresholdOfOne() async throws {
    try await Bench.run { bench in
      let (alice, bob) = try await bench.pair()
      try alice.write([1, 2, 3], to: "note.txt")
      let outcome = try await alice.run("share", "note.txt", "--threshold", "1")
      #expect(outcome.status == 64)
      #expect(outcome.output.isEmpty)
      #expect(outcome.complaint.contains("alone"), "\(outcome)")
      #expect(try await bob.succeed("list", "--json").json().array.isEmpty)
    }
  }

  @Test("a threshold of all shares warns that one lost share loses the secret, and goes on")
  func allNeeded() async throws {
    try await Bench.run { bench in
      let (alice, bob) = try await bench.pair()
      try alice.write([1, 2, 3], to: "note.txt")
      let outcome = try await alice.succeed("share", "note.txt", "--threshold", "2")
      #expect(outcome.complaint.contains("warning"), "\(outcome)")
      #expect(try await bob.succeed("recover").line.hasSuffix("note.txt"))
    }
  }

  @Test("a threshold above the number of holders is a usage error and shares nothing")
  func moreThanThereAre() async throws {
    try await Bench.run { bench in
      let (alice, bob) = try await bench.pair()
      try alice.write([1, 2, 3], to: "note.txt")
      for arguments in [["--threshold", "3"], ["--threshold", "2", "--to", "bob", "--no-own-share"]] {
        let outcome = try await alice.run(["share", "note.txt"] + arguments)
        #expect(outcome.status == 64, "\(outcome)")
        #expect(outcome.output.isEmpty)
      }
      #expect(try await bob.succeed("list", "--json").json().array.isEmpty)
    }
  }

  @Test("without peers nothing can be shared")
  func noPeers() async throws {
    try await Bench.run { bench in
      let alice = try await bench.peer("alice")
      try alice.write([1, 2, 3], to: "note.txt")
      let outcome = try await alice.run("share", "note.txt", "--threshold", "2")
      #expect(outcome.status != 0)
      #expect(outcome.output.isEmpty)
      #expect(outcome.complaint.contains("peer"), "\(outcome)")
      #expect(try await alice.succeed("list", "--json").json().array.isEmpty)
    }
  }

  @Test("an unknown recipient is an error before anything is sent")
  func unknownRecipient() async throws {
    try await Bench.run { bench in
      let (alice, bob) = try await bench.pair()
      try alice.write([1, 2, 3], to: "note.txt")
      let outcome = try await alice.run("share", "note.txt", "--threshold", "2", "--to", "bob", "--to", "zoe")
      #expect(outcome.status == 1, "\(outcome)")
      #expect(outcome.output.isEmpty)
      #expect(outcome.complaint.contains("zoe"))
      #expect(try await bob.succeed("list", "--json").json().array.isEmpty)
    }
  }

  @Test("a recipient named twice gets one share")
  func twice() async throws {
    try await Bench.run { bench in
      let (alice, _) = try await bench.pair()
      try alice.write([1, 2, 3], to: "note.txt")
      let arguments = ["share", "note.txt", "--threshold", "2", "--to", "bob", "--to", "bob", "--json"]
      let report = try await alice.run(arguments).json()
      #expect(report["shareCount"].int == 2)
      #expect(report["deliveries"].array.count == 1)
    }
  }

  @Test("a file that isn't there, or a folder, is named in the error")
  func wrongSource() async throws {
    try await Bench.run { bench in
      let (alice, _) = try await bench.pair()
      _ = try alice.makeFolder("photos")
      for file in ["missing.txt", "photos"] {
        let outcome = try await alice.run("share", file, "--threshold", "2")
        #expect(outcome.status == 1, "\(outcome)")
        #expect(outcome.complaint.contains(file), "\(outcome)")
      }
      #expect(try await alice.succeed("list", "--json").json().array.isEmpty)
    }
  }

  @Test("the source file stays untouched")
  func sourceStays() async throws {
    try await Bench.run { bench in
      let (alice, _) = try await bench.pair()
      try alice.write(sample(500), to: "note.txt")
      try await alice.succeed("share", "note.txt", "--threshold", "2")
      try alice.expect("note.txt", toHold: sample(500))
    }
  }

  @Test("--remove-source removes the file once it can be recovered without it")
  func removeSource() async throws {
    try await Bench.run { bench in
      let (alice, bob) = try await bench.pair()
      try alice.write(sample(500), to: "note.txt")
      let outcome = try await alice.succeed("share", "note.txt", "--threshold", "2", "--remove-source", "--json")
      #expect(try outcome.json()["sourceRemoved"].bool == true)
      #expect(!alice.has("note.txt"))
      try bob.expect(try await bob.succeed("recover").line, toHold: sample(500))
    }
  }

  @Test("--remove-source keeps the file while fewer than the threshold have their share")
  func removeSourceTooEarly() async throws {
    try await Bench.run { bench in
      let (alice, bob) = try await bench.pair()
      try await alice.succeed("peer", "ping", "bob")
      try await bob.stopDaemon()
      try alice.write(sample(500), to: "note.txt")
      let outcome = try await alice.run("share", "note.txt", "--threshold", "2", "--remove-source")
      #expect(outcome.status == 3, "\(outcome)")
      try alice.expect("note.txt", toHold: sample(500))
    }
  }

  @Test("--no-own-share leaves no share with the dealer, who then can't recover while the holders can")
  func noOwnShare() async throws {
    try await Bench.run { bench in
      let (alice, bob, carol) = try await bench.trio()
      try alice.write(sample(500), to: "note.txt")
      let id = try await alice.succeed("share", "note.txt", "--threshold", "2", "--no-own-share").line
      let row = try await alice.succeed("list", "--json").json().first(where: "id", is: id)
      #expect(row["ownIndex"].isNull)
      #expect(row["shareCount"].int == 2)
      let refused = try await alice.run("recover", id, "-o", "copy")
      #expect(refused.status != 0)
      #expect(!alice.has("copy"))
      for holder in [bob, carol] { try holder.expect(try await holder.succeed("recover").line, toHold: sample(500)) }
    }
  }

  @Test("labels name the recipients before recovery, on every holder's device")
  func labels() async throws {
    try await Bench.run { bench in
      let (alice, bob, carol) = try await bench.trio()
      try alice.write(sample(500), to: "note.txt")
      let id = try await alice.succeed("share", "note.txt", "--threshold", "2").line
      for holder in [bob, carol] {
        let labels = try await holder.succeed("secret", "show", id, "--json").json()["labels"].strings
        #expect(Set(labels).isSuperset(of: ["bob", "carol"]), "\(labels)")
        #expect(labels.count == 3)
      }
    }
  }

  @Test("--no-labels sends no names along")
  func noLabels() async throws {
    try await Bench.run { bench in
      let (alice, bob, carol) = try await bench.trio()
      try alice.write(sample(500), to: "note.txt")
      let id = try await alice.succeed("share", "note.txt", "--threshold", "2", "--no-labels").line
      let info = try await bob.succeed("secret", "show", id, "--json")
      #expect(try info.json()["labels"].isNull, "\(info)")
      #expect(!info.output.contains("carol"))
      try carol.expect(try await carol.succeed("recover").line, toHold: sample(500))
    }
  }

  @Test("the description is visible before recovery and names the secret")
  func description() async throws {
    try await Bench.run { bench in
      let (alice, bob) = try await bench.pair()
      try alice.write(sample(500), to: "note.txt")
      let id = try await alice.succeed("share", "note.txt", "--threshold", "2", "--description", "house keys 🔑").line
      #expect(try await bob.succeed("list").output.contains("house keys 🔑"))
      let info = try await bob.succeed("secret", "show", "house keys 🔑", "--json").json()
      #expect(info["secret"]["id"].string == id)
      #expect(info["secret"]["threshold"].int == 2)
      #expect(info["secret"]["dealer"].string == "alice")
      try bob.expect(try await bob.succeed("recover", "house keys 🔑").line, toHold: sample(500))
    }
  }

  @Test("what is public shows neither the file's name nor its exact size")
  func whatIsPublic() async throws {
    try await Bench.run { bench in
      let (alice, bob) = try await bench.pair()
      try alice.write(sample(700), to: "will-of-alice.txt")
      let id = try await alice.succeed("share", "will-of-alice.txt", "--threshold", "2").line
      let info = try await bob.succeed("secret", "show", id, "--json")
      #expect(!info.output.contains("will-of-alice"))
      #expect((try info.json()["ciphertextBytes"].int ?? 0) >= 1024)
      try alice.write(sample(701), to: "other.txt")
      let second = try await alice.succeed("share", "other.txt", "--threshold", "2").line
      let other = try await bob.succeed("secret", "show", second, "--json").json()
      #expect(try info.json()["ciphertextBytes"].int == other["ciphertextBytes"].int)
    }
  }

  @Test("no device keeps the plaintext, the dealer's included")
  func noPlaintext() async throws {
    try await Bench.run { bench in
      let (alice, bob) = try await bench.pair()
      let needle = "a sentence that must not be found anywhere"
      try alice.write(Array(String(repeating: needle + "\n", count: 4000).utf8), to: "note.txt")
      try await alice.succeed("share", "note.txt", "--threshold", "2", "--remove-source")
      for peer in [alice, bob] {
        let found = try await peer.shell("grep -rlaF '\(needle)' \"$VAULT_HOME\" .")
        #expect(found.status == 1 && found.output.isEmpty, "\(found)")
      }
    }
  }

  @Test("a holder's fragment is a part of the ciphertext, never the whole")
  func fragmentSizes() async throws {
    try await Bench.run { bench in
      let (alice, bob, _) = try await bench.trio()
      try alice.write(sample(600_000), to: "note.bin")
      let id = try await alice.succeed("share", "note.bin", "--threshold", "3").line
      for peer in [alice, bob] {
        let info = try await peer.succeed("secret", "show", id, "--json").json()
        let whole = try #require(info["ciphertextBytes"].int)
        let part = try #require(info["fragmentBytes"].int)
        #expect(part >= whole / 3 && part < whole / 2, "\(part) of \(whole)")
      }
    }
  }

  @Test("two sharings of the same file have nothing in common")
  func freshKeys() async throws {
    try await Bench.run { bench in
      let (alice, bob) = try await bench.pair()
      try alice.write(sample(5000), to: "note.txt")
      let first = try await alice.succeed("share", "note.txt", "--threshold", "2").line
      let second = try await alice.succeed("share", "note.txt", "--threshold", "2").line
      #expect(first != second)
      let fragments = try [first, second].map { try bob.read(try bob.fragment(of: $0)) }
      #expect(fragments[0].prefix(512) != fragments[1].prefix(512))
    }
  }
}
