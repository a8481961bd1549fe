import PeerAuth
import ShamirKit
import Sodium
import VaultProtocol
import VaultStore

extension Consent {
  /// Milliseconds for which a decision holds if nobody says otherwise: a day.
  static let usualDecision: Int64 = 86_400_000
  /// The longest time for which a decision can hold: a year.
  package static let longestDecision: Int64 = 365 * 86_400_000
  /// How long a daemon has to take up a share that was approved.
  private static let takingTime = Duration.seconds(5)

  /// What peers want and the user decides about, and what was decided, oldest first.
  package func requests() throws -> [VaultRequest] {
    let now = environment.now()
    return try database.requests().filter { $0.endsAt > now }.compactMap { try request($0) }
  }

  /// Says yes to a request: a share is released to this peer from now on for so many milliseconds, or the share that it brings is kept.
  package func approveRequest(_ id: Int64, for time: Int64? = nil) async throws -> VaultRequest {
    let decided = try decide(id, .approved, for: time)
    let summary = try summary(decided)
    if decided.kind == .deposit { try await waitUntilTaken(decided) }
    return summary
  }

  /// Says no to a request, for so many milliseconds; also where the peer only waits for its time, or was told yes.
  package func refuseRequest(_ id: Int64, for time: Int64? = nil) throws -> VaultRequest {
    try summary(decide(id, .refused, for: time))
  }

  private func decide(_ id: Int64, _ state: RequestRecord.State, for time: Int64?) throws -> RequestRecord {
    let now = environment.now()
    // What it is about is decided first: if that fails, the user is asked again.
    if let row = try database.requests().first(where: { $0.id == id }), row.kind == .change, time == nil,
      row.endsAt > now
    {
      try note(row, isApproved: state == .approved)
    }
    var mistake: VaultError?
    var former: RequestRecord.State?
    let decided = try database.decideRequest(id, at: now) { (row) throws(StoreError) in
      mistake = Self.mistake(row, time)
      guard mistake == nil else { return }
      former = row.state
      row.state = state
      row.startedAt = now
      // What was to happen by itself does so no more. A deposit has the time that its dealer waits.
      row.delay = nil
      row.endsAt =
        switch row.kind {
        case .deposit: max(row.endsAt, ReleaseConsent.sum(now, 60_000))
        // It can be taken back for as long as it may wait for a delay.
        case .change where state == .approved: max(row.endsAt, ReleaseConsent.sum(now, Self.usualDecision))
        default: ReleaseConsent.sum(now, time ?? Self.usualDecision)
        }
    }
    if let mistake { throw mistake }
    guard let decided else {
      throw VaultError(
        .notFound, "there is no request \(id), or its time is over", hint: "see which ones wait: vault requests")
    }
    // What another peer's invitation was accepted for stays.
    if decided.kind == .change, state != .approved {
      let isOthers = try database.requests().contains {
        $0.kind == .change && $0.secretID == decided.secretID && $0.state == .approved && $0.endsAt > now
      }
      try circles.forgetInvitation(decided.secretID, isRefused: former == .approved && !isOthers)
    }
    let peer = try asker(decided)
    record(
      state == .approved ? .requestApproved : .requestRefused, peer: peer,
      detail: "request \(id) of \(peer.map { fingerprint(of: $0) } ?? "a removed peer"), \(decided.kind.rawValue) of "
        + directory.secretReference(decided.secretID).name
        + (decided.kind == .release ? ", for \(DurationText.words(decided.endsAt - now))" : ""))
    return decided
  }

  /// A yes to a change holds for its proposal alone; a no until there is a yes, or a dealing is out.
  private func note(_ request: RequestRecord, isApproved: Bool) throws {
    let (id, proposal) = (request.secretID, request.headerDigest)
    let known = try circles.circle(of: id)
    if let known, known.header.digest == proposal {
      if isApproved { try circles.sayWilling(known.header) }
      return
    }
    guard let circle = known, circle.proposals[proposal] != nil else {
      throw VaultError(.notFound, "what request \(request.id) is about is not here any more")
    }
    let tooLate = VaultError(
      .refused, "this device has dealt for that change already, and can't take it back",
      hint: "its older share stays until you delete it: vault secret delete")
    guard isApproved || !circle.hasDealt(identity.keys.digest, proposal: proposal) else { throw tooLate }
    let name = LifecycleRecord.Name(.decision, proposal)
    try database.changeLifecycle(
      ofSecret: id,
      adding: [
        LifecycleRecord(secretID: id, name: name, content: [isApproved ? 1 : 0], addedAt: environment.now())
      ], removing: [name])
    // From here on nothing is dealt. Another process may have done so before.
    guard try isApproved || circles.circle(of: id)?.hasDealt(identity.keys.digest, proposal: proposal) != true else {
      throw tooLate
    }
  }

  private static func mistake(_ row: RequestRecord, _ time: Int64?) -> VaultError? {
    if row.kind == .change, time != nil {
      return VaultError(
        .usage, "request \(row.id) is about who holds a secret, which is decided once", hint: "leave out --for")
    }
    if row.kind == .deposit, time != nil {
      return VaultError(
        .usage, "request \(row.id) is about keeping a share, which is decided once", hint: "leave out --for")
    }
    if row.kind == .deposit, row.state != .waiting {
      return VaultError(.notFound, "request \(row.id) is decided already")
    }
    return nil
  }

  /// A deposit that was approved is worth nothing if nobody takes it up.
  private func waitUntilTaken(_ request: RequestRecord) async throws {
    let end = environment.monotonic() + Self.takingTime / .milliseconds(1)
    while true {
      let (seen, left) = (core.pulse.count, end - environment.monotonic())
      guard let now = try database.request(request.id) else {
        // Gone: the share has arrived already, or whoever waited with it has given up.
        guard try database.secret(request.secretID) == nil else { return }
        break
      }
      guard now.state == .approved else { return }
      guard left > 0 else { break }
      do { try await core.wait(since: seen, atMost: .milliseconds(left), isHurried: true) } catch { break }
    }
    // What came by parcel stays approved: it is taken up when parcels are answered next.
    guard try !hasDepositParcel(of: request.peer, about: request.secretID) else { return }
    try database.removeRequest(request.id)
    throw VaultError(
      .unreachable, "nobody waits with this share any more: the connection, or this device's daemon, has ended",
      hint: "the sender tries again with `vault secret deliver`")
  }

  /// What a daemon that has ended was waiting with is nobody's any more, but for what came by parcel.
  package func dropWaitingDeposits() throws {
    let hasParcels = try database.hasParcels([.waiting], direction: .received)
    // Where one is damaged, all go: the users are asked again.
    guard hasParcels, let waiting = try? database.requests(), !waiting.isEmpty else {
      return try database.dropWaitingDeposits()
    }
    for request in waiting where request.kind == .deposit && request.state != .taken {
      guard try !hasDepositParcel(of: request.peer, about: request.secretID) else { continue }
      try database.removeRequest(request.id)
    }
  }

  /// Whether a peer's parcel about a secret waits here.
  private func hasDepositParcel(of peer: Digest, about secret: SecretID) throws -> Bool {
    guard try database.hasParcels([.waiting], direction: .received) else { return false }
    return try database.parcels(.received, [.waiting]).contains { $0.peer == peer && $0.secretID == secret }
  }

  // MARK: - Policies

  package func releasePolicy(of reference: String) throws -> SecretPolicy {
    try policy(of: try directory.resolve(reference))
  }

  /// Gives a secret a policy of its own, or with nil that of the setting.
  package func setReleasePolicy(_ policy: ReleasePolicy?, of reference: String) throws -> SecretPolicy {
    let record = try directory.resolve(reference)
    guard record.ownIndex != nil else {
      throw VaultError(
        .usage,
        "this device holds no share of \(directory.secretReference(record.id).name), so there is nothing to release")
    }
    try database.setPolicy(policy?.text, ofSecret: record.id, at: environment.now())
    self.record(.policyChanged, secret: try directory.header(of: record), detail: policy?.text ?? "default")
    return try self.policy(of: record)
  }

  private func policy(of record: SecretRecord) throws -> SecretPolicy {
    let values = try core.settingsFile.load()
    let own = try database.policy(ofSecret: record.id)
    guard let policy = ReleasePolicy(own ?? values.value(of: .releasePolicy)) else {
      throw VaultError(.damaged, "the release policy makes no sense")
    }
    return SecretPolicy(secret: directory.secretReference(record.id), policy: policy, isDefault: own == nil)
  }

  // MARK: - Recovery

  /// A recovery that waits for others' consent may be tried every few seconds: that is one line an hour.
  func noteFailure(_ error: VaultError, _ header: SecretHeader) {
    guard error.code == .awaitingConsent else { return record(.recoveryFailed, secret: header, detail: error.reason) }
    guard awaited.isFirst(header.id, to: identity.keys.digest, at: environment.monotonic()) else { return }
    record(.recoveryWaits, secret: header, detail: error.reason)
  }

  // MARK: - Summaries

  private func summary(_ row: RequestRecord) throws -> VaultRequest {
    guard let request = try request(row) else { throw VaultError(.notFound, "its peer has been removed") }
    return request
  }

  /// Who it is that wants something: a peer, or a holder that was introduced for that secret. Nil for somebody who is gone.
  private func asker(_ row: RequestRecord) throws -> PeerRecord? {
    if let peer = try database.peer(row.peer) { return peer }
    return row.kind != .deposit ? try introductions.introducedHolder(row.peer, of: row.secretID) : nil
  }

  /// Nil if the peer is gone.
  private func request(_ row: RequestRecord) throws -> VaultRequest? {
    let peer = try asker(row)
    let change = row.kind == .change ? try circles.summary(of: row.headerDigest, secret: row.secretID) : nil
    // Holders may be strangers to one another; what they propose says itself who made it.
    guard peer != nil || change != nil else { return nil }
    let secret = try database.secret(row.secretID)
    let state: VaultRequest.State =
      switch row.state {
      case .waiting: .waiting
      case .approved: .approved
      case .refused: .refused
      case .taken: .arriving
      }
    return VaultRequest(
      id: row.id, kind: Self.kind(row.kind), peer: peer?.name ?? "a holder unknown here",
      fingerprint: fingerprint(of: row.peer),
      secret: row.secretID.description, description: row.description ?? secret?.description,
      byteCount: row.byteCount.map { UInt64(max(0, $0)) }, state: state, askedAt: row.askedAt,
      releasesAt: row.state == .waiting ? row.delay.map { ReleaseConsent.sum(row.startedAt, $0) } : nil,
      endsAt: row.endsAt, change: change)
  }

  private static func kind(_ kind: RequestRecord.Kind) -> VaultRequest.Kind {
    switch kind {
    case .release: .release
    case .deposit: .deposit
    case .change: .change
    }
  }
}

/// How a secret's share is released, and why so.
package struct SecretPolicy: Hashable, Sendable {
  package let secret: SecretReference
  package let policy: ReleasePolicy
  /// Whether it is that of the setting, and not the secret's own.
  package let isDefault: Bool
}
