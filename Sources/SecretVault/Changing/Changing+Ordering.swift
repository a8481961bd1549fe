import PeerAuth
import ShamirKit
import Sodium
import VaultProtocol
import VaultStore

extension Changing {
  /// Wants a change of some secrets, or with nil of all for which it means something, and does at once what can be done.
  package func order(
    _ order: ChangeOrder, of references: [String]?, leavingOutAbsent: Bool
  ) async throws -> [ChangeStatus] {
    switch order {
    case .replace(let holder, _), .remove(let holder):
      guard references != nil || holder.first != "#" else {
        throw VaultError(
          .usage, "share \(holder.dropFirst()) is another person's in each secret", hint: "name the secrets")
      }
    case .add, .threshold, .refresh: break
    }
    let records = try references.map { try $0.map { reference in try directory.resolve(reference) } }
    var ids: [SecretID] = []
    for record in try records ?? database.secrets() {
      guard record.ownIndex != nil else {
        guard records == nil else { continue }
        throw VaultError(
          .usage, "this device holds no share of \(directory.secretReference(record.id).name)",
          hint: "change it on a device that holds one")
      }
      let circle = try circles.circle(of: record)
      let isUnderWay = try circle.open.contains { digest, proposal in
        try proposal.asker.digest == identity.keys.digest && proposal.expiresAt > environment.now()
          && circles.decision(on: digest, of: record.id) == true
      }
      guard !isUnderWay else {
        guard records == nil else {
          throw VaultError(
            .usage, "a change of \(directory.secretReference(record.id).name) that you have proposed is under way",
            hint: "see how far it is: vault status; to give it up: vault secret cancel")
        }
        continue
      }
      let change: (inout Wish) -> Void
      do { change = try self.change(order, record) } catch let error as VaultError {
        // Of all secrets, those that it has nothing to do with are left alone.
        guard records == nil, error.code == .notFound || error.code == .usage else { throw error }
        continue
      }
      try wish(record.id) { wish in
        change(&wish)
        wish.leavesOutAbsent = leavingOutAbsent
      }
      ids.append(record.id)
    }
    guard !ids.isEmpty else {
      throw VaultError(.notFound, "no secret has to be changed for that", hint: "see who holds what: vault check")
    }
    var statuses: [ChangeStatus] = []
    for id in ids {
      try await pursue(id, asksAll: true)
      // What was wanted and makes no sense is said at once, and not wanted any more.
      do { try await offPool { [self] in try checkWish(id) } } catch {
        try dropWish(id)
        throw error
      }
      if let status = try status(of: id) { statuses.append(status) }
    }
    return statuses
  }

  private func checkWish(_ id: SecretID) throws {
    guard let wish = try circles.wish(for: id), let circle = try circles.circle(of: id) else { return }
    _ = try propose(id, wish, circle)
  }

  private func change(_ order: ChangeOrder, _ record: SecretRecord) throws -> (inout Wish) -> Void {
    switch order {
    case .replace(let old, let new):
      let (old, new) = (try card(old, record), try directory.find(new).digest)
      try expectHolder(old, record)
      return { wish in
        wish.removed.insert(old)
        wish.added.insert(new)
        wish.places[old] = new
      }
    case .add(let holder):
      let new = try directory.find(holder).digest
      return { wish in
        wish.added.insert(new)
        wish.removed.remove(new)
      }
    case .remove(let holder):
      let old = try card(holder, record)
      try expectHolder(old, record)
      return { wish in
        wish.removed.insert(old)
        wish.added.remove(old)
      }
    case .threshold(let threshold):
      guard let threshold = UInt8(exactly: threshold), threshold >= 2 else {
        throw VaultError(.usage, "a threshold goes from 2 to the number of holders")
      }
      return { $0.threshold = threshold }
    case .refresh: return { _ in }
    }
  }

  /// A peer, somebody who was introduced, a peer that was replaced, or with `#3` whoever holds share 3.
  private func card(_ reference: String, _ record: SecretRecord) throws -> Digest {
    if reference.first == "#" { return try holder(of: reference.dropFirst(), record) }
    do { return try directory.find(reference, mustBeWhole: true).digest } catch {
      let introduced = try introductions.introducedHolders(of: record.id)
      if let holder = introduced.first(where: { $0.name == reference }) { return holder.digest }
      for replacement in try database.replacements() {
        guard let card = try? PeerCard.decode(replacement.card, limit: PeerCard.byteLimit), card.label == reference
        else {
          continue
        }
        return replacement.old
      }
      guard VaultError(error).code == .notFound else { throw error }
      return try directory.find(reference).digest
    }
  }

  private func holder(of number: Substring, _ record: SecretRecord) throws -> Digest {
    let circle = try circles.circle(of: record)
    let parent = try parent(circle)
    if let index = UInt8(number) {
      if let holder = circle.holders(of: parent)[index] { return holder }
      let dealt = parent.holders == nil ? try database.deliveries(ofSecret: record.id) : []
      if let delivery = dealt.last(where: { $0.entry.index == Int(index) }) { return delivery.entry.recipient }
    }
    throw VaultError(
      .notFound, "nobody is known to hold share \(number) of \(directory.secretReference(record.id).name)",
      hint: "see who holds which: vault check")
  }

  private func expectHolder(_ card: Digest, _ record: SecretRecord) throws {
    guard try circles.concerns(card, circles.circle(of: record)) else {
      throw VaultError(
        .notFound, "it isn't known to hold a share of \(directory.secretReference(record.id).name)",
        hint: "see who holds one: vault check")
    }
  }

  /// Gives up what this device's user has wanted of a secret, and what it has proposed: nobody's dealing counts for that any more.
  ///
  /// The same for what it has agreed to take a share of, as long as none is here.
  package func cancel(_ reference: String) throws {
    let record: SecretRecord
    do { record = try directory.resolve(reference) } catch let error as VaultError where error.code == .notFound {
      guard let id = try awaited(reference) else { throw error }
      let now = environment.now()
      for request in try database.requests()
      where request.kind == .change && request.secretID == id && request.endsAt > now {
        _ = try database.decideRequest(request.id, at: now) { row in
          (row.state, row.endsAt) = (.refused, ReleaseConsent.sum(now, Consent.usualDecision))
        }
      }
      return try circles.giveUp(id)
    }
    let circle = try circles.circle(of: record)
    var found = false
    if let wish = try circles.wish(for: record.id) {
      try dropWish(record.id)
      try endInvitations(of: wish.added, to: record.id)
      found = true
    }
    for (digest, proposal) in circle.open where proposal.asker.digest == identity.keys.digest {
      guard try circles.decision(on: digest, of: record.id) == true else { continue }
      let name = LifecycleRecord.Name(.decision, digest)
      try database.changeLifecycle(
        ofSecret: record.id,
        adding: [LifecycleRecord(secretID: record.id, name: name, content: [0], addedAt: environment.now())],
        removing: [name])
      // From here on no record can be made. One may have been, by another process.
      guard try !circles.circle(of: record).changes.values.contains(where: { $0.name.proposal == digest }) else {
        try database.changeLifecycle(ofSecret: record.id, removing: [name])
        throw VaultError(
          .refused, "the change of \(directory.secretReference(record.id).name) has just come about",
          hint: "see how far it is: vault status")
      }
      found = true
    }
    guard found else {
      throw VaultError(.notFound, "no change of \(directory.secretReference(record.id).name) is under way here")
    }
  }

  /// A secret that isn't here yet, of which this device is to take a share.
  private func awaited(_ reference: String) throws -> SecretID? {
    let ids = try database.secretsWithLifecycle().filter { id in
      guard try database.secret(id) == nil, try circles.hasAccepted(id) else { return false }
      return try id.description == reference.lowercased() || circles.circle(of: id)?.header.description == reference
    }
    guard ids.count < 2 else {
      throw VaultError(
        .ambiguous, "\(ids.count) secrets are named \(reference)", hint: "name one by its id: vault status")
    }
    return ids.first
  }

  // MARK: - Where it stands

  /// How far changes have come, of all secrets about which something is under way or that have changed.
  package func statuses() throws -> [ChangeStatus] {
    try Set(secretsUnderWay() + database.secretsWithLifecycle()).sorted().compactMap { id in try status(of: id) }
  }

  package func status(of reference: String) throws -> ChangeStatus? { try status(of: directory.resolve(reference).id) }

  func status(of id: SecretID) throws -> ChangeStatus? {
    guard let circle = try circles.circle(of: id) else { return nil }
    let secret = try reference(id, circle)
    let own = try circles.ownEpochs(id)
    let last = circle.epochs.values.map(\.number).max() ?? 0
    let open = try circle.open.filter {
      try $0.value.number > last && $0.value.expiresAt > environment.now()
        && circles.decision(on: $0.key, of: id) != false
    }.max { $0.value.number < $1.value.number }
    let newest = circle.changes.max { $0.value.record.proposal.number < $1.value.record.proposal.number }
    let names = try directory.peerNames()
    if let wish = try circles.wish(for: id) {
      let parent = try parent(circle)
      let found = try? rows(wish, circle, parent)
      var (absent, unwilling): ([Int], [String]) = ([], [])
      for obstacle in found?.obstacles ?? [] {
        switch obstacle {
        case .absent(let indices): absent = indices.map { Int($0) }
        case .unwilling(let cards): unwilling = cards.map { names[$0] ?? Directory.formerPeer }
        }
      }
      return ChangeStatus(
        secret: secret, phase: .gathering(absent: absent, unwilling: unwilling), change: nil, request: nil,
        hasOldShare: false, oldShares: [], formerThreshold: parent.scheme.threshold, problem: nil)
    }
    if let (digest, proposal) = open {
      let parent = circle.epochs[proposal.parent] ?? Epoch(circle.header)
      return ChangeStatus(
        secret: secret,
        phase: .proposed(
          agreed: circle.dealings(of: digest).count, needed: parent.scheme.threshold, until: proposal.expiresAt),
        change: try circles.summary(of: proposal, digest, circle), request: try request(digest, id, proposal),
        hasOldShare: false, oldShares: [], formerThreshold: parent.scheme.threshold,
        problem: mistake(proposal, digest, circle))
    }
    guard let (digest, change) = newest, let epoch = circle.epochs[digest] else {
      guard own.isEmpty, try circles.hasAccepted(id) else { return nil }
      return ChangeStatus(
        secret: secret, phase: .gathering(absent: [], unwilling: []), change: nil, request: nil,
        hasOldShare: false, oldShares: [], formerThreshold: circle.header.scheme.threshold, problem: nil)
    }
    let proposal = change.record.proposal
    let ready = Set(circle.ready(in: digest).keys)
    let missing = (epoch.holders ?? [:]).filter { !ready.contains($0.key) }
    let needed = Circle.readyNeeded(of: epoch.holders?.count ?? 0, epoch.scheme.threshold)
    let parent = circle.epochs[change.parent] ?? Epoch(circle.header)
    let left = circle.holders(of: parent).filter { epoch.holders?.values.contains($0.value) != true }
    func named(_ holders: [UInt8: Digest]) -> [String] {
      holders.sorted { $0.key < $1.key }.map { index, card in
        card == identity.keys.digest ? "this device" : names[card] ?? "the holder of share \(index)"
      }
    }
    return ChangeStatus(
      secret: secret,
      phase: circle.isComplete(epoch)
        ? .complete : .made(ready: ready.count, needed: needed, missing: named(missing)),
      change: try circles.summary(of: proposal, change.name.proposal, circle),
      request: try request(change.name.proposal, id, proposal), hasOldShare: own.contains { $0 < epoch.number },
      oldShares: named(left) + named(missing), formerThreshold: parent.scheme.threshold, problem: nil)
  }

  private func reference(_ id: SecretID, _ circle: Circle) throws -> SecretReference {
    SecretReference(id, circle.header.description.isEmpty ? nil : circle.header.description)
  }

  private func request(_ proposal: Digest, _ id: SecretID, _ known: Proposal) throws -> Int64? {
    let row = try database.request(.change, of: known.asker.digest, secret: id)
    guard let row, row.headerDigest == proposal, row.state == .waiting else { return nil }
    return row.id
  }
}
