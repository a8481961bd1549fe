import VaultStore

/// What somebody may mean who types a name that nothing has: one place for peers, secrets, groups, commands and options.
package enum NearNames {
  /// Names that are looked through. There may be very many, and somebody waits.
  private static let searchLimit = 10_000
  /// Scalars of a name that are compared.
  private static let lengthLimit = 64

  /// Whether a name begins as the user has typed, in whatever case.
  package static func begins(_ name: String?, with typed: String) -> Bool {
    guard let name, !typed.isEmpty else { return false }
    return PeerName.skeleton(name).hasPrefix(PeerName.skeleton(typed))
  }

  /// Whether a name is what the user has typed, in another case or looking the same.
  package static func isSame(_ name: String?, as typed: String) -> Bool {
    guard let name, !typed.isEmpty else { return false }
    return PeerName.skeleton(name) == PeerName.skeleton(typed)
  }

  /// At most `limit` names that are hardly another word than `typed`, or of which it is a part; the nearest first.
  package static func near(_ typed: String, among names: some Sequence<String>, limit: Int = 3) -> [String] {
    let wanted = letters(typed)
    guard !wanted.isEmpty else { return [] }
    var found: [(name: String, distance: Int)] = []
    for name in names.prefix(searchLimit) {
      let candidate = letters(name)
      let distance = distance(wanted, candidate)
      let isPart =
        wanted.count >= 3 && (contains(candidate, wanted) || (candidate.count >= 3 && wanted.starts(with: candidate)))
      guard distance <= allowance(wanted.count) || isPart, !found.contains(where: { $0.name == name }) else { continue }
      found.append((name, distance))
    }
    return found.enumerated().sorted { ($0.element.distance, $0.offset) < ($1.element.distance, $1.offset) }
      .prefix(limit).map(\.element.name)
  }

  /// `did you mean 'Bob' or 'Bobby'?`; nil if there is nothing near.
  package static func question(_ typed: String, among names: some Sequence<String>) -> String? {
    let near = near(typed, among: names)
    return near.isEmpty ? nil : "did you mean \(near.map { "'\($0)'" }.joined(separator: " or "))?"
  }

  private static func letters(_ text: String) -> [Unicode.Scalar] {
    Array(PeerName.skeleton(String(text.prefix(lengthLimit))).unicodeScalars.prefix(lengthLimit))
  }

  /// Slips that are forgiven in a word of so many letters.
  private static func allowance(_ count: Int) -> Int { count < 3 ? 0 : count < 6 ? 1 : count < 9 ? 2 : 3 }

  private static func contains(_ text: [Unicode.Scalar], _ part: [Unicode.Scalar]) -> Bool {
    guard text.count >= part.count else { return false }
    return (0...text.count - part.count).contains { text[$0...].starts(with: part) }
  }

  /// Letters to add, leave out, change or swap with the next one, to make one word of the other; nothing is swapped and
  /// changed besides.
  static func distance(_ one: [Unicode.Scalar], _ other: [Unicode.Scalar]) -> Int {
    var before: [Int] = []
    var last = Array(0...other.count)
    for (row, letter) in one.enumerated() {
      var line = [row + 1]
      for (column, opposite) in other.enumerated() {
        var cost = min(last[column] + (letter == opposite ? 0 : 1), last[column + 1] + 1, line[column] + 1)
        if row > 0, column > 0, letter == other[column - 1], one[row - 1] == opposite {
          cost = min(cost, before[column - 1] + 1)
        }
        line.append(cost)
      }
      before = last
      last = line
    }
    return last[other.count]
  }
}
