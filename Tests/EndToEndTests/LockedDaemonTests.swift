import ChatServers
import Foundation
import Glibc
import Testing

@Suite("A daemon that starts without the passphrase")
struct LockedDaemonTests {
  private func protected(_ bench: Bench) async throws -> (Peer, pass: String) {
    let alice = try Peer("alice", bench)
    let pass = try bench.file("pass", Array("open barley and sesame\n".utf8))
    chmod(pass, 0o600)
    try await alice.succeed("init", "--label", "alice", "--passphrase-file", pass)
    return (alice, pass)
  }

  /// What a service manager is told, as one that hears it.
  private final class Manager {
    let path: String
    private let socket: Int32

    init(_ bench: Bench) throws {
      path = bench.folder + "/manager"
      socket = Glibc.socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_NONBLOCK.rawValue), 0)
      var address = sockaddr_un()
      address.sun_family = sa_family_t(AF_UNIX)
      withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
      let bound = withUnsafePointer(to: &address) { pointer in
        pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
          bind(socket, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
        }
      }
      try #require(bound == 0)
    }

    deinit { close(socket) }

    private(set) var heard: [String] = []

    func has(_ text: String) -> Bool {
      var buffer = [UInt8](repeating: 0, count: 1024)
      while true {
        let count = read(socket, &buffer, buffer.count)
        guard count > 0 else { break }
        heard += String(decoding: buffer.prefix(count), as: UTF8.self).components(separatedBy: "\n")
      }
      return heard.contains(text)
    }
  }

  @Test("answers nobody and has nothing open until it is unlocked, says so, and goes on when it is locked again")
  func story() async throws {
    try await Bench.run { bench in
      let (alice, pass) = try await protected(bench)
      let bob = try await bench.peer("bob")
      let port = try Loopback.freePort(of: bench.host)
      let address = "\(alice.host):\(port)"
      let card = try await alice.run("id", "--text", "--address", address, "--passphrase-file", pass).line
      try await bob.succeed("peer", "add", card)
      try await alice.succeed("peer", "add", try await bob.card(), "--passphrase-file", pass)

      let manager = try Manager(bench)
      let daemon = try bench.start(
        Bench.vault, ["daemon", "--listen", address],
        environment: alice.environment.merging(["NOTIFY_SOCKET": manager.path]) { $1 }, folder: alice.folder)
      try await bench.wait(for: "it to say that it is locked") { daemon.written.contains("locked: vault unlock\n") }
      try await bench.wait(for: "the manager to hear it") { manager.has("READY=1") }
      #expect(manager.has("STATUS=locked: vault unlock"), "\(manager.heard)")

      let status = try await alice.succeed("status")
      #expect(status.output.contains("locked: vault unlock") && status.output.contains("alice"), "\(status)")
      let facts = try await alice.succeed("status", "--json").json()
      #expect(facts.keys == ["label", "fingerprint", "addresses", "daemon"] && facts["label"].string == "alice")
      #expect(facts["daemon"].keys == ["running", "locked", "since", "listening", "process", "elsewhere"])
      #expect(facts["daemon"]["locked"].bool == true && facts["daemon"]["listening"].array.isEmpty)
      // Whoever has the passphrase is told all, and that the daemon hasn't.
      let all = try await alice.succeed("status", "--json", "--passphrase-file", pass).json()
      #expect(all["peers"].array.count == 1 && all["daemon"]["locked"].bool == true)
      #expect(try await bob.run("peer", "ping", "alice").status == 6)
      if Child.seesDescriptors {
        let folder = "/proc/\(daemon.process)/fd"
        let open = try FileManager.default.contentsOfDirectory(atPath: folder).compactMap {
          try? FileManager.default.destinationOfSymbolicLink(atPath: folder + "/" + $0)
        }
        #expect(!open.contains { $0.hasPrefix(alice.home + "/data/") }, "\(open)")
      }
      #expect(try await alice.run("unlock", "house keys").status == 7)

      let wrong = try await alice.run("unlock", "--passphrase-fd", "0", input: Array("open barley".utf8))
      #expect(wrong.status == 7 && !daemon.written.contains("listening on"), "\(wrong)")
      try await alice.succeed("unlock", "--passphrase-file", pass)
      try await bench.wait(for: "it to listen") { daemon.written.contains("listening on \(address)") }
      try await bench.wait(for: "systemd to hear of it") { manager.has("STATUS=listening on \(address)") }
      try await alice.succeed("list")
      try await bob.succeed("peer", "ping", "alice")
      #expect(try await alice.succeed("status", "--json").json()["daemon"]["locked"].bool == false)

      try await alice.succeed("lock")
      #expect(try await alice.run("list").status == 7)
      try await bob.succeed("peer", "ping", "alice")
      daemon.signal(SIGTERM)
      #expect(try await daemon.end(within: 90).status == 0)
    }
  }

  @Test("is unlocked at the terminal within three tries")
  func tries() async throws {
    try await Bench.run { bench in
      let (alice, _) = try await protected(bench)
      let daemon = try alice.start(["daemon", "--listen", "off"])
      try await bench.wait(for: "it to say that it is locked") { daemon.written.contains("locked: vault unlock\n") }
      let failing = try PseudoTerminal(alice, ["unlock"])
      for _ in 0..<3 {
        try await failing.expect("Passphrase: ")
        failing.forgetScreen()
        failing.type("open\n")
      }
      #expect(try await failing.end() == 7)
      #expect(!daemon.written.contains("not listening"))
      let terminal = try PseudoTerminal(alice, ["unlock"])
      for word in ["open", "open barley", "open barley and sesame"] {
        try await terminal.expect("Passphrase: ")
        terminal.forgetScreen()
        terminal.type(word + "\n")
      }
      #expect(try await terminal.end() == 0)
      try await bench.wait(for: "it to begin its work") { daemon.written.contains("not listening") }
    }
  }

  @Test("goes to the background without a question, is the only one, and ends in order")
  func background() async throws {
    try await Bench.run { bench in
      let (alice, pass) = try await protected(bench)
      let terminal = try PseudoTerminal(alice, ["daemon", "--background", "--locked", "--listen", "off"])
      #expect(try await terminal.end() == 0)
      #expect(terminal.screen.contains("locked: vault unlock") && !terminal.screen.contains("Passphrase"))
      let process = try #require(try await alice.succeed("status", "--json").json()["daemon"]["process"].int)
      bench.adopt(pid_t(process))
      let second = try await alice.run("daemon", "--listen", "off", "--passphrase-file", pass)
      #expect(second.status == 1 && second.complaint.contains("another daemon"), "\(second)")
      // Its terminal has gone, and nobody reads what it prints.
      try await alice.succeed("unlock", "--passphrase-file", pass)
      try await bench.wait(for: "it to begin its work") {
        try await alice.succeed("status", "--json").json()["daemon"]["locked"].bool == false
      }
      kill(pid_t(process), SIGTERM)
      try await bench.wait(for: "it to end") {
        try await !(alice.run("status", "--json", "--passphrase-file", pass).json()["daemon"]["running"].bool ?? true)
      }

      let bare = try alice.start(["daemon", "--listen", "off"])
      try await bench.wait(for: "it to say that it is locked") { bare.written.contains("locked: vault unlock\n") }
      try await alice.succeed("device", "passphrase", "--remove", "--passphrase-file", pass)
      try await alice.succeed("unlock")
      try await bench.wait(for: "it to begin its work without a passphrase") { bare.written.contains("not listening") }
      bare.signal(SIGTERM)
      #expect(try await bare.end(within: 90).status == 0)
      try await alice.succeed("device", "passphrase", "--new-passphrase-file", pass)

      let locked = try alice.start(["daemon"])
      try await bench.wait(for: "it to say that it is locked") { locked.written.contains("locked: vault unlock\n") }
      locked.signal(SIGHUP)
      locked.signal(SIGTERM)
      #expect(try await locked.end(within: 90).status == 0)
      #expect(access(alice.home + "/state/agent.socket", F_OK) != 0)
      #expect(try await alice.run("status").status == 7)
    }
  }

  @Test("is unlocked where there is no terminal by the desktop's question, within three tries, or not")
  func desktop() async throws {
    try await Bench.run { bench in
      let (alice, _) = try await protected(bench)
      let daemon = try alice.start(["daemon", "--listen", "off"])
      try await bench.wait(for: "it to say that it is locked") { daemon.written.contains("locked: vault unlock\n") }
      // Its answers stand in files, one for each question; without one it says no.
      let script = """
        #!/bin/sh
        echo OK; count=$(ls "\(bench.folder)" | grep -c '^asked')
        while read -r word rest; do
          case $word in
            SETERROR) echo "$rest" >"\(bench.folder)/complaint"; echo OK ;;
            GETPIN)
              touch "\(bench.folder)/asked$count"
              if [ -e "\(bench.folder)/answer$count" ]; then cat "\(bench.folder)/answer$count"; echo OK
              else echo "ERR 83886179 cancelled"; fi ;;
            BYE) exit ;;
            *) echo OK ;;
          esac
        done
        """
      let program = try bench.file("asker", Array(script.utf8))
      chmod(program, 0o700)
      let variables = alice.environment.merging(["VAULT_PINENTRY": program]) { $1 }
      func unlock() async throws -> Outcome {
        try await bench.start(Bench.vault, ["unlock"], environment: variables, folder: alice.folder).end(within: 90)
      }
      let refused = try await unlock()
      #expect(refused.status == 130 && refused.complaint.contains("no passphrase was given"), "\(refused)")

      for (number, word) in [(1, "open"), (2, "open%20barley"), (3, "open%20barley and sesame")] {
        _ = try bench.file("answer\(number)", Array("D \(word)\n".utf8))
      }
      let unlocked = try await unlock()
      #expect(unlocked.status == 0 && !unlocked.complaint.contains("barley"), "\(unlocked)")
      #expect(FileManager.default.fileExists(atPath: bench.folder + "/complaint"))
      try await bench.wait(for: "it to begin its work") { daemon.written.contains("not listening") }
      try await alice.succeed("list")

      let missing = try await bench.start(
        Bench.vault, ["unlock"], environment: variables.merging(["VAULT_PINENTRY": "no-such-program"]) { $1 },
        folder: alice.folder
      ).end(within: 90)
      #expect(missing.status == 1 && missing.complaint.contains("VAULT_PINENTRY"), "\(missing)")
    }
  }
}
