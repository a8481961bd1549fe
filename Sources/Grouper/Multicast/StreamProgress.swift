/// How far a member has a stream's normal messages.
struct StreamProgress: Hashable, Sendable {
  /// A question that hasn't been answered in full.
  struct Question: Hashable, Sendable {
    /// What is still missing of it.
    var numbers: SequenceSet
    var target: NodeID
    /// When it may be asked again.
    var until: UInt64
    /// How often it has been asked before.
    var attempt: Int
  }

  /// All up to here have been delivered, or mean nothing any more.
  var contiguous: UInt64 = 0
  /// Later ones that are here and wait for those before them.
  var held = SequenceSet()
  /// The newest number that a signed message of the stream has shown.
  var known: UInt64 = 0
  /// Since when something is missing that wasn't asked for.
  var gapSince: UInt64?
  /// Who has said how far he has them. Hearsay: it is asked for, within the window, and believed no further.
  var holders: [NodeID: UInt64] = [:]
  var questions: [Question] = []

  /// The newest number that there may be.
  var rumoured: UInt64 { max(known, holders.values.max() ?? 0) }

  /// Whether no message of the stream has come, and somebody only speaks of it, or says that it means nothing any more.
  var isHearsay: Bool { known == 0 }

  func missing(window: UInt64) -> SequenceSet {
    let last = min(rumoured, contiguous + window)
    guard last > contiguous else { return SequenceSet() }
    var set = SequenceSet((contiguous + 1)...last)
    set.subtract(held)
    return set
  }

  /// Takes numbers that are here now, and says which ones are next in order.
  mutating func take(_ numbers: SequenceSet) -> ClosedRange<UInt64>? {
    held.formUnion(numbers)
    for place in questions.indices { questions[place].numbers.subtract(numbers) }
    questions.removeAll { $0.numbers.isEmpty }
    guard let first = held.ranges.first, first.lowerBound <= contiguous + 1, first.upperBound > contiguous else {
      return nil
    }
    let next = (contiguous + 1)...first.upperBound
    contiguous = first.upperBound
    held.remove(1...contiguous)
    if contiguous >= rumoured { gapSince = nil }
    return next
  }
}
