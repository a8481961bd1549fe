import Foundation
import Testing

@Suite("Notes, passwords and contacts")
struct KindsTests {
  static let card =
    "BEGIN:VCARD\r\nVERSION:3.0\r\nFN:Dr. Grey\r\nN:Grey;Ann;;Dr.;\r\nTEL;TYPE=work:+49 1\r\n"
    + "TEL;TYPE=home:+49 \r\n 2\r\nNOTE:ring twice\\, then wait\r\nEND:VCARD\r\n"

  @Test("a note is listed as one, shown on recovery, and written with -o only")
  func note() async throws {
    try await Bench.run { bench in
      let (alice, bob) = try await bench.pair()
      let text = "under the third stone\nnot the second\n"
      let shared = try await alice.succeed(
        "note", "-", "--threshold", "2", "--title", "where it is", "--description", "stones",
        input: Array(text.utf8))
      #expect(try await bob.succeed("list", "--json").json()[0]["kind"].string == "note")
      #expect(try await bob.succeed("secret", "show", shared.line, "--json").json()["secret"]["kind"].string == "note")
      let shown = try await bob.succeed("recover", "stones")
      #expect(shown.output == "title: where it is\n\n" + text)
      #expect(try await bob.succeed("recover", "stones", "--fields").lines == ["title", "text"])
      #expect(try await bob.succeed("recover", "stones", "--field", "title").output == "where it is\n")
      #expect(try bob.files() == [])
      #expect(try await bob.succeed("recover", "stones", "-o", ".").line == "./where it is.txt")
      try bob.expect("where it is.txt", toHold: Array(text.utf8))
      let fields = try await bob.succeed("recover", "stones", "--json").json()["fields"]
      #expect(fields["title"].string == "where it is" && fields["text"].string == text)
    }
  }

  @Test("what is no text is no note")
  func noText() async throws {
    try await Bench.run { bench in
      let (alice, _) = try await bench.pair()
      let outcome = try await alice.run("note", "-", "--threshold", "2", input: [0x66, 0xFF, 0x00])
      #expect(outcome.status == 64 && outcome.complaint.contains("UTF-8"))
      #expect(try await alice.succeed("list", "--json").json().array.isEmpty)
    }
  }

  @Test("a generated password is hidden until it is asked for")
  func generated() async throws {
    try await Bench.run { bench in
      let (alice, bob) = try await bench.pair()
      let notes = try bench.file("notes", Array("ask twice".utf8))
      let shared = try await alice.succeed(
        "password", "--threshold", "2", "--title", "mail", "--user", "ada", "--url", "https://m.example", "--notes",
        notes,
        "--length", "24", "--alphabet", "hex", "--show")
      let line = try #require(shared.complaints.first { $0.hasPrefix("password: ") })
      let password = String(line.dropFirst("password: ".count))
      #expect(password.wholeMatch(of: /[0-9a-f]{24}/) != nil)
      #expect(shared.line.count == 32, "standard output is for the id")
      let hidden = try await bob.succeed("recover")
      #expect(hidden.lines.contains("user: ada") && hidden.lines.contains("notes: ask twice"))
      #expect(!hidden.output.contains(password) && !hidden.complaint.contains(password))
      #expect(try await bob.succeed("recover", "--show").lines.contains("password: " + password))
      #expect(try await bob.succeed("recover", "--field", "password").line == password)
      #expect(try await bob.succeed("recover", "--json").json()["fields"]["password"].isNull)
      #expect(
        try await bob.succeed("recover", "--json", "--field", "password").json()["value"].string == password)
      try await bob.succeed("recover", "-o", "entry.json")
      let entry = try JSON(parsing: Data(bob.read("entry.json")))
      #expect(entry["password"].string == password && entry["url"].string == "https://m.example")
      #expect(entry.keys == ["title", "user", "password", "url", "notes"])
    }
  }

  @Test("a password of one's own is read from a descriptor or typed twice")
  func own() async throws {
    try await Bench.run { bench in
      let (alice, bob) = try await bench.pair()
      let file = try bench.file("own", Array("corr3ct h\"orse\n".utf8))
      let shared = try await alice.run(
        "password", "--threshold", "2", "--title", "t", "--description", "given", "--from-fd", "3",
        descriptors: [3: file])
      #expect(shared.status == 0, "\(shared)")
      #expect(try await bob.succeed("recover", "given", "--field", "password").line == "corr3ct h\"orse")
      let terminal = try PseudoTerminal(
        alice, ["password", "--threshold", "2", "--title", "t", "--description", "typed", "--typed", "--yes"])
      try await terminal.expect("Password to keep: ")
      terminal.type("hunter2\n")
      try await terminal.expect("to confirm: ")
      terminal.type("hunter2\n")
      #expect(try await terminal.end() == 0)
      #expect(!terminal.screen.contains("hunter2"))
      #expect(try await bob.succeed("recover", "typed", "--field", "password").line == "hunter2")
    }
  }

  @Test("a contact goes in and out as the same vCard, and is shown line by line")
  func contact() async throws {
    try await Bench.run { bench in
      let (alice, bob) = try await bench.pair()
      try alice.write(Array(Self.card.utf8), to: "grey.vcf")
      try await alice.succeed("contact", "grey.vcf", "--threshold", "2")
      #expect(
        try await bob.succeed("recover").lines == [
          "name: Dr. Grey", "phone (work): +49 1", "phone-2 (home): +49 2", "note: ring twice, then wait",
        ])
      #expect(try await bob.succeed("recover", "--field", "phone-2").line == "+49 2")
      #expect(try await bob.succeed("recover", "--field", "full-name").line == "Grey, Ann, Dr.")
      #expect(try await bob.succeed("recover", "-o", ".").line == "./Dr. Grey.vcf")
      try bob.expect("Dr. Grey.vcf", toHold: Array(Self.card.utf8))
      let missing = try await bob.run("recover", "--field", "email")
      #expect(missing.status == 1 && missing.complaint.contains("phone-2"))
    }
  }

  @Test("a contact is asked for on a terminal")
  func asked() async throws {
    try await Bench.run { bench in
      let (alice, bob) = try await bench.pair()
      let terminal = try PseudoTerminal(alice, ["contact", "--threshold", "2"])
      try await terminal.expect("What is that? [contact of ")
      terminal.type("Sky\n")
      try await terminal.expect("Name: ")
      terminal.type("Sky; Ltd\n")
      try await terminal.expect("Phone")
      terminal.type("123\n")
      for question in ["E-mail", "Organization", "Web page", "Note"] {
        try await terminal.expect(question)
        terminal.type("\n")
      }
      try await terminal.expect("Type yes")
      terminal.type("yes\n")
      #expect(try await terminal.end() == 0)
      #expect(try await bob.succeed("list", "--json").json()[0]["description"].string == "Sky")
      let card = try await bob.succeed("recover", "-o", "-").output
      #expect(card == "BEGIN:VCARD\r\nVERSION:4.0\r\nFN:Sky\\; Ltd\r\nTEL:123\r\nEND:VCARD\r\n")
    }
  }

  @Test(
    "what is no vCard is refused",
    arguments: ["hello", "BEGIN:VCARD\nVERSION:2.1\nFN:x\nEND:VCARD\n", "BEGIN:VCARD\nVERSION:4.0\nEND:VCARD\n"])
  func noCard(text: String) async throws {
    try await Bench.run { bench in
      let (alice, _) = try await bench.pair()
      let outcome = try await alice.run("contact", "-", "--threshold", "2", input: Array(text.utf8))
      #expect(outcome.status == 64 && outcome.complaint.contains("standard input"))
    }
  }

  @Test("a terminal is shown a note without what it would obey")
  func terminal() async throws {
    try await Bench.run { bench in
      let (alice, bob) = try await bench.pair()
      try await alice.succeed("note", "-", "--threshold", "2", input: Array("a\u{1B}[2Jb\n\tc\n".utf8))
      let terminal = try PseudoTerminal(bob, ["recover"])
      try await terminal.expect("a\\u{1b}[2Jb\r\n\tc")
      #expect(try await terminal.end() == 0)
    }
  }

  @Test("every way out in the clear carries a warning")
  func warning() async throws {
    try await Bench.run { bench in
      let (alice, bob) = try await bench.pair()
      try alice.write([1, 2, 3], to: "f")
      try await alice.succeed("share", "f", "--threshold", "2", "--description", "file")
      try await alice.succeed("note", "-", "--threshold", "2", "--description", "note", input: [0x61])
      for arguments in [["recover", "file", "--force"], ["recover", "note", "-o", "n", "--force"]] {
        let outcome = try await bob.run(arguments)
        #expect(outcome.status == 0 && outcome.complaint.contains("warning: it lies in the clear in"))
        let quiet = try await bob.run(arguments + ["--quiet"])
        #expect(quiet.status == 0 && quiet.complaint.isEmpty)
      }
      #expect(try await bob.succeed("recover", "file", "-o", "-").complaint.contains("in the clear"))
      #expect(try await bob.succeed("recover", "note").complaint.contains("in the clear"))
    }
  }
}
