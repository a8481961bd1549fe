import Foundation
import Testing

@Suite("Everything at once")
struct ManyAtOnceTests {
  @Test("two homes, each with its daemon and ten commands at a time, again and again")
  func twoHomes() async throws {
    try await CrashDrill.run { drill in
      let first = try await drill.alice.succeed("share", "note", "--threshold", "2").line
      try drill.addNote("memo", byteCount: 30_000, of: drill.bob)
      for round in 0..<4 {
        var commands: [(Peer, [String])] = []
        for (peer, other, note) in [(drill.alice, "bob", "note"), (drill.bob, "alice", "memo")] {
          commands += [
            ["share", note, "--threshold", "2"], ["share", note, "--threshold", "3", "--description", "\(round)"],
            ["recover", first, "-o", "copy"], ["list"], ["peer", "list"], ["device", "log"], ["secret", "deliver"],
            ["peer", "ping", other],
            ["settings", "set", "quota-shares", "\(1000 + round)"], ["id", "--text"],
          ].map { (peer, $0) }
        }
        let children = try commands.map { try $0.0.start($0.1) }
        for ((_, arguments), child) in zip(commands, children) {
          let outcome = try await child.end(within: 120)
          // A retry may meet a share that another command is just sending.
          let codes: Set<Int32> = arguments.contains("deliver") ? [0, 2, 3] : [0]
          #expect(codes.contains(outcome.status), "round \(round): \(outcome)")
          // That a holder is busy with the same share is true then. One's own store never is.
          let own = outcome.complaint.replacing(#/[a-z]+ refused: it is busy/#, with: "")
          for word in ["locked", "busy", "in use"] { #expect(!own.contains(word), "\(outcome)") }
          if arguments[0] == "share" { drill.promise(outcome.line) }
        }
        for peer in [drill.alice, drill.bob] {
          try peer.expect("copy", toHold: drill.notes["note"] ?? [])
          try FileManager.default.removeItem(atPath: peer.folder + "/copy")
        }
      }
      for peer in drill.peers {
        #expect(!peer.daemonLog.contains("database is locked"), "\(peer.daemonLog.suffix(3000))")
      }
      try await drill.settle(drill.alice, drill.bob, drill.carol, after: "many commands at once")
      #expect(try await drill.carol.succeed("list", "--json").json().array.count == 1 + 4 * 4)
    }
  }
}
