import ShamirKit
import Sodium
import VaultProtocol
import VaultStore

extension Directory {
  func secretList(of listing: SecretListing) throws -> SecretList {
    let names = try peerNames()
    return SecretList(
      listing: listing, dealers: listing.dealers.map { names[$0] ?? Self.formerPeer },
      unlocked: listing.lines.isEmpty ? [] : environment.unlocked.ids())
  }

  static let formerPeer = "a former peer"

  // MARK: - Finding

  /// The secret that the user means: by id, by description in whatever case, or by a unique start of either.
  func resolve(_ reference: String) throws -> SecretRecord {
    let lowered = reference.lowercased()
    if let id = SecretID(named: lowered), let exact = try database.secret(id) { return exact }
    // Both at once: a description is somebody else's choice, and must not hide a secret named by its id.
    let listing = try database.listing(verifying: false)
    for isMeant in Self.meanings(of: reference) {
      let matches = listing.lines.filter { isMeant($0.id, listing.description(of: $0)) }
      if matches.count == 1, let record = try database.secret(matches[0].id) {
        // The list was not verified, the record is.
        guard isMeant(record.id, record.description) else {
          throw VaultError(.damaged, "the list of secrets is damaged", hint: "name the secret by its id")
        }
        return record
      }
      guard matches.isEmpty else { throw try ambiguity(of: reference, matches.map(\.id)) }
    }
    let descriptions = listing.lines.lazy.compactMap { listing.description(of: $0) }
    throw VaultError(
      .notFound, "this device knows no secret named \(reference)",
      hint: NearNames.question(reference, among: descriptions) ?? "see what there is with `vault list`")
  }

  /// What a reference may mean; the next only where nothing fits the ones before it. Few letters may be a beginning of
  /// an id or of a description.
  static func meanings(of reference: String) -> [(SecretID, String?) -> Bool] {
    let lowered = reference.lowercased()
    func isBeginning(of id: SecretID) -> Bool { !lowered.isEmpty && id.description.hasPrefix(lowered) }
    return [
      { $1 == reference || (lowered.utf8.count >= 4 && isBeginning(of: $0)) },
      { NearNames.isSame($1, as: reference) },
      { isBeginning(of: $0) || NearNames.begins($1, with: reference) },
    ]
  }

  /// Says which secrets fit, with dealer and date of each.
  private func ambiguity(of reference: String, _ ids: [SecretID]) throws -> VaultError {
    let names = try peerNames()
    let shown = ids.prefix(Self.namedLimit)
    let abbreviations = shown.map(\.abbreviation).joined(separator: ", ")
    let rest = ids.count > shown.count ? ", …" : ""
    var error = VaultError(
      .ambiguous, "\(ids.count) secrets fit \(reference): \(abbreviations)\(rest)", hint: "name one by more of its id")
    error.candidates = try shown.compactMap { id in
      try database.secret(id).map { record in try summary(record, names: names) }
    }
    return error
  }

  /// What to do on a device that has nothing to recover from: often a new one.
  package static let noSecret = VaultError(
    .notFound, "this device holds no share of any secret",
    hint:
      "lost a device, and this one is in its place? `vault init --replaces` says what you and your friends do; with a backup of it, `vault backup restore`"
  )

  func onlySecret() throws -> SecretRecord {
    let some = try database.secretIDs(limit: 2)
    guard let id = some.first, let only = try database.secret(id) else {
      throw Self.noSecret
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
      guard header.id == record.id, header.digest == record.headerDigest else {
        throw ProtocolError.inconsistentHeader("id")
      }
      return header
    } catch {
      throw VaultError(.damaged, "the stored header of secret \(record.id) is damaged")
    }
  }

  func peerNames() throws -> [Digest: String] {
    let peers: [PeerRecord]
    do { peers = try database.peers() } catch { throw core.damage(error) }
    return Dictionary(peers.map { ($0.digest, $0.name) }) { first, _ in first }
  }

  func secretReference(_ id: SecretID) -> SecretReference {
    SecretReference(id, (try? database.secret(id))?.description)
  }

  // MARK: - Rendering

  func summary(_ record: SecretRecord, names: [Digest: String]) throws -> SecretSummary {
    let deliveries = record.origin == .dealt ? try database.deliveries(ofSecret: record.id) : nil
    let dealer = record.origin == .dealt ? "you" : names[record.dealer] ?? Self.formerPeer
    return SecretSummary(
      id: record.id.description, description: record.description, kind: SecretList.kind(record.kind),
      origin: record.origin == .dealt ? .dealt : .held, dealer: dealer, threshold: record.threshold,
      shareCount: record.shareCount, ownIndex: record.ownIndex, createdAt: record.createdAt,
      delivered: deliveries?.count { $0.state == .delivered },
      waiting: deliveries?.count { $0.state == .waiting || $0.state == .refused })
  }
}
