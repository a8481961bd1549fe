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

  /// Groups, until the line names one that is behind the command's name, and what `find` looks for in that group: in all of
  /// them while none is named.
  fileprivate static func namesInGroups(
    _ words: [String], _ place: Int,
    _ find: @escaping @Sendable (VaultGroups, GroupFacts, Vault) async throws -> [String]
  ) -> [String] {
    names(words) { vault in
      let groups = VaultGroups(vault)
      let all = try await groups.list().filter { $0.state == .member }
      let before = words.indices.contains(place - 1) ? words[place - 1] : ""
      let named = all.filter { NearNames.isSame($0.name, as: before) }
      var found = named.isEmpty && all.count > 1 ? all.map(\.name) : []
      for group in named.isEmpty ? all : named {
        for name in try await find(groups, group, vault) where !found.contains(name) { found.append(name) }
      }
      return found
    }
  }

  /// Names of items, and the beginnings of ids where there is none or another item has it, too.
  fileprivate static func names(of items: [(name: String?, id: String)]) -> [String] {
    let counts = Dictionary(items.map { ($0.name ?? "", 1) }, uniquingKeysWith: +)
    return items.map { item in
      guard let name = item.name, counts[name] == 1 else { return String(item.id.prefix(12)) }
      return name
    }
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

  /// A group, and a peer who isn't in it.
  static var groupsAndPeers: CompletionKind {
    .custom { words, place, _ in
      NameCompletion.namesInGroups(words, place) { groups, group, vault in
        let inside = try await groups.members(of: group).filter { $0.state != .removed }.compactMap(\.peer)
        return try vault.trust.peers().map(\.name).filter { !inside.contains($0) }
      }
    }
  }

  /// A group, and somebody who is in it or invited.
  static var groupsAndMembers: CompletionKind {
    .custom { words, place, _ in
      NameCompletion.namesInGroups(words, place) { groups, group, _ in
        try await groups.members(of: group).filter { $0.state == .member || $0.state == .invited }.map(\.name)
      }
    }
  }

  /// A group, and an item: to drop one that it keeps in step, to add another one.
  static var groupsAndItems: CompletionKind {
    .custom { words, place, _ in
      let isDrop = words.prefix(place).contains("drop")
      return NameCompletion.namesInGroups(words, place) { groups, group, vault in
        let kept = try groups.items(of: group)
        if isDrop { return NameCompletion.names(of: kept.map { ($0.item?.name, $0.id) }) }
        let inside = Set(kept.filter(\.isShared).map(\.id))
        return NameCompletion.names(
          of: try vault.items.items(under: nil).filter { !inside.contains($0.id) }.map { ($0.name, $0.id) })
      }
    }
  }

  /// The settings, which are the same everywhere.
  static var settings: CompletionKind { .list(SettingKey.allCases.map(\.rawValue)) }
}
