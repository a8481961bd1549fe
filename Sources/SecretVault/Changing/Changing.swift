import PeerAuth
package import ShamirKit
import Sodium
import Synchronization
import VaultProtocol
import VaultStore

/// Changing who holds a secret, and how many of them are needed, while nobody ever puts it together.
package final class Changing: Room {
  package let core: VaultCore
  let directory: Directory
  let introductions: Introductions
  let circles: Circles
  let trust: TrustList
  let links: Links
  let consent: Consent
  let recovering: Recovering
  let post: Post
  /// How each peer was told last.
  private let told = Mutex<[PeerKnowledge.Listener: Telling]>([:])

  /// Who couldn't be reached on account of one secret, or was slow, isn't called for another one right after it: a peer that lets callers wait
  /// holds up no more than its part of the time.
  private let unreached = Mutex<[Digest: (secret: SecretID, until: Double, failure: LinkFailure)]>([:])
  /// Secrets of which this device couldn't take over its share, and from when on it tries again unless something new comes.
  private let stalled = Mutex<[SecretID: (failures: Int, notBefore: Double)]>([:])

  /// How many places of each peer this process has taken, and who has named which.
  private let places = Mutex<(taken: [Digest: Int], named: [SecretID: Set<Digest>])>(([:], [:]))

  func mayTakePlace(of peer: Digest) -> Bool {
    places.withLock { places in
      places.taken[peer, default: 0] += 1
      return places.taken[peer, default: 0] <= Circles.placeLimit
    }
  }

  func noteNamed(_ id: SecretID, by peer: Digest) {
    places.withLock { _ = $0.named[id, default: []].insert(peer) }
  }

  /// Whether a share may be taken over now. What couldn't be costs others' time and this device's: pauses grow.
  func mayTakeOver(_ id: SecretID) -> Bool {
    stalled.withLock { $0[id].map { environment.monotonic() >= $0.notBefore } ?? true }
  }

  /// All is taken over, or something new has come.
  private func endPause(_ id: SecretID) { stalled.withLock { $0[id] = nil } }

  func noteTakenOver(_ id: SecretID, isDone: Bool) {
    if isDone { return endPause(id) }
    stalled.withLock { stalled in
      let failures = min((stalled[id]?.failures ?? 0) + 1, 16)
      stalled[id] = (failures, environment.monotonic() + Self.pause(failures))
    }
  }

  private struct Telling {
    /// What needs no telling again: the peer knows it by now, or can't be told for a while.
    var marks: Set<ObjectMark> = []
    var failures = 0
    /// Milliseconds of the monotonic clock before which it isn't asked again.
    var notBefore = 0.0

    /// Whether there is news for the peer that it may get now, or it may have some itself.
    func isDue(_ known: Set<ObjectMark>, at now: Double, mayHaveNews: Bool) -> Bool {
      !known.isSubset(of: marks) || (now >= notBefore && (mayHaveNews || failures > 0))
    }
  }

  /// Milliseconds after which a peer that couldn't be asked is asked again, at first and at most; and one that could, while
  /// something is under way.
  private static let pauses = (first: 5_000.0, longest: 3_600_000.0, usual: 600_000.0)

  private static func pause(_ failures: Int) -> Double {
    min(pauses.longest, pauses.first * Double(1 << (failures - 1)))
  }

  /// Milliseconds after which the daemon asks again in which secrets there is a place for this device.
  private static let placesPause = 30_000.0

  /// Milliseconds for which a proposal can be agreed to.
  static let proposalLifetime: Int64 = 31 * 86_400_000

  init(
    _ core: VaultCore, _ directory: Directory, _ introductions: Introductions, _ circles: Circles, _ trust: TrustList,
    _ links: Links, _ consent: Consent, _ recovering: Recovering, _ post: Post
  ) {
    self.core = core
    self.directory = directory
    self.introductions = introductions
    self.circles = circles
    self.trust = trust
    self.links = links
    self.consent = consent
    self.recovering = recovering
    self.post = post
  }

  /// Goes on with what the user has just agreed to.
  package func agreed(_ request: VaultRequest) async throws -> ChangeStatus? {
    guard let id = SecretID(named: request.secret) else { return nil }
    try await pursue(id)
    return try status(of: id)
  }

  // MARK: - Rounds

  /// Goes on with changes until the task is cancelled: the daemon's part.
  package func runChanges() async {
    if let damaged = try? database.damagedReplacements(), damaged > 0 {
      core.logFault(
        "\(damaged == 1 ? "a note" : "\(damaged) notes") of whose device was replaced is damaged: see the peers with "
          + "`vault peer list`, and replace the one that is missing again with `vault peer replace`")
    }
    var nextQuestion = 0.0
    while !Task.isCancelled {
      let seen = core.pulse.count
      do {
        if isReplacing, environment.monotonic() >= nextQuestion {
          nextQuestion = environment.monotonic() + Self.placesPause
          _ = try await regain()
        } else {
          try await pursueAll()
        }
      } catch {
        if !Task.isCancelled { core.logFault("changes of holders can't be gone on with: \(VaultError(error).reason)") }
      }
      do { try await core.wait(since: seen, atMost: .seconds(60)) } catch { return }
    }
  }

  /// Does what there is to be done about a secret's holders, asks those who may know more, and does what follows from
  /// that, until nothing new comes.
  package func pursue(_ id: SecretID, asksAll: Bool = false) async throws {
    if asksAll { endPause(id) }
    for round in 0..<Self.roundLimit {
      try Task.checkCancellation()
      let hasCome = await readParcels(about: id)
      if hasCome { endPause(id) }
      try await advance(id)
      let isNews = await gather(id, asksAll: asksAll && round == 0)
      guard isNews || hasCome else { break }
      if isNews { endPause(id) }
    }
    try await advance(id)
    try await offPool { [self] in try forgetPlace(id) }
  }

  private static let roundLimit = 8

  /// All secrets about which something is under way.
  package func pursueAll() async throws {
    for id in try secretsUnderWay(orUntold: true) {
      do { try await pursue(id) } catch {
        try Task.checkCancellation()
        core.logFault("the holders of secret \(id) can't be changed: \(VaultError(error).reason)")
      }
    }
  }

  /// Puts before the user what has come meanwhile, without asking anybody else.
  package func lookAtRequests() async throws {
    try await offPool { [self] in for id in try secretsUnderWay() { try askUser(id) } }
  }

  /// With `orUntold` also those of which somebody is due to be told.
  func secretsUnderWay(orUntold: Bool = false) throws -> [SecretID] {
    let changing = try database.secretsWithLifecycle().filter { try isUnderWay($0, orUntold: orUntold) }
    var ids = try Set(changing + secretsWithParcels())
    for replacement in try database.replacements() {
      ids.formUnion(try database.secrets(concerning: replacement.old, limit: Circles.placeLimit))
    }
    return ids.sorted()
  }

  /// Whether something is still to be done about a secret's holders.
  private func isUnderWay(_ id: SecretID, orUntold: Bool) throws -> Bool {
    guard let circle = try circles.circle(of: id) else { return false }
    guard try database.secret(id) != nil else { return try !circles.hasGivenUp(id) }
    return try isUnderWay(circle) || (orUntold && leavesUntold(circle))
  }

  private func isUnderWay(_ circle: Circle) throws -> Bool {
    if !circle.open.isEmpty || !circle.pending.isEmpty { return true }
    let own = try circles.ownEpochs(circle.header.id)
    let isAwaited = circle.epochs.values.contains { epoch in
      epoch.number > own.max() ?? 0 && epoch.holders?.values.contains(identity.keys.digest) == true
    }
    return try own.count > 1 || isAwaited || circles.wish(for: circle.header.id) != nil
  }

  /// Whether a holder, or a former one, couldn't be told yet of what is complete: it may know nothing of it, and then it asks nobody.
  private func leavesUntold(_ circle: Circle) throws -> Bool {
    let newest = circle.newestComplete
    guard newest.holders != nil else { return false }
    let ready = Set(circle.ready(in: newest.digest).values.map(\.keys.digest))
    let holders = Set(circle.epochs.values.flatMap { circle.holders(of: $0).values })
      .subtracting([identity.keys.digest])
    let now = environment.monotonic()
    let untold = told.withLock { told in
      holders.filter { card in
        guard let telling = told[.init(peer: card, secret: circle.header.id)] else { return !ready.contains(card) }
        return (telling.failures > 0 && now >= telling.notBefore) || !telling.marks.contains(newest.digest.mark)
      }
    }
    if untold.isEmpty { return false }
    return try candidates(circle, asksAll: false).contains { untold.contains($0.digest) }
  }

  /// Asks whoever may know more of a secret's holders. Returns whether something new came.
  func gather(_ id: SecretID, asksAll: Bool) async -> Bool {
    do {
      // Of what its user hasn't agreed to hold this device asks nobody.
      guard try circles.isAgreed(id), let circle = try circles.circle(of: id) else { return false }
      let peers = try candidates(circle, asksAll: asksAll)
      let marks = try marks(id)
      let isUnderWay = try isUnderWay(circle)
      let now = environment.monotonic()
      let due = peers.filter { peer in
        asksAll
          || told.withLock { told in
            told[.init(peer: peer.digest, secret: id)]?.isDue(marks, at: now, mayHaveNews: isUnderWay) ?? true
          }
      }
      let news = await limitedConcurrency(due, limit: Self.concurrency) { [self] peer in
        await exchange(id, with: peer)
      }
      return news.contains(true)
    } catch {
      core.logFault("the holders of secret \(id) can't be asked: \(VaultError(error).reason)")
      return false
    }
  }

  private static let concurrency = 8

  private func marks(_ id: SecretID) throws -> Set<ObjectMark> {
    Set(try circles.circle(of: id)?.objects().map { try $0.digest().mark } ?? [])
  }

  private func exchange(_ id: SecretID, with peer: PeerRecord) async -> Bool {
    let listener = PeerKnowledge.Listener(peer: peer.digest, secret: id)
    // What comes meanwhile, from others, isn't told yet.
    let before = (try? marks(id)) ?? []
    let began = environment.monotonic()
    if let last = unreached.withLock({ $0[peer.digest] }), last.secret != id, began < last.until {
      told.withLock { told in
        let failures = max(1, told[listener]?.failures ?? 0)
        told[listener] = Telling(marks: before, failures: failures, notBefore: last.until)
      }
      if last.failure.isOfLine { await tellByParcel(id, to: peer) }
      return false
    }
    do {
      var asker = try asker(id)
      asker.invitation = try invitation(id, peer.digest)
      let answer = try await links.ask(asker, of: try directory.recipient(peer))
      unreached.withLock { $0[peer.digest] = nil }
      if answer.took > Self.pauses.first { noteUnreached(peer, for: id, .tooSlow, after: answer.took) }
      let again = environment.monotonic() + Self.pauses.usual
      told.withLock { $0[listener] = Telling(marks: answer.known ?? before, notBefore: again) }
      try endParcels(to: peer, about: id)
      if let known = answer.known { circles.knowledge.exchanged(listener, known, at: environment.now()) }
      return answer.isNews
    } catch {
      let now = environment.monotonic()
      told.withLock { told in
        var telling = told[listener] ?? Telling()
        if telling.failures == 0 || now >= telling.notBefore { telling.failures = min(telling.failures + 1, 16) }
        telling.marks = before
        telling.notBefore = now + Self.pause(telling.failures)
        told[listener] = telling
      }
      environment.log.debug("\(peer.name) \(VaultCore.words(error)) about the holders of secret \(id)")
      guard let failure = error as? LinkFailure else { return false }
      if failure.isOfLine || [.slow, .unknownHere].contains(failure.kind) {
        noteUnreached(peer, for: id, failure, after: now - began)
      }
      if failure.isOfLine { await tellByParcel(id, to: peer) }
      return false
    }
  }

  private func tellByParcel(_ id: SecretID, to peer: PeerRecord) async {
    do { try await offPool { [self] in try write(id, to: peer) } } catch {
      core.logFault("nothing can be written to \(peer.name) about a secret's holders: \(VaultError(error).reason)")
    }
  }

  /// Whoever has answered a parcel has been told: it isn't called in vain before an hour, unless there is more to tell.
  func noteToldByParcel(_ listener: PeerKnowledge.Listener) {
    guard let known = circles.knowledge.known(listener, at: environment.now(), within: Self.parcelPause) else { return }
    let notBefore = environment.monotonic() + Self.pauses.longest
    told.withLock { $0[listener] = Telling(marks: known, notBefore: notBefore) }
  }

  private func noteUnreached(_ peer: PeerRecord, for id: SecretID, _ failure: LinkFailure, after time: Double) {
    let now = environment.monotonic()
    unreached.withLock { unreached in
      if let last = unreached[peer.digest], now - time < last.until { return }
      unreached[peer.digest] = (id, now + min(max(Self.pauses.first, 10 * time), Self.pauses.usual), failure)
    }
  }

  /// The header of the secret, for somebody who is to take a share of it.
  func invitation(_ id: SecretID, _ card: Digest) throws -> LifecycleObject? {
    guard let wish = try circles.wish(for: id), wish.added.contains(card), let record = try database.secret(id) else {
      return nil
    }
    let former = wish.places.first { $0.value == card }?.key
    return .header(try directory.header(of: record), dealer: record.dealer, former: former)
  }

  /// Proves the oldest share: that epoch is known to most.
  func asker(_ id: SecretID, goesOn: Bool = false) throws -> LifecycleAsker {
    var own: LifecycleAsker.OwnShare?
    if let record = try database.secret(id) {
      let circle = try circles.circle(of: record)
      for epoch in try circles.held(circle) where own == nil {
        // Without one, as where it is damaged, peers that know this device's card as a holder's answer all the same.
        guard let held = try? circles.share(of: epoch) else { continue }
        own = .init(
          epoch: epoch, held: held, evaluation: try core.evaluations.evaluation(epoch, held.share.index))
      }
    }
    return LifecycleAsker(circles: circles, id: id, own: own, goesOn: goesOn)
  }

  /// Who may know more, or is to hear of it: holders as far as they are known, and those who are to become ones.
  private func candidates(_ circle: Circle, asksAll: Bool) throws -> [PeerRecord] {
    let likely = try recovering.likelyHolders(circle.header)
    var known = recovering.namedHolders(of: circle.header.id)
    for epoch in circle.epochs.values { known.formUnion(circle.holders(of: epoch).values) }
    for proposal in circle.proposals.values {
      known.formUnion(proposal.rows.map(\.joining.keys.digest))
      known.insert(proposal.asker.digest)
    }
    for replacement in try database.replacements() where try circles.former(of: replacement.new, in: circle) != nil {
      known.insert(replacement.new)
    }
    if let wish = try circles.wish(for: circle.header.id) { known.formUnion(wish.added) }
    var labels = Set(circle.header.labels ?? [])
    // Where few are known, anybody may be one.
    var knowsFew = known.count < circle.header.scheme.threshold
    if let naming = places.withLock({ $0.named[circle.header.id] }), try database.secret(circle.header.id) == nil {
      // It may be invented: then it is nobody's but theirs who have named it.
      known.formUnion(naming)
      (labels, knowsFew) = ([], false)
    }
    return likely.filter { peer in
      asksAll || knowsFew || known.contains(peer.digest) || labels.contains(peer.name)
        || peer.signingKey == circle.header.dealerKey
    }
  }
}
