import Foundation
import Glibc
import MemoryScan
import PeerAuth
import ShamirKit
import Sodium
import Testing

@testable import SecretVault
@testable import VaultStore

@Suite("The memory of running programs")
struct DaemonMemoryTests {
  @Test(
    "an unlocked daemon that has answered recoveries has keys, shares and passphrase in secret memory only",
    .enabled(if: geteuid() == 0, "only root may read the memory of a daemon"))
  func scan() async throws {
    try await Bench.run { bench in
      let pass = try bench.file("pass", Array(sample(30).map { UInt8(ascii: "a") + $0 % 26 }))
      chmod(pass, 0o600)
      let (alice, bob, carol) = (try Peer("alice", bench), try Peer("bob", bench), try Peer("carol", bench))
      let peers = [alice, bob, carol]
      var cards: [String] = []
      for peer in peers {
        try await peer.succeed("init", "--label", peer.name, "--passphrase-file", pass)
        try await peer.startDaemon("--passphrase-file", pass)
        cards.append(
          try await peer.succeed("id", "--text", "--address", peer.address, "--passphrase-file", pass).line)
      }
      for (number, peer) in peers.enumerated() {
        for (other, card) in cards.enumerated() where other != number {
          try await peer.succeed("peer", "add", card, "--passphrase-file", pass)
        }
      }
      try alice.write(sample(300_000, seed: 7), to: "note")
      let id = try await alice.succeed("share", "note", "--threshold", "3", "--passphrase-file", pass).line
      for _ in 0..<3 {
        try await carol.succeed("recover", id, "-o", "note", "--force", "--passphrase-file", pass)
      }
      try carol.expect("note", toHold: sample(300_000, seed: 7))

      var secrets = Needles()
      secrets.add("the passphrase", Array(try Data(contentsOf: URL(fileURLWithPath: pass))).span.bytes)
      secrets.add("the content", sample(300_000, seed: 7).span.bytes.extracting(100_000..<100_064))
      for peer in peers { try Self.add(peer, pass, id, to: &secrets) }
      var visible = Needles()
      visible.add("carol's public key", try PeerCard.parse(text: cards[2]).keys.signing.span.bytes)
      for peer in [alice, bob] {
        let memory = ProcessMemory.of(try peer.daemonProcess)
        let found = try memory.search(for: secrets)
        #expect(found.summary == [], "\(peer.name)")
        // At least the master key, the key of MACs and three private keys were left out, a page each; and what is not secret
        // is found.
        #expect(found.leftOut >= 5 * 4096, "\(found.leftOut)")
        #expect(try !memory.search(for: visible).findings.isEmpty)
      }
    }
  }

  /// All keys of a home, and its share of a secret.
  private static func add(_ peer: Peer, _ pass: String, _ id: String, to needles: inout Needles) throws {
    let folders = VaultFolders(home: peer.home)
    let passphrase = Array(try Data(contentsOf: URL(fileURLWithPath: pass)))
    let file = try MasterKeyFile.read(folders.masterKeyPath)
    let device = try AtomicFile.readSecret(folders.deviceKeyPath, count: 32)
    let given: SecretBytes? = try SecretBytes(copying: passphrase.span.bytes)
    let key = try VaultKeys.keyEncryptionKey(
      device: device, passphrase: given, costLogarithm: file.costLogarithm, salt: file.salt)
    let master = try SecretBox.open(file.sealed.span.bytes, key: key, nonce: file.nonce)
    needles.add("\(peer.name)'s device key", device.bytes)
    needles.add("the key that wraps \(peer.name)'s master key", key.bytes)
    needles.add("\(peer.name)'s master key", master.bytes)
    let keys = try VaultKeys(master: master.duplicate())
    let database = try VaultDatabase(folders, keys: keys)
    let identity = try database.identitySecrets()
    needles.add("\(peer.name)'s private keys", identity.bytes.extracting(1..<97))
    guard let stored = try database.share(ofSecret: try #require(SecretID(named: id))) else {
      throw VaultError(.notFound, "\(peer.name) has no share")
    }
    let held = try HeldShare(index: stored.index, record: stored.bytes, of: id)
    held.share.bytes.withUnsafeBytes { needles.add("\(peer.name)'s share", $0) }
  }

  @Test("a crash leaves no core file, whatever the limits say", arguments: [SIGSEGV, SIGABRT])
  func crash(signal: Int32) async throws {
    try await Bench.run { bench in
      let alice = try await bench.peer("alice")
      let start = "ulimit -c unlimited 2>/dev/null; "
      let usual = try bench.start("/bin/sh", ["-c", start + "exec sleep 60"], folder: alice.folder)
      try await bench.wait(for: "sleep") { try Self.name(of: usual) == "sleep" }
      usual.signal(signal)
      if try await usual.endByCrash(within: 90) & 0x80 == 0 {
        print("this system writes no core files for anybody, so this test shows little")
      }
      for file in try alice.files() { unlink(alice.folder + "/" + file) }

      let daemon = try bench.start(
        "/bin/sh", ["-c", start + "exec \"$VAULT\" daemon --listen 127.0.0.1:0"], environment: alice.environment,
        folder: alice.folder)
      try await bench.wait(for: "the daemon to listen") { daemon.written.contains("listening on ") }
      let limits = try String(contentsOfFile: "/proc/\(daemon.process)/limits", encoding: .utf8)
      let line = try #require(limits.split(separator: "\n").first { $0.hasPrefix("Max core file size") })
      #expect(line.split(separator: " ").compactMap { Int($0) } == [0, 0], "\(line)")
      daemon.signal(signal)
      let status = try await daemon.endByCrash(within: 90)
      #expect(status & 0x7F == signal && status & 0x80 == 0, "\(status)")
      #expect(try alice.files() == [])
    }
  }

  @Test("no other process of the same user can read the memory of vault or of its daemon")
  func undumpable() async throws {
    try await Bench.run { bench in
      let (alice, _) = try await bench.pair()
      // Root may trace everybody; without that right it is a user like any other.
      let drop = geteuid() == 0 ? "setpriv --bounding-set=-sys_ptrace --inh-caps=-sys_ptrace " : ""
      func start(_ command: String) throws -> Child {
        try bench.start(
          "/bin/sh", ["-c", "exec \(drop)\(command)"], environment: alice.environment, folder: alice.folder,
          input: .pipe)
      }
      func isReadable(_ child: Child) async throws -> Bool {
        try await alice.shell("exec \(drop)sh -c ': </proc/\(child.process)/mem'").status == 0
      }
      let usual = try start("sleep 60")
      try await bench.wait(for: "sleep") { try Self.name(of: usual) == "sleep" }
      guard try await isReadable(usual) else {
        print("skipped: on this system nobody can read another process's memory, or setpriv is missing")
        return
      }
      // One daemon runs for a vault.
      _ = try await alice.stopDaemon()
      let daemon = try start("\"$VAULT\" daemon --listen 127.0.0.1:0")
      try await bench.wait(for: "the daemon to listen") { daemon.written.contains("listening on ") }
      #expect(try await !isReadable(daemon))
      // It waits for standard input.
      let sharing = try start("\"$VAULT\" share - --threshold 2")
      try await bench.wait(for: "vault to open its home") {
        try Self.name(of: sharing) == "vault" && sharing.hasOpenVault
      }
      #expect(try await !isReadable(sharing))
      for child in [usual, daemon, sharing] {
        child.closeInput()
        child.signal(SIGKILL)
        _ = try await child.end(within: 90)
      }
    }
  }

  /// The name of the program that runs in a process.
  private static func name(of child: Child) throws -> String {
    let name = try String(contentsOfFile: "/proc/\(child.process)/comm", encoding: .utf8)
    return name.trimmingCharacters(in: .whitespacesAndNewlines)
  }
}
