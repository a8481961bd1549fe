import SecretVault
import Synchronization
import VaultGroups

/// Follows an item on its way into groups, so that a signal that ends the program says which of them have it. A group has it from the moment
/// in which that is durable on this device, whether or not servers have heard of it.
final class GroupWatch: Sendable {
  private struct State {
    var done: [String] = []
    var left: [String]
  }

  private let state: Mutex<State>
  /// What was done before, as the beginning of a sentence: `the item is here, as 1a2b3c4d5e6f`.
  private let before: String?
  private let item: ItemSummary

  /// Watches until ``end()``.
  init(_ item: ItemSummary, into groups: [String], before: String? = nil) {
    self.item = item
    self.before = before
    state = Mutex(State(left: groups))
    Interruption.say { [self] in farewell() }
  }

  /// Signals end the program as usual again.
  func end() { Interruption.say(nil) }

  /// A group has it.
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
    if !done.isEmpty {
      parts.append(
        "\(Self.groups(done, "has", "have")) it, and what servers don't have yet is sent by 'vault daemon' or 'vault group sync'"
      )
    }
    if !left.isEmpty { parts.append("\(Self.groups(left, "hasn't", "haven't")) got it, or only just now") }
    let id = item.id.prefix(12)
    return Interruption.Farewell(
      VaultError(
        .interrupted,
        "interrupted: " + (parts.isEmpty ? "\(item.shortName) is as it was" : parts.joined(separator: "; ")),
        hint: left.isEmpty
          ? nil
          : "put it there with \(left.map { "'vault group add \(shellQuoted($0)) \(id)'" }.joined(separator: " and "))")
    )
  }

  private static func groups(_ names: [String], _ one: String, _ many: String) -> String {
    names.count == 1 ? "the group \(names[0]) \(one)" : "the groups \(MessageWords.list(names)) \(many)"
  }
}
