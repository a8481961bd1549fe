import ArgumentParser
import Dispatch
import Glibc
import SecretVault
import Synchronization
import VaultDaemon
import VaultGroups

/// Names that a shell offers when the user presses the tabulator. It asks nobody anything: where the vault is locked, or
/// doesn't answer at once, nothing is offered.
enum NameCompletion {
  /// Seconds after which the user is left alone.
  private static let patience: UInt32 = 2
  /// Most names that are offered.
  private static let limit = 1000

  /// Names of this vault, by which `words`, the line so far, mean what `find` looks for.
  fileprivate static func names(
    _ words: [String], _ find: @escaping @Sendable (Vault) async throws -> [String]
  ) -> [String] {
    // Whatever it waits for, a disk or another process: the shell waits for this.
    signal(SIGALRM) { _ in _exit(ExitCodes.done) }
    alarm(patience)
    defer { alarm(0) }
    guard let vault = try? open(words) else { return [] }
    let found = Mutex<[String]>([])
    let ended = DispatchSemaphore(value: 0)
    Task.detached {
      let names = (try? await find(vault)) ?? []
      found.withLock { $0 = names }
      ended.signal()
    }
    ended.wait()
    vault.close()
    // One a line; what needs escaping for the eye would hide what is chosen.
    return Array(found.withLock { $0 }.filter { !$0.isEmpty && Printable.escape($0) == $0 }.prefix(limit))
  }

  /// The vault that the line is about, if it opens without a question.
  private static func open(_ words: [String]) throws -> Vault? {
    var arguments = ["--quiet"]
    if let place = words.lastIndex(of: "--home"), place + 1 < words.count { arguments += words[place...place + 1] }
    let composition = try Composition(try GlobalOptions.parse(arguments))
    guard composition.folders.containsVault else { return nil }
    let locked = VaultError(.wrongPassphrase, "the vault is locked")
    return try Vault.open(
      at: composition.folders, passphrase: { throw locked }, stretched: { composition.agent.passphrase() },
      environment: composition.environment)
  }

  /// Descriptions, and the beginnings of ids where there is none or another secret has it, too.
  fileprivate static func names(of secrets: [SecretSummary]) -> [String] {
    let counts = Dictionary(secrets.map { ($0.description ?? "", 1) }, uniquingKeysWith: +)
    return secrets.map { secret in
      guard let description = secret.description, counts[description] == 1 else { return String(secret.id.prefix(12)) }
      return description
    }
  }
}

extension CompletionKind {
  /// The peers of this vault.
  static var peers: CompletionKind {
    .custom { words, _, _ in NameCompletion.names(words) { try $0.trust.peers().map(\.name) } }
  }

  /// The secrets of this vault.
  static var secrets: CompletionKind {
    .custom { words, _, _ in NameCompletion.names(words) { NameCompletion.names(of: try $0.overview.secrets()) } }
  }

  /// The encryption keys of this vault.
  static var keys: CompletionKind {
    .custom { words, _, _ in
      NameCompletion.names(words) { NameCompletion.names(of: try $0.items.encryptionKeys().map(\.secret)) }
    }
  }

  /// The groups of this vault.
  static var groups: CompletionKind {
    .custom { words, _, _ in NameCompletion.names(words) { try await VaultGroups($0).list().map(\.name) } }
  }

  /// The settings, which are the same everywhere.
  static var settings: CompletionKind { .list(SettingKey.allCases.map(\.rawValue)) }
}
