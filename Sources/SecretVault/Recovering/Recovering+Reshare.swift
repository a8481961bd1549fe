import SealedPayload
import Sodium
import VaultProtocol
import VaultStore

extension Recovering {
  /// Asks nobody.
  package func planReshare(_ request: ReshareRequest) throws -> ResharePlan {
    let record = try directory.resolve(request.reference)
    let header = try directory.header(of: record)
    guard PayloadKind(rawValue: record.kind) != .encryptionKey else {
      throw VaultError(
        .refused, "a shared key can't be shared anew: what was encrypted to it belongs to this very secret",
        hint: "make a new key with `vault key create`, and copy the items to it")
    }
    let changed = try circles.changed(record).map { Set($0.holders.values) }
    let recipients =
      try request.recipients.isEmpty
      ? knownHolders(record, header, changed).map(\.name)
      : request.recipients.map { name in try directory.find(name).name }
    if let twice = recipients.first(where: { name in recipients.count { $0 == name } > 1 }) {
      throw VaultError(.usage, "\(twice) is named twice", hint: "name each holder once with --to")
    }
    guard !recipients.isEmpty else {
      throw VaultError(
        .usage, "this device doesn't know who holds shares of \(record.description ?? record.id.description)",
        hint: "say who is to get one: --to PEER")
    }
    let old = try circles.current(directory.summary(record, names: directory.peerNames()), of: record)
    let threshold = request.threshold ?? old.threshold
    guard threshold <= recipients.count + 1 else {
      throw VaultError(
        .usage, "a threshold of \(threshold) can't be met by \(recipients.count + 1) holders",
        hint: "choose a smaller one with --threshold, or more holders with --to")
    }
    return ResharePlan(
      old: old, threshold: threshold, recipients: recipients,
      leftOut: request.recipients.isEmpty
        ? try introductions.introducedHolders(of: record.id)
          .filter { changed?.contains($0.digest) != false }.map(\.name) : [])
  }

  /// Recovers a secret and shares a copy of it as a new one. The old one stays.
  package func reshare(
    _ request: ReshareRequest, passwords: @escaping PasswordSource,
    recovering: @escaping @Sendable (RecoveryEvent) -> Void, sharing: @escaping @Sendable (ShareEvent) -> Void
  ) async throws -> ReshareReport {
    let plan = try planReshare(request)
    let record = try directory.resolve(plan.old.id)
    let header = try directory.header(of: record)
    let kept = KeptPassword()
    let source: PasswordSource = { (attempt) async throws in
      try kept.keep(try await passwords(attempt), attempt)
    }
    let plaintext: ShareSource
    if let edit = request.edit {
      let content = try await recoverContent(plan.old.id, passwords: source, events: recovering)
      plaintext = .memory(try await edit(content))
    } else {
      let spool = try RecoveredSpool(stagingFolder: folders.stagingPath)
      try await recover(plan.old.id, into: spool, passwords: source, events: recovering)
      plaintext = .recovered(spool)
    }
    var new = ShareRequest(
      source: plaintext, threshold: plan.threshold, recipients: plan.recipients,
      description: record.description, includesLabels: request.includesLabels ?? (header.labels != nil),
      password: try kept.again())
    new.leavesOutRefusing = request.recipients.isEmpty
    new.confirm = request.confirm
    // The new one is released by the policy of the old one.
    new.policy = try database.policy(ofSecret: record.id)
    let share = try await self.sharing.share(new, events: sharing)
    return ReshareReport(old: plan.old, share: share)
  }

  /// Peers that hold a share, as far as this device knows: those that got one from it, that have proved one, or that the dealer has introduced,
  /// and the dealer. Labels don't count: the dealer chose those names, and somebody else may be called so here. Once it has `changed`, those who
  /// hold it now.
  private func knownHolders(
    _ record: SecretRecord, _ header: SecretHeader, _ changed: Set<Digest>?
  ) throws -> [PeerRecord] {
    if let changed { return try database.peers().filter { changed.contains($0.digest) } }
    var known = namedHolders(of: record.id)
    let drill = try database.drill(ofSecret: record.id)
    for holder in drill?.holders ?? [] { known.insert(holder.peer) }
    if record.origin == .dealt {
      let deliveries = try database.deliveries(ofSecret: record.id)
      for entry in deliveries where entry.state != .cancelled { known.insert(entry.entry.recipient) }
    }
    return try database.peers().filter { peer in
      known.contains(peer.digest) || record.origin == .held && peer.signingKey == header.dealerKey
    }
  }
}
