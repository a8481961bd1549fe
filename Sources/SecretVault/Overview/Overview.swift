import ShamirKit
import Sodium
import VaultProtocol
import VaultStore

/// What there is, in one view: for commands that show it.
package final class Overview: Room {
  package let core: VaultCore
  let directory: Directory
  let circles: Circles
  let trust: TrustList
  let post: Post
  let consent: Consent
  let sharing: Sharing
  let items: Items

  init(
    _ core: VaultCore, _ directory: Directory, _ circles: Circles, _ trust: TrustList, _ post: Post,
    _ consent: Consent, _ sharing: Sharing, _ items: Items
  ) {
    self.core = core
    self.directory = directory
    self.circles = circles
    self.trust = trust
    self.post = post
    self.consent = consent
    self.sharing = sharing
    self.items = items
  }

  /// All secrets that this device holds a share of or has dealt, newest first.
  package func secrets() throws -> [SecretSummary] {
    let list = try secretList()
    return list.listing.lines.map { list.summary($0) }
  }

  func secretList() throws -> SecretList {
    let listing: SecretListing
    do { listing = try database.listing() } catch { throw core.damage(error) }
    return try directory.secretList(of: circles.current(listing))
  }

  /// The same without those that are damaged in the store, and the ids of these.
  package func soundSecretList() throws -> (list: SecretList, damaged: [String]) {
    let sound: (listing: SecretListing, damaged: [SecretID])
    do { sound = try database.soundListing() } catch { throw core.damage(error) }
    return (try directory.secretList(of: circles.current(sound.listing)), sound.damaged.map(\.description))
  }

  /// One secret with everything known about it.
  package func secret(_ reference: String) throws -> SecretDetails {
    let record = try directory.resolve(reference)
    let header = try directory.header(of: record)
    let names = try directory.peerNames()
    let evidence = try database.evidence(aboutSecret: record.id)
    var summary = try circles.current(directory.summary(record, names: names), of: record)
    summary.isUnlocked = environment.unlocked.ids().contains(header.id)
    return SecretDetails(
      summary: summary, ciphertextByteCount: header.dispersal.byteCount,
      fragmentByteCount: header.dispersal.fragmentByteCount, labels: header.labels,
      deliveries: try sharing.deliveries(of: record, names: names), headerDigest: header.digest.description,
      conflictingHeadersFrom: evidence.map { names[$0.peer] ?? Directory.formerPeer },
      listensNowhere: try sharing.holdersThatListenNowhere(record),
      lastCheck: try database.drill(ofSecret: record.id), holders: try holders(of: record, names))
  }

  /// Who holds a secret that has changed, in order of index.
  private func holders(of record: SecretRecord, _ names: [Digest: String]) throws -> [String]? {
    try circles.changed(record)?.holders.sorted { $0.key < $1.key }.map { index, card in
      card == identity.keys.digest ? "this device" : names[card] ?? "the holder of share \(index)"
    }
  }

  /// What deleting this device's share would mean, without doing it.
  package func consequenceOfDeleting(_ reference: String) throws -> DeletionConsequence {
    try consequence(of: directory.resolve(reference))
  }

  /// Deletes this device's share for good and leaves a tombstone.
  package func delete(_ reference: String) throws -> DeletionConsequence {
    let record = try directory.resolve(reference)
    let consequence = try consequence(of: record)
    let header = try? directory.header(of: record)
    _ = try database.deleteSecret(record.id, at: environment.now())
    environment.unlocked.lock(record.id)
    self.record(.deleted, secret: header)
    return consequence
  }

  /// What happened here, newest first.
  package func log(limit: Int) throws -> [LogEntry] {
    try database.auditLog(limit: limit).map {
      LogEntry(
        at: $0.at, event: $0.event, peer: $0.peerLabel, secret: $0.secretID?.description,
        detail: $0.detail)
    }
  }

  private func consequence(of record: SecretRecord) throws -> DeletionConsequence {
    let names = try directory.peerNames()
    let summary = try circles.current(directory.summary(record, names: names), of: record)
    let waiting = try sharing.deliveries(of: record, names: names).filter {
      $0.state != .delivered && $0.state != .cancelled
    }
    let threshold = summary.threshold
    var explanation: String
    var lost = false
    // Deliveries say nothing of who has a share once the secret has changed.
    if record.origin == .dealt, try circles.changed(record) == nil {
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
    if record.ownIndex != nil, let found = try lastCheck(of: record, threshold) { explanation += "; " + found }
    return DeletionConsequence(
      secret: summary, makesUnrecoverable: lost, explanation: explanation, waitingDeliveries: waiting.map(\.peer),
      items: try items.summaries(of: record.id))
  }

  /// What the last fire drill says about doing without this device's share.
  private func lastCheck(of record: SecretRecord, _ threshold: Int) throws -> String? {
    guard let drill = try database.drill(ofSecret: record.id) else { return nil }
    let others = drill.holders.count { $0.isWhole }
    let age = max(0, environment.now() - drill.checkedAt)
    let counted = others == 1 ? "1 other holder" : "\(others) other holders"
    let found = "the last check, \(DurationText.words(age)) ago, found \(counted) with a sound share"
    return others < threshold ? found + ", which is too few without this one" : found
  }
}
