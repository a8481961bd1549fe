import PeerAuth
import ShamirKit
import Sodium
import VaultProtocol
import VaultStore

/// From what the user wants to a proposal that others can agree to.
extension Changing {
  /// What keeps a wish from becoming a proposal.
  enum Obstacle: Hashable {
    /// Holders of whom nothing has been heard, by index; what can be said of them.
    case absent([UInt8])
    /// Somebody who is to hold a share hasn't said yet that it would.
    case unwilling([Digest])
  }

  /// Notes what the user wants; a wish that is there already is added to.
  func wish(_ id: SecretID, _ change: (inout Wish) -> Void) throws {
    var wish = try circles.wish(for: id) ?? Wish()
    change(&wish)
    let name = LifecycleRecord.Name(.wish, try wishName(id))
    try database.changeLifecycle(
      ofSecret: id,
      adding: [
        LifecycleRecord(secretID: id, name: name, content: try wish.encoded(), addedAt: environment.now())
      ], removing: [name])
  }

  func dropWish(_ id: SecretID) throws {
    try database.changeLifecycle(ofSecret: id, removing: [.init(.wish, try wishName(id))])
  }

  private func wishName(_ id: SecretID) throws -> Digest {
    do { return try AskTag.of(id) } catch { throw VaultError(.other, "the wish can't be named") }
  }

  /// The epoch that a change of this device's begins from: the newest complete one of which it has a share, or, for who
  /// has none yet, the newest complete one.
  func parent(_ circle: Circle) throws -> Epoch {
    let own = try circles.held(circle)
    if let current = circle.current(among: own) {
      let later = circle.epochs.values.contains { $0.number > current.number && circle.isComplete($0) }
      guard !later || own.contains(where: { $0.number > current.number }) else {
        throw VaultError(
          .usage, "the others have changed who holds it, and this device isn't among them any more",
          hint: "ask one of them to add this device: vault secret add")
      }
      return current
    }
    return circle.newestComplete
  }

  /// The rows that a wish comes to, and what is missing for them.
  func rows(_ wish: Wish, _ circle: Circle, _ parent: Epoch) throws -> (rows: [Proposal.Row], obstacles: [Obstacle]) {
    let holders = circle.holders(of: parent)
    let fragments = circle.header.scheme.shareCount
    var rows: [Proposal.Row] = []
    var absent: [UInt8] = []
    for (index, card) in holders where !wish.removed.contains(card) {
      if let joining = circle.joining(of: card, index, in: parent) {
        rows.append(.init(index: index, joining: joining))
      } else {
        absent.append(index)
      }
    }
    var unheard: [UInt8] = []
    if parent.holders == nil {
      unheard = (1...fragments).map { UInt8($0) }.filter { holders[$0] == nil }
      // Who leaves may never have said where it stands.
      let gone = wish.removed.count { !holders.values.contains($0) }
      if unheard.count > gone { absent += unheard } else if !wish.leavesOutAbsent { unheard = unheard.suffix(gone) }
    }
    var unwilling: [Digest] = []
    var taken = Set(holders.filter { !wish.removed.contains($0.value) }.keys)
    for card in wish.added.sorted(by: { $0.bytes.lexicographicallyPrecedes($1.bytes) }) {
      guard !rows.contains(where: { $0.joining.keys.digest == card }) else { continue }
      guard let joining = circle.willing(card) else {
        unwilling.append(card)
        continue
      }
      let old = wish.places.first { $0.value == card }?.key
      let former =
        old.flatMap { old in holders.first { $0.value == old }?.key } ?? formerIndex(card, circle)
        ?? ownIndex(card, circle)
      let free = (1...fragments).map { UInt8($0) }.filter { !taken.contains($0) }
      let index = former.flatMap { free.contains($0) ? $0 : nil } ?? free.first { unheard.contains($0) } ?? free.first
      guard let index else {
        throw VaultError(
          .usage, "a secret that was dealt to \(fragments) holders can't have more of them",
          hint: "remove one at the same time, or share it anew with `vault secret reshare`")
      }
      taken.insert(index)
      rows.append(.init(index: index, joining: joining))
    }
    var obstacles: [Obstacle] = []
    if !absent.isEmpty, !wish.leavesOutAbsent { obstacles.append(.absent(absent.sorted())) }
    if !unwilling.isEmpty { obstacles.append(.unwilling(unwilling)) }
    return (rows.sorted { $0.index < $1.index }, obstacles)
  }

  /// The index at which a card has stood before.
  private func formerIndex(_ card: Digest, _ circle: Circle) -> UInt8? {
    circle.epochs.values.sorted { $0.number > $1.number }.compactMap { epoch in
      circle.holders(of: epoch).first { $0.value == card }?.key
    }.first
  }

  /// This device's index, where nothing says any more where it has stood.
  private func ownIndex(_ card: Digest, _ circle: Circle) -> UInt8? {
    guard card == identity.keys.digest else { return nil }
    return (try? database.secret(circle.header.id))?.ownIndex.flatMap { UInt8(exactly: $0) }
  }

  /// Makes a proposal of the wish for a secret, if nothing is missing. Its user's yes goes with it.
  func propose(_ id: SecretID, _ wish: Wish, _ circle: Circle) throws -> [Obstacle] {
    let parent = try parent(circle)
    let (rows, obstacles) = try rows(wish, circle, parent)
    guard obstacles.isEmpty else { return obstacles }
    let threshold = Int(wish.threshold ?? UInt8(truncatingIfNeeded: parent.scheme.threshold))
    try check(threshold, rows.count, circle.header)
    let last = (circle.epochs.values.map(\.number) + circle.proposals.values.map(\.number)).max() ?? 0
    let highest = UInt64(parent.number) + UInt64(Proposal.numberLimit)
    let proposal: Proposal
    let digest: Digest
    do {
      proposal = try Proposal.sign(
        // Whoever names a number that is as high as may be keeps nobody from proposing.
        parent: parent, number: UInt32(clamping: min(UInt64(last) + 1, highest)),
        threshold: UInt8(truncatingIfNeeded: threshold), rows: rows,
        expiresAt: environment.now() + Self.proposalLifetime, by: identity)
      _ = try proposal.check(parent)
      digest = try proposal.digest()
    } catch { throw VaultError(.other, "the change can't be proposed: \(VaultCore.words(error))") }
    try database.changeLifecycle(
      ofSecret: id,
      adding: [
        try circles.row(.proposal(proposal), of: id),
        LifecycleRecord(secretID: id, name: .init(.decision, digest), content: [1], addedAt: environment.now()),
      ], removing: [.init(.wish, try wishName(id))], ifThere: (.init(.wish, try wishName(id)), try wish.encoded()))
    guard try circles.circle(of: id)?.proposals[digest] != nil else { return [] }
    record(.changeProposed, secret: circle.header, detail: "\(threshold) of \(rows.count)")
    return []
  }

  private func check(_ threshold: Int, _ count: Int, _ header: SecretHeader) throws {
    let least = header.dispersal.dataCount
    guard threshold >= least else {
      throw VaultError(
        .usage, "the file was cut so that \(least) holders are needed: the threshold can't go below that",
        hint: "share it anew with `vault secret reshare --threshold \(threshold)`")
    }
    guard threshold <= count else {
      throw VaultError(
        .usage, "\(count) holders would be left, and \(threshold) of them are needed",
        hint: "add a holder at the same time, or lower the threshold")
    }
  }
}
