import Foundation
import Testing

@Suite("Shared keys and items")
struct ItemTests {
  /// Alice, Bob and Carol, and a key of which each holds a share and any two recover.
  private func family(
    _ bench: Bench, _ location: SourceLocation = #_sourceLocation
  ) async throws -> (alice: Peer, bob: Peer, carol: Peer, key: String) {
    let (alice, bob, carol) = try await bench.trio(location)
    let key = try await alice.succeed("key", "create", "family", "--threshold", "2", at: location).line
    return (alice, bob, carol, key)
  }

  @Test("a key is shared like any secret, marked in the list, and listed apart with the number of its items")
  func keys() async throws {
    try await Bench.run { bench in
      let (alice, bob, _, key) = try await family(bench)
      try alice.write(sample(100), to: "note.txt")
      try await alice.succeed("share", "note.txt", "--threshold", "2")
      #expect(key.wholeMatch(of: /[0-9a-f]{32}/) != nil)
      let listed = try await bob.succeed("list", "--json").json().first(where: "id", is: key)
      #expect(listed["kind"].string == "key")
      #expect(listed["description"].string == "family")
      let keys = try await bob.succeed("key", "list", "--json").json()
      #expect(keys.array.count == 1)
      #expect(keys[0]["key"]["id"].string == key)
      #expect(keys[0]["items"].int == 0)
      #expect(keys[0]["hasPublicHalf"].bool == true)
      try await bob.succeed("item", "add", "family", "/etc/hostname", "--description", "hosts")
      #expect(try await bob.succeed("key", "list", "--json").json()[0]["items"].int == 1)
      #expect(try await alice.run("key", "create", "family", "--threshold", "2").status == 64)
      #expect(try await alice.run("item", "add", "nobody", "note.txt").status == 1)
      #expect(try await alice.run("key", "create", "x", "--threshold", "1").status == 64)
    }
  }

  @Test("an item is kept encrypted, and comes out as it was, whole or in part, with its own name")
  func roundTrip() async throws {
    try await Bench.run { bench in
      let (alice, bob, carol, _) = try await family(bench)
      let body = sample(300_000)
      try alice.write(body, to: "photo.bin")
      let id = try await alice.succeed("item", "add", "family", "photo.bin").line
      #expect(id.wholeMatch(of: /[0-9a-f]{64}/) != nil)
      let item = try await alice.succeed("item", "list", "family", "--json").json()[0]
      #expect(item["id"].string == id)
      #expect(item["name"].string == "photo.bin")
      #expect(item["bytes"].int == 300_000)
      #expect(item["state"].string == "seen")
      #expect(item["key"].string == "family")
      #expect(try await alice.succeed("item", "list").output.contains("photo.bin"))
      // Nothing of it lies in the vault in clear, and any one of the two others is enough.
      let stored = try FileManager.default.contentsOfDirectory(atPath: alice.home + "/data/items")
      #expect(Set(stored) == [id, id + ".note"])
      let note = try Data(contentsOf: URL(fileURLWithPath: alice.home + "/data/items/\(id).note"))
      #expect(note.range(of: Data("photo.bin".utf8)) == nil)
      #expect(
        try Data(contentsOf: URL(fileURLWithPath: alice.home + "/data/items/" + id)).range(of: Data(body[100..<140]))
          == nil)
      try await bob.stopDaemon()
      _ = try alice.makeFolder("out")
      #expect(try await alice.succeed("item", "show", "photo.bin", "-o", "out").line == "out/photo.bin")
      try alice.expect("out/photo.bin", toHold: body)
      #expect(try await alice.run("item", "show", "photo.bin", "-o", "out").status == 9)
      try await alice.succeed("item", "show", "photo.bin", "-o", "out", "--force")
      let part = try await alice.succeed(
        "item", "show", String(id.prefix(10)), "-o", "-", "--offset", "131000", "--length", "70000")
      #expect(part.bytes == Array(body[131_000..<201_000]))
      let tail = try await alice.succeed("item", "show", "photo.bin", "-o", "-", "--offset", "299990")
      #expect(tail.bytes == Array(body.suffix(10)))
      // Below the threshold it stays closed, and nothing is written.
      try await carol.stopDaemon()
      let alone = try await alice.run("item", "show", "photo.bin", "-o", "alone.bin")
      #expect(alone.status == 4, "\(alone)")
      #expect(!alice.has("alone.bin"))
      #expect(try await alice.run("item", "add", "family", "photo.bin").status == 4)
      // The public half needs nobody.
      try await alice.succeed("item", "add", "family", "photo.bin", "--public", "--description", "sealed")
      #expect(
        try await alice.succeed("item", "show", "sealed", "--json").json()["sealedToPublicHalf"].bool == true)
      try await bob.startDaemon()
      try await alice.succeed("item", "show", "sealed", "-o", "alone.bin")
      try alice.expect("alone.bin", toHold: body)
    }
  }

  @Test("an item goes by mail, as a file or as text; importing is accepting, and it is new until it is looked at")
  func mail() async throws {
    try await Bench.run { bench in
      let (alice, bob, _, _) = try await family(bench)
      let body = sample(70_000)
      try alice.write(body, to: "note.txt")
      try await alice.succeed("item", "add", "family", "note.txt")
      let file = bench.folder + "/mailed"
      try await alice.succeed("item", "export", "note.txt", "-o", file)
      let text = try await alice.succeed("item", "export", "note.txt", "--armor", "-o", "-").output
      #expect(text.hasPrefix("-----BEGIN VAULT ITEM-----\n"))
      let id = try await bob.succeed("item", "import", file).line
      let item = try await bob.succeed("item", "list", "--json").json()[0]
      #expect(item["id"].string == id)
      #expect(item["state"].string == "new")
      #expect(item["origin"].string == "imported")
      #expect(item["name"].string == "note.txt")
      #expect(try await bob.succeed("key", "list", "--json").json()[0]["newItems"].int == 1)
      // The same once more, out of a mail: known already.
      let mail = "Hello Bob,\r\n\r\n" + text.replacing("\n", with: "\r\n") + "\r\nYours, Alice\r\n"
      let again = try await bob.succeed("item", "import", "-", "--json", input: Array(mail.utf8)).json()
      #expect(again["known"].bool == true)
      #expect(again["item"]["id"].string == id)
      try await bob.succeed("item", "show", id, "-o", "note.txt")
      try bob.expect("note.txt", toHold: body)
      #expect(try await bob.succeed("item", "list", "--json").json()[0]["state"].string == "seen")
      // Damage is noticed, and nothing is kept.
      var damaged = [UInt8](try Data(contentsOf: URL(fileURLWithPath: file)))
      damaged[damaged.count - 5] ^= 1
      try await bob.succeed("item", "delete", id, "--yes")
      for broken in [damaged, Array(damaged.dropLast(20)), damaged + [0], Array(damaged.prefix(40))] {
        let outcome = try await bob.run("item", "import", "-", input: broken)
        #expect(outcome.status == 8, "\(outcome)")
      }
      #expect(try await bob.run("item", "import", "-", input: Array("no item".utf8)).status == 8)
      #expect(try await bob.succeed("item", "list", "--json").json().array.isEmpty)
      #expect(try FileManager.default.contentsOfDirectory(atPath: bob.home + "/data/items").isEmpty)
    }
  }

  @Test("whoever holds no share of the key can neither import nor be sent an item, and hears why")
  func noShare() async throws {
    try await Bench.run { bench in
      let (alice, bob, carol) = try await bench.trio()
      try await alice.succeed("key", "create", "two of us", "--threshold", "2", "--to", "bob")
      try alice.write(sample(100), to: "note.txt")
      let id = try await alice.succeed("item", "add", "two of us", "note.txt").line
      let file = bench.folder + "/mailed"
      try await alice.succeed("item", "export", id, "-o", file)
      let imported = try await carol.run("item", "import", file)
      #expect(imported.status == 5, "\(imported)")
      #expect(imported.complaint.contains("holds no share of the key"), "\(imported)")
      #expect(try await carol.run("decrypt", file, "-o", "x").status == 5)
      let sent = try await alice.run("item", "send", id, "carol")
      #expect(sent.status == 5, "\(sent)")
      #expect(sent.complaint.contains("carol holds no share of the key"), "\(sent)")
      #expect(try await carol.succeed("item", "list", "--json").json().array.isEmpty)
      #expect(try await bob.succeed("item", "import", file).line == id)
    }
  }

  @Test("an item that is sent waits for its receiver, who is told of it, under its key; accepted, it is new")
  func sending() async throws {
    try await Bench.run { bench in
      let (alice, bob, _, _) = try await family(bench)
      let body = sample(500_000)
      try alice.write(body, to: "video.mp4")
      let id = try await alice.succeed("item", "add", "family", "video.mp4").line
      try await bob.succeed("settings", "set", "notify-command", "cat >> \(bob.folder)/events")
      try await alice.succeed("item", "send", "video.mp4", "bob")
      let waiting = try await bob.succeed("item", "list", "family", "--json").json()[0]
      #expect(waiting["id"].string == id)
      #expect(waiting["state"].string == "waiting")
      #expect(waiting["sender"].string == "alice")
      #expect(waiting["key"].string == "family")
      #expect(waiting["name"].isNull)
      try await bench.wait(for: "the notification") {
        (try? String(decoding: bob.read("events"), as: UTF8.self))?.contains("item-received") == true
      }
      #expect(try await bob.succeed("item", "accept").line == id)
      let accepted = try await bob.succeed("item", "list", "--json").json()[0]
      #expect(accepted["state"].string == "new")
      #expect(accepted["name"].string == "video.mp4")
      #expect(accepted["mediaType"].string == "video/mp4")
      try await bob.succeed("item", "show", "video.mp4", "-o", "copy")
      try bob.expect("copy", toHold: body)
      #expect(try await bob.succeed("item", "list", "--json").json()[0]["state"].string == "seen")
      // Sent again, it is known there.
      #expect(try await alice.succeed("item", "send", id, "bob", "--json").json()["known"].bool == true)
    }
  }

  @Test("an item whose key can't be recovered holds up none that came with it")
  func holdingUp() async throws {
    try await Bench.run { bench in
      let (alice, bob, _, _) = try await family(bench)
      try await alice.succeed("key", "create", "alone", "--threshold", "2", "--to", "bob")
      try alice.write(sample(1000), to: "good.bin")
      try alice.write(sample(1000), to: "closed.bin")
      let good = try await alice.succeed("item", "add", "family", "good.bin").line
      let closed = try await alice.succeed("item", "add", "alone", "closed.bin").line
      try await alice.succeed("item", "send", good, "bob")
      try await alice.succeed("item", "send", closed, "bob")
      // Of the two shares one is hers, and she is asked before she gives it.
      try await alice.succeed("secret", "policy", "alone", "ask")
      let first = try await bob.succeed("item", "list", "--json").json()[0]
      #expect(first["id"].string == closed)
      let outcome = try await bob.run("item", "accept")
      #expect(outcome.status == 11 && outcome.line == good, "\(outcome)")
      let states = try await bob.succeed("item", "list", "family", "--json").json().array.map { $0["state"].string }
      #expect(states == ["new"])
      // Refused by its sender's name, it goes alone.
      try await bob.succeed("item", "delete", closed, "--from", "alice", "--yes")
      #expect(try await bob.succeed("item", "list", "--json").json().array.map { $0["id"].string } == [good])
    }
  }

  @Test("an item of megabytes is sent whole; the receiver's quota holds for items too")
  func quota() async throws {
    try await Bench.run { bench in
      let (alice, bob, _, _) = try await family(bench)
      let body = sample(3_000_000)
      try alice.write(body, to: "large.bin")
      let id = try await alice.succeed("item", "add", "family", "large.bin").line
      try await bob.succeed("settings", "set", "quota-bytes", "100K")
      let refused = try await alice.run("item", "send", id, "bob")
      #expect(refused.status == 5, "\(refused)")
      try await bob.succeed("settings", "set", "quota-bytes", "")
      try await alice.succeed("item", "send", id, "bob")
      try await bob.succeed("item", "accept", id)
      let file = bob.home + "/data/items/" + id
      #expect(try Data(contentsOf: URL(fileURLWithPath: file)).count > 3_000_000)
      try await bob.succeed("item", "show", id, "-o", "large.bin")
      try bob.expect("large.bin", toHold: body)
    }
  }

  @Test("a small item travels as a QR code: scan imports it where the vault opens, a large one is refused")
  func qrCode() async throws {
    try await Bench.run { bench in
      let (alice, bob, carol, _) = try await family(bench)
      try alice.write(sample(256), to: "door-code")
      try alice.write(sample(2000), to: "large")
      try await alice.succeed("item", "add", "family", "door-code")
      try await alice.succeed("item", "add", "family", "large")
      let picture = bench.folder + "/code.png"
      try await alice.succeed("item", "qr", "door-code", "--png", picture)
      let text = try await alice.succeed("item", "qr", "door-code").line
      #expect(text.hasPrefix("VAULTITEM1"))
      let large = try await alice.run("item", "qr", "large")
      #expect(large.status == 64, "\(large)")
      let looked = try await bob.succeed("peer", "scan", picture, "--no-import", "--json").json()[0]
      #expect(looked["isCard"].bool == false)
      #expect(looked["item"].isNull)
      #expect(try await bob.succeed("item", "list", "--json").json().array.isEmpty)
      let scanned = try await bob.succeed("peer", "scan", picture, "--json").json()[0]
      #expect(scanned["item"]["item"]["name"].string == "door-code")
      #expect(scanned["item"]["known"].bool == false)
      try await bob.succeed("item", "show", "door-code", "-o", "door-code")
      try bob.expect("door-code", toHold: sample(256))
      // Importing a picture does the same; a card is still a card.
      let id = try await carol.succeed("item", "import", picture).line
      #expect(try await carol.succeed("item", "list", "--json").json()[0]["id"].string == id)
      try await alice.succeed("id", "--png", "alice.png")
      let card = try await carol.run("item", "import", alice.folder + "/alice.png")
      #expect(card.status == 64 && card.complaint.contains("card of a peer"), "\(card)")
      #expect(
        try await carol.succeed("peer", "scan", alice.folder + "/alice.png", "--json").json()[0]["isCard"].bool == true)
      // Without another holder it can't be opened, and nothing is imported.
      let other = bench.folder + "/other.png"
      try await alice.succeed("item", "qr", "door-code", "--png", other)
      try await alice.stopDaemon()
      try await carol.stopDaemon()
      #expect(try await bob.run("peer", "scan", other).status == 4)
    }
  }

  @Test("an item is copied under another key, whose holders open it")
  func copying() async throws {
    try await Bench.run { bench in
      let (alice, bob, carol) = try await bench.trio()
      try await alice.succeed("key", "create", "ours", "--threshold", "2", "--to", "bob")
      try await alice.succeed("key", "create", "theirs", "--threshold", "2", "--to", "carol")
      let body = sample(150_000)
      try alice.write(body, to: "plan.pdf")
      let first = try await alice.succeed("item", "add", "ours", "plan.pdf").line
      let second = try await alice.succeed("item", "copy", first, "--to", "theirs").line
      #expect(first != second)
      #expect(try await alice.succeed("item", "list", "theirs", "--json").json()[0]["name"].string == "plan.pdf")
      #expect(try await alice.run("item", "show", "plan.pdf").status == 1)
      try await alice.succeed("item", "send", second, "carol")
      try await carol.succeed("item", "accept")
      try await carol.succeed("item", "show", second, "-o", "plan.pdf")
      try carol.expect("plan.pdf", toHold: body)
      #expect(try await alice.run("item", "copy", first, "--to", "ours").status == 64)
      #expect(try await bob.run("item", "copy", first, "--to", "theirs").status == 1)
    }
  }

  @Test("deleting a key's share deletes its items, after saying which")
  func deletion() async throws {
    try await Bench.run { bench in
      let (alice, bob, _, key) = try await family(bench)
      try alice.write(sample(100), to: "note.txt")
      try alice.write(sample(100), to: "other.txt")
      try await alice.succeed("item", "add", "family", "note.txt")
      let other = try await alice.succeed("item", "add", "family", "other.txt").line
      #expect(try await alice.run("item", "delete", "other.txt").status == 64)
      try await alice.succeed("item", "delete", "other.txt", "--yes")
      #expect(try await alice.run("item", "show", other).status == 1)
      let asked = try await alice.run("secret", "delete", key)
      #expect(asked.status == 64)
      #expect(asked.complaint.contains("note.txt"), "\(asked)")
      let deleted = try await alice.succeed("secret", "delete", key, "--yes", "--json")
      #expect(deleted.complaint.contains("1 item under this key will be deleted"), "\(deleted)")
      #expect(try deleted.json()["items"][0]["name"].string == "note.txt")
      #expect(try await alice.succeed("item", "list", "--json").json().array.isEmpty)
      #expect(try FileManager.default.contentsOfDirectory(atPath: alice.home + "/data/items").isEmpty)
      #expect(try await bob.succeed("key", "list", "--json").json().array.count == 1)
    }
  }

  @Test("vault encrypt and vault decrypt work in pipes; the key is found, and a cut end is told by code 8")
  func pipes() async throws {
    try await Bench.run { bench in
      let (alice, bob, _, _) = try await family(bench)
      let body = sample(1_500_000)
      let item = try await alice.succeed("encrypt", "--key", "family", input: body)
      #expect(item.bytes.starts(with: Array("VAULTITM".utf8)))
      #expect(try await alice.succeed("item", "list", "--json").json().array.isEmpty)
      #expect(try await bob.succeed("decrypt", input: item.bytes).bytes == body)
      let cut = try await bob.run("decrypt", input: Array(item.bytes.dropLast(70_000)))
      #expect(cut.status == 8, "\(cut.status) \(cut.complaint)")
      #expect(body.starts(with: cut.bytes))
      let file = try await bob.run("decrypt", "-o", "whole", input: Array(item.bytes.dropLast(70_000)))
      #expect(file.status == 8)
      #expect(try bob.files().isEmpty)
      let armored = try await alice.shell("printf hello | $VAULT encrypt --key family --armor --public")
      #expect(armored.status == 0 && armored.output.hasPrefix("-----BEGIN VAULT ITEM-----\n"), "\(armored)")
      #expect(try await bob.succeed("decrypt", input: armored.bytes).bytes == Array("hello".utf8))
      #expect(try await bob.run("decrypt", input: Array("hello".utf8)).status == 8)
    }
  }

  @Test("a photo is told by its first bytes and keeps its media type; what is none is refused")
  func photo() async throws {
    try await Bench.run { bench in
      let (alice, bob, _, _) = try await family(bench)
      try alice.write([0xFF, 0xD8, 0xFF, 0xE0] + sample(5000), to: "holiday.jpg")
      try alice.write(sample(100), to: "holiday.txt")
      let id = try await alice.succeed("item", "add", "family", "--photo", "holiday.jpg").line
      #expect(try await alice.succeed("item", "show", id, "--json").json()["mediaType"].string == "image/jpeg")
      #expect(try await alice.run("item", "add", "family", "--photo", "holiday.txt").status == 64)
      try await alice.succeed("item", "send", id, "bob")
      try await bob.succeed("item", "accept", id)
      try await bob.succeed("item", "show", "holiday.jpg", "-o", ".")
      try bob.expect("holiday.jpg", toHold: [0xFF, 0xD8, 0xFF, 0xE0] + sample(5000))
    }
  }
}
