import Foundation
import Testing

/// Templates of items, and passwords of their own (C54, C32).
@Suite("Items of all kinds") struct ItemKindsTests {
  private func withKey(_ body: (Bench, Peer, Peer) async throws -> Void) async throws {
    try await Bench.run { bench in
      let (alice, bob) = try await bench.pair()
      try await alice.succeed("key", "create", "family", "--threshold", "2")
      try await body(bench, alice, bob)
    }
  }

  @Test("a note, a contact and a password entry are encrypted as what they are, and shown as that")
  func templates() async throws {
    try await withKey { bench, alice, _ in
      let words = try bench.file("words", Array("the door code is 4711\n".utf8))
      let note = try await alice.succeed("item", "add", "family", "--note", words).line
      #expect(try await alice.succeed("item", "show", note).output == "the door code is 4711\n")

      let card = "BEGIN:VCARD\r\nVERSION:3.0\r\nFN:Ann Example\r\nN:Example;Ann;;;\r\nEND:VCARD\r\n"
      let contact = try await alice.succeed(
        "item", "add", "family", "--contact", try bench.file("ann.vcf", Array(card.utf8))
      ).line
      #expect(try await alice.succeed("item", "show", contact).output.contains("Ann Example"))

      let own = try bench.file("own", Array("s3same open".utf8))
      let entry = try await alice.succeed(
        "item", "add", "family", "--password", "--title", "mail", "--from-file", own
      ).line
      let shown = try await alice.succeed("item", "show", entry).output
      #expect(shown.contains("mail") && !shown.contains("s3same"), "\(shown)")
      #expect(try await alice.succeed("item", "show", entry, "--field", "password").line == "s3same open")
    }
  }

  @Test("what standard input brings leaves an item its name, its kind and its password")
  func piped() async throws {
    try await withKey { bench, alice, _ in
      func facts(_ item: String) async throws -> [String?] {
        let facts = try await alice.succeed("item", "list", "--json").json().first(where: "id", is: item)
        return [facts["kind"].string, facts["name"].string, facts["mediaType"].string]
      }
      let card = "BEGIN:VCARD\r\nVERSION:3.0\r\nFN:Ben Example\r\nN:Example;Ben;;;\r\nEND:VCARD\r\n"
      let key = ["--password-file", try bench.file("secret", Array("one".utf8))]
      for (arguments, text, options) in [
        (["--note", "--title", "door code"], "4711\n", []), ([], "better\n", []), ([], "locked\n", key),
        (["--contact"], card, []),
      ] {
        let before = try bench.file("letter.txt", Array(text.replacing("Ben", with: "Ann").uppercased().utf8))
        let cost = options.isEmpty ? [] : ["--password-cost", "15"]
        let item = try await alice.run(["item", "add", "family"] + arguments + [before] + options + cost).line
        let known = try await facts(item)
        let edited = try await alice.run(
          ["item", "edit", item, "--from", "-"] + options, input: Array(text.utf8))
        #expect(edited.status == 0 && edited.line != item, "\(edited)")
        #expect(try await facts(edited.line) == known, "\(edited)")
        let shown = try await alice.run(["item", "show", edited.line, "-o", "-"] + options)
        #expect(shown.output == text, "\(shown)")
        guard options.isEmpty else { continue }
        if arguments == ["--contact"] {
          let broken = try await alice.run("item", "edit", edited.line, "--from", "-", input: Array("Ben".utf8))
          #expect(broken.status == 64 && broken.complaint.contains("stays as it is"), "\(broken)")
        }
        let named = try await alice.succeed(
          "item", "edit", edited.line, "--from", "-", "--name", "new.csv", input: Array("a,b".utf8))
        #expect(try await facts(named.line) == ["file", "new.csv", "text/csv"], "\(named)")
      }
    }
  }

  @Test("an item with a password of its own takes the key and the password") func password() async throws {
    try await withKey { bench, alice, bob in
      let (right, wrong) = (try bench.file("right", Array("one".utf8)), try bench.file("wrong", Array("two".utf8)))
      let words = try bench.file("words.txt", Array("twice locked".utf8))
      let item = try await alice.succeed(
        "item", "add", "family", words, "--password-file", right, "--password-cost", "15"
      ).line
      try await alice.succeed("item", "send", item, "bob")
      let denied = try await alice.run("item", "show", item, "-o", "-", "--password-file", wrong)
      #expect(denied.status == 10, "\(denied)")
      #expect(denied.output.isEmpty)
      #expect(
        try await alice.succeed("item", "show", item, "-o", "-", "--password-file", right).output == "twice locked")
      try await bob.succeed("item", "accept", item)
      #expect(try await bob.succeed("item", "show", item, "-o", "-", "--password-file", right).output == "twice locked")
    }
  }
}
