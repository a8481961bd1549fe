import ShamirKit
import VaultProtocol
import VaultStore

/// Dealing a secret, and handing its shares out.
package final class Sharing: Room {
  package let core: VaultCore
  let directory: Directory
  let introductions: Introductions
  let circles: Circles
  let links: Links
  let carrying: Carrying
  let post: Post

  init(
    _ core: VaultCore, _ directory: Directory, _ introductions: Introductions, _ circles: Circles, _ links: Links,
    _ carrying: Carrying, _ post: Post
  ) {
    self.core = core
    self.directory = directory
    self.introductions = introductions
    self.circles = circles
    self.links = links
    self.carrying = carrying
    self.post = post
  }

  package func share(
    _ request: ShareRequest, events: @escaping @Sendable (ShareEvent) -> Void
  ) async throws -> ShareReport {
    guard request.threshold >= 2 else {
      throw VaultError(
        .usage, "a threshold of \(request.threshold) protects nothing: every single holder could read the file alone",
        hint: "use --threshold 2 or more")
    }
    if let description = request.description {
      guard description.utf8.count <= SecretHeader.descriptionByteLimit, !description.utf8.contains(0) else {
        throw VaultError(.usage, "a description can have at most \(SecretHeader.descriptionByteLimit) bytes")
      }
    }
    let report: ShareReport
    do { report = try await share(checked: request, events) } catch {
      await links.conversations.endAll()
      throw error
    }
    await links.conversations.endAll()
    return report
  }

  private func share(
    checked request: ShareRequest, _ events: @escaping @Sendable (ShareEvent) -> Void
  ) async throws -> ShareReport {
    // When this returns, source, key and shares are gone from memory.
    let dealt = try await dealToWilling(request, events)
    events(.sealed(id: dealt.header.id.description))
    record(.shared, secret: dealt.header, detail: "\(request.threshold) of \(dealt.header.scheme.shareCount)")
    let entries = try database.deliveries(ofSecret: dealt.header.id)
    await deliver(entries, events: events)
    let report = try report(dealt.header.id, leftOut: dealt.leftOut)
    guard let removable = dealt.removable, report.hasEnoughPlaced else { return report }
    return report.isRecoverable ? report.removing(removable) : report.keepingSource
  }

  private struct Dealt {
    let header: SecretHeader
    let leftOut: [String]
    /// As it was when it was read.
    let removable: RemovableSource?
  }

  private func dealToWilling(
    _ request: ShareRequest, _ events: @escaping @Sendable (ShareEvent) -> Void
  ) async throws -> Dealt {
    let chosen = try choose(request)
    try checkCounts(request, holders: chosen.count + (request.keepsOwnShare ? 1 : 0))
    let source = try SharedPlaintext(request, stagingFolder: folders.stagingPath)
    let removable = request.removesSource ? try RemovableSource(request.source, source.body) : nil
    let leftOut = try await contact(chosen, request, source, events)
    let recipients = chosen.filter { peer in !leftOut.contains { $0.peer.digest == peer.digest } }
    let count = recipients.count + (request.keepsOwnShare ? 1 : 0)
    guard count >= max(2, request.threshold) else {
      throw tooFew(leftOut, count: count, threshold: request.threshold)
    }
    let plan = SharePlan(
      threshold: request.threshold, shareCount: count,
      // As they are now: some have just proved their keys.
      recipients: try recipients.map { try directory.summary(try database.peer($0.digest) ?? $0) },
      keepsOwnShare: request.keepsOwnShare)
    events(.plan(plan))
    try await request.confirm?(plan)
    let records = try makeRecords(request, recipients, source, events)
    let header = records.header
    try commit(records, recipients, events)
    return Dealt(header: header, leftOut: leftOut.map(\.peer.name), removable: removable)
  }

  /// Delivers what still waits, of one secret or of all.
  package func retry(
    _ reference: String?, events: @escaping @Sendable (ShareEvent) -> Void
  ) async throws -> [ShareReport] {
    let now = environment.now()
    let only = try reference.map { text in try directory.resolve(text) }
    completeIntroductions(ofSecret: only?.id)
    // Due to this command alone: the daemon waits for the time of a lease.
    _ = try database.makeDue(secret: only?.id, at: now + OutboxRecord.lease, includingRefused: true)
    let due = try database.waitingDeliveries().filter { only == nil || $0.entry.secretID == only?.id }
    await deliver(due, events: events)
    await deliverIntroductions(ofSecret: only?.id)
    var ids: [SecretID] = []
    for entry in due { if let id = entry.entry.secretID, !ids.contains(id) { ids.append(id) } }
    if let only, ids.isEmpty { ids = [only.id] }
    return try ids.map { id in try report(id, leftOut: []) }
  }

  // MARK: - Before dealing

  private func choose(_ request: ShareRequest) throws -> [PeerRecord] {
    guard !request.recipients.isEmpty else {
      let all = try database.peers()
      guard !all.isEmpty else {
        throw VaultError(.usage, "you have no peers to share with", hint: "add them with `vault peer add`")
      }
      return all
    }
    var chosen: [PeerRecord] = []
    for reference in request.recipients {
      let peer = try directory.find(reference)
      if !chosen.contains(where: { $0.digest == peer.digest }) { chosen.append(peer) }
    }
    return chosen
  }

  private func checkCounts(_ request: ShareRequest, holders: Int) throws {
    guard holders >= 2, holders <= 255 else {
      throw VaultError(
        .usage, "a secret is split among 2 to 255 holders, not \(holders)",
        hint: holders < 2 ? "add more peers, or leave out --no-own-share" : "name fewer with --to")
    }
    guard request.threshold <= holders else {
      throw VaultError(
        .usage, "a threshold of \(request.threshold) can't be met by \(holders) holders",
        hint: "choose a threshold from 2 to \(holders), or more peers")
    }
  }

  /// Asks every peer before anything is dealt. Returns those that refuse and that nobody has chosen; a chosen one that refuses ends it all.
  /// Those that can't be reached get their shares later.
  private func contact(
    _ chosen: [PeerRecord], _ request: ShareRequest, _ source: SharedPlaintext,
    _ events: @escaping @Sendable (ShareEvent) -> Void
  ) async throws -> [(peer: PeerRecord, failure: LinkFailure)] {
    let fragment = try fragmentByteCount(request, chosen.count, source)
    events(.contacting(chosen.map(\.name)))
    var recipients: [(PeerRecord, Recipient)] = []
    for peer in chosen { recipients.append((peer, try directory.recipient(peer))) }
    let failures = await limitedConcurrency(recipients, limit: contactConcurrency) { [self] pair in
      let (peer, recipient) = pair
      do throws(LinkFailure) { try await links.ask(ProbeAsker(byteCount: fragment), of: recipient) } catch {
        return error.mayPass ? nil : (peer: peer, failure: error)
      }
      return nil
    }
    let refusing = failures.compactMap { $0 }
    guard request.leavesOutRefusing || refusing.isEmpty else { throw refusal(of: refusing) }
    for (peer, failure) in refusing {
      events(.leftOut(peer: peer.name, reason: failure.reason, hint: failure.hint))
    }
    return refusing
  }

  private func fragmentByteCount(_ request: ShareRequest, _ peers: Int, _ source: SharedPlaintext) throws -> UInt64 {
    do {
      return try DispersalPlan(
        dataCount: request.threshold, fragmentCount: peers + (request.keepsOwnShare ? 1 : 0),
        byteCount: source.ciphertextByteCount
      ).fragmentByteCount
    } catch {
      throw VaultError(.usage, "the file is too large to share: \(error)")
    }
  }

  private func refusal(of refusing: [(peer: PeerRecord, failure: LinkFailure)]) -> VaultError {
    let first = VaultError(refusing[0].failure, peer: refusing[0].peer.name)
    return VaultError(first.code, "\(Self.reasons(refusing)); nothing was shared", hint: first.hint)
  }

  private func tooFew(
    _ leftOut: [(peer: PeerRecord, failure: LinkFailure)], count: Int, threshold: Int
  ) -> VaultError {
    VaultError(
      .refused,
      "only \(count) of the \(max(2, threshold)) holders needed can take part (\(Self.reasons(leftOut))); nothing was shared",
      hint: leftOut.compactMap(\.failure.hint).first ?? "choose others with --to, or a smaller --threshold")
  }

  private static func reasons(_ refusing: [(peer: PeerRecord, failure: LinkFailure)]) -> String {
    refusing.map { "\($0.peer.name) \($0.failure.reason)" }.joined(separator: ", ")
  }
}

extension LinkFailure {
  /// Whether the share can wait for the peer.
  fileprivate var mayPass: Bool {
    kind == .unreachable || kind == .cutOff || kind == .slow || refusal == .busy
  }
}
