import PeerAuth
import ShamirKit
import Sodium
import VaultProtocol
import VaultStore

/// Those whom dealers have introduced as holders of their secrets, and whom this device introduces to one another. A peer stays a peer, whatever is
/// said of it.
package final class Introductions: Room {
  package let core: VaultCore
  let directory: Directory
  let introducedSessions = SessionCount()
  let introducedCards = StrangerFilter()

  init(_ core: VaultCore, _ directory: Directory) {
    self.core = core
    self.directory = directory
  }

  /// Whether introductions are kept, used and made. If settings can't be read, they aren't.
  var usesIntroductions: Bool { core.verifiedSetting(.introductions) == SettingKey.on }

  package var areIntroductionsOff: Bool { core.settingValue(SettingKey.introductions.rawValue) == SettingKey.off }

  /// Whether holders of a secret that somebody else has dealt may be missing because introductions are off.
  func lacksIntroductions(_ record: SecretRecord, _ header: SecretHeader) -> Bool {
    record.origin == .held && header.labels != nil && areIntroductionsOff
  }

  /// What may help where too few holders have: nil if nothing but patience does.
  func hintOfIntroductions(_ record: SecretRecord, _ header: SecretHeader) -> String? {
    guard lacksIntroductions(record, header) else { return nil }
    return
      "nothing was written; holders that were introduced are not asked, as the setting introductions is off: `vault settings set introductions on` changes that"
  }

  /// What this device can be asked for.
  var services: [PeerServiceKind] {
    let isOn = usesIntroductions
    return PeerServiceKind.allCases.filter { isOn || $0 != .introductions }
  }

  /// What somebody can ask for who was introduced.
  static let introducedServices: [PeerServiceKind] = [.release, .drill, .consent, .introductions, .lifecycle]

  /// Holders of a secret that were introduced and are no peers, in the order of their shares, each under a name of its own.
  func introducedHolders(of secret: SecretID) throws -> [PeerRecord] {
    guard usesIntroductions else { return [] }
    let rows = try database.introductions(ofSecret: secret).filter {
      try counts($0) && database.peer($0.digest) == nil
    }
    guard !rows.isEmpty else { return [] }
    let dealers = try directory.peerNames()
    var names: [String: Int] = [:]
    for row in rows { names[PeerName.skeleton(try card(of: row).label), default: 0] += 1 }
    return try rows.map { row in
      let label = try card(of: row).label
      // Two of one name are told apart by their shares.
      let isAlone = names[PeerName.skeleton(label)] == 1 && !label.hasSuffix(")")
      return try peerRecord(row, isAlone ? label : "\(label) (share \(row.index))", dealers)
    }
  }

  /// Who it is that was introduced for a secret, or nil if it wasn't, was removed, or is a peer.
  func introducedHolder(_ card: Digest, of secret: SecretID) throws -> PeerRecord? {
    guard try database.introduction(of: card, secret: secret) != nil else { return nil }
    return try introducedHolders(of: secret).first { $0.digest == card }
  }

  /// Whether a row says of somebody whom the user hasn't removed. What can't be read costs its own holder alone.
  private func counts(_ row: IntroductionRecord) -> Bool { row.state == .active && (try? card(of: row)) != nil }

  /// Who it is that was introduced for any secret.
  func introducedHolder(_ card: Digest) throws -> PeerRecord? {
    guard usesIntroductions, let row = try database.introduction(of: card) else { return nil }
    return try peerRecord(row, self.card(of: row).label, directory.peerNames())
  }

  /// Whether somebody was introduced for any secret, and wasn't removed since.
  func isIntroduced(_ card: Digest, mark: inout TrustMark) -> Bool {
    guard usesIntroductions else { return false }
    return (try? database.isIntroduced(card, mark: &mark)) == true
  }

  /// Counts a session with somebody who was introduced among those of a dealer that has room for it; nil if none has. A dealer can't keep it out by
  /// whomever else it introduces if another one names it too.
  func beginIntroducedSession(_ card: Digest) -> Digest? {
    let dealers = (try? database.introducers(of: card)) ?? []
    return dealers.first { introducedSessions.begin($0) }
  }

  /// Whose static key a dialler may have: a peer's, or that of somebody who was introduced. A trust list that doesn't verify trusts nobody.
  func recognise(noiseKey: [UInt8]) -> RecognisedDialler? {
    do {
      if let peer = try database.peer(noiseKey: noiseKey) {
        return RecognisedDialler(peer: try directory.storedCard(peer).keys)
      }
      if usesIntroductions {
        let rows = try database.introductions(noiseKey: noiseKey, limit: RecognisedDialler.candidateLimit)
        if let others = RecognisedDialler(others: rows.compactMap { try? card(of: $0).keys }) { return others }
      }
      return try isReplaced(noiseKey) ? .replaced : nil
    } catch {
      core.logFault("the trust list can't be read: \(error)")
      return nil
    }
  }

  /// Whether this is the key of a card in whose place this device's user has put another one, which is trusted still or was replaced in its turn.
  private func isReplaced(_ noiseKey: [UInt8]) throws -> Bool {
    let replacements = try database.replacements()
    return try replacements.contains { replacement in
      guard let card = try? PeerCard.decode(replacement.card, limit: PeerCard.byteLimit),
        constantTimeEqual(card.keys.noise.span.bytes, noiseKey.span.bytes)
      else { return false }
      return try database.peer(replacement.new) != nil || replacements.contains { $0.old == replacement.new }
    }
  }

  /// A session with somebody who was introduced has begun: its newest card counts, wherever it was introduced. At most one a minute: it is written
  /// once for each secret, of which a stranger may have made many.
  @discardableResult
  func metIntroduced(_ keys: CardKeys, _ card: PeerCard?) -> PeerRecord? {
    do {
      if let card {
        try update(with: card) { introducedCards.isNew(keys.digest.description, at: environment.monotonic()) }
      }
      return try introducedHolder(keys.digest)
    } catch {
      core.logFault("the session with an introduced holder could not be noted: \(VaultError(error))")
      return nil
    }
  }

  /// Takes a newer card of somebody who was introduced; what isn't newer, or isn't signed, changes nothing.
  func update(with card: PeerCard, if isAllowed: () -> Bool = { true }) throws {
    guard let bytes = try? card.published.encoded() else { return }
    let digest = card.keys.digest
    let outdated = try database.introducedCards(of: digest, besides: bytes).filter { known in
      (try? card.isUpdate(of: core.cards.decode(known))) == true
    }
    guard !outdated.isEmpty, isAllowed() else { return }
    try database.updateIntroductions(of: digest, replacing: outdated, with: bytes)
  }

  func card(of row: IntroductionRecord) throws -> PeerCard {
    do { return try core.cards.decode(row.card) } catch {
      throw VaultError(.damaged, "the card of an introduced holder is damaged")
    }
  }

  private func peerRecord(_ row: IntroductionRecord, _ label: String, _ names: [Digest: String]) throws -> PeerRecord {
    let card = try card(of: row)
    return PeerRecord(
      digest: row.digest, signingKey: card.keys.signing, noiseKey: card.keys.noise, boxKey: card.keys.box,
      name: IntroducedHolder.name(label, by: [names[row.dealer] ?? Directory.formerPeer]), card: row.card,
      state: .scanned, addedAt: row.addedAt, introducer: row.dealer)
  }

  // MARK: - For the user

  /// All who were introduced and are no peers, by name; those that the user has removed aren't among them.
  package func introducedHolders() throws -> [IntroducedHolder] {
    let names = try directory.peerNames()
    let rows = try database.introductions().filter { counts($0) && names[$0.digest] == nil }
    let holders = try Dictionary(grouping: rows, by: \.digest).values.map { rows in try summary(rows, names) }
    return holders.sorted { ($0.name, $0.cardDigest) < ($1.name, $1.cardDigest) }
  }

  private func summary(_ rows: [IntroductionRecord], _ names: [Digest: String]) throws -> IntroducedHolder {
    var newest = try card(of: rows[0])
    for row in rows.dropFirst() {
      let other = try card(of: row)
      if other.serial > newest.serial { newest = other }
    }
    return IntroducedHolder(
      label: newest.label, introducedBy: Set(rows.map { names[$0.dealer] ?? Directory.formerPeer }).sorted(),
      secrets: rows.map { directory.secretReference($0.secretID) }, fingerprint: newest.fingerprint,
      cardDigest: newest.keys.digest.description, addresses: newest.addresses, cardText: newest.text(),
      introducedAt: rows.map(\.addedAt).min() ?? 0)
  }

  /// The introduced holder that the user means: by the beginning of its fingerprint or card digest, or by its name, with or without who has
  /// introduced it. The digits come first: names here are strangers' words, and one may be somebody else's fingerprint.
  ///
  /// Unless the name `mustBeWhole`, its beginning will do where nobody has all of it.
  package func introducedHolder(named reference: String, mustBeWhole: Bool = false) throws -> IntroducedHolder {
    let all = try introducedHolders()
    var matches: [IntroducedHolder] = []
    if let digits = Directory.digits(of: reference) {
      matches = all.filter { holder in
        holder.cardDigest.hasPrefix(digits) || holder.fingerprint.filter { $0 != " " }.hasPrefix(digits)
      }
    }
    if matches.isEmpty {
      let skeleton = PeerName.skeleton(reference)
      matches = all.filter { [$0.name, $0.label].contains { PeerName.skeleton($0) == skeleton } }
    }
    if matches.isEmpty, !mustBeWhole {
      matches = all.filter { NearNames.begins($0.name, with: reference) || NearNames.begins($0.label, with: reference) }
    }
    if matches.count == 1 { return matches[0] }
    guard matches.isEmpty else {
      throw VaultError(
        .ambiguous,
        "\(reference) could be \(matches.map { "\($0.name) (\($0.fingerprint))" }.joined(separator: " or "))",
        hint: "name one by the beginning of its fingerprint")
    }
    throw VaultError(
      .notFound, "nobody named \(reference) was introduced to this device",
      hint: all.isEmpty
        ? nil
        : NearNames.question(reference, among: all.map(\.label)) ?? "see who was with `vault peer list --introduced`")
  }

  /// Removes an introduced holder for good, by the keys that were shown: nobody can bring it back but the user, with its card.
  package func removeIntroduced(_ holder: IntroducedHolder) throws -> IntroducedHolder {
    let digest = try holder.card().keys.digest
    let record = try introducedHolder(digest)
    _ = try database.removeIntroductions(of: digest)
    self.record(.peerRemoved, peer: record, detail: "was introduced")
    return holder
  }
}
