import Foundation
import PeerAuth
import Testing
import VaultProtocol

@Suite("The contract with scripts")
struct ContractTests {
  @Test("share prints the id and recover the path on standard output, nothing else")
  func results() async throws {
    try await Bench.run { bench in
      let (alice, bob) = try await bench.pair()
      try alice.write(sample(3000), to: "note.txt")
      let shared = try await alice.succeed("share", "note.txt", "--threshold", "2")
      #expect(shared.output.wholeMatch(of: /[0-9a-f]{32}\n/) != nil, "\(shared)")
      let recovered = try await bob.succeed("recover", shared.line)
      #expect(recovered.lines.count == 1)
      #expect(recovered.line.hasSuffix("note.txt"))
      try bob.expect(recovered.line, toHold: sample(3000))
    }
  }

  @Test("share shows on standard error how many shares there are, how many are needed, and who gets one")
  func plan() async throws {
    try await Bench.run { bench in
      let (alice, _, _) = try await bench.trio()
      try alice.write(sample(100), to: "note.txt")
      let shared = try await alice.succeed("share", "note.txt", "--threshold", "2")
      for word in ["2", "3", "bob", "carol"] { #expect(shared.complaint.contains(word), "\(shared)") }
    }
  }

  @Test("where the vault is, --home says before VAULT_HOME, that before XDG_DATA_HOME, and that before HOME")
  func places() async throws {
    try await Bench.run { bench in
      let alice = try await bench.peer("alice")
      func place(_ variables: String, _ options: String = "") async throws -> String {
        try await alice.shell("env -i \(variables) \"$VAULT\" list \(options)").complaint
      }
      #expect(try await place("HOME=/h").contains("no vault in /h/.local/share/vault\n"))
      #expect(try await place("HOME=/h XDG_DATA_HOME=/x").contains("no vault in /x/vault\n"))
      #expect(try await place("HOME=/h XDG_DATA_HOME=/x VAULT_HOME=/v").contains("no vault in /v/data\n"))
      #expect(try await place("HOME=/h VAULT_HOME=/v", "--home /o").contains("no vault in /o/data\n"))
      #expect(try await place("").contains("neither --home, nor VAULT_HOME, nor HOME"))
    }
  }

  @Test("share without --to takes every authenticated peer")
  func defaultRecipients() async throws {
    try await Bench.run { bench in
      let (alice, bob, carol) = try await bench.trio()
      try alice.write(sample(100), to: "note.txt")
      let id = try await alice.succeed("share", "note.txt", "--threshold", "3").line
      for peer in [alice, bob, carol] {
        #expect(try await peer.succeed("list", "--json").json().first(where: "id", is: id)["shareCount"].int == 3)
      }
    }
  }

  @Test("share with --to takes these peers only")
  func chosenRecipients() async throws {
    try await Bench.run { bench in
      let (alice, bob, carol) = try await bench.trio()
      try alice.write(sample(100), to: "note.txt")
      let id = try await alice.succeed("share", "note.txt", "--threshold", "2", "--to", "carol").line
      #expect(try await carol.succeed("list", "--json").json()[0]["id"].string == id)
      #expect(try await bob.succeed("list", "--json").json().array.isEmpty)
    }
  }

  @Test("--quiet leaves standard error empty when all is well")
  func quiet() async throws {
    try await Bench.run { bench in
      let (alice, bob, _) = try await bench.trio()
      try alice.write(sample(3000), to: "note.txt")
      let commands: [(Peer, [String])] = [
        (alice, ["id", "--png", "alice.png"]), (alice, ["id", "--svg", "alice.svg"]),
        (alice, ["peer", "scan", "alice.png"]),
        (alice, ["peer", "list"]), (alice, ["peer", "ping", "bob"]), (alice, ["peer", "rename", "bob", "Bob"]),
        (alice, ["peer", "address", "Bob", bob.address]), (bob, ["peer", "add", try await alice.card()]),
        (alice, ["share", "note.txt", "--threshold", "2"]), (alice, ["secret", "deliver"]), (alice, ["list"]),
        (bob, ["recover", "-o", "copy"]), (bob, ["settings", "list"]), (bob, ["settings", "set", "quota-shares", "5"]),
        (bob, ["device", "log"]),
      ]
      for (peer, arguments) in commands {
        let outcome = try await peer.run(arguments + ["--quiet"])
        #expect(outcome.status == 0, "\(outcome)")
        #expect(outcome.complaint.isEmpty, "\(outcome)")
      }
      let fresh = try Peer("erin", bench)
      let made = try await fresh.succeed("init", "--no-passphrase", "--label", "erin", "--quiet")
      #expect(made.output.isEmpty && made.complaint.isEmpty, "\(made)")
    }
  }

  @Test("--home and VAULT_HOME name the vault, and --home wins")
  func homes() async throws {
    try await Bench.run { bench in
      let alice = try await bench.peer("alice")
      let other = bench.folder + "/other home"
      try await alice.succeed("init", "--no-passphrase", "--label", "other", "--home", other)
      #expect(try await alice.succeed("id", "--json", "--home", other).json()["label"].string == "other")
      #expect(try await alice.succeed("id", "--json").json()["label"].string == "alice")
    }
  }

  @Test("without --home and VAULT_HOME the vault lies in the XDG folders")
  func usualFolders() async throws {
    try await Bench.run { bench in
      let folder = bench.folder + "/user"
      try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
      let made = try await bench.start(
        Bench.vault, ["init", "--no-passphrase", "--label", "alice"], environment: ["HOME": folder]
      ).end(within: 180)
      #expect(made.status == 0, "\(made)")
      for path in [".local/share/vault/vault.db", ".local/state/vault/device.key", ".local/state/vault/CACHEDIR.TAG"] {
        #expect(FileManager.default.fileExists(atPath: folder + "/" + path), "\(path)")
      }
    }
  }

  @Test(
    "a command line that makes no sense ends with 64",
    arguments: [
      ["share"], ["share", "note.txt"], ["share", "note.txt", "--threshold", "0"],
      ["share", "note.txt", "--threshold", "256"], ["share", "note.txt", "--threshold", "two"],
      ["share", "-", "--threshold", "2", "--remove-source"], ["recover", "a", "b"], ["backup"],
      ["peer", "befriend"], ["help", "befriend"], ["help", "peer", "befriend"], ["befriend", "--help"],
      ["peer", "address", "bob", "nowhere"], ["daemon", "--listen", "nowhere"], ["--frobnicate"], ["frobnicate"],
      ["init"], ["id", "--text", "--png", "x.png"], ["settings", "set", "colour", "blue"],
      ["settings", "get", "colour"],
      ["settings", "set", "listen", "nowhere"], ["settings", "set", "listen", "::1:4799"],
      ["device", "log", "--limit", "0"],
      ["list", "--passphrase-fd", "3", "--passphrase-file", "x"],
    ])
  func usage(arguments: [String]) async throws {
    try await Bench.run { bench in
      let alice = try await bench.peer("alice")
      try alice.write([1], to: "note.txt")
      let outcome = try await alice.run(arguments)
      #expect(outcome.status == 64, "\(outcome)")
      #expect(outcome.output.isEmpty, "\(outcome)")
      #expect(outcome.complaint.hasPrefix("vault: "), "\(outcome)")
    }
  }

  @Test("help about a command that doesn't exist is an error in JSON, too, and about one that does is help")
  func help() async throws {
    try await Bench.run { bench in
      let nobody = try Peer("nobody", bench)
      let unknown = try await nobody.run("help", "frob", "--json")
      #expect(unknown.status == 64 && unknown.output.isEmpty, "\(unknown)")
      #expect(try unknown.jsonError()["reason"].string == "there is no command 'frob'")
      for known in [
        ["help"], ["help", "peer", "add"], ["help", "licenses"], ["peer", "add", "--help"], ["--help"],
        ["message", "Bob", "--help"],
        ["message", "--search", "help", "--help"],
      ] {
        let outcome = try await nobody.run(known)
        #expect(outcome.status == 0 && outcome.output.contains("USAGE: vault"), "\(known): \(outcome)")
      }
    }
  }

  @Test("errors go to standard error, lower case, and say what to do next")
  func errors() async throws {
    try await Bench.run { bench in
      let nobody = try Peer("nobody", bench)
      let outcome = try await nobody.run("list")
      #expect(outcome.status == 1)
      #expect(outcome.output.isEmpty)
      #expect(outcome.complaint.hasPrefix("vault: "))
      #expect(outcome.complaint.contains("vault init"), "\(outcome)")
      let json = try await nobody.run("list", "--json")
      #expect(try json.jsonError()["code"].string == "noVault")
      #expect(try json.jsonError()["exit"].int == 1)
    }
  }

  @Test("init refuses to replace a vault")
  func secondInit() async throws {
    try await Bench.run { bench in
      let alice = try await bench.peer("alice")
      let before = try await alice.succeed("id", "--text").line
      let outcome = try await alice.run("init", "--no-passphrase", "--label", "other")
      #expect(outcome.status == 1, "\(outcome)")
      #expect(try await alice.succeed("id", "--text").line == before)
    }
  }

  @Test("a noun with nothing to list says which of its commands are needed")
  func group() async throws {
    try await Bench.run { bench in
      let outcome = try await Peer("nobody", bench).run("backup")
      #expect(outcome.status == 64 && outcome.output.isEmpty, "\(outcome)")
      #expect(outcome.complaints.count == 2 && outcome.complaint.contains("create, kit, restore"), "\(outcome)")
    }
  }

  @Test("--version, --help and no arguments at all give results", arguments: [["--version"], ["--help"], []])
  func information(arguments: [String]) async throws {
    try await Bench.run { bench in
      let outcome = try await Peer("nobody", bench).run(arguments)
      #expect(outcome.status == 0, "\(outcome)")
      #expect(outcome.output.contains("vault"))
      #expect(outcome.complaint.isEmpty)
    }
  }

  @Test("--version names version, commit, and what is spoken with peers, a line each")
  func version() async throws {
    try await Bench.run { bench in
      let lines = try await Peer("nobody", bench).succeed("--version").output.split(separator: "\n")
      try #require(lines.count == 3)
      #expect(lines[0].wholeMatch(of: /vault \d+\.\d+\.\d+/) != nil)
      #expect(lines[1].wholeMatch(of: /commit ([0-9a-f]{12}(-changed)?|unknown)/) != nil)
      #expect(lines[2] == "protocol \(Hello.currentVersion), sessions \(PeerSession.protocolName)")
    }
  }

  @Test("completion scripts exist for the usual shells", arguments: ["bash", "zsh", "fish"])
  func completions(shell: String) async throws {
    try await Bench.run { bench in
      let outcome = try await Peer("nobody", bench).succeed("--generate-completion-script", shell)
      #expect(outcome.output.contains("recover") && outcome.output.contains("threshold"))
    }
  }

  @Test("a result that can't be written is an error")
  func fullOutput() async throws {
    try await Bench.run { bench in
      let alice = try await bench.peer("alice")
      let outcome = try await alice.shell("exec \"$VAULT\" id --text > /dev/full")
      #expect(outcome.status == 1, "\(outcome)")
      #expect(!outcome.complaint.isEmpty)
    }
  }
}
