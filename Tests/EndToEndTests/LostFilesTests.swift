import Foundation
import Glibc
import Testing

@Suite("Files of a home that are lost")
struct LostFilesTests {
  private func lose(_ file: String, of peer: Peer) throws {
    try FileManager.default.removeItem(atPath: peer.home + "/" + file)
  }

  @Test("lost settings are named, with 8, by whatever goes by them, and nobody is advised to delete anything")
  func lostSettings() async throws {
    try await Bench.run { bench in
      let alice = try await bench.peer("alice")
      try await alice.succeed("settings", "set", "release-policy", "ask")
      try lose("config/settings.json", of: alice)
      for line in [
        "settings list", "settings get release-policy", "settings set quota-shares 7", "status", "backup create saved",
        "daemon --listen \(bench.host):0",
      ] {
        let outcome = try await alice.run(line.components(separatedBy: " "), timeLimit: 90)
        #expect(outcome.status == 8 && outcome.output.isEmpty, "\(line): \(outcome)")
        #expect(outcome.complaint.contains("settings.json is missing"), "\(line): \(outcome)")
        #expect(outcome.complaint.contains("vault settings reset"), "\(line): \(outcome)")
        #expect(!outcome.complaint.contains("delet"), "\(line): \(outcome)")
      }
      #expect(!alice.has("saved"))
    }
  }

  @Test("a running daemon whose settings are lost releases nothing, and does again when the user has said what holds")
  func releases() async throws {
    try await Bench.run { bench in
      let (alice, bob) = try await bench.pair()
      try alice.write(sample(900), to: "note.txt")
      let id = try await alice.succeed("share", "note.txt", "--threshold", "2").line
      try await bob.succeed("settings", "set", "release-policy", "ask")
      try lose("config/settings.json", of: bob)
      let refused = try await alice.run("recover", id, "-o", "copy")
      #expect(refused.status == 4 && !alice.has("copy"), "\(refused)")
      let unasked = try await bob.run("settings", "reset")
      #expect(unasked.status == 64 && unasked.complaint.contains("--yes"), "\(unasked)")
      let reset = try await bob.succeed("settings", "reset", "--yes", "--json")
      #expect(reset.complaint.contains("release-policy auto"), "\(reset)")
      #expect(try reset.json().array.allSatisfy { $0["value"].string == $0["default"].string })
      try await alice.succeed("recover", id, "-o", "copy")
      try alice.expect("copy", toHold: sample(900))
      try await bob.succeed("settings", "set", "release-policy", "ask")
      let whole = try await bob.succeed("settings", "reset", "--yes")
      #expect(whole.complaint.contains("release-policy is ask, and would be auto"), "\(whole)")
    }
  }

  @Test("a home without settings in which nobody set any is whole")
  func neverSet() async throws {
    try await Bench.run { bench in
      let alice = try await bench.peer("alice")
      try? FileManager.default.removeItem(atPath: alice.home + "/config")
      try await alice.succeed("settings", "list")
      try await alice.succeed("status")
    }
  }

  @Test("a database that is made anew says before that there are no settings, and knows of those that there are")
  func rebuilt() async throws {
    try await Bench.run { bench in
      let alice = try await bench.peer("alice")
      try await alice.succeed("settings", "set", "release-policy", "ask")
      for isThere in [true, false] {
        try lose("data/vault.db", of: alice)
        for suffix in ["-wal", "-shm"] { try? lose("data/vault.db" + suffix, of: alice) }
        if !isThere { try lose("config/settings.json", of: alice) }
        let outcome = try await alice.succeed("device", "rebuild", "--yes")
        #expect(outcome.complaint.contains("there is no settings file") == !isThere, "\(outcome)")
        guard isThere else { continue }
        #expect(try await alice.succeed("settings", "get", "release-policy").line == "ask")
        let file = try alice.read(alice.home + "/config/settings.json")
        try lose("config/settings.json", of: alice)
        #expect(try await alice.run("settings", "list").status == 8)
        let path = alice.home + "/config/settings.json"
        try Data(file).write(to: URL(fileURLWithPath: path))
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: path)
      }
    }
  }

  @Test("a device key that is lost, flipped or cut is damage, named as such", arguments: ["lost", "flipped", "cut"])
  func deviceKey(fate: String) async throws {
    try await Bench.run { bench in
      let alice = try await bench.peer("alice")
      let path = alice.home + "/state/device.key"
      switch fate {
      case "lost": try lose("state/device.key", of: alice)
      case "flipped": try Peer.flipBit(of: path, at: 7)
      default: truncate(path, 31)
      }
      let outcome = try await alice.run("list")
      #expect(outcome.status == 8 && outcome.output.isEmpty, "\(outcome)")
      #expect(outcome.complaint.contains("device.key") && outcome.complaint.contains("damaged"), "\(outcome)")
    }
  }
}
