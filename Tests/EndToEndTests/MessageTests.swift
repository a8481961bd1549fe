import Foundation
import Glibc
import Testing

@Suite("Messages")
struct MessageTests {
  /// What a peer's vault says of one message.
  private func message(_ number: String, at peer: Peer) async throws -> JSON {
    try await peer.succeed("message", "show", number, "--json").json()
  }

  /// Waits until a sent message stands so.
  private func wait(
    for state: String, of number: String, at peer: Peer, _ bench: Bench,
    _ location: SourceLocation = #_sourceLocation
  ) async throws {
    try await bench.wait(every: 400, for: "message \(number) of \(peer.name) to be \(state)", location) {
      try await message(number, at: peer)["state"].string == state
    }
  }

  @Test("what was said with a removed peer is shown under its name")
  func removedPeer() async throws {
    try await Bench.run { bench in
      let (alice, bob) = try await bench.pair()
      let number = try await alice.succeed("send", "bob", "hello").line
      try await wait(for: "delivered", of: number, at: alice, bench)
      try await alice.succeed("peer", "remove", bob.name, "--yes")
      #expect(try await message(number, at: alice)["peer"].string == "bob")
      #expect(try await alice.succeed("message").output.contains("to bob"))
    }
  }

  @Test("a peer that doesn't know this device's key is said to, and the message waits")
  func oneSided() async throws {
    try await Bench.run { bench in
      let (alice, _) = try await bench.pair()
      let friends = try await bench.friends(["zoe"])
      try await alice.succeed("peer", "add", try await friends[0].card())
      let sent = try await alice.succeed("send", "zoe", "hello")
      #expect(sent.complaint.contains("warning: zoe has not imported your key"), "\(sent)")
      #expect(sent.complaint.contains("waits here for zoe"), "\(sent)")
    }
  }

  @Test("a text goes to a peer who is there, says how it came, and is read")
  func text() async throws {
    try await Bench.run { bench in
      let (alice, bob) = try await bench.pair()
      let sent = try await alice.succeed("send", "bob", "see", "you at eight: \"ü\"")
      #expect(sent.complaint.contains("delivered to bob, directly"), "\(sent)")
      let inbox = try await bob.succeed("message", "inbox", "--json").json()
      #expect(inbox.array.count == 1)
      let came = inbox[0]
      #expect(came["text"].string == "see you at eight: \"ü\"")
      #expect(came["peer"].string == "alice" && came["direction"].string == "received")
      #expect(came["state"].string == "new" && came["route"].string == "session" && came["sealed"].bool == true)
      let known = try await message(sent.line, at: alice)
      #expect(known["id"].string == came["id"].string && known["state"].string == "delivered")
      #expect(known["deliveredAt"].string != nil && known["readAt"].isNull)

      // Shown without a terminal it isn't read, unless one says so.
      #expect(try await bob.succeed("message", "inbox", "--json").json()[0]["state"].string == "new")
      #expect(try await bob.succeed("status").output.contains("1 new: see 'vault message inbox'"))
      let number = "\(try #require(came["number"].int))"
      let shown = try await bob.succeed("message", "show", number, "--mark-read")
      #expect(shown.output.contains("    see you at eight: \"ü\"\n") && shown.output.contains("directly"), "\(shown)")
      #expect(try await bob.succeed("message", "inbox", "--new", "--json").line == "[]")
      #expect(try await bob.succeed("message", "inbox", "--json").json()[0]["state"].string == "seen")
      try await wait(for: "read", of: sent.line, at: alice, bench)
    }
  }

  @Test("a message that was interrupted on its way is kept, and that is said; one that waits is deleted before it goes")
  func interrupted() async throws {
    try await Bench.run { bench in
      let (alice, bob) = try await bench.pair()
      bob.freezeDaemon()
      let sending = try alice.start(["send", "bob", "wait for me"])
      // It gives bob a few seconds.
      try await bench.atOnce(for: "bob to be asked") {
        sending.isConnected(to: bob.daemonPort)
      } then: {
        sending.signal(SIGINT)
      }
      let outcome = try await sending.end(within: 180)
      let number = try #require(try await alice.succeed("message", "--json").json()[0]["number"].int)
      #expect(outcome.status == 130, "\(outcome)")
      #expect(outcome.complaint.contains("interrupted; message \(number) is kept, and goes on by itself"), "\(outcome)")
      #expect(outcome.complaint.contains("hint: vault message delete \(number)"), "\(outcome)")
      let deleted = try await alice.succeed("message", "delete", "\(number)", "--yes")
      #expect(
        deleted.complaint.contains(
          "message \(number) waits here, and isn't sent any more, unless it is going out in this moment"), "\(deleted)")
      bob.thawDaemon()
      #expect(try await alice.succeed("message", "outbox", "--json").json()["messages"].array.isEmpty)
    }
  }

  @Test("what is sent to somebody who is away waits, and his daemon has it when it is back")
  func away() async throws {
    try await Bench.run { bench in
      let (alice, bob) = try await bench.pair()
      try await bob.stopDaemon()
      let sent = try await alice.succeed("send", "bob", "-", input: Array("line one\nline two\n".utf8))
      #expect(sent.complaint.contains("bob"), "\(sent)")
      let outbox = try await alice.succeed("message", "outbox", "--json").json()
      #expect(outbox["messages"].array.map { $0["number"].int } == [Int(sent.line)])
      #expect(try await alice.succeed("message", "outbox").output.contains("bob"))
      #expect(try await alice.succeed("status", "--json").json()["messages"]["waiting"].int == 1)
      try await bob.startDaemon()
      try await wait(for: "delivered", of: sent.line, at: alice, bench)
      #expect(
        try await bob.succeed("message", "inbox", "--json").json().array.map { $0["text"].string } == [
          "line one\nline two"
        ])
      #expect(try await alice.succeed("message", "outbox", "--json").json()["messages"].array.isEmpty)
    }
  }

  @Test("without any daemon at the sender's, the command itself delivers, and everything can be read offline")
  func offline() async throws {
    try await Bench.run { bench in
      let (alice, bob) = try await bench.pair()
      try await alice.stopDaemon()
      let sent = try await alice.succeed("send", "bob", "hello")
      try await bob.stopDaemon()
      for peer in [alice, bob] {
        let list = try await peer.succeed("message", peer === alice ? "bob" : "alice", "--json").json()
        #expect(list.array.map { $0["text"].string } == ["hello"], "\(peer.name)")
        #expect(try await peer.succeed("message").output.contains("    hello\n"))
      }
      #expect(try await message(sent.line, at: alice)["state"].string == "delivered")
    }
  }

  /// A JPEG as far as its blocks go, with these bytes for its scan.
  static func photo(of bytes: [UInt8], saying words: [UInt8] = []) -> [UInt8] {
    [0xFF, 0xD8] + words + [0xFF, 0xDA, 0, 2] + bytes.filter { $0 != 0xFF } + [0xFF, 0xD9]
  }

  @Test("where a photo was taken isn't sent with it, unless that is wanted, and nothing is sent where nobody can tell")
  func metadata() async throws {
    try await Bench.run { bench in
      let (alice, bob) = try await bench.pair()
      let place = Array("Exif\0\0N 48.2082 E 16.3738".utf8)
      let said = Self.photo(of: sample(5000), saying: [0xFF, 0xE1, 0, UInt8(place.count + 2)] + place)
      try alice.write(said, to: "beach.jpg")
      /// They are numbered as they come.
      func wait(for count: Int) async throws {
        try await bench.wait(every: 250, for: "\(count) to be there") {
          try await bob.succeed("message", "inbox", "--json").json().array.count == count
        }
      }
      let sent = try await alice.succeed("send", "bob", "--photo", "beach.jpg")
      try await wait(for: 1)
      #expect(sent.complaint.contains("what the photo says about itself is left out: 29 bytes"), "\(sent)")
      try await alice.succeed("send", "bob", "--photo", "beach.jpg", "--keep-metadata")
      try await wait(for: 2)
      try await alice.succeed("send", "bob", "--file", "beach.jpg")
      try await wait(for: 3)
      let expected = [Self.photo(of: sample(5000)), said, said]
      for (number, bytes) in expected.enumerated() {
        try await bob.succeed("message", "save", "\(number + 1)", "got-\(number)")
        try bob.expect("got-\(number)", toHold: bytes)
      }
      // Nobody here takes films apart, nor what is broken.
      try alice.write([0, 0, 0, 24] + Array("ftypheic".utf8) + place, to: "beach.heic")
      let unknown = try await alice.run("send", "bob", "--photo", "beach.heic")
      #expect(unknown.status == 64 && unknown.complaint.contains("--keep-metadata"), "\(unknown)")
      try alice.write([0xFF, 0xD8, 0xFF, 0xE0] + sample(300), to: "broken.jpg")
      let broken = try await alice.run("send", "bob", "--photo", "broken.jpg")
      #expect(broken.status == 8 && broken.complaint.contains("--keep-metadata"), "\(broken)")
      #expect(try await alice.succeed("message", "--json").json().array.count == 3)
      try await alice.succeed("send", "bob", "--photo", "beach.heic", "--keep-metadata")
    }
  }

  @Test("a photo of several parts arrives whole, under its name, with its caption")
  func photo() async throws {
    try await Bench.run { bench in
      let (alice, bob) = try await bench.pair()
      let photo = Self.photo(of: sample(2_600_000))
      try alice.write(photo, to: "beach.jpg")
      let sent = try await alice.succeed("send", "bob", "--photo", "beach.jpg", "at", "last")
      try await wait(for: "delivered", of: sent.line, at: alice, bench)
      let came = try await bob.succeed("message", "inbox", "--json").json()[0]
      #expect(came["kind"].string == "photo" && came["name"].string == "beach.jpg")
      #expect(came["mediaType"].string == "image/jpeg" && came["text"].string == "at last")
      #expect(came["bytes"].int == photo.count && came["parts"].int == 3 && came["partsDone"].int == 3)
      let number = "\(try #require(came["number"].int))"
      let saved = try await bob.succeed("message", "save", number)
      #expect(saved.line == "./beach.jpg" && saved.complaint.contains("in the clear"), "\(saved)")
      try bob.expect("beach.jpg", toHold: photo)
      #expect(try await bob.run("message", "save", number).status == 9)
      let piped = try await bob.succeed("message", "save", number, "-")
      #expect(piped.bytes == photo)
      #expect(try await message(number, at: bob)["state"].string == "seen")
      // What was sent isn't kept.
      #expect(try await alice.run("message", "save", sent.line, "copy").status != 0 && !alice.has("copy"))
    }
  }

  @Test("an empty file, and one with a name that would do harm")
  func files() async throws {
    try await Bench.run { bench in
      let (alice, bob) = try await bench.pair()
      let steering = "a\u{1B}[2J"
      try alice.write([], to: steering)
      #expect(try await alice.run("send", "bob", "--file", steering).status == 64)
      let name = "..a\u{202E}gpj.txt"
      try alice.write([], to: name)
      let sent = try await alice.succeed("send", "bob", "--file", name)
      try await wait(for: "delivered", of: sent.line, at: alice, bench)
      let inbox = try await bob.succeed("message", "inbox")
      #expect(inbox.output.contains("..a\\u{202e}gpj.txt"), "\(inbox)")
      let saved = try await bob.succeed("message", "save", "1", "--json").json()
      #expect(saved.keys == ["message", "path", "suggestedName", "bytes", "originalName"] && saved["bytes"].int == 0)
      let files = try bob.files()
      #expect(files == ["agpj.txt"])
      try bob.expect(files[0], toHold: [])
    }
  }

  @Test("a peer's text can steer no terminal and forge no line")
  func hostileText() async throws {
    try await Bench.run { bench in
      let (alice, bob) = try await bench.pair()
      let nasty = "a\u{1B}[2J\u{202E}b\n9  2026-01-01 00:00  from carol  new\n\"\\"
      let sent = try await alice.succeed("send", "bob", "-", input: Array(nasty.utf8))
      try await wait(for: "delivered", of: sent.line, at: alice, bench)
      for command in [["message", "inbox"], ["message"], ["message", "show", "1"]] {
        let shown = try await bob.run(command)
        #expect(shown.status == 0 && shown.output.contains("    9  2026-01-01 00:00  from carol  new\n"), "\(shown)")
        #expect(!shown.lines.contains { $0.hasPrefix("9  ") })
        #expect(!shown.output.unicodeScalars.contains { $0.value == 0x1B || $0.value == 0x202E })
        let json = try await bob.run(command + ["--json"])
        #expect(json.lines.count == 1 && !json.output.unicodeScalars.contains { $0.value == 0x1B })
      }
      #expect(try await bob.succeed("message", "inbox", "--json").json()[0]["text"].string == nasty)
    }
  }

  @Test("messages are searched, counted and deleted; what is deleted doesn't come again")
  func searching() async throws {
    try await Bench.run { bench in
      let (alice, bob) = try await bench.pair()
      for text in ["the Bridge at noon", "no", "BRIDGES burn", "maybe"] {
        let sent = try await alice.succeed("send", "bob", text)
        try await wait(for: "delivered", of: sent.line, at: alice, bench)
      }
      let found = try await bob.succeed("message", "--search", "bridge", "--json").json()
      #expect(found.array.map { $0["text"].string } == ["the Bridge at noon", "BRIDGES burn"])
      let last = try await bob.succeed("message", "alice", "--limit", "1", "--json").json()
      #expect(last.array.map { $0["text"].string } == ["maybe"])
      #expect(try await bob.succeed("message", "--search", "tunnel", "--json").line == "[]")
      let number = "\(try #require(last[0]["number"].int))"
      #expect(try await bob.run("message", "delete", number).status == 64)
      let deleted = try await bob.succeed("message", "delete", number, "--yes", "--json").json()
      #expect(deleted.array.map { $0["number"].int } == [Int(number)])
      #expect(try await bob.run("message", "show", number).status == 1)
      #expect(try await bob.succeed("message", "--json").json().array.count == 3)
    }
  }

  @Test("a text that is gone from the store is told of, isn't read, and keeps no other from being found")
  func damaged() async throws {
    try await Bench.run { bench in
      let (alice, bob) = try await bench.pair()
      for text in ["the bridge", "burnt bridges"] {
        let sent = try await alice.succeed("send", "bob", text)
        try await wait(for: "delivered", of: sent.line, at: alice, bench)
      }
      let inbox = try await bob.succeed("message", "inbox", "--json").json().array
      let gone = try #require(inbox.first { $0["text"].string == "the bridge" }?["number"].int)
      try bob.changeStore("DELETE FROM message_parts WHERE number = ?", [gone])
      let found = try await bob.succeed("message", "--search", "bridge", "--json")
      #expect(try found.json().array.map { $0["text"].string } == ["burnt bridges"])
      #expect(found.complaint.contains("message \(gone) is damaged"), "\(found)")
      let shown = try await bob.succeed("message", "show", "\(gone)", "--mark-read")
      #expect(shown.complaint.contains("message \(gone) is damaged"), "\(shown)")
      #expect(try await message("\(gone)", at: bob)["state"].string == "new")
    }
  }

  @Test("a message that waits and is deleted isn't sent any more")
  func withdrawn() async throws {
    try await Bench.run { bench in
      let (alice, bob) = try await bench.pair()
      try await bob.stopDaemon()
      let first = try await alice.succeed("send", "bob", "the first")
      let second = try await alice.succeed("send", "bob", "the second")
      let deleted = try await alice.succeed("message", "delete", first.line, "--yes")
      #expect(deleted.complaint.contains("waits here, and isn't sent any more"), "\(deleted)")
      try await bob.startDaemon()
      // Hers has dialled in vain, and would do so again minutes later.
      try await alice.stopDaemon()
      try await alice.startDaemon()
      try await wait(for: "delivered", of: second.line, at: alice, bench)
      #expect(
        try await bob.succeed("message", "inbox", "--json").json().array.map { $0["text"].string } == ["the second"])
    }
  }

  @Test("a reader who doesn't say so makes no read receipt")
  func receiptsOff() async throws {
    try await Bench.run { bench in
      let (alice, bob) = try await bench.pair()
      for text in ["one", "two"] {
        let sent = try await alice.succeed("send", "bob", text)
        try await wait(for: "delivered", of: sent.line, at: alice, bench)
      }
      for peer in [alice, bob] { try await peer.stopDaemon() }
      func receipts() async throws -> Int {
        try await bob.succeed("message", "outbox", "--json").json()["parcels"].array.count {
          $0["kind"].string == "receipt"
        }
      }
      let before = try await receipts()
      try await bob.succeed("settings", "set", "read-receipts", "off")
      try await bob.succeed("message", "show", "1", "--mark-read")
      #expect(try await receipts() == before)
      try await bob.succeed("settings", "set", "read-receipts", "on")
      try await bob.succeed("message", "show", "2", "--mark-read")
      #expect(try await receipts() == before + 1)
    }
  }

  @Test("the notification command hears of a message, and nothing of what it says")
  func notified() async throws {
    try await Bench.run { bench in
      let (alice, bob) = try await bench.pair()
      try await bob.succeed("settings", "set", "notify-command", "cat >> '\(bob.folder)/events'")
      try await alice.succeed("send", "bob", "the marked words")
      func events() -> [String] {
        String(decoding: (try? bob.read("events")) ?? [], as: UTF8.self).components(separatedBy: "\n")
      }
      try await bench.wait(for: "bob to be told") { events().contains { $0.contains("message-received") } }
      let line = try #require(events().first { $0.contains("message-received") })
      let event = try JSON(parsing: Data(line.utf8))
      #expect(event["peer"].string == "alice" && event["event"].string == "message-received")
      #expect(!events().contains { $0.contains("marked") })
      #expect(!bob.daemonLog.contains("marked"))
    }
  }

  @Test("what can't be sent is refused before anything is kept")
  func refused() async throws {
    try await Bench.run { bench in
      let (alice, _) = try await bench.pair()
      try alice.write(sample(100), to: "noise")
      let cases: [([String], [UInt8]?, Int32)] = [
        (["send", "nobody", "x"], nil, 1), (["send", "bob", "-"], [], 64), (["send", "bob", "-"], [0x0A], 64),
        (["send", "bob", "-"], [0xFF, 0xFE], 64), (["send", "bob", "-"], [0x61, 0, 0x62], 64),
        (["send", "bob", "-"], [UInt8](repeating: 0x61, count: 65537), 64),
        (["send", "bob", "-"], [UInt8](repeating: 0x61, count: 70000), 64),
        (["send", "bob", "--photo", "noise"], nil, 64), (["send", "bob", "--file", "missing"], nil, 1),
        (["send", "bob", "--file", "."], nil, 1), (["message", "nobody"], nil, 1),
        (["message", "show", "7"], nil, 1),
        (["message", "save", "7"], nil, 1), (["message", "delete", "7", "--yes"], nil, 1),
      ]
      for (arguments, input, status) in cases {
        let outcome = try await alice.run(arguments, input: input)
        #expect(outcome.status == status && outcome.output.isEmpty, "\(outcome)")
      }
      #expect(try await alice.succeed("message", "--json").line == "[]")
    }
  }

  @Test("the longest text goes through")
  func longest() async throws {
    try await Bench.run { bench in
      let (alice, bob) = try await bench.pair()
      let text = [UInt8]("0123456789abcdef".utf8)
      let long = (0..<65536).map { text[$0 % 16] }
      let sent = try await alice.succeed("send", "bob", "-", input: long + [0x0A])
      try await wait(for: "delivered", of: sent.line, at: alice, bench)
      let saved = try await bob.succeed("message", "save", "1", "-")
      #expect(saved.bytes == long)
    }
  }

  @Test("messages lie sealed on the disk")
  func sealed() async throws {
    try await Bench.run { bench in
      let (alice, bob) = try await bench.pair()
      try alice.write(Array("the marked file, once and again".utf8), to: "marked-name.txt")
      for message in [["the marked words"], ["--file", "marked-name.txt", "a marked caption"]] {
        let sent = try await alice.run(["send", "bob"] + message)
        try await wait(for: "delivered", of: sent.line, at: alice, bench)
      }
      #expect(try await bob.succeed("message", "inbox", "--json").json().array.count == 2)
      for peer in [alice, bob] {
        let found = try await peer.shell("grep -rla marked \"$VAULT_HOME\"")
        #expect(found.status == 1 && found.output.isEmpty, "\(peer.name): \(found)")
      }
    }
  }
}
