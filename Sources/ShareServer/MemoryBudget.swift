import Synchronization

/// Memory for bodies that are under way. What isn't there is refused before it is allocated.
final class MemoryBudget: Sendable {
  /// A part of it, given back when nobody holds this any more.
  final class Share: Sendable {
    private let budget: MemoryBudget
    private let count: Int

    fileprivate init(_ budget: MemoryBudget, _ count: Int) {
      self.budget = budget
      self.count = count
    }

    deinit { budget.free.withLock { $0 += count } }
  }

  private let free: Mutex<Int>

  init(_ count: Int) { free = Mutex(count) }

  func reserve(_ count: Int) throws(Refusal) -> Share {
    let isThere = free.withLock { free in
      guard count <= free else { return false }
      free -= count
      return true
    }
    guard isThere else { throw .busy }
    return Share(self, count)
  }
}
