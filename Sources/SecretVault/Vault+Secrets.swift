import PeerAuth
import ShamirKit
import Sodium
import VaultProtocol
import VaultStore

extension Vault {
  /// All secrets that this device holds a share of or has dealt, newest first.
  package func secrets() throws -> [SecretSummary] {
    let list = try secretList()
    return list.listing.lines.map { list.summary($0) }
  }

  /// The same, packed.
  package func secretList() throws -> SecretList {
    let listing: SecretListing
    do { listing = try database.listing() } catch { throw damage(error) }
    return try secretList(of: listing)
  }

  /// The same without those that are damaged in the store, and the ids of these.
  package func soundSecretList() throws -> (list: SecretList, damaged: [String]) {
    let sound: (listing: SecretListing, damaged: [[UInt8]])
    do { sound = try database.soundListing() } catch { throw damage(error) }
    return (try secretList(of: sound.listing), sound.damaged.map { hexadecimal($0) })
  }

  func secretList(of listing: SecretListing) throws -> SecretList {
    let names = try peerNames()
    return SecretList(
      listing: listing, dealers: listing.dealers.map { names[$0] ?? Self.formerPeer },
      unlocked: listing.lines.isEmpty ? [] : environment.unlocked.ids())
  }

  static let formerPeer = "a former peer"

  /// One secret with everything known about it.
  package func secret(_ reference: String) throws -> SecretDetails {
    let record = try resolve(reference)
    let header = try header(of: record)
    let names = try peerNames()
    let evidence = try database.evidence(aboutSecret: record.id)
    var summary = try summary(record, names: names)
    summary.isUnlocked = environment.unlocked.ids().contains(header.id)
    return SecretDetails(
      summary: summary, ciphertextByteCount: header.dispersal.byteCount,
      fragmentByteCount: header.dispersal.fragmentByteCount, labels: header.labels,
      deliveries: try deliveries(of: record, names: names), headerDigest: header.digest.description,
      conflictingHeadersFrom: evidence.map { names[$0.peer] ?? "a former peer" },
      listensNowhere: try holdersThatListenNowhere(record),
      lastCheck: try database.drill(ofSecret: record.id))
  }

  /// What deleting this device's share would mean, without doing it.
  package func consequenceOfDeleting(_ reference: String) throws -> DeletionConsequence {
    try consequence(of: resolve(reference))
  }

  /// Deletes this device's share for good and leaves a tombstone.
  package func delete(_ reference: String) throws -> DeletionConsequence {
    let record = try resolve(reference)
    let consequence = try consequence(of: record)
    let header = try? header(of: record)
    let now = environment.now()
    _ = try database.deleteSecret(record.id, at: now)
    if let id = try? SecretID(record.id) { environment.unlocked.lock(id) }
    self.record(.deleted, secret: header)
    return consequence
  }

  /// What happened here, newest first.
  package func log(limit: Int) throws -> [LogEntry] {
    try database.auditLog(limit: limit).map {
      LogEntry(
        at: $0.at, event: $0.event, peer: $0.peerLabel, secret: $0.secretID.map { hexadecimal($0) },
        detail: $0.detail)
    }
  }

  // MARK: - Finding

  /// The secret that the user means: by id, by description, or by a unique start of the id.
  func resolve(_ reference: String) throws -> SecretRecord {
    let lowered = reference.lowercased()
    if lowered.utf8.count == 2 * SecretRecord.idByteCount, let id = bytes(hexadecimal: lowered),
      let exact = try database.secret(id)
    {
      return exact
    }
    // Both at once: a description is somebody else's choice, and must not hide a secret named by its id.
    let listing = try database.listing(verifying: false)
    func isMeant(_ id: [UInt8], _ description: String?) -> Bool {
      description == reference || (!lowered.isEmpty && hexadecimal(id).hasPrefix(lowered))
    }
    let matches = listing.lines.filter { isMeant(SecretListing.bytes($0.id), listing.description(of: $0)) }
    if matches.count == 1, let record = try record(SecretListing.bytes(matches[0].id)) {
      // The list was not verified, the record is.
      guard isMeant(record.id, record.description) else {
        throw VaultError(.damaged, "the list of secrets is damaged", hint: "name the secret by its id")
      }
      return record
    }
    guard matches.isEmpty else {
      let ids = matches.prefix(8).map { hexadecimal(SecretListing.bytes($0.id).prefix(6)) }.joined(separator: ", ")
      throw VaultError(
        .ambiguous, "\(matches.count) secrets fit \(reference): \(ids)", hint: "name one by more of its id")
    }
    throw VaultError(
      .notFound, "this device knows no secret named \(reference)", hint: "see what there is with `vault list`")
  }

  private func record(_ id: [UInt8]) throws -> SecretRecord? {
    try database.secret(id)
  }

  func onlySecret() throws -> SecretRecord {
    let some = try database.secretIDs(limit: 2)
    guard let id = some.first, let only = try record(id) else {
      throw VaultError(.notFound, "this device holds no share of any secret")
    }
    guard some.count == 1 else {
      let count = try database.listing(verifying: false).lines.count
      throw VaultError(
        .ambiguous, "this device knows \(count) secrets",
        hint: "name one: `vault list` shows their ids and descriptions")
    }
    return only
  }

  /// The parsed and verified header of a record.
  func header(of record: SecretRecord) throws -> SecretHeader {
    do {
      let header = try headers.header(record.header, digest: record.headerDigest)
      guard header.id.bytes == record.id, header.digest == record.headerDigest else {
        throw ProtocolError.inconsistentHeader("id")
      }
      return header
    } catch {
      throw VaultError(.damaged, "the stored header of secret \(hexadecimal(record.id)) is damaged")
    }
  }

  func peerNames() throws -> [Digest: String] {
    let peers: [PeerRecord]
    do { peers = try database.peers() } catch { throw damage(error) }
    return Dictionary(peers.map { ($0.digest, $0.name) }) { first, _ in first }
  }

  /// A secret by its id, with its description or short id for sentences.
  func secretReference(_ id: [UInt8]) -> SecretReference {
    let record = try? database.secret(id)
    return SecretReference(id: hexadecimal(id), name: record?.description ?? hexadecimal(id.prefix(6)))
  }

  /// Secrets of which a peer is known to have a share: those dealt here and delivered to it, and those it dealt.
  func secretsKnownHeld(by peer: PeerRecord) throws -> [SecretReference] {
    let (listing, given) = (try database.listing(verifying: false), Set(try database.secretsDelivered(to: peer.digest)))
    return listing.lines.compactMap { line in
      let id = SecretListing.bytes(line.id)
      let isHeld = line.origin == .held ? listing.dealers[line.dealer] == peer.digest : given.contains(id)
      guard isHeld else { return nil }
      return SecretReference(
        id: hexadecimal(id), name: listing.description(of: line) ?? hexadecimal(id.prefix(6)))
    }
  }

  // MARK: - Rendering

  func summary(_ record: SecretRecord, names: [Digest: String]) throws -> SecretSummary {
    let deliveries =
      record.origin == .dealt
      ? try database.deliveries(ofSecret: record.id) : nil
    let dealer = record.origin == .dealt ? "you" : names[record.dealer] ?? Self.formerPeer
    return SecretSummary(
      id: hexadecimal(record.id), description: record.description, kind: SecretList.kind(record.kind),
      origin: record.origin == .dealt ? .dealt : .held, dealer: dealer, threshold: record.threshold,
      shareCount: record.shareCount, ownIndex: record.ownIndex, createdAt: record.createdAt,
      delivered: deliveries?.count { $0.state == .delivered },
      waiting: deliveries?.count { $0.state == .waiting || $0.state == .refused })
  }

  /// The deliveries of a dealt secret, in order of index.
  func deliveries(of record: SecretRecord, names: [Digest: String]) throws -> [Delivery] {
    guard record.origin == .dealt else { return [] }
    let ways = try parcelWays()
    return try database.deliveries(ofSecret: record.id).map {
      entry in
      let state: Delivery.State =
        switch entry.state {
        // The first attempt may just be under way, or may have ended with its program.
        case .waiting: entry.attempts > 0 && entry.lastError != nil ? .unreachable : .waiting
        case .delivered: .delivered
        case .refused: .refused
        case .cancelled: .cancelled
        }
      let isTooLarge = state == .unreachable ? try isTooLargeForParcels(entry) : false
      let reason = isTooLarge ? entry.lastError.map { $0 + Self.tooLargeForParcels } : entry.lastError
      let isOpen = entry.state == .waiting
      return Delivery(
        peer: names[entry.entry.recipient] ?? "a former peer", index: entry.entry.index ?? 0, state: state,
        reason: entry.state == .delivered ? nil : reason, onItsWay: isOpen ? ways.deliveries[entry.id]?.way : nil,
        probe: isOpen ? ways.probes[entry.entry.recipient] : nil)
    }
  }

  private func consequence(of record: SecretRecord) throws -> DeletionConsequence {
    let summary = try summary(record, names: peerNames())
    let waiting = try deliveries(of: record, names: peerNames()).filter {
      $0.state != .delivered && $0.state != .cancelled
    }
    let threshold = summary.threshold
    var explanation: String
    var lost = false
    if record.origin == .dealt {
      let delivered = summary.delivered ?? 0
      lost = delivered < threshold
      if lost {
        explanation =
          "only \(delivered) of the \(threshold) shares needed are with your peers: without this device's part the secret is lost for good"
      } else {
        explanation =
          "\(delivered) peers hold shares and \(threshold) are needed; if \(delivered - threshold + 1) of them lose theirs too, the secret is lost for good"
      }
    } else if record.ownIndex == nil {
      explanation = "this device holds no share of it; only its description is forgotten"
    } else if threshold == summary.shareCount {
      lost = true
      explanation = "all \(threshold) shares are needed to recover it: without this one the secret is lost for good"
    } else {
      explanation =
        "\(summary.shareCount) shares were dealt and \(threshold) are needed; once \(summary.shareCount - threshold + 1) are gone, the secret is lost for good, and this device can't recover it any more"
    }
    if record.ownIndex != nil, let found = try lastCheck(of: record) { explanation += "; " + found }
    return DeletionConsequence(
      secret: summary, makesUnrecoverable: lost, explanation: explanation, waitingDeliveries: waiting.map(\.peer),
      items: try summaries(of: record.id))
  }

  /// What the last fire drill says about doing without this device's share.
  private func lastCheck(of record: SecretRecord) throws -> String? {
    guard let drill = try database.drill(ofSecret: record.id) else {
      return nil
    }
    let others = drill.holders.count { $0.isWhole }
    let age = max(0, environment.now() - drill.checkedAt)
    let counted = others == 1 ? "1 other holder" : "\(others) other holders"
    let found = "the last check, \(DurationText.words(age)) ago, found \(counted) with a sound share"
    return others < record.threshold ? found + ", which is too few without this one" : found
  }
}
