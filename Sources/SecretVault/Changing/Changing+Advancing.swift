import PeerAuth
import ShamirKit
import Sodium
import VaultProtocol
import VaultStore

/// What follows from what is known about a secret's holders, step by step; each is durable before it counts.
extension Changing {
  /// Does what can be done without anybody else.
  func advance(_ id: SecretID) async throws {
    // What stands in the way of one step is none for the others.
    for step in [sayHeld, answerWish, deal, makeRecords, forgetExpired] {
      try await attempt(id) { try await offPool { try step(id) } }
    }
    try await attempt(id) { [self] in try await takeOver(id) }
    for step in [erase, askUser] { try await attempt(id) { try await offPool { try step(id) } } }
  }

  private func attempt(_ id: SecretID, _ step: () async throws -> Void) async throws {
    do { try await step() } catch {
      try Task.checkCancellation()
      core.logFault("a change of secret \(id)'s holders can't be gone on with: this device \(VaultCore.words(error))")
    }
  }

  private func sayHeld(_ id: SecretID) throws {
    guard let record = try database.secret(id), record.ownIndex != nil else { return }
    try circles.sayHeld(record)
  }

  private func answerWish(_ id: SecretID) throws {
    guard let wish = try circles.wish(for: id), let circle = try circles.circle(of: id) else { return }
    if wish.added.contains(identity.keys.digest) { try circles.sayWilling(circle.header) }
    guard let circle = try circles.circle(of: id) else { return }
    do { _ = try propose(id, wish, circle) } catch let error as VaultError where error.code == .usage {
      core.logFault("the change of secret \(id)'s holders can't be proposed: \(error.reason)")
    }
  }

  // MARK: - Dealing

  /// Deals this device's share for what its user has agreed to, once a delay that is set for the secret has passed.
  private func deal(_ id: SecretID) throws {
    guard let circle = try circles.circle(of: id) else { return }
    // Of two epochs with one number this device has the share of one.
    let own = try circles.held(circle)
    for (digest, proposal) in circle.open where !circle.hasDealt(identity.keys.digest, proposal: digest) {
      guard let decision = try database.lifecycle(ofSecret: id).first(where: { $0.name == .init(.decision, digest) }),
        decision.content == [1], try mayDeal(since: decision.addedAt, id), mistake(proposal, digest, circle) == nil,
        let parent = own.first(where: { $0.digest == proposal.parent }), let held = try circles.share(of: parent)
      else { continue }
      let salt = parent.holders == nil ? held.salt.withUnsafeBytes { Array($0) } : nil
      let made: (dealing: HolderDealing, boxes: [[UInt8]])
      do { made = try HolderDealing.deal(held.share, salt: salt, proposal, parent, by: identity) } catch {
        core.logFault("the share of secret \(id) can't be dealt anew: this device \(VaultCore.words(error))")
        continue
      }
      let row = try circles.row(.dealing(made.dealing, boxes: made.boxes), of: id)
      // One a proposal, whichever process makes it: again only the same bytes.
      let mark = LifecycleRecord(
        secretID: id, name: .init(.dealt, digest), content: [], addedAt: environment.now())
      // Its user may say no at this moment, in another process.
      try database.changeLifecycle(
        ofSecret: id, adding: [mark, row], unlessThere: mark.name, ifThere: (decision.name, [1]))
      guard try circles.circle(of: id)?.hasDealt(identity.keys.digest, proposal: digest) == true else { continue }
      record(.shareDealt, secret: circle.header, detail: "for change \(proposal.number)")
    }
  }

  private func mayDeal(since time: Int64, _ id: SecretID) throws -> Bool {
    guard case .delay(let delay) = try consent.releaseRules(of: id).policy else { return true }
    return environment.now() >= ReleaseConsent.sum(time, delay)
  }

  /// Why this device doesn't deal for a proposal, whatever its user says.
  func mistake(_ proposal: Proposal, _ digest: Digest, _ circle: Circle) -> String? {
    guard proposal.expiresAt > environment.now() else { return "its time is over" }
    guard proposal.number > circle.epochs.values.map(\.number).max() ?? 0 else {
      return "this device knows a later change of the same secret"
    }
    for (other, known) in circle.proposals where other != digest && known.number >= proposal.number {
      if circle.hasDealt(identity.keys.digest, proposal: other) {
        return "this device has dealt its share for another change of the same secret"
      }
    }
    for row in proposal.rows where !row.isKept && row.joining.keys.digest != identity.keys.digest {
      guard let peer = try? database.peer(row.joining.keys.digest) else {
        return "share \(row.index) would go to somebody who is no peer of this device"
      }
      guard peer.state == .proven else { return "\(peer.name) hasn't proved its keys to this device yet" }
    }
    return nil
  }

  // MARK: - Records

  /// Puts the dealings of this device's own proposals into records.
  private func makeRecords(_ id: SecretID) throws {
    guard let circle = try circles.circle(of: id) else { return }
    for (digest, proposal) in circle.open where proposal.asker.digest == identity.keys.digest {
      guard let dealings = circle.possibleRecord(of: digest), try circles.decision(on: digest, of: id) == true else {
        continue
      }
      // The user may give it up at this moment, in another process, or that may make a record of other dealings.
      _ = try circles.take(
        [.record(try RecordName.sign(dealings, of: digest, by: identity))], of: id,
        ifThere: (.init(.decision, digest), [1]), becoming: [2])
    }
  }

  /// Forgets proposals whose time is over and under which nothing has come about.
  private func forgetExpired(_ id: SecretID) throws {
    guard let circle = try circles.circle(of: id) else { return }
    var names: Set<LifecycleRecord.Name> = []
    for (digest, proposal) in circle.open where proposal.expiresAt <= environment.now() {
      names.insert(.init(.proposal, digest))
      names.insert(.init(.decision, digest))
      for (name, dealt) in circle.dealings where dealt.dealing.proposal == digest {
        names.insert(.init(.dealing, name))
      }
    }
    if !names.isEmpty { try database.changeLifecycle(ofSecret: id, removing: names) }
  }

  /// Forgets a place of this device's that it was named long ago, if nobody is about to give it a share.
  func forgetPlace(_ id: SecretID) throws {
    try circles.forgetInvitation(id, isRefused: isOver(id))
  }

  private func isOver(_ id: SecretID) throws -> Bool {
    guard try database.secret(id) == nil, let circle = try circles.circle(of: id) else { return false }
    let own = identity.keys.digest
    let isAwaited = circle.open.values.contains { proposal in
      proposal.expiresAt > environment.now() && proposal.rows.contains { $0.joining.keys.digest == own }
    }
    guard !isAwaited, !circle.hasRow(own) else { return false }
    let began = try database.lifecycle(ofSecret: id).lazy.filter { $0.name.kind == .header }.map(\.addedAt).min()
    return began.map { ReleaseConsent.sum($0, Self.replacingLifetime) <= environment.now() } ?? false
  }

  // MARK: - Taking over

  /// Takes over this device's share of each record in which it has a row, beside older ones, and says that it has it.
  private func takeOver(_ id: SecretID) async throws {
    guard let circle = try circles.circle(of: id), mayTakeOver(id) else { return }
    let own = Set(try circles.ownEpochs(id))
    var isDone = true
    defer { noteTakenOver(id, isDone: isDone) }
    for (digest, change) in circle.changes.sorted(by: {
      $0.value.record.proposal.number < $1.value.record.proposal.number
    }) {
      let proposal = change.record.proposal
      guard !own.contains(proposal.number), let epoch = circle.epochs[digest],
        let place = proposal.rows.firstIndex(where: { $0.joining.keys.digest == identity.keys.digest }),
        let key = try circles.receivingKey(of: proposal.rows[place].joining)
      else { continue }
      let row = proposal.rows[place]
      if let known = try database.secret(id)?.ownIndex, known != Int(row.index) {
        core.logFault(
          "share \(row.index) of secret \(id) can't be taken over: this device has an older one, number \(known); delete that first"
        )
        continue
      }
      let boxes = try change.record.dealings.compactMap { dealing -> [UInt8]? in
        let known = try circle.dealings[dealing.digest()]?.boxes ?? []
        return known.indices.contains(place) ? known[place] : nil
      }
      guard boxes.count == change.record.dealings.count else { continue }
      let share: HeldShare
      do {
        let taken = try change.record.takeOver(row, boxes: boxes, with: key, change.redistribution)
        share = HeldShare(share: taken, salt: try SecretBytes(zeros: HolderRow.saltByteCount))
      } catch {
        isDone = false
        core.logFault(
          "this device's new share of secret \(id), change \(proposal.number), can't be taken over: \(words(error, proposal, circle))"
        )
        continue
      }
      if try await !keep(share, of: epoch, row, proposal, circle) { isDone = false }
    }
  }

  private func words(_ error: any Error, _ proposal: Proposal, _ circle: Circle) -> String {
    guard case ProtocolError.rejected(.invalidShares(let dealers))? = error as? ProtocolError else {
      return VaultCore.words(error)
    }
    let names = (try? directory.peerNames()) ?? [:]
    let cards = circle.epochs[proposal.parent].map { circle.holders(of: $0) } ?? [:]
    let liars = dealers.map { index in cards[index].flatMap { names[$0] } ?? "the holder of share \(index)" }
    return "what \(liars.joined(separator: ", ")) dealt is not what was promised"
  }

  /// False if the fragment that belongs to it can't be had yet.
  private func keep(
    _ share: HeldShare, of epoch: Epoch, _ row: Proposal.Row, _ proposal: Proposal, _ circle: Circle
  ) async throws -> Bool {
    let header = circle.header
    let index = Int(row.index)
    var fragment: FragmentRecord?
    if try database.fragment(of: header.id, index: index)?.isComplete != true {
      guard try fits(header, proposal) else {
        core.logFault(
          "fragment \(index) of secret \(header.id) is more than this device keeps for who asks it to hold it")
        return false
      }
      do { fragment = try await rebuildFragment(row.index, circle, proposal) } catch {
        try Task.checkCancellation()
        core.logFault("fragment \(index) of secret \(header.id) can't be rebuilt: \(VaultError(error).reason)")
        return false
      }
      guard fragment != nil else { return false }
    }
    // A card's digest that somebody tells counts for nothing.
    let dealer = try database.peers().first { $0.signingKey == header.dealerKey }?.digest
    let secret = SecretRecord(
      id: header.id, askTag: try AskTag.of(header.id), headerDigest: header.digest, header: header.bytes,
      origin: .held, dealer: dealer ?? proposal.asker.digest,
      description: header.description.isEmpty ? nil : header.description, kind: header.kind,
      threshold: header.scheme.threshold, shareCount: header.scheme.shareCount, ownIndex: index,
      createdAt: header.createdAt, receivedAt: environment.now())
    let record = try HeldShare.record(share: share.share, salt: share.salt)
    let ready = try circles.joiningRows(header.id, epoch.digest, index: row.index, salt: nil, named: epoch.digest)
    let addition = fragment
    do {
      try await offPool { [self] in
        try database.takeOver(
          record, index: index, epoch: Int64(epoch.number), of: secret, fragment: addition, adding: ready)
      }
    } catch StoreError.alreadyExists {
      // Another process was quicker, or this device stands elsewhere.
      return true
    }
    self.record(.shareTakenOver, secret: header, detail: "change \(epoch.number)")
    return true
  }

  /// Whether a fragment may come on account of who has proposed that this device holds one.
  private func fits(_ header: SecretHeader, _ proposal: Proposal) throws -> Bool {
    guard proposal.asker.digest != identity.keys.digest else { return true }
    guard let quota = core.quota else { return false }
    let usage = try database.usage(ofDealer: proposal.asker.digest)
    let (total, overflow) = header.dispersal.fragmentByteCount.addingReportingOverflow(UInt64(max(0, usage.byteCount)))
    return usage.count < quota.shares && !overflow && total <= quota.bytes
  }

  // MARK: - Erasing

  /// Erases shares older than those of a record that is complete and that its user has agreed to.
  private func erase(_ id: SecretID) throws {
    guard let circle = try circles.circle(of: id) else { return }
    let own = try circles.ownEpochs(id)
    // Held: this device is READY in it.
    guard own.count > 1,
      let complete = try circles.held(circle).last(where: { $0.holders != nil && circle.isComplete($0) }),
      let change = circle.changes[complete.digest], own.contains(where: { $0 < complete.number }),
      try hasAgreed(to: change, of: id)
    else { return }
    // The one that stays must be sound.
    guard try circles.share(of: complete) != nil else { return }
    // Older shares that wait for their holders are copies, too.
    for delivery in try database.deliveries(ofSecret: id) where [.waiting, .refused].contains(delivery.state) {
      for parcel in try database.parcels(ofDelivery: delivery.id) { try post.end(parcel) }
      try database.cancelDelivery(delivery.id, reason: "who holds the secret has changed")
    }
    let older = circle.epochs.values.filter { $0.number < complete.number }
    var names = Set(older.map { LifecycleRecord.Name(.receivingKey, $0.digest) })
    names.insert(.init(.receivingKey, try AskTag.of(id)))
    try database.changeLifecycle(ofSecret: id, removing: names, erasingSharesBelow: Int64(complete.number))
    record(.oldSharesErased, secret: circle.header, detail: "change \(complete.number) is complete")
  }

  /// Whether this device's user wants a change that has come about. A record of its own is signed behind its yes alone.
  private func hasAgreed(to change: Circle.Change, of id: SecretID) throws -> Bool {
    if change.record.proposal.asker.digest == identity.keys.digest { return true }
    return try circles.decision(on: change.name.proposal, of: id) == true
  }

  // MARK: - Asking the user

  /// Puts before the user what others have proposed: to deal, if nothing has come of it yet, and to erase older shares once it is complete.
  func askUser(_ id: SecretID) throws {
    guard let circle = try circles.circle(of: id) else { return }
    let now = environment.now()
    // One of each asker's, always the same: what is to be dealt first, then what is newest.
    var asked: Set<Digest> = []
    let candidates = circle.proposals.sorted { one, other in
      let (isOpen, isOtherOpen) = (circle.open[one.key] != nil, circle.open[other.key] != nil)
      guard isOpen == isOtherOpen else { return isOpen }
      guard one.value.number == other.value.number else { return one.value.number > other.value.number }
      return one.key.bytes.lexicographicallyPrecedes(other.key.bytes)
    }
    for (digest, proposal) in candidates where proposal.asker.digest != identity.keys.digest {
      guard try circles.decision(on: digest, of: id) == nil, try isConcerned(proposal, digest, circle),
        asked.insert(proposal.asker.digest).inserted
      else { continue }
      let before = try database.request(.change, of: proposal.asker.digest, secret: id)
      let after = try database.changeRequest(.change, of: proposal.asker.digest, secret: id, at: now) { row, counts in
        guard row?.headerDigest != digest, counts.ofPeer < ReleaseConsent.limitOfPeer,
          counts.all < ReleaseConsent.limit
        else { return }
        row = RequestRecord(
          kind: .change, peer: proposal.asker.digest, secretID: id, headerDigest: digest, askedAt: now,
          endsAt: circle.open[digest] == nil ? ReleaseConsent.sum(now, Consent.longestDecision) : proposal.expiresAt)
      }
      guard let after, after.id != before?.id else { continue }
      record(
        .changeRequested, peer: try database.peer(after.peer), secret: circle.header,
        detail: "request \(after.id): \(try circles.summary(of: proposal, digest, circle).sentence)")
    }
  }

  /// Whether this device has a share that its user may deal, or an older one that is to be erased.
  private func isConcerned(_ proposal: Proposal, _ digest: Digest, _ circle: Circle) throws -> Bool {
    if circle.open[digest] != nil {
      // What this device can't deal for, whatever its user says, is nothing to ask: a later change may have overtaken it.
      return try circles.held(circle).contains { $0.digest == proposal.parent }
        && mistake(proposal, digest, circle) == nil
    }
    let own = try circles.ownEpochs(circle.header.id)
    return own.contains(proposal.number) && own.contains { $0 < proposal.number }
  }
}
