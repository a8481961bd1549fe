import GroupLink
import Grouper
import NetLink
package import SecretVault
import VaultStore

/// All groups of a vault.
package struct VaultGroups: Sendable {
  let core: VaultCore
  let letters: GroupLetters
  let post: Post
  let items: Items
  let answering: Answering
  let classes: [any GroupClass]
  let connector: any GroupServerConnector
  let facts: FactsFile
  /// When peers were asked last for what is new about groups.
  let news = NewsMemory()
  /// How long a command waits for who has a group.
  var patience = Duration.seconds(10)

  /// Opens nothing.
  package init(_ vault: Vault) {
    self.init(vault, classes: GroupClasses.all(of: vault), connector: GroupServerConnections(NetHelper.shared))
  }

  /// The same with other parts, for tests.
  init(_ vault: Vault, classes: [any GroupClass], connector: any GroupServerConnector) {
    core = vault.core
    letters = vault.letters
    post = vault.post
    items = vault.items
    answering = vault.answering
    self.classes = classes
    self.connector = connector
    facts = FactsFile(core: core)
  }

  // MARK: - Finding

  /// All groups, by name; those too that this device has asked to join. What a creation that was interrupted has left
  /// is removed.
  package func list() async throws -> [GroupFacts] {
    core.groupFolders.sweep()
    var all: [GroupFacts] = []
    for id in try core.groupFolders.names() {
      let known: GroupFacts?
      do { known = try facts.read(id) } catch  where VaultError(error).code == .damaged {
        all.append(GroupFacts(id: id, state: .member, name: "?"))
        continue
      }
      if let known, known.state != .creating {
        all.append(known)
      } else if let settled = try await settle(id) {
        all.append(settled)
      }
    }
    return all.sorted { ($0.name, $0.id) < ($1.name, $1.id) }
  }

  /// What an interrupted creation has left: a group after all, or nothing. Nil also while somebody is just making it.
  private func settle(_ id: String) async throws -> GroupFacts? {
    let folder = core.groupFolders.path(id)
    guard let lock = try GroupLock.take(folder, for: "vault group list") else { return nil }
    defer { lock.release() }
    let group = try await VaultGroup.open(id, of: self, lock: lock) { _ in }
    defer { group.close() }
    let status: GroupStatus
    do { status = try await group.grouper.status() } catch GroupError.noGroup {
      try core.groupFolders.remove(id)
      return nil
    }
    var facts = GroupFacts(id: id, state: .member, name: status.name)
    facts.note(status)
    return try self.facts.write(facts)
  }

  /// The group of this name, or whose id begins so; without either the only one there is.
  package func find(_ reference: String?) async throws -> GroupFacts {
    let all = try await list()
    guard let reference else {
      guard let only = all.first else {
        throw VaultError(.notFound, "this vault is in no group", hint: "make one with `vault group create`")
      }
      guard all.count == 1 else {
        throw VaultError(.ambiguous, "there are \(all.count) groups", hint: "name one: see `vault group list`")
      }
      return only
    }
    let meanings: [(GroupFacts) -> Bool] = [
      { $0.name == reference }, { NearNames.isSame($0.name, as: reference) },
      { Self.isBeginning(reference, of: $0.id) || NearNames.begins($0.name, with: reference) },
    ]
    let found = meanings.lazy.map { all.filter($0) }.first { !$0.isEmpty } ?? []
    guard let first = found.first else {
      throw VaultError(
        .notFound, "there is no group \(reference)",
        hint: NearNames.question(reference, among: all.map(\.name)) ?? "see `vault group list`")
    }
    guard found.count == 1 else {
      throw VaultError(
        .ambiguous, "\(found.count) groups fit \(reference)",
        hint: "name one by its id: \(found.map(\.id).joined(separator: " or "))")
    }
    return first
  }

  /// The same among the groups that this device is a member of: another one is an error.
  package func findMember(_ reference: String?) async throws -> GroupFacts {
    let found = try await find(reference)
    guard found.state == .member else {
      throw VaultError(
        .refused, "this device is not in \(found.name) yet: it waits for its owner",
        hint: "the daemon asks again while it runs; so does `vault group join`")
    }
    return found
  }

  static func isBeginning(_ text: String, of id: String) -> Bool {
    text.utf8.count >= 4 && id.hasPrefix(text.lowercased())
  }

  // MARK: - Using one

  /// Opens a group for `body` and closes it behind it. Waits up to ten seconds for whoever has it; `what` tells others,
  /// meanwhile, who has it now: a few words such as `vault group sync`.
  package func use<Value: Sendable>(
    _ id: String, for what: String, _ body: (VaultGroup) async throws -> Value
  ) async throws -> Value {
    try await use(id, for: what, tell: { _ in }, body)
  }

  func use<Value: Sendable>(
    _ id: String, for what: String, tell: @escaping @Sendable (GrouperEvent) -> Void,
    _ body: (VaultGroup) async throws -> Value
  ) async throws -> Value {
    let lock = try await GroupLock.take(
      core.groupFolders.path(id), for: what, waiting: patience, core.surroundings)
    return try await use(id, lock, tell: tell, body)
  }

  /// The same with the lock in hand.
  func use<Value: Sendable>(
    _ id: String, _ lock: GroupLock, tell: @escaping @Sendable (GrouperEvent) -> Void,
    _ body: (VaultGroup) async throws -> Value
  ) async throws -> Value {
    defer { lock.release() }
    let group = try await VaultGroup.open(id, of: self, lock: lock, tell: tell)
    await catchUp(group)
    let result: Result<Value, any Error>
    do { result = .success(try await body(group)) } catch { result = .failure(error) }
    try? await group.grouper.rest()
    await note(group)
    group.close()
    return try result.get()
  }

  /// Keeps what `list` shows. That it can't be written harms nobody.
  private func note(_ group: VaultGroup) async {
    guard let status = try? await group.grouper.status() else { return }
    let known = (try? facts.read(group.id)) ?? nil
    var newer = known ?? GroupFacts(id: group.id, state: .member, name: status.name)
    newer.note(status)
    if newer != known { _ = try? facts.write(newer) }
  }
}
