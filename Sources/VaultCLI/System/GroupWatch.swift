import SecretVault
import Synchronization
import VaultGroups

/// Follows an item on its way into groups, or out of one, so that a signal that ends the program says which of them have it.
/// A group has it, or has it no more, once that is durable on this device, whether or not servers have heard of it.
final class GroupWatch: Sendable {
  private struct State {
    var done: [String] = []
    var left: [String]
  }

  private let state: Mutex<State>
  /// What was done before, as the beginning of a sentence: `the item is here, as 1a2b3c4d5e6f`.
  private let before: String?
  private let item: (name: String, id: String)
  /// Whether it is on its way out of the group.
  private let isLeaving: Bool

  /// Watches an item on its way into groups until ``end()``.
  convenience init(_ item: ItemSummary, into groups: [String], before: String? = nil) {
    self.init((item.shortName, item.id), groups, before, isLeaving: false)
  }

  /// Watches one on its way out of a group.
  convenience init(_ item: GroupItem, outOf group: String) {
    self.init((item.item?.shortName ?? String(item.id.prefix(12)), item.id), [group], nil, isLeaving: true)
  }

  private init(_ item: (name: String, id: String), _ groups: [String], _ before: String?, isLeaving: Bool) {
    self.item = item
    self.before = before
    self.isLeaving = isLeaving
    state = Mutex(State(left: groups))
    Interruption.say { [self] in farewell() }
  }

  /// Signals end the program as usual again.
  func end() { Interruption.say(nil) }

  func note(_ group: GroupFacts) {
    state.withLock { state in
      state.left.removeAll { $0 == group.name }
      state.done.append(group.name)
    }
  }

  // MARK: - The signal's thread

  private func farewell() -> Interruption.Farewell {
    let (done, left) = state.withLock { ($0.done, $0.left) }
    var parts = before.map { [$0] } ?? []
    let end = isLeaving ? "it no more" : "it"
    if !done.isEmpty {
      parts.append(
        "\(Self.groups(done, "has", "have")) \(end), and what servers don't have yet is sent by 'vault daemon' or 'vault group sync'"
      )
    }
    if !left.isEmpty {
      parts.append(
        isLeaving
          ? "\(Self.groups(left, "has", "have")) it still, or had it until just now"
          : "\(Self.groups(left, "hasn't", "haven't")) got it, or only just now")
    }
    let id = item.id.prefix(12)
    let (command, words) = isLeaving ? ("drop", "take it out") : ("add", "put it there")
    let commands = left.map { "'vault group \(command) \(shellQuoted($0)) \(id)'" }
    return Interruption.Farewell(
      error: VaultError(
        .interrupted, "interrupted: " + (parts.isEmpty ? "\(item.name) is as it was" : parts.joined(separator: "; ")),
        hint: left.isEmpty ? nil : "\(words) with \(commands.joined(separator: " and "))"))
  }

  private static func groups(_ names: [String], _ one: String, _ many: String) -> String {
    names.count == 1 ? "the group \(names[0]) \(one)" : "the groups \(MessageWords.list(names)) \(many)"
  }
}
