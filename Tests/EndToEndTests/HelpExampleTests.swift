import Foundation
import Testing

@Suite("The examples of --help")
struct HelpExampleTests {
  /// The commands of which examples are typed here, each where it finds what the ones before have made. The others need
  /// servers of groups or accounts, or somebody who was introduced.
  private static let commands = [
    "init", "id", "device", "device show", "status", "settings", "settings get", "settings list", "settings set",
    "device log", "backup create",
    "licences", "peer ping", "peer show", "peer", "peer add", "peer rename", "peer remove", "peer scan", "share",
    "note",
    "password", "contact", "list", "secret show", "recover", "daemon", "unlock",
    "lock", "device passphrase", "secret deliver", "check", "secret reshare", "secret delete", "message inbox",
    "message outbox", "carry", "carry status", "carry on",
    "carry off",
    "carry limits", "secret policy", "key", "key create", "key list", "key recipient", "key identity", "item",
    "item add",
    "item list", "item show",
    "item export", "item import", "item send", "item copy", "item edit", "item qr", "item delete", "encrypt", "decrypt",
    "item accept", "url", "send", "message", "message list", "message show", "message delete",
    "requests", "requests list", "group list", "peer address", "backup restore", "settings reset",
  ]

  /// What examples ask for that isn't here: a camera, a radio, a lost device, requests of others, and what others have sent.
  private static let missing = [
    "--camera", "--near", "--replaces", "--kit", "backup kit", "requests approve", "requests refuse", "message save",
  ]

  /// What is there before: files, and programs of others that the examples name.
  private static let preparation = #"""
    cd "$HOME"; mkdir -p photos letters media
    echo one >note.txt; echo two >keys.txt; echo three >letter.txt; echo four >photos/one.jpg; echo five >letters/a.txt
    head -c 2000000 /dev/zero >video.mp4; cp bob.png photo.jpg; cp bob-phone.png better.jpg; cp bob.png beach.jpg
    printf 'BEGIN:VCARD\r\nVERSION:3.0\r\nFN:Dr. Who\r\nEND:VCARD\r\n' >doctor.vcf
    cat >tools/editor <<'END'
    #!/bin/sh
    [ -s "$1" ] && sed -i 's/[a-z0-9]$/&x/' "$1" || echo 1234 >"$1"
    END
    printf '#!/bin/sh\necho abcd\n' >tools/pwgen
    printf '#!/bin/sh\ncat >"$HOME/mailed"\n' >tools/mail
    printf '#!/bin/sh\nshift\nVAULT_HOME=$BOB exec "$@"\n' >tools/ssh
    chmod +x tools/*; export EDITOR="$HOME/tools/editor"; unset VISUAL
    """#

  /// Questions, and what is typed then.
  private static let answers: [(question: String, answer: String)] = [
    (" Type yes to go on: ", "yes\n"), ("What is that? [", "\n"), ("]: ", "1\n"), ("(may be empty): ", "\n"),
    ("this secret: ", "open sesame\n"),
    ("to confirm: ", "open sesame\n"), ("New passphrase: ", "open sesame\n"), ("Passphrase: ", "open sesame\n"),
    ("Name: ", "Dr. Who\n"),
  ]

  @Test("those that need no more than peers work one after the other, as they are printed") func inSequence()
    async throws
  {
    try await Bench.run { bench in
      let alice = try Peer("Alice", bench)
      let friends = try await bench.friends(["Bob", "Carol", "Dave"])
      let bob = friends[0]
      let shell = try await ShellSession(alice, listening: "\(bench.host):0")
      try Data(Self.preparation.utf8).write(to: URL(fileURLWithPath: alice.folder + "/preparation"))
      let others = [try Peer("phone", bench), try Peer("tablet", bench)]
      for other in others { try await other.initialise() }
      try await bob.succeed("id", "--png", alice.folder + "/bob.png")
      try await others[0].succeed("id", "--png", alice.folder + "/bob-phone.png")
      let text = try await others[1].card()
      let prepared = try await shell.type("BOB='\(bob.home)' && export BOB && . ./preparation")
      try #require(prepared.status == 0, "\(prepared)")
      try await shell.type("vault init --label Alice --no-passphrase --address alice.example.org:4721")
      let card = try await alice.card()
      for friend in friends {
        try await alice.succeed("peer", "add", try await friend.card())
        if friend !== bob { try await friend.succeed("peer", "add", card) }
      }
      // A clipboard that is the terminal's is wiped by the command itself, which waits for that.
      try await alice.succeed("settings", "set", "clipboard-seconds", "10")
      var daemon: pid_t?
      for command in Self.commands {
        switch command {
        case "peer scan": try await alice.succeed("peer", "remove", "phone", "--yes")
        case "message": try await Self.send(upTo: 13, from: alice)
        case "backup restore":
          let number = try #require(daemon)
          try await shell.type("kill \(number); while vault status | grep -q 'running since'; do sleep 0.2; done")
          try FileManager.default.removeItem(atPath: alice.home + "/data")
        default: break
        }
        let examples = try await Self.examples(of: command, alice)
        #expect(!examples.isEmpty, "\(command)")
        // The second one is typed instead of the first.
        for example in command == "daemon" ? Array(examples.prefix(1)) : examples {
          var typed = example.replacing("/media/usb/", with: alice.folder + "/media/")
          typed = typed.replacing("vaultpeer1…", with: text)
          if command == "init" { typed = "VAULT_HOME='\(alice.folder)/second' \(typed)" }
          let result = try await shell.type(typed, answers: Self.answers)
          #expect(result.status == 0, "\(command): \(result)")
          if let match = result.screen.firstMatch(of: /ends with: kill ([0-9]+)/) {
            daemon = pid_t(match.1)
            bench.adopt(try #require(daemon))
          }
        }
      }
    }
  }

  /// Sends messages until there is one of the last number.
  private static func send(upTo last: Int, from peer: Peer) async throws {
    let first = try await peer.succeed("message", "list", "--json").json().array.compactMap { $0["number"].int }.max()
    for _ in (first ?? 0) + 1...last { try await peer.succeed("send", "Bob", "hello") }
  }

  /// The lines that a command's help gives as examples, each with those that it goes on in.
  private static func examples(of command: String, _ peer: Peer) async throws -> [String] {
    let help = try await peer.run(command.components(separatedBy: " ") + ["--help"]).output
    let lines = help.components(separatedBy: "\n").drop { !$0.hasPrefix("Example") }
    let part = lines.prefix { !$0.isEmpty }.map { line in
      line.replacing(#/^Examples?: /#, with: "").trimmingCharacters(in: .whitespaces)
    }
    return part.joined(separator: "\n").replacing(#/ \\\n/#, with: " ").components(separatedBy: "\n").filter { line in
      !line.isEmpty && !missing.contains { line.contains($0) }
    }
  }
}
