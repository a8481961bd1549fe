import Foundation
import Testing

@Suite("Sizes and names")
struct SizesAndNamesTests {
  @Test(
    "a file of any size comes back byte by byte, on a holder's device and on the dealer's",
    arguments: [0, 1, 1024, 65_535, 65_536, 70_000, 5 << 20])
  func sizes(count: Int) async throws {
    try await Bench.run { bench in
      let (alice, bob, _) = try await bench.trio()
      let bytes = sample(count)
      try alice.write(bytes, to: "original")
      let id = try await alice.succeed("share", "original", "--threshold", "2").line
      for peer in [alice, bob] {
        try await peer.succeed("recover", id, "-o", "copy")
        try peer.expect("copy", toHold: bytes)
      }
    }
  }

  @Test("a file larger than one stripe of all holders comes back from any two of four")
  func large() async throws {
    try await Bench.run { bench in
      let (alice, bob, carol, dave) = try await bench.quartet()
      let bytes = sample(24 << 20)
      try alice.write(bytes, to: "original")
      let id = try await alice.succeed("share", "original", "--threshold", "2", timeLimit: 180).line
      try await alice.stopDaemon(SIGKILL)
      try await bob.stopDaemon(SIGKILL)
      try await dave.succeed("recover", id, "-o", "copy", timeLimit: 180)
      try dave.expect("copy", toHold: bytes)
      try await carol.stopDaemon()
      #expect(try await dave.run("recover", id, "-o", "again").status == 4)
    }
  }

  @Test("a long name comes back whole, and a hidden file's name is told where it is not used")
  func names() async throws {
    try await Bench.run { bench in
      let (alice, bob) = try await bench.pair()
      let bytes = sample(100)
      let long = String(repeating: "ä", count: 125) + ".text"
      try alice.write(bytes, to: long)
      try alice.write(bytes, to: ".env")
      let first = try await alice.succeed("share", long, "--threshold", "2", "--description", "long")
      let whole = try await bob.succeed("recover", first.line)
      #expect(whole.line == "./" + long && !whole.complaint.contains("its own name"), "\(whole)")
      try bob.expect(long, toHold: bytes)
      let second = try await alice.succeed("share", ".env", "--threshold", "2")
      let hidden = try await bob.succeed("recover", second.line, "--quiet")
      #expect(hidden.line == "./env" && hidden.complaint.contains("its own name is '.env'"), "\(hidden)")
      try bob.expect("env", toHold: bytes)
      let facts = try await bob.succeed("recover", second.line, "--force", "--json").json()
      #expect(facts["originalName"].string == ".env" && facts["suggestedName"].string == "env")
      let chosen = try await bob.succeed("recover", second.line, "-o", ".env", "--json")
      #expect(try chosen.json()["originalName"].isNull && !chosen.complaint.contains("its own name"), "\(chosen)")
      try bob.expect(".env", toHold: bytes)
    }
  }

  @Test("an item is called as its file was, with a dot in front, too, and comes out under a name that shows")
  func items() async throws {
    try await Bench.run { bench in
      let (alice, bob) = try await bench.pair()
      try await alice.succeed("key", "create", "family", "--threshold", "2")
      try alice.write(sample(100), to: ".env")
      try await alice.succeed("item", "add", "family", ".env")
      #expect(try await alice.succeed("item", "list", "--json").json()[0]["name"].string == ".env")
      let shown = try await alice.succeed("item", "show", ".env", "-o", bob.folder)
      #expect(shown.line == bob.folder + "/env" && shown.complaint.contains("its own name is '.env'"), "\(shown)")
      let exported = try await alice.succeed("item", "export", ".env")
      #expect(exported.line == "./env.vaultitem", "\(exported)")
      try await alice.succeed("item", "add", "family", "--note", "-", "--title", "door code", input: Array("1234".utf8))
      #expect(try await alice.succeed("item", "show", "door code").output.contains("1234"))
    }
  }

  @Test("standard input is shared and standard output takes the recovered bytes, zero bytes and all")
  func streams() async throws {
    try await Bench.run { bench in
      let (alice, bob) = try await bench.pair()
      let bytes = [0, 10, 13, 0, 255, 27] + sample(200_000)
      let id = try await alice.succeed("share", "-", "--threshold", "2", input: bytes).line
      let recovered = try await bob.succeed("recover", id, "-o", "-")
      let isSame = recovered.bytes == bytes
      #expect(isSame)
      #expect(try bob.files().isEmpty)
    }
  }

  @Test("a pipe of unknown length is shared and recovered into a pipe")
  func pipes() async throws {
    try await Bench.run { bench in
      let (alice, bob) = try await bench.pair()
      try alice.write(sample(300_000), to: "original")
      let id = try await alice.shell("cat original | \"$VAULT\" share - --threshold 2 --description pipe")
      #expect(id.status == 0, "\(id)")
      let recovered = try await bob.shell("\"$VAULT\" recover pipe -o - | cat > copy")
      #expect(recovered.status == 0, "\(recovered)")
      try bob.expect("copy", toHold: sample(300_000))
    }
  }

  @Test("an empty standard input is a secret too")
  func emptyStream() async throws {
    try await Bench.run { bench in
      let (alice, bob) = try await bench.pair()
      try await alice.succeed("share", "-", "--threshold", "2", input: [])
      #expect(try await bob.succeed("recover", "-o", "-").bytes.isEmpty)
    }
  }

  @Test(
    "a file keeps its name, whatever Unicode it is",
    arguments: ["naïve résumé.txt", "秘密.txt", "🔐 clés.bin", "with 'quotes' & $dollars.txt", "UPPER.TXT", "שלום.txt"])
  func names(name: String) async throws {
    try await Bench.run { bench in
      let (alice, bob) = try await bench.pair()
      try alice.write(sample(100), to: name)
      try await alice.succeed("share", name, "--threshold", "2")
      let recovered = try await bob.succeed("recover")
      #expect(try bob.files() == [name])
      try bob.expect(recovered.line, toHold: sample(100))
    }
  }

  @Test("a name that would hide the file or steer a terminal is made harmless")
  func sanitisedNames() async throws {
    try await Bench.run { bench in
      let (alice, bob) = try await bench.pair()
      for name in [".bashrc", "a\u{1b}[31m\nb.txt", "invoice\u{202e}fdp.exe"] {
        try alice.write(sample(100), to: name)
        let id = try await alice.succeed("share", name, "--threshold", "2").line
        try await bob.succeed("recover", id)
        let written = try bob.files()
        #expect(written.count == 1)
        let scalars = try #require(written.first).unicodeScalars
        #expect(scalars.first != ".")
        #expect(!scalars.contains { $0.properties.generalCategory == .control || $0.value == 0x202e }, "\(written)")
        try FileManager.default.removeItem(atPath: bob.folder + "/" + written[0])
      }
    }
  }

  @Test("people, descriptions and folders may have any name")
  func peopleAndFolders() async throws {
    try await Bench.run { bench in
      let names = ["Zoë 🦊", "李 雷"]
      let peers = try await bench.friends(names)
      let folder = try peers[0].makeFolder("Ordner mit Ümläuten")
      try Data(sample(100)).write(to: URL(fileURLWithPath: folder + "/ä.txt"))
      try await peers[0].succeed(
        "share", "Ordner mit Ümläuten/ä.txt", "--threshold", "2", "--to", names[1], "--description", "\"Größe\"")
      let target = try peers[1].makeFolder("目的地")
      let recovered = try await peers[1].succeed("recover", "\"Größe\"", "-o", target)
      try peers[1].expect(recovered.line, toHold: sample(100))
      #expect(try FileManager.default.contentsOfDirectory(atPath: target) == ["ä.txt"])
    }
  }
}
