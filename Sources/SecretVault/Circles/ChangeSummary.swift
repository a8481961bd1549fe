import PeerAuth
import ShamirKit
import Sodium
import VaultProtocol
import VaultStore

/// What a change of a secret's holders comes to, in this device's words for them.
package struct ChangeSummary: Hashable, Sendable {
  package struct Holder: Hashable, Sendable {
    /// The number of the share; 0 where it isn't known.
    package let index: Int
    /// Nil for somebody whom this device doesn't know.
    package let name: String?
    /// 5×5 digits of its keys.
    package let fingerprint: String
    package let isThisDevice: Bool
  }

  /// The epoch that comes of it.
  package let number: UInt32
  package let stays: [Holder]
  package let comes: [Holder]
  /// Those who are known to hold a share now and hold none then.
  package let leaves: [Holder]
  /// How many more leave of whom this device doesn't know where they stand.
  package let othersLeave: Int
  package let threshold: Int
  package let count: Int
  /// Before.
  package let formerThreshold: Int
  package let formerCount: Int
  /// Whether nothing needs to be dealt any more: a yes only erases this device's older shares.
  package let isMade: Bool
}

extension Circles {
  func summary(of proposal: Proposal, _ digest: Digest, _ circle: Circle) throws -> ChangeSummary {
    guard let parent = circle.epochs[proposal.parent] else {
      throw VaultError(.damaged, "what it would change is missing")
    }
    let names = try directory.peerNames()
    let introduced = Dictionary(
      ((try? introductions.introducedHolders(of: circle.header.id)) ?? []).map { ($0.digest, $0.name) },
      uniquingKeysWith: { first, _ in first })
    func holder(_ index: UInt8, _ card: Digest) -> ChangeSummary.Holder {
      ChangeSummary.Holder(
        index: Int(index), name: names[card] ?? introduced[card],
        fingerprint: (try? Fingerprint(of: card))?.description ?? card.description,
        isThisDevice: card == identity.keys.digest)
    }
    let before = circle.holders(of: parent)
    let rows = proposal.rows.map { (index: $0.index, card: $0.joining.keys.digest, isKept: $0.isKept) }
    let after = Set(rows.map(\.card))
    let count = parent.holders?.count ?? circle.header.scheme.shareCount
    // Who comes in a lost device's place, by this user's word, shows who leaves: that one may never have said where it stands.
    let replaced = try rows.filter { !$0.isKept }.compactMap { row -> (old: Digest, new: Digest)? in
      guard let old = try former(of: row.card, in: circle) ?? formerCards(of: row.card).first else { return nil }
      return before.values.contains(old) ? nil : (old, row.card)
    }
    let lost = replaced.prefix(max(0, count - rows.count(where: \.isKept) - before.count { !after.contains($0.value) }))
    // Whose share was damaged gets another one: it comes and leaves nothing.
    let ownIndex = try database.secret(circle.header.id)?.ownIndex
    let delivered = try database.deliveries(ofSecret: circle.header.id).filter { $0.state == .delivered }
    let had = Set(before.values).union(parent.holders == nil ? delivered.map(\.entry.recipient) : [])
    let renewed = rows.count { row in
      !row.isKept && (row.card == identity.keys.digest && ownIndex != nil || had.contains(row.card))
    }
    let leaves = before.filter { !after.contains($0.value) }.sorted { $0.key < $1.key }
    return ChangeSummary(
      number: proposal.number, stays: rows.filter(\.isKept).map { holder($0.index, $0.card) },
      comes: rows.filter { !$0.isKept }.map { holder($0.index, $0.card) },
      leaves: leaves.map { holder($0.key, $0.value) }
        + lost.map { one in
          ChangeSummary.Holder(
            index: 0, name: "the old device of \(names[one.new] ?? "somebody")",
            fingerprint: holder(0, one.old).fingerprint, isThisDevice: false)
        },
      othersLeave: max(0, count - rows.count(where: \.isKept) - leaves.count - lost.count - renewed),
      threshold: Int(proposal.threshold), count: rows.count, formerThreshold: parent.scheme.threshold,
      formerCount: count, isMade: circle.open[digest] == nil)
  }

  /// The same by the proposal's digest; nil if it isn't known any more.
  func summary(of digest: Digest, secret id: SecretID) throws -> ChangeSummary? {
    guard let circle = try circle(of: id), let proposal = circle.proposals[digest] else { return nil }
    return try summary(of: proposal, digest, circle)
  }
}

extension ChangeSummary {
  /// In a sentence or two.
  package var sentence: String {
    var parts: [String] = []
    let gone =
      leaves.map(Self.words)
      + (othersLeave == 0 ? [] : [Self.count(othersLeave, "holder unknown here", "holders unknown here")])
    if !gone.isEmpty { parts.append("\(Self.list(gone)) \(leaves.count + othersLeave == 1 ? "leaves" : "leave")") }
    if !comes.isEmpty { parts.append("\(Self.list(comes.map(Self.words))) \(comes.count == 1 ? "comes" : "come")") }
    if parts.isEmpty {
      parts.append(
        threshold == formerThreshold
          ? "all shares are renewed" : "\(threshold) holders are needed in place of \(formerThreshold)")
    } else if threshold != formerThreshold {
      parts.append("\(threshold) holders are needed in place of \(formerThreshold)")
    }
    let all = stays + comes
    let unknown = all.count { $0.name == nil && !$0.isThisDevice }
    let known = all.filter { $0.name != nil || $0.isThisDevice }.map { $0.isThisDevice ? "this device" : $0.name ?? "" }
    let named = known + (unknown == 0 ? [] : [Self.count(unknown, "holder unknown here", "holders unknown here")])
    return "\(parts.joined(separator: ", ")). From then on any \(threshold) of these can open it: \(Self.list(named))."
  }

  private static func words(_ holder: Holder) -> String {
    holder.isThisDevice ? "this device" : "\(holder.name ?? "somebody unknown here") (\(holder.fingerprint))"
  }

  private static func count(_ number: Int, _ one: String, _ many: String) -> String {
    number == 1 ? "1 \(one)" : "\(number) \(many)"
  }

  private static func list(_ words: [String]) -> String {
    guard let last = words.last, words.count > 1 else { return words.first ?? "" }
    return words.dropLast().joined(separator: ", ") + " and " + last
  }
}
