import PeerAuth
import SealedPayload
import ShamirKit
import Sodium
import Synchronization
import VaultProtocol
import VaultStore

/// Most peers that are contacted at the same time.
let contactConcurrency = 32

extension Vault {
  /// Splits and hands out a file.
  public func share(
    _ request: ShareRequest, events: @escaping @Sendable (ShareEvent) -> Void
  ) async throws(VaultError) -> ShareReport {
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
    // When this returns, source, key and shares are gone from memory: what is left to do can't open the file any more.
    let dealt = try await dealToWilling(request, events)
    events(.sealed(id: dealt.header.id.description))
    record(
      .shared, secret: dealt.header, detail: "\(request.threshold) of \(dealt.header.scheme.shareCount)")
    let entries = try stored { () throws(StoreError) in try database.deliveries(ofSecret: dealt.header.id.bytes) }
    await deliver(entries, events: events)
    let report = try report(dealt.header.id.bytes, leftOut: dealt.leftOut)
    guard let removable = dealt.removable, report.isRecoverable else { return report }
    return report.removing(removable)
  }

  private struct Dealt {
    let header: SecretHeader
    let leftOut: [String]
    /// The source file, if it is to be removed, as it was when it was read.
    let removable: RemovableSource?
  }

  private func dealToWilling(
    _ request: ShareRequest, _ events: @escaping @Sendable (ShareEvent) -> Void
  ) async throws(VaultError) -> Dealt {
    let chosen = try choose(request)
    try checkCounts(request, holders: chosen.count + (request.keepsOwnShare ? 1 : 0))
    let source = try openSource(request.source)
    let removable = request.removesSource ? try RemovableSource(request.source, source) : nil
    let payload = try payloadHeader(request.source)
    let leftOut = try await contact(chosen, request, payload, source.byteCount, events)
    let recipients = chosen.filter { peer in !leftOut.contains { $0.peer.digest == peer.digest } }
    let count = recipients.count + (request.keepsOwnShare ? 1 : 0)
    guard count >= max(2, request.threshold) else {
      throw tooFew(leftOut, count: count, threshold: request.threshold)
    }
    events(
      .plan(
        SharePlan(
          threshold: request.threshold, shareCount: count, recipients: recipients.map(\.name),
          keepsOwnShare: request.keepsOwnShare)))
    let records = try makeRecords(request, recipients, payload, source, events)
    let header = records.header
    try commit(records)
    return Dealt(header: header, leftOut: leftOut.map(\.peer.name), removable: removable)
  }

  /// Delivers what still waits, of one secret or of all.
  public func retry(
    _ reference: String?, events: @escaping @Sendable (ShareEvent) -> Void
  ) async throws(VaultError) -> [ShareReport] {
    let now = environment.now()
    let only = try reference.map { (text) throws(VaultError) in try resolve(text) }
    try stored { () throws(StoreError) in
      // Due to this command alone: the daemon keeps its hands off for the time of a lease.
      _ = try database.makeDue(secret: only?.id, at: now + Self.lease, includingRefused: true)
    }
    let due = try stored { () throws(StoreError) in
      try database.waitingDeliveries().filter { only == nil || $0.entry.secretID == only?.id }
    }
    await deliver(due, events: events)
    var ids: [[UInt8]] = []
    for entry in due { if let id = entry.entry.secretID, !ids.contains(id) { ids.append(id) } }
    if let only, ids.isEmpty { ids = [only.id] }
    return try ids.map { (id) throws(VaultError) in try report(id, leftOut: []) }
  }

  // MARK: - Before dealing

  private func choose(_ request: ShareRequest) throws(VaultError) -> [PeerRecord] {
    guard !request.recipients.isEmpty else {
      let all = try stored { () throws(StoreError) in try database.peers() }
      guard !all.isEmpty else {
        throw VaultError(.usage, "you have no peers to share with", hint: "add them with `vault peer add`")
      }
      return all
    }
    var chosen: [PeerRecord] = []
    for reference in request.recipients {
      let peer = try find(reference)
      if !chosen.contains(where: { $0.digest == peer.digest }) { chosen.append(peer) }
    }
    return chosen
  }

  private func checkCounts(_ request: ShareRequest, holders: Int) throws(VaultError) {
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

  private func openSource(_ source: ShareSource) throws(VaultError) -> any PlaintextSource {
    switch source {
    case .file(let path): try FileSource(path: path)
    case .descriptor(let descriptor, let name):
      try SpooledSource(descriptor: descriptor, name: name, stagingFolder: folders.stagingPath)
    }
  }

  private func payloadHeader(_ source: ShareSource) throws(VaultError) -> PayloadHeader {
    let name: String
    switch source {
    case .file(let path): name = path.split(separator: "/").last.map(String.init) ?? path
    case .descriptor(_, let given): name = given
    }
    do { return try PayloadHeader(kind: .file, fileName: Array(name.utf8).span.bytes) } catch {
      throw VaultError(.usage, "the file's name is too long")
    }
  }

  /// A session with every chosen peer before anything is dealt. Returns those that can't take part, and says why.
  private func contact(
    _ chosen: [PeerRecord], _ request: ShareRequest, _ payload: borrowing PayloadHeader, _ byteCount: UInt64,
    _ events: @escaping @Sendable (ShareEvent) -> Void
  ) async throws(VaultError) -> [(peer: PeerRecord, failure: LinkFailure)] {
    let fragment = try fragmentByteCount(request, chosen.count, payload, byteCount)
    events(.contacting(chosen.map(\.name)))
    var recipients: [(PeerRecord, Recipient)] = []
    for peer in chosen { recipients.append((peer, try recipient(peer))) }
    let failures = await limitedConcurrency(recipients, limit: contactConcurrency) { [self] pair in
      let (peer, recipient) = pair
      guard case .failed(let failure) = await send(.probe(fragmentByteCount: fragment), to: recipient) else {
        return nil as (peer: PeerRecord, failure: LinkFailure)?
      }
      // Who has proved its keys before may be offline now: its share waits here, sealed.
      let mayWait = failure.kind == .unreachable || failure.kind == .cutOff || failure.refusal == .busy
      return peer.state == .proven && mayWait ? nil : (peer, failure)
    }
    let leftOut = failures.compactMap { $0 }
    for (peer, failure) in leftOut {
      let hint =
        failure.hint
        ?? (failure.kind == .unreachable && peer.state != .proven
          ? "a new peer must be reachable once before anything can be sealed to it: have \(peer.name) run `vault daemon`"
          : nil)
      events(.leftOut(peer: peer.name, reason: failure.reason, hint: hint))
    }
    return leftOut
  }

  private func fragmentByteCount(
    _ request: ShareRequest, _ peers: Int, _ payload: borrowing PayloadHeader, _ byteCount: UInt64
  ) throws(VaultError) -> UInt64 {
    do {
      let sealer = try PayloadSealer(key: SecretBytes(random: 32), header: payload, bodyByteCount: byteCount)
      return try DispersalPlan(
        dataCount: request.threshold, fragmentCount: peers + (request.keepsOwnShare ? 1 : 0),
        byteCount: sealer.ciphertextByteCount
      ).fragmentByteCount
    } catch {
      throw VaultError(.usage, "the file is too large to share: \(error)")
    }
  }

  private func tooFew(
    _ leftOut: [(peer: PeerRecord, failure: LinkFailure)], count: Int, threshold: Int
  ) -> VaultError {
    let reasons = leftOut.map { "\($0.peer.name) \($0.failure.reason)" }.joined(separator: ", ")
    let code: VaultError.Code =
      leftOut.contains { $0.failure.kind == .refused || $0.failure.kind == .unknownHere } ? .refused : .unreachable
    return VaultError(
      code, "only \(count) of the \(max(2, threshold)) holders needed can take part (\(reasons)); nothing was shared",
      hint: leftOut.compactMap(\.failure.hint).first ?? "try again when they are reachable")
  }

  // MARK: - Dealing

  /// What is kept of a dealing: nothing in it opens a share but the own one.
  private struct DealtRecords: ~Copyable {
    let header: SecretHeader
    let secret: SecretRecord
    let ownShare: SecretBytes?
    let fragments: [FragmentRecord]
    let outbox: [NewOutboxRecord]
    let staging: FragmentStaging
  }

  /// Deals shares, encrypts and disperses the file, and seals every share to its holder. Key, polynomials and salts are
  /// wiped when this returns: only then is anything committed, and so only then can a daemon beside this command send.
  private func makeRecords(
    _ request: ShareRequest, _ recipients: [PeerRecord], _ payload: borrowing PayloadHeader,
    _ source: any PlaintextSource, _ events: @escaping @Sendable (ShareEvent) -> Void
  ) throws(VaultError) -> DealtRecords {
    let count = recipients.count + (request.keepsOwnShare ? 1 : 0)
    let scheme = try shamir { () throws(ShamirError) in
      try ThresholdScheme(threshold: request.threshold, shareCount: count)
    }
    let nonce = try random(SecretHeader.nonceByteCount)
    let id: SecretID
    do { id = try SecretHeader.id(dealerKey: identity.keys.signing, nonce: nonce) } catch {
      throw VaultError(.other, "no id could be made")
    }
    let dealing = try shamir { () throws(ShamirError) in try Dealing.fresh(scheme) }
    var sealer = try makeSealer(dealing, id, payload, source.byteCount)
    let plan = try shamir { () throws(ShamirError) in
      try DispersalPlan(
        dataCount: scheme.threshold, fragmentCount: count, byteCount: sealer.ciphertextByteCount)
    }
    let staging = try stored { () throws(StoreError) in try database.fragments.stage(count: count) }
    let total = sealer.ciphertextByteCount
    let roots = try FragmentDispersal(plan: plan, secret: id, staging: staging) { done in
      events(.sealing(done: done, total: total))
    }.run(source, through: &sealer)

    var holders: [(name: String, keys: CardKeys)] = []
    if request.keepsOwnShare { holders.append((try ownCard().label, identity.keys)) }
    for peer in recipients { holders.append((peer.name, try storedCard(peer).keys)) }
    let salts = try makeSalts(count)
    let rows = try holders.enumerated().map { (position, holder) throws(VaultError) in
      try Self.row(id, position, holder.keys.digest, salts)
    }
    let labels = request.includesLabels ? holders.map { Self.label($0.name) } : nil
    let header: SecretHeader
    do {
      header = try SecretHeader.sign(
        SecretHeader.Content(
          nonce: nonce, kind: PayloadKind.file.rawValue, scheme: scheme, createdAt: environment.now(),
          ciphertextByteCount: total, description: request.description ?? "", labels: labels,
          commitments: dealing.commitments, roots: roots, rows: rows),
        by: identity)
    } catch {
      throw VaultError(.other, "the secret's header could not be signed: \(error)")
    }
    return try records(header, dealing, salts, recipients, holders.map(\.keys), request, staging, plan)
  }

  /// Makes everything durable: first the fragments, then all else in one transaction.
  private func commit(_ records: borrowing DealtRecords) throws(VaultError) {
    do throws(StoreError) {
      try records.staging.publish(as: records.header.id.bytes)
      try database.deal(
        records.secret, ownShare: records.ownShare, fragments: records.fragments, outbox: records.outbox)
    } catch {
      records.staging.close()
      throw VaultError(error)
    }
    records.staging.close()
  }

  private func makeSealer(
    _ dealing: borrowing Dealing, _ id: SecretID, _ payload: borrowing PayloadHeader, _ byteCount: UInt64
  ) throws(VaultError) -> PayloadSealer {
    do {
      return try PayloadSealer(key: try dealing.fileKey(for: id), header: payload, bodyByteCount: byteCount)
    } catch {
      throw VaultError(.other, "encrypting can't begin: \(error)")
    }
  }

  private func makeSalts(_ count: Int) throws(VaultError) -> SecretBytes {
    try freshSecret(count * HolderRow.saltByteCount)
  }

  private static func salt(_ position: Int, _ salts: borrowing SecretBytes) throws(VaultError) -> SecretBytes {
    let start = position * HolderRow.saltByteCount
    do { return try SecretBytes(copying: salts.bytes.extracting(start..<(start + HolderRow.saltByteCount))) } catch {
      throw VaultError(.other, "no memory is left")
    }
  }

  private static func row(
    _ id: SecretID, _ position: Int, _ card: Digest, _ salts: borrowing SecretBytes
  ) throws(VaultError) -> Digest {
    let salt = try salt(position, salts)
    do {
      return try HolderRow.digest(secret: id, index: UInt8(position + 1), card: card, salt: salt.bytes)
    } catch {
      throw VaultError(.other, "hashing failed")
    }
  }

  /// A name cut to what a label may have, between characters.
  private static func label(_ name: String) -> String {
    var label = name
    while label.utf8.count > SecretHeader.labelByteLimit { label.removeLast() }
    return label
  }

  /// Seals every share to its holder.
  private func records(
    _ header: SecretHeader, _ dealing: borrowing Dealing, _ salts: borrowing SecretBytes,
    _ recipients: [PeerRecord], _ holders: [CardKeys], _ request: ShareRequest, _ staging: FragmentStaging,
    _ plan: DispersalPlan
  ) throws(VaultError) -> DealtRecords {
    let now = environment.now()
    let id = header.id.bytes
    let first = request.keepsOwnShare ? 2 : 1
    var outbox: [NewOutboxRecord] = []
    for (offset, peer) in recipients.enumerated() {
      let index = first + offset
      let share = try dealing.vaultShare(index)
      let salt = try Self.salt(index - 1, salts)
      let sealed: [UInt8]
      do {
        sealed = try SealedShare.seal(
          share, salt: salt, header: header, dealer: identity.keys.digest, recipient: holders[index - 1])
      } catch {
        throw VaultError(.other, "a share could not be sealed for \(peer.name): \(error)")
      }
      outbox.append(
        NewOutboxRecord(
          recipient: peer.digest, kind: DeliveryKind.deposit, secretID: id, index: index, payload: sealed,
          hasFragment: true, nextAttemptAt: now + Self.lease, createdAt: now))
    }
    let trailer = try shamir { () throws(ShamirError) in
      try MerkleLayout(leafCount: plan.stripeCount).totalByteCount
    }
    guard let byteCount = Int64(exactly: plan.fragmentByteCount), let trailerByteCount = Int64(exactly: trailer),
      let pieces = Int(exactly: plan.stripeCount)
    else { throw VaultError(.usage, "the file is too large to share") }
    let fragments = (1...header.scheme.shareCount).map { index in
      FragmentRecord(
        completeOf: id, index: index, byteCount: byteCount, trailerByteCount: trailerByteCount, pieces: pieces,
        headerDigest: header.digest, source: nil)
    }
    let tag: Digest
    do { tag = try AskTag.of(header.id) } catch { throw VaultError(.other, "hashing failed") }
    let secret = SecretRecord(
      id: id, askTag: tag, headerDigest: header.digest, header: header.bytes, origin: .dealt,
      dealer: identity.keys.digest, description: header.description.isEmpty ? nil : header.description,
      threshold: header.scheme.threshold, shareCount: header.scheme.shareCount,
      ownIndex: request.keepsOwnShare ? 1 : nil, createdAt: header.createdAt, receivedAt: now)
    let own = try request.keepsOwnShare ? ownShareRecord(dealing, salts) : nil
    return DealtRecords(
      header: header, secret: secret, ownShare: own, fragments: fragments, outbox: outbox, staging: staging)
  }

  /// Share and salt of the own share, as the store keeps them.
  private func ownShareRecord(
    _ dealing: borrowing Dealing, _ salts: borrowing SecretBytes
  ) throws(VaultError) -> SecretBytes {
    let share = try dealing.vaultShare(1)
    let salt = try Self.salt(0, salts)
    return try HeldShare.record(share: share, salt: salt)
  }

  private func random(_ count: Int) throws(VaultError) -> [UInt8] {
    do { return try Randomness.bytes(count) } catch { throw VaultError(.other, "no randomness can be had") }
  }
}

/// Kinds of outbox entries.
enum DeliveryKind {
  static let deposit = "deposit"
}

extension Dealing {
  borrowing func vaultShare(_ index: Int) throws(VaultError) -> KeyShare {
    guard let number = UInt8(exactly: index) else { throw VaultError(.other, "there is no share \(index)") }
    return try shamir { () throws(ShamirError) in try share(number) }
  }
}

extension HeldShare {
  /// Share (64 bytes) and salt (32 bytes) one after the other.
  static func record(
    share: borrowing KeyShare, salt: borrowing SecretBytes
  ) throws(VaultError) -> SecretBytes {
    do {
      var record = try SecretBytes(zeros: KeyShare.byteCount + HolderRow.saltByteCount)
      record.withUnsafeMutableBytes { target in
        share.bytes.withUnsafeBytes { target.copyMemory(from: $0) }
        salt.withUnsafeBytes {
          UnsafeMutableRawBufferPointer(rebasing: target[KeyShare.byteCount...]).copyMemory(from: $0)
        }
      }
      return record
    } catch {
      throw VaultError(.other, "no memory is left")
    }
  }

  /// Opens what ``record(share:salt:)`` made.
  convenience init(index: Int, record: borrowing SecretBytes, of secret: String) throws(VaultError) {
    guard record.count == KeyShare.byteCount + HolderRow.saltByteCount, let number = UInt8(exactly: index) else {
      throw VaultError(.damaged, "this device's share of \(secret) is damaged")
    }
    do {
      let share = try KeyShare(
        index: number, bytes: try SecretBytes(copying: record.bytes.extracting(0..<KeyShare.byteCount)))
      let salt = try SecretBytes(copying: record.bytes.extracting(KeyShare.byteCount..<record.count))
      self.init(share: share, salt: salt)
    } catch {
      throw VaultError(.damaged, "this device's share of \(secret) is damaged")
    }
  }
}

/// Runs `body` for every element, at most `limit` at a time, and returns the results in the elements' order.
func limitedConcurrency<Element: Sendable, Result: Sendable>(
  _ elements: [Element], limit: Int, _ body: @escaping @Sendable (Element) async -> Result
) async -> [Result] {
  await withTaskGroup(of: (Int, Result).self) { group in
    var results = [Result?](repeating: nil, count: elements.count)
    var next = 0
    while next < min(limit, elements.count) {
      let position = next
      group.addTask { (position, await body(elements[position])) }
      next += 1
    }
    while let (position, result) = await group.next() {
      results[position] = result
      if next < elements.count {
        let position = next
        group.addTask { (position, await body(elements[position])) }
        next += 1
      }
    }
    return results.compactMap { $0 }
  }
}
