import ShamirKit
import Sodium
import Synchronization
import VaultProtocol
import VaultStore

/// How secrets have changed hands: what is known of it, verified.
package final class Circles: Room {
  package let core: VaultCore
  let directory: Directory
  let introductions: Introductions
  let knowledge = PeerKnowledge()
  private let verified = Mutex<[SecretID: (names: [LifecycleRecord.Name], circle: Circle)]>([:])
  private static let cacheLimit = 512

  init(_ core: VaultCore, _ directory: Directory, _ introductions: Introductions) {
    self.core = core
    self.directory = directory
    self.introductions = introductions
  }

  func circle(of record: SecretRecord) throws -> Circle {
    try circle(directory.header(of: record), try database.lifecycle(ofSecret: record.id))
  }

  /// The same of a secret that this device holds nothing of yet; nil if it knows nothing of it.
  func circle(of id: SecretID) throws -> Circle? {
    if let record = try database.secret(id) { return try circle(of: record) }
    let rows = try database.lifecycle(ofSecret: id)
    guard let header = Self.header(rows)?.header else { return nil }
    return try circle(header, rows)
  }

  /// The secret that a request names by its tag, if this device holds it or is to take a share of it.
  func secret(tag: Digest) throws -> SecretID? {
    if let record = try database.secret(askTag: tag) { return record.id }
    for id in try database.secretsWithLifecycle() where try AskTag.of(id) == tag { return id }
    return nil
  }

  /// The header that somebody has handed this device of a secret that it is to take a share of, and the dealer's card digest as it was told.
  static func header(_ rows: [LifecycleRecord]) -> (header: SecretHeader, dealer: Digest)? {
    for row in rows where row.name.kind == .header {
      if case .header(let header, let dealer, _)? = try? LifecycleObject(.header, row.content) {
        return (header, dealer)
      }
    }
    return nil
  }

  private func circle(_ header: SecretHeader, _ rows: [LifecycleRecord]) throws -> Circle {
    guard !rows.isEmpty else { return Circle(header, own: identity.keys.digest) }
    let names = rows.map(\.name)
    if let known = verified.withLock({ $0[header.id] }), known.names == names { return known.circle }
    var circle = Circle(header, own: identity.keys.digest)
    var rest = rows.compactMap(Self.object)
    let named = Self.named(rest)
    let admitted = Set(rows.filter { $0.name.kind == .record }.map(\.name.digest))
    // Each may follow from others that came after it.
    while true {
      var left: [LifecycleObject] = []
      for object in rest {
        // What was verified when it came, and doesn't any more, is left out.
        if (try? circle.add(object, named: named, admitted: admitted)) == false { left.append(object) }
      }
      guard left.count < rest.count else { break }
      rest = left
    }
    verified.withLock { verified in
      if verified.count >= Self.cacheLimit, let other = verified.keys.randomElement() { verified[other] = nil }
      verified[header.id] = (names, circle)
    }
    return circle
  }

  static func object(_ row: LifecycleRecord) -> LifecycleObject? {
    guard let kind = LifecycleObject.Kind(rawValue: row.name.kind.rawValue) else { return nil }
    return try? LifecycleObject(kind, row.content)
  }

  /// Keeps what fits to what is known of a secret, in one transaction. Returns whether something was new.
  /// Throws ``ProtocolError`` if something contradicts what it follows from: then nothing of it is kept. Nor is it without the row `needed`,
  /// which gets another content with it.
  func take(
    _ objects: [LifecycleObject], of id: SecretID,
    ifThere needed: (name: LifecycleRecord.Name, content: [UInt8])? = nil,
    becoming content: [UInt8]? = nil
  ) throws -> Bool {
    guard try isAgreed(id), let known = try circle(of: id) else { return false }
    var circle = known
    // What a record names that comes with it is kept even if it is late, or more than one may say: but only if the record holds.
    let named = Self.named(objects)
    var added = try add(objects, to: &circle, named: named)
    let made = circle.changes.filter { known.changes[$0.key] == nil }.map { LifecycleObject.record($0.value.name) }
    if !named.isSubset(of: Self.named(made)) {
      circle = known
      added = try add(objects, to: &circle, named: Self.named(made))
    }
    guard !added.isEmpty else { return false }
    var replaced: Set<LifecycleRecord.Name> = []
    if let needed, let content {
      replaced = [needed.name]
      added.append(LifecycleRecord(secretID: id, name: needed.name, content: content, addedAt: environment.now()))
    }
    try database.changeLifecycle(ofSecret: id, adding: added, removing: replaced, ifThere: needed)
    return true
  }

  private func add(
    _ objects: [LifecycleObject], to circle: inout Circle, named: Set<Digest>
  ) throws -> [LifecycleRecord] {
    var added: [LifecycleRecord] = []
    for object in objects {
      guard try named.contains(object.digest()) || admits(object, circle) else { continue }
      if try circle.add(object, named: named) { added.append(try row(object, of: circle.header.id)) }
    }
    // A record that others have completed is kept beside another one of its proposal.
    let known = circle
    let completed = try circle.completed(by: objects).filter { known.changes[$0] == nil }
    guard !completed.isEmpty else { return added }
    var more: [LifecycleRecord] = []
    for object in objects where Self.isPart(object, of: completed) {
      guard try circle.add(object, admitted: completed) else { continue }
      more.append(try row(object, of: circle.header.id))
    }
    if completed.contains(where: { circle.epochs[$0].map(circle.isComplete) == true }) { return added + more }
    circle = known
    return added
  }

  /// Whether something is one of these records, or says who holds its share of one.
  private static func isPart(_ object: LifecycleObject, of records: Set<Digest>) -> Bool {
    switch object {
    case .record: (try? object.digest()).map(records.contains) ?? false
    case .joining(let joining): joining.index != 0 && records.contains(joining.record)
    default: false
    }
  }

  /// The proposals and dealings that records name.
  private static func named(_ objects: [LifecycleObject]) -> Set<Digest> {
    var named: Set<Digest> = []
    for case .record(let name) in objects { named.formUnion(name.dealings + [name.proposal]) }
    return named
  }

  /// Milliseconds by which clocks may differ.
  private static let tolerance: Int64 = 3_600_000
  /// Milliseconds for which a proposal must be good at least: others that are gone at once make room for more.
  private static let leastLifetime: Int64 = 43_200_000
  /// Most proposals without a record, of all and of one asker.
  private static let proposalLimits = (all: 8, ofAsker: 2)

  /// Whether there is a reason to keep something that somebody says.
  private func admits(_ object: LifecycleObject, _ circle: Circle) throws -> Bool {
    switch object {
    case .header: return false
    case .dealing, .record: return true
    case .joining(let joining):
      guard joining.index == 0 else { return true }
      return try isAwaited(joining.keys.digest, in: circle)
    case .proposal(let proposal):
      let now = environment.now()
      guard proposal.expiresAt > now + Self.leastLifetime,
        proposal.expiresAt <= now + Changing.proposalLifetime + Self.tolerance
      else { return false }
      let asker = proposal.asker.digest
      let open = try circle.open.filter { try decision(on: $0.key, of: circle.header.id) != false }
      guard open.count < Self.proposalLimits.all,
        open.values.count(where: { $0.asker.digest == asker }) < Self.proposalLimits.ofAsker
      else { return false }
      if circle.epochs.values.contains(where: { circle.holders(of: $0).values.contains(asker) }) { return true }
      return try isAwaited(asker, in: circle)
    }
  }

  /// Whether a card is this device's, or one that its user has asked to hold a share, or put in a holder's place; or that of a holder whose share
  /// is damaged, so that it can't say where it stands.
  private func isAwaited(_ card: Digest, in circle: Circle) throws -> Bool {
    if card == identity.keys.digest { return true }
    if try concerns(card, circle) { return true }
    if try wish(for: circle.header.id)?.added.contains(card) == true { return true }
    return try former(of: card, in: circle) != nil
  }

  func row(_ object: LifecycleObject, of id: SecretID) throws -> LifecycleRecord {
    guard let kind = LifecycleRecord.Kind(rawValue: object.kind.rawValue) else {
      throw VaultError(.other, "this can't be kept about a secret")
    }
    return LifecycleRecord(
      secretID: id, name: .init(kind, try object.digest()), content: try object.encoded(), addedAt: environment.now())
  }

  // MARK: - Shares

  /// The numbers of the epochs of which this device has shares.
  func ownEpochs(_ id: SecretID) throws -> [UInt32] {
    try database.epochs(ofSecret: id).compactMap { UInt32(exactly: $0) }
  }

  /// The epochs of which this device has shares, that which counts first and then the others, newest first.
  func usableEpochs(of record: SecretRecord) throws -> [Epoch] {
    // What has never changed, as most secrets, needs no look at what has.
    if try ownEpochs(record.id) == [0], try !hasChanged(record.id) { return [Epoch(try directory.header(of: record))] }
    let circle = try circle(of: record)
    let own = try held(circle)
    guard let current = circle.current(among: own) else { return [] }
    return [current] + own.reversed().filter { $0.digest != current.digest }
  }

  /// The epochs of which this device has shares, in ascending order.
  func held(_ circle: Circle) throws -> [Epoch] {
    let said = circle.held(try ownEpochs(circle.header.id))
    guard Set(said.map(\.number)).count < said.count else { return said }
    // Whose device was put back to an older copy may have said so of two with one number, and has the share of one.
    return try said.filter { try share(of: $0) != nil }
  }

  /// This device's share of an epoch, which verifies; nil if there is none, or one of another epoch with that number.
  func share(of epoch: Epoch) throws -> HeldShare? {
    guard let stored = try database.share(ofSecret: epoch.secret, epoch: Int64(epoch.number)) else { return nil }
    let held = try HeldShare(index: stored.index, record: stored.bytes, of: epoch.secret.description)
    do throws(ShamirError) { try held.share.verify(against: epoch.commitments) } catch {
      if case .invalidShares = error { return nil }
      throw error
    }
    return held
  }

  /// The epoch that counts and who holds its shares, once a secret has changed. Where this device has no share, it is the
  /// newest that it knows.
  func changed(_ record: SecretRecord) throws -> (epoch: Epoch, holders: [UInt8: Digest])? {
    guard try hasChanged(record.id) else { return nil }
    let epoch =
      record.ownIndex == nil ? try circle(of: record).newestComplete : try usableEpochs(of: record).first
    guard let epoch, let holders = epoch.holders else { return nil }
    return (epoch, holders)
  }

  /// The same with the threshold and the number of holders of the epoch that counts, where they have changed.
  func current(_ summary: SecretSummary, of record: SecretRecord) throws -> SecretSummary {
    guard let (epoch, holders) = try changed(record) else { return summary }
    var summary = summary
    summary.threshold = epoch.scheme.threshold
    summary.shareCount = holders.count
    return summary
  }

  /// The same of a list. Nothing is looked up of secrets that have never changed.
  func current(_ listing: SecretListing) throws -> SecretListing {
    let changed = Set(try database.secretsWithRecords())
    guard !changed.isEmpty else { return listing }
    var listing = listing
    for place in listing.lines.indices where changed.contains(listing.lines[place].id) {
      guard let record = try database.secret(listing.lines[place].id), let (epoch, holders) = try self.changed(record)
      else {
        continue
      }
      listing.lines[place].threshold = UInt8(truncatingIfNeeded: epoch.scheme.threshold)
      listing.lines[place].shareCount = UInt8(truncatingIfNeeded: holders.count)
    }
    return listing
  }

  /// Secrets of which a peer is known to have a share, now or from before a change that has left it out: those delivered to
  /// it, those it dealt, and those whose newer shares it has.
  func secretsKnownHeld(by peer: PeerRecord) throws -> [SecretReference] {
    let (listing, given) = (try database.listing(verifying: false), Set(try database.secretsDelivered(to: peer.digest)))
    let changed = Set(try database.secretsWithRecords())
    return try listing.lines.compactMap { line in
      let id = line.id
      var isHeld = line.origin == .held ? listing.dealers[line.dealer] == peer.digest : given.contains(id)
      if !isHeld, changed.contains(id), let record = try database.secret(id) {
        isHeld = try self.changed(record)?.holders.values.contains(peer.digest) == true
      }
      return isHeld ? SecretReference(id, listing.description(of: line)) : nil
    }
  }

  func hasChanged(_ id: SecretID) throws -> Bool { try database.hasRecords(ofSecret: id) }

  /// The epoch that a request names exactly, if this device has its share; and whether there is a later one.
  func epoch(_ digest: Digest, _ number: UInt32, of record: SecretRecord) throws -> (epoch: Epoch, isOld: Bool)? {
    let isFirst = digest == record.headerDigest && number == 0
    guard try isFirst || hasChanged(record.id) else { return nil }
    if isFirst, try !hasChanged(record.id) { return (Epoch(try directory.header(of: record)), false) }
    let circle = try circle(of: record)
    guard let epoch = try held(circle).first(where: { $0.digest == digest && $0.number == number })
    else { return nil }
    return (epoch, circle.isOld(epoch))
  }
}
