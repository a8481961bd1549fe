import ArgumentParser
import Glibc
import SecretVault
import Sodium
import VaultDaemon
import VaultProtocol
import VaultStore

/// The daemon for `--background`. What runs in the background can't ask on the terminal: so the passphrase is asked for here,
/// and handed through a pipe to this program, started once more in a session of its own. This process ends when that one
/// listens, or waits for the passphrase as one that starts locked does, or says why it doesn't.
struct BackgroundDaemon {
  let composition: Composition
  /// Nil for a daemon that starts locked.
  let unlock: UnlockOptions?
  /// The options of the daemon that have nothing to do with unlocking.
  let options: [String]

  /// Returns when it listens.
  func start() throws {
    guard try DaemonLock.running(composition.folders) == nil else {
      throw Checking.anotherDaemon(composition.folders)
    }
    let passphrase = try passphrase()
    var input = ChildProcess.Pipes.Ends()
    var output = ChildProcess.Pipes.Ends()
    var errors = ChildProcess.Pipes.Ends()
    let nowhere = open("/dev/null", O_RDONLY | O_CLOEXEC)
    defer {
      input.closeRead()
      input.closeWrite()
      output.closeRead()
      output.closeWrite()
      errors.closeRead()
      errors.closeWrite()
      if nowhere >= 0 { close(nowhere) }
    }
    guard nowhere >= 0, input.open(), output.open(), errors.open() else {
      throw VaultError(.inputOutput, "cannot start the daemon: \(SystemError.text(errno))")
    }
    let given = passphrase == nil ? [] : ["--passphrase-fd", "0"]
    // A log that goes to a file stays there. One on a terminal ends with this process: it would write into what is typed.
    let log = Console.errorIsTerminal ? errors.write : STDERR_FILENO
    let process = try ChildProcess.spawn(
      "/proc/self/exe", ["vault", "daemon"] + options + given,
      standard: [passphrase == nil ? nowhere : input.read, output.write, log], detached: true)
    Interruption.redirect { _ in
      kill(process, SIGTERM)
      Interruption.end()
    }
    input.closeRead()
    output.closeWrite()
    errors.closeWrite()
    // Far fewer bytes than a pipe holds.
    try passphrase?.bytes.withUnsafeBytes { bytes in
      try Console.write(RawSpan(_unsafeBytes: bytes), to: input.write)
    }
    input.closeWrite()
    let line = relay(output.read, errors.read)
    Interruption.settle()
    Interruption.redirect(to: nil)
    guard let line else {
      var status: Int32 = 0
      while waitpid(process, &status, 0) < 0, errno == EINTR {}
      // It has said why.
      throw ExitCode(max(ChildProcess.exitCode(status), ExitCodes.other))
    }
    try Console.write(line, to: STDOUT_FILENO)
    composition.console.note("the daemon runs in the background; it ends with: kill \(process)")
  }

  /// The passphrase, if the vault has one, tried out: nobody can be told of a wrong one later.
  private func passphrase() throws -> HeldSecret? {
    guard let unlock else { return nil }
    var kept: HeldSecret?
    let vault = try Vault.open(
      at: composition.folders,
      passphrase: {
        let passphrase = try unlock.passphrase.existing(composition.console)
        do { kept = HeldSecret(try passphrase.duplicate()) } catch {
          throw SecretText.noMemory
        }
        return passphrase
      }, environment: composition.environment)
    vault.close()
    return kept
  }

  /// Shows what the daemon complains of until it says that it listens, and returns that line; nil if it ends before.
  private func relay(_ output: Int32, _ errors: Int32) -> String? {
    var line: [UInt8] = []
    var waiting = [
      pollfd(fd: errors, events: Int16(POLLIN), revents: 0), pollfd(fd: output, events: Int16(POLLIN), revents: 0),
    ]
    while waiting.contains(where: { $0.fd >= 0 }) {
      guard poll(&waiting, 2, -1) > 0 else { continue }
      for stream in 0...1 where waiting[stream].revents != 0 {
        let bytes = ChildProcess.receive(waiting[stream].fd, atMost: 4096)
        if bytes.isEmpty { waiting[stream].fd = -1 }
        if stream == 0 { try? Console.write(bytes, to: STDERR_FILENO) } else { line += bytes }
      }
      if line.last == UInt8(ascii: "\n") { return String(decoding: line, as: UTF8.self) }
    }
    return nil
  }
}
