import Foundation
import Testing

@Suite("Public keys as text and pictures")
struct IdentityTests {
  @Test("into a pipe goes the text form, one line in bech32m that begins with vaultpeer1")
  func text() async throws {
    try await Bench.run { bench in
      let alice = try await bench.peer("alice")
      let plain = try await alice.succeed("id").line
      #expect(plain.wholeMatch(of: /vaultpeer1[qpzry9x8gf2tvdw0s3jn54khce6mua7l]+/) != nil)
      #expect(try await alice.succeed("id", "--text").line == plain)
      #expect(try await alice.succeed("id", "--json").json()["text"].string == plain)
    }
  }

  @Test("the fingerprint is five groups of five digits, the same on both devices")
  func fingerprint() async throws {
    try await Bench.run { bench in
      let (alice, bob) = try await bench.pair()
      let own = try #require(try await bob.succeed("id", "--json").json()["fingerprint"].string)
      #expect(own.wholeMatch(of: /[0-9]{5}( [0-9]{5}){4}/) != nil, "\(own)")
      #expect(try await alice.succeed("peer", "show", "bob").output.contains(own))
    }
  }

  @Test("the PNG is a picture that vault peer scan reads, and peer add imports")
  func picture() async throws {
    try await Bench.run { bench in
      let alice = try await bench.peer("alice")
      let bob = try await bench.peer("bob")
      let written = try await alice.succeed("id", "--png", "alice.png", "--address", "127.0.0.1:4721")
      #expect(written.output.isEmpty, "\(written)")
      #expect(try alice.read("alice.png").starts(with: [0x89, 0x50, 0x4E, 0x47]))
      let path = alice.folder + "/alice.png"
      let scanned = try await bob.succeed("peer", "scan", path, "--json").json()[0]
      #expect(scanned["isCard"].bool == true)
      #expect(scanned["label"].string == "alice")
      #expect(scanned["peer"].isNull)
      #expect(scanned["fingerprint"].string == (try await alice.succeed("id", "--json").json()["fingerprint"].string))
      #expect(try await bob.succeed("peer", "scan", path).line.lowercased().hasPrefix("vaultpeer1"))
      #expect(try await bob.succeed("peer", "list", "--json").json().array.isEmpty)
      #expect(try await bob.succeed("peer", "add", path).line == "alice")
      let peer = try await bob.succeed("peer", "show", "alice", "--json").json()
      #expect(peer["addresses"].strings == ["127.0.0.1:4721"])
      #expect(try await bob.succeed("peer", "scan", path, "--json").json()[0]["peer"].string == "alice")
    }
  }

  @Test("the SVG is a well-formed document")
  func svg() async throws {
    try await Bench.run { bench in
      let alice = try await bench.peer("alice")
      try await alice.succeed("id", "--svg", "alice.svg")
      let text = String(decoding: try alice.read("alice.svg"), as: UTF8.self)
      #expect(text.contains("<svg") && text.contains("http://www.w3.org/2000/svg"))
      #expect(text.hasSuffix("</svg>\n") || text.hasSuffix("</svg>"))
    }
  }

  @Test("a card is imported from an argument, upper case too, from a file, and from standard input")
  func sources() async throws {
    try await Bench.run { bench in
      let alice = try await bench.peer("alice")
      let card = try await alice.card()
      let picture = try await alice.succeed("id", "--png", "alice.png")
      try #require(picture.status == 0)
      let png = try alice.read("alice.png")
      for (number, way) in ["argument", "upper case", "file", "input", "picture on input"].enumerated() {
        let other = try await bench.peer("other-\(number)")
        try other.write(Array((card + "\r\n").utf8), to: "card")
        switch way {
        case "argument": try await other.succeed("peer", "add", card)
        case "upper case": try await other.succeed("peer", "add", card.uppercased())
        case "file": try await other.succeed("peer", "add", "card")
        case "input": try await other.succeed("peer", "add", "-", input: Array(card.utf8))
        default: try await other.succeed("peer", "add", "-", input: png)
        }
        #expect(try await other.succeed("peer", "list", "--json").json()[0]["label"].string == "alice", "\(way)")
      }
    }
  }

  @Test("a card with one changed letter is refused")
  func typingError() async throws {
    try await Bench.run { bench in
      let alice = try await bench.peer("alice")
      let bob = try await bench.peer("bob")
      let card = try await alice.card()
      for position in [10, 40, card.count - 1] {
        var letters = Array(card)
        letters[position] = letters[position] == "q" ? "p" : "q"
        let outcome = try await bob.run("peer", "add", String(letters))
        #expect(outcome.status == 8, "\(outcome)")
      }
      for broken in [
        "vaultpeer1", String(card.dropLast(6)), card + card, "vaultpeer1" + String(repeating: "q", count: 60_000),
      ] {
        #expect(try await bob.run("peer", "add", broken).status == 8)
      }
      #expect(try await bob.succeed("peer", "list", "--json").json().array.isEmpty)
    }
  }

  @Test("a file that is no picture, a cut one, or one without a code is an error that names it")
  func brokenPictures() async throws {
    try await Bench.run { bench in
      let alice = try await bench.peer("alice")
      let bob = try await bench.peer("bob")
      try await alice.succeed("id", "--png", "alice.png")
      let png = try alice.read("alice.png")
      let files: [(String, [UInt8])] = [
        ("empty", []), ("noise", sample(5000)), ("cut.png", Array(png.prefix(png.count / 2))),
        ("head.png", Array(png.prefix(20))), ("lies.jpg", [0xFF, 0xD8, 0xFF, 0xE0] + sample(400)),
        ("text.txt", Array("hello".utf8)),
      ]
      for (name, bytes) in files {
        try bob.write(bytes, to: name)
        for command in [["peer", "add", name], ["peer", "scan", name]] {
          let outcome = try await bob.run(command)
          #expect([1, 8, 64].contains(outcome.status), "\(outcome)")
          #expect(outcome.output.isEmpty)
          #expect(outcome.complaint.contains(name), "\(outcome)")
        }
      }
      #expect(try await bob.run("peer", "add", "missing.png").status == 1)
      #expect(try await bob.succeed("peer", "list", "--json").json().array.isEmpty)
    }
  }

  @Test("vault-scan prints what a code holds, and is found beside vault or in libexec")
  func helper() async throws {
    try await Bench.run { bench in
      let alice = try await bench.peer("alice")
      try await alice.succeed("id", "--png", "alice.png")
      let raw = try await bench.start(Bench.vaultScan, [alice.folder + "/alice.png"]).end(within: 180)
      #expect(raw.output.wholeMatch(of: /qr [0-9]+ [A-Za-z0-9+\/=]+\n/) != nil, "\(raw)")
      let manager = FileManager.default
      let prefix = bench.folder + "/prefix"
      for folder in ["bin", "libexec"] {
        try manager.createDirectory(atPath: prefix + "/" + folder, withIntermediateDirectories: true)
      }
      try manager.copyItem(atPath: Bench.vault, toPath: prefix + "/bin/vault")
      let without = try await bench.start(prefix + "/bin/vault", ["peer", "scan", alice.folder + "/alice.png"]).end(
        within: 180)
      #expect(without.status == 1 && without.complaint.contains("vault-scan"), "\(without)")
      let helper = prefix + "/libexec/vault-scan"
      try manager.copyItem(atPath: Bench.vaultScan, toPath: helper)
      // Once nobody else has the copy open any more, whom another test was starting just now.
      #expect(try await bench.start(helper, [alice.folder + "/alice.png"]).end(within: 180).bytes == raw.bytes)
      let with = try await bench.start(prefix + "/bin/vault", ["peer", "scan", alice.folder + "/alice.png"]).end(
        within: 180)
      #expect(with.status == 0, "\(with)")
    }
  }

  @Test("scanning one's own code says so instead of suggesting to import it")
  func ownCode() async throws {
    try await Bench.run { bench in
      let alice = try await bench.peer("alice")
      try await alice.succeed("id", "--png", "alice.png")
      let outcome = try await alice.succeed("peer", "scan", "alice.png")
      #expect(outcome.complaint.contains("own card"), "\(outcome)")
      #expect(!outcome.complaint.contains("peer add"), "\(outcome)")
    }
  }
}
