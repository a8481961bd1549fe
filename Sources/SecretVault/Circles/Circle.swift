import PeerAuth
import ShamirKit
import Sodium
import VaultProtocol

/// What is known of how the sharing of one secret changes, verified: epochs, and what leads to others.
struct Circle: Sendable {
  /// Most records that aren't complete.
  private static let recordLimit = 16
  /// Most dealings of one dealer for one proposal, unless a record names them.
  private static let dealingLimit = 2

  struct Dealt: Sendable {
    let dealing: HolderDealing
    let boxes: [[UInt8]]
  }

  struct Change: Sendable {
    let name: RecordName
    let record: SharingRecord
    let parent: Digest
    let redistribution: Redistribution
  }

  let header: SecretHeader
  /// This device's card.
  let own: Digest
  /// By their digests: the dealer's, and those that records have made.
  private(set) var epochs: [Digest: Epoch]
  private(set) var joinings: [Digest: Joining] = [:]
  private(set) var proposals: [Digest: Proposal] = [:]
  private(set) var dealings: [Digest: Dealt] = [:]
  private(set) var changes: [Digest: Change] = [:]

  init(_ header: SecretHeader, own: Digest) {
    self.header = header
    self.own = own
    epochs = [header.digest: Epoch(header)]
  }

  // MARK: - What follows from it

  /// Rows whose holders have said that they hold their share of an epoch, by index.
  func ready(in epoch: Digest) -> [UInt8: Joining] {
    var found: [UInt8: Joining] = [:]
    for joining in joinings.values where joining.record == epoch && joining.index != 0 {
      found[joining.index] = joining
    }
    return found
  }

  /// Whether so many hold their shares of an epoch that older ones aren't needed, even if t'−1 of them, or n'−t', lie.
  func isComplete(_ epoch: Epoch) -> Bool {
    guard let holders = epoch.holders else { return true }
    return ready(in: epoch.digest).count >= Self.readyNeeded(of: holders.count, epoch.scheme.threshold)
  }

  static func readyNeeded(of count: Int, _ threshold: Int) -> Int { min(count, 2 * threshold - 1) }

  /// The epoch that counts among those of which this device has shares, in ascending order: the newest that is complete, or else the oldest.
  func current(among own: [Epoch]) -> Epoch? { own.last(where: isComplete) ?? own.first }

  /// The epochs of which this device has said that it has shares, of those with these numbers, in ascending order. Forks may have one number:
  /// ``Circles/held(_:)`` says of which the share is.
  func held(_ numbers: [UInt32]) -> [Epoch] {
    epochs.values.filter { epoch in
      numbers.contains(epoch.number)
        && (epoch.holders == nil || ready(in: epoch.digest).values.contains { $0.keys.digest == own })
    }.sorted { $0.number < $1.number }
  }

  /// Whether there is a later epoch than this, so that its shares are old.
  func isOld(_ epoch: Epoch) -> Bool { epochs.values.contains { $0.number > epoch.number } }

  /// Who has said where it stands in an epoch: those in its rows, or, of the dealer's, those whose joinings are known.
  func holders(of epoch: Epoch) -> [UInt8: Digest] {
    if let holders = epoch.holders { return holders }
    var found: [UInt8: Digest] = [:]
    for joining in joinings.values where joining.index != 0 {
      if epoch.isHolder(joining.keys.digest, joining.index, salt: joining.salt) {
        found[joining.index] = joining.keys.digest
      }
    }
    return found
  }

  /// The number of the fragment of somebody who has said that it holds one.
  func index(of card: Digest) -> UInt8? { joinings.values.first { $0.index != 0 && $0.keys.digest == card }?.index }

  /// The newest joining of a holder of an epoch, for a row that it keeps. Where the dealer's epoch is to be changed, only one of that has the salt
  /// that opens the row.
  func joining(of card: Digest, _ index: UInt8, in parent: Epoch) -> Joining? {
    joinings.values.filter {
      $0.keys.digest == card && $0.index == index && parent.isHolder(card, index, salt: $0.salt)
    }.max { number($0.record) < number($1.record) }
  }

  /// That a card would take a share of what comes behind an epoch; one a card and epoch, as keys are wiped with what they were for.
  func willing(_ card: Digest, in epoch: Digest) -> Joining? {
    joinings.values.first { $0.index == 0 && $0.record == epoch && $0.keys.digest == card }
  }

  /// The newest of them, unless a share has come of it: its key may be wiped.
  func willing(_ card: Digest) -> Joining? {
    let used = epochs.values.filter { $0.holders?.values.contains(card) == true }.map(\.number).max() ?? 0
    return joinings.values.filter { $0.index == 0 && $0.keys.digest == card && number($0.record) >= used }
      .max { number($0.record) < number($1.record) }
  }

  var newestComplete: Epoch { epochs.values.filter(isComplete).max { $0.number < $1.number } ?? Epoch(header) }

  private func number(_ epoch: Digest) -> UInt32 { epochs[epoch]?.number ?? 0 }

  /// The dealings of a proposal, by their dealers' indices.
  func dealings(of proposal: Digest) -> [UInt8: Dealt] {
    var found: [UInt8: Dealt] = [:]
    for (digest, dealt) in dealings.sorted(by: { $0.key.bytes.lexicographicallyPrecedes($1.key.bytes) })
    where dealt.dealing.proposal == proposal {
      // The one that a record names, of several.
      let isNamed = changes.values.contains { $0.name.dealings.contains(digest) }
      if found[dealt.dealing.index] == nil || isNamed { found[dealt.dealing.index] = dealt }
    }
    return found
  }

  /// Whether a card has a place in what is known: a share of some epoch, or a row of a record.
  func hasRow(_ card: Digest) -> Bool { epochs.values.contains { $0.holders?.values.contains(card) == true } }

  /// The proposals under which nothing has come about yet.
  var open: [Digest: Proposal] {
    let done = Set(changes.values.map(\.name.proposal))
    return proposals.filter { !done.contains($0.key) }
  }

  /// The dealings of a proposal that has enough of them, and of which there is no record.
  func possibleRecord(of proposal: Digest) -> [Digest]? {
    guard let known = proposals[proposal], let parent = epochs[known.parent] else { return nil }
    // Who leaves may deal what nobody can open: it counts only where too few stay.
    let kept = Set(known.rows.filter(\.isKept).map(\.index))
    let tooFewStay = kept.count < parent.scheme.threshold
    let dealt = dealings(of: proposal).filter { tooFewStay || kept.contains($0.key) }.sorted { $0.key < $1.key }
      .prefix(parent.scheme.threshold)
    guard dealt.count == parent.scheme.threshold, !changes.values.contains(where: { $0.name.proposal == proposal })
    else {
      return nil
    }
    let digests = dealt.compactMap { try? $0.value.dealing.digest() }
    return digests.count == dealt.count ? digests : nil
  }

  // MARK: - What comes

  /// Adds what fits to what is known. False if it is there already, something that it follows from is missing, or there
  /// is no room for it. Throws if it contradicts what it follows from. `named` are the dealings that records name that come with it, `admitted`
  /// records for which there is room in any case.
  mutating func add(
    _ object: LifecycleObject, named: Set<Digest> = [], admitted: Set<Digest> = []
  ) throws(ProtocolError) -> Bool {
    let digest = try object.digest()
    switch object {
    case .header(let header, _, _):
      guard header.digest == self.header.digest else { throw .inconsistentHeader("digest") }
      return false
    case .joining(let joining): return try add(joining, digest)
    case .proposal(let proposal): return try add(proposal, digest)
    case .dealing(let dealing, let boxes):
      return try add(Dealt(dealing: dealing, boxes: boxes), digest, isNamed: named.contains(digest))
    case .record(let name): return try add(name, digest, isAdmitted: admitted.contains(digest))
    }
  }

  /// The epochs that aren't complete, and haven't been overtaken by one that is.
  var pending: [Epoch] {
    let last = epochs.values.filter(isComplete).map(\.number).max() ?? 0
    return epochs.values.filter { $0.number > last && !isComplete($0) }
  }

  /// Whether there is room for a record: there is none of its proposal yet.
  private func mayAdd(_ name: RecordName) -> Bool {
    !changes.values.contains { $0.name.proposal == name.proposal }
      && pending.count < Self.recordLimit
  }

  private mutating func add(_ joining: Joining, _ digest: Digest) throws(ProtocolError) -> Bool {
    guard joinings[digest] == nil else { return false }
    guard joining.secret == header.id else { throw .foreignShare("secret") }
    if joining.index == 0 {
      guard epochs[joining.record] != nil, willing(joining.keys.digest, in: joining.record) == nil else { return false }
    } else {
      guard let epoch = epochs[joining.record] else { return false }
      guard epoch.isHolder(joining.keys.digest, joining.index, salt: joining.salt) else { throw .foreignShare("row") }
      // One a record: the first one is kept.
      guard ready(in: epoch.digest)[joining.index] == nil else { return false }
    }
    joinings[digest] = joining
    return true
  }

  private mutating func add(_ proposal: Proposal, _ digest: Digest) throws(ProtocolError) -> Bool {
    guard proposals[digest] == nil, let parent = epochs[proposal.parent] else { return false }
    _ = try proposal.check(parent)
    proposals[digest] = proposal
    return true
  }

  private mutating func add(_ dealt: Dealt, _ digest: Digest, isNamed: Bool) throws(ProtocolError) -> Bool {
    guard let proposal = proposals[dealt.dealing.proposal], let parent = epochs[proposal.parent],
      dealings[digest] == nil
    else { return false }
    // A dealer may say two things: a record names what counts.
    let others = dealings.values.count {
      $0.dealing.proposal == dealt.dealing.proposal && $0.dealing.index == dealt.dealing.index
    }
    guard isNamed || others < Self.dealingLimit else { return false }
    guard dealt.boxes.count == proposal.rows.count else { throw .foreignProposal("boxes") }
    try dealt.dealing.verify(proposal, parent)
    dealings[digest] = dealt
    return true
  }

  /// The records among these that have as many holders, by what comes with them, as make one complete: another one of the same proposal, which an
  /// asker that lies has told this device alone, must not bar them.
  func completed(by objects: [LifecycleObject]) throws(ProtocolError) -> Set<Digest> {
    var ready: [Digest: Set<UInt8>] = [:]
    for case .joining(let joining) in objects where joining.index != 0 {
      ready[joining.record, default: []].insert(joining.index)
    }
    var completed: Set<Digest> = []
    for object in objects {
      guard case .record(let name) = object, let proposal = proposals[name.proposal] else { continue }
      let digest = try object.digest()
      let needed = Self.readyNeeded(of: proposal.rows.count, Int(proposal.threshold))
      if ready[digest]?.count ?? 0 >= needed { completed.insert(digest) }
    }
    return completed
  }

  private mutating func add(_ name: RecordName, _ digest: Digest, isAdmitted: Bool) throws(ProtocolError) -> Bool {
    guard changes[digest] == nil, let proposal = proposals[name.proposal], let parent = epochs[proposal.parent] else {
      return false
    }
    try name.verify(proposal.asker)
    let dealt = name.dealings.compactMap { dealings[$0]?.dealing }
    guard dealt.count == name.dealings.count, isAdmitted || mayAdd(name) else { return false }
    let record = SharingRecord(proposal, dealt)
    guard try record.digest() == digest else { throw .foreignProposal("record") }
    let (epoch, redistribution) = try record.verified(after: parent)
    changes[digest] = Change(name: name, record: record, parent: parent.digest, redistribution: redistribution)
    epochs[digest] = epoch
    return true
  }

  // MARK: - What others are told

  /// All of it, each behind what it follows from.
  func objects() -> [LifecycleObject] {
    var objects: [LifecycleObject] = []
    for epoch in epochs.values.sorted(by: { $0.number < $1.number }) {
      if let joining = willing(own, in: epoch.digest) { objects.append(.joining(joining)) }
      objects += ready(in: epoch.digest).sorted { $0.key < $1.key }.map { .joining($0.value) }
      for (digest, proposal) in proposals where proposal.parent == epoch.digest {
        objects.append(.proposal(proposal))
        objects += dealings.values.filter { $0.dealing.proposal == digest }
          .sorted { ($0.dealing.index, $0.dealing.boxes.mark) < ($1.dealing.index, $1.dealing.boxes.mark) }
          .map { .dealing($0.dealing, boxes: $0.boxes) }
        objects += changes.values.filter { $0.name.proposal == digest }.map { .record($0.name) }
      }
    }
    return objects
  }
}
