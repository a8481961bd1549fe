import Glibc
import SecretVault
import Synchronization

/// A command that can tell, before it runs, which descriptors of its caller it relies on.
protocol UnlockingCommand {
  /// How it opens the vault.
  var unlock: UnlockOptions { get }
  /// Those of 0 and 1 without which it would read or write nothing.
  var neededStreams: Set<Int32> { get }
  /// Options besides `--passphrase-fd` that name a descriptor, with its number.
  var namedDescriptors: [(option: String, descriptor: Int32)] { get }
}

extension UnlockingCommand {
  var neededStreams: Set<Int32> { [] }
  var namedDescriptors: [(option: String, descriptor: Int32)] { [] }
}

/// What the caller left open. A number that was closed may mean another file a moment later, so this is noted first.
enum InheritedDescriptors {
  private static let closed = Mutex<Set<Int32>>([])

  /// Notes which of 0, 1 and 2 are closed: before anything is opened.
  static func note() {
    let missing = (0...2).filter { fcntl($0, F_GETFD) < 0 }
    closed.withLock { $0 = Set(missing) }
  }

  /// Gives 0, 1 and 2 to `/dev/null` where the caller closed them, so that no file or socket takes their place.
  static func fillStandardOnes() {
    for descriptor: Int32 in 0...2 where fcntl(descriptor, F_GETFD) < 0 {
      // The lowest free number is this one, as all below it are open.
      _ = open("/dev/null", descriptor == 0 ? O_RDONLY : O_WRONLY)
    }
  }

  /// Refuses a command that would read an empty input, or write nowhere, or take a file of ours for its passphrase.
  /// To be called as soon as the command is known, while nothing else is open.
  static func check(_ command: some UnlockingCommand) throws {
    try check(command, closed: closed.withLock { $0 }, isOpen: { fcntl($0, F_GETFD) >= 0 })
  }

  static func check(_ command: some UnlockingCommand, closed: Set<Int32>, isOpen: (Int32) -> Bool) throws {
    let needed = command.neededStreams
    if needed.contains(STDIN_FILENO), closed.contains(STDIN_FILENO) {
      throw VaultError(.usage, "- means standard input, and that is closed", hint: "give a file, or pipe something in")
    }
    if needed.contains(STDOUT_FILENO), closed.contains(STDOUT_FILENO) {
      throw VaultError(.usage, "- means standard output, and that is closed", hint: "name a file, or redirect it")
    }
    let passphrase = command.unlock.passphraseDescriptor.map { [("--passphrase-fd", $0)] } ?? []
    for (option, descriptor) in passphrase + command.namedDescriptors {
      guard !closed.contains(descriptor), isOpen(descriptor) else {
        throw VaultError(
          .usage, "\(option) \(descriptor): no such descriptor is open",
          hint: "open it in the shell, for example: \(option) 3 3<FILE")
      }
    }
  }
}
