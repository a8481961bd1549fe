import Synchronization

/// Memory for bodies that are under way. What isn't there is refused before it is allocated, and so is what would give
/// one group or one address more than an eighth of it, or a page's worth: the others have something to do, too.
final class MemoryBudget: Sendable {
  enum Holder: Hashable, Sendable {
    case group(Identifier)
    case address(ClientAddress)
  }

  /// A part of it, given back when nobody holds this any more.
  final class Share: Sendable {
    private let budget: MemoryBudget
    private let holders: [Holder]
    private let count = Mutex(0)

    fileprivate init(_ budget: MemoryBudget, _ holders: [Holder]) {
      self.budget = budget
      self.holders = holders
    }

    func grow(_ more: Int) throws(Refusal) {
      guard budget.take(more, holders) else { throw .busy }
      count.withLock { $0 += more }
    }

    deinit { budget.give(count.withLock { $0 }, holders) }
  }

  private struct State {
    var free: Int
    var held: [Holder: Int] = [:]
  }

  private let state: Mutex<State>
  private let most: Int
  private let all: Int

  /// One page has to fit, whatever an eighth is.
  init(_ count: Int) {
    all = count
    state = Mutex(State(free: count))
    most = max(count / 8, Answers.pageMemory(ServerLimits.pageBytes, ServerLimits.pageShares))
  }

  /// Bytes that somebody has.
  var taken: Int { all - state.withLock { $0.free } }

  func reserve(_ count: Int, for holders: [Holder] = []) throws(Refusal) -> Share {
    let share = Share(self, holders)
    try share.grow(count)
    return share
  }

  private func take(_ count: Int, _ holders: [Holder]) -> Bool {
    state.withLock { state in
      guard count <= state.free, holders.allSatisfy({ state.held[$0, default: 0] + count <= most }) else {
        return false
      }
      state.free -= count
      for holder in holders { state.held[holder, default: 0] += count }
      return true
    }
  }

  private func give(_ count: Int, _ holders: [Holder]) {
    state.withLock { state in
      state.free += count
      for holder in holders {
        let rest = state.held[holder, default: 0] - count
        state.held[holder] = rest > 0 ? rest : nil
      }
    }
  }
}
