import Foundation
import Testing

@Suite("A vault on a full or read-only disk", .enabled(if: Mounting.isPossible, "only root may mount file systems"))
struct HomeDiskTests {
  @Test("sharing with ever less room: shared as a whole, or refused in plain words and nothing lost")
  func fullDisk() async throws {
    try await CrashDrill.run { drill in
      let alice = drill.alice
      try await alice.stopDaemon()
      // Sizes in KiB. The home comes back with what was changed in it.
      let script = """
        set -e
        cp -a "$VAULT_HOME" copy; mount -t tmpfs -o size=2m,mode=700 none "$VAULT_HOME"; cp -a copy/. "$VAULT_HOME"
        rm -r copy
        for room in 400 200 120 100 80 70 60 50 40 30 20 12 8 4 0; do
          free=$(df --output=avail -k "$VAULT_HOME" | tail -n 1)
          [ "$free" -le "$room" ] || head -c $(((free - room) * 1024)) /dev/zero >"$VAULT_HOME/filler"
          code=0; "$VAULT" share note --threshold 2 >id 2>>complaints || code=$?
          rm -f "$VAULT_HOME/filler"
          echo "$code $(cat id)"; rm -f id
          "$VAULT" list >/dev/null
        done
        cp -a "$VAULT_HOME" "$VAULT_HOME.after"
        """
      let outcome = try await alice.shell("exec unshare -m sh -c '\(script)'", timeLimit: 180)
      try #require(outcome.status == 0, "\(outcome)")
      let manager = FileManager.default
      try manager.removeItem(atPath: alice.home)
      try manager.moveItem(atPath: alice.home + ".after", toPath: alice.home)
      let complaints = String(decoding: try alice.read("complaints"), as: UTF8.self)
      #expect(!complaints.contains("database is locked") && !complaints.contains("SQLite"), "\(complaints)")
      try manager.removeItem(atPath: alice.folder + "/complaints")
      var codes: Set<String> = []
      for line in outcome.lines {
        let parts = line.split(separator: " ", omittingEmptySubsequences: false).map(String.init)
        codes.insert(parts[0])
        if parts.count > 1, parts[1].count == 32 { drill.promise(parts[1]) }
      }
      #expect(codes.isSubset(of: ["0", "1", "2", "3"]), "\(outcome)\n\(complaints)")
      #expect(codes.contains("0") && codes.contains("1"), "\(outcome)\n\(complaints)")
      #expect(complaints.contains("no room"), "\(complaints)")
      try await drill.settle(alice, after: "a full disk")
    }
  }

  @Test("what a check finds is shown on a full disk, too, and that it can't be noted is said")
  func checkOnFullDisk() async throws {
    try await Bench.run { bench in
      let (alice, _) = try await bench.pair()
      try alice.write(sample(900), to: "note")
      try await alice.succeed("share", "note", "--threshold", "2")
      try await alice.stopDaemon()
      let script = """
        set -e
        cp -a "$VAULT_HOME" copy; mount -t tmpfs -o size=4m,mode=700 none "$VAULT_HOME"; cp -a copy/. "$VAULT_HOME"
        rm -r copy
        for room in 80 72 64 60 56 52 48 40 20 0; do
          free=$(df --output=avail -k "$VAULT_HOME" | tail -n 1)
          head -c $(((free - room) * 1024)) /dev/zero >"$VAULT_HOME/filler"
          opens=0; "$VAULT" list >/dev/null 2>&1 || opens=$?
          code=0; "$VAULT" check --quiet >found 2>warned || code=$?
          echo "$opens $code $(grep -c "recoverable now" found) $(grep -c "isn.t noted" warned)"
          rm "$VAULT_HOME/filler"
        done
        rm found warned
        """
      let outcome = try await alice.shell("exec unshare -m sh -c '\(script)'", timeLimit: 180)
      try #require(outcome.status == 0, "\(outcome)")
      // With less room than the database takes to be opened no command works, and is no check begun.
      let opened = outcome.lines.filter { $0.hasPrefix("0 ") }
      #expect(opened.allSatisfy { $0.hasPrefix("0 0 1 ") } && opened.contains("0 0 1 1"), "\(outcome)")
    }
  }

  @Test("on a read-only disk every command says so, and nothing changes")
  func readOnly() async throws {
    try await CrashDrill.run { drill in
      let bob = drill.bob
      let id = try await drill.alice.succeed("share", "note", "--threshold", "2").line
      try await bob.stopDaemon()
      let script = """
        mount --bind "$VAULT_HOME" "$VAULT_HOME" && mount -o remount,ro,bind "$VAULT_HOME" || exit 99
        for command in list "device log" "peer list" "share note --threshold 2" "recover \(id) -o copy" \
          "secret deliver" "secret delete \(id) --yes" "settings set quota-shares 100" "daemon --listen 127.0.0.1:0"; do
          "$VAULT" $command; echo "$? $command"
        done
        """
      try bob.write([1], to: "note")
      let outcome = try await bob.shell("exec unshare -m sh -c '\(script)'")
      try #require(outcome.status == 0, "\(outcome)")
      #expect(outcome.lines.count == 9)
      for line in outcome.lines { #expect(line.hasPrefix("1 "), "\(outcome)") }
      #expect(outcome.complaints.count == 9)
      for complaint in outcome.complaints {
        #expect(complaint.hasSuffix("is on a read-only file system"), "\(outcome)")
      }
      #expect(try bob.files() == ["note"])
      try await bob.startDaemon()
      try await drill.settle(bob, after: "a read-only disk")
      try await drill.recover(id, by: bob, "a read-only disk")
    }
  }
}
