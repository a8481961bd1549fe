import PeerAuth
import ShamirKit
import Sodium
import VaultProtocol
import VaultStore

/// Who may hear of how a secret changes hands without a share of it, and what this device says of its own.
extension Circles {
  /// Most secrets that are named to one card.
  static let placeLimit = 1024

  /// Whether a card has a place in a secret: a row of a record, one in a proposal by this device or that its user has
  /// agreed to, or that of a device that it replaces by the word of this device's user.
  func hasPlace(_ card: Digest, in circle: Circle) throws -> Bool {
    if circle.hasRow(card) { return true }
    for (digest, proposal) in circle.proposals where proposal.rows.contains(where: { $0.joining.keys.digest == card }) {
      if proposal.asker.digest == identity.keys.digest || circle.hasDealt(identity.keys.digest, proposal: digest) {
        return true
      }
    }
    if try wish(for: circle.header.id)?.added.contains(card) == true { return true }
    return try former(of: card, in: circle) != nil
  }

  /// The cards in whose place this device's user has put another, the last one first: a second device may be lost before it
  /// has its share.
  func formerCards(of card: Digest) throws -> [Digest] {
    let replacements = try database.replacements()
    var found = [card]
    var next = 0
    while next < found.count {
      for one in replacements.reversed() where one.new == found[next] && !found.contains(one.old) {
        found.append(one.old)
      }
      next += 1
    }
    return Array(found.dropFirst())
  }

  /// The one of these that has to do with a secret, if there is one.
  func former(of card: Digest, in circle: Circle) throws -> Digest? {
    try formerCards(of: card).first { try concerns($0, circle) }
  }

  /// Whether a card holds a share of some epoch, as far as is known, or has a place. A proof isn't asked for: its share may be damaged.
  func mayHear(_ card: Digest, of id: SecretID) throws -> Bool {
    guard let circle = try circle(of: id) else { return false }
    return try mayHear(card, in: circle)
  }

  func mayHear(_ card: Digest, in circle: Circle) throws -> Bool {
    try concerns(card, circle) || hasPlace(card, in: circle)
  }

  /// Whether somebody has dealt a secret or is known here to hold a share of it.
  func concerns(_ card: Digest, _ circle: Circle) throws -> Bool {
    if circle.epochs.values.contains(where: { circle.holders(of: $0).values.contains(card) }) { return true }
    return try database.secrets(concerning: card, limit: Self.placeLimit).contains(circle.header.id)
  }

  /// The secrets in which a card has a place, and hasn't said yet that it has its share.
  func places(for card: Digest) throws -> [SecretRecord] {
    var ids: Set<SecretID> = []
    for old in try formerCards(of: card) {
      ids.formUnion(try database.secrets(concerning: old, limit: Self.placeLimit))
    }
    for id in try database.secretsWithLifecycle() where !ids.contains(id) {
      guard let circle = try circle(of: id) else { continue }
      if try hasPlace(card, in: circle) { ids.insert(id) }
    }
    return try ids.sorted().compactMap { id in try database.secret(id) }
      .filter { record in
        guard record.ownIndex != nil else { return false }
        return try !circle(of: record).joinings.values.contains { $0.keys.digest == card && $0.index != 0 }
      }.prefix(Self.placeLimit).map(\.self)
  }

  // MARK: - Invitations

  /// Most secrets of which one peer may ask this device to take a share at the same time.
  private static let invitationLimit = 8

  /// Keeps the header of a secret of which a peer says that this device shall hold a share, and asks the user. Nil if
  /// there is none, or no room for it.
  ///
  /// Nothing else is kept of a secret before the user has said yes.
  func invited(by peer: PeerRecord, _ tag: Digest, _ objects: [LifecycleObject]) throws {
    for case .header(let header, let dealer, let former) in objects where try AskTag.of(header.id) == tag {
      guard try database.tombstone(header.id) == nil, try !isAgreed(header.id) else { return }
      guard let kept = try askWhetherWilling(header, by: peer) else { return }
      let known = try database.lifecycle(ofSecret: header.id)
      let row = try row(.header(header, dealer: dealer, former: former), of: header.id)
      guard !known.contains(where: { $0.name == row.name }) else { return }
      try database.changeLifecycle(
        ofSecret: header.id, adding: [row], removing: Set(known.map(\.name).filter { $0.kind == .header }))
      noteInvitation(kept, header, by: peer)
    }
  }

  /// The same where this device has an older share alone, as the others have left it out.
  func invitedAgain(by peer: PeerRecord, _ objects: [LifecycleObject], of id: SecretID) throws {
    guard objects.contains(where: { $0.kind == .header }), let circle = try circle(of: id),
      try mayHear(peer.digest, of: id)
    else { return }
    let (newest, own) = (circle.newestComplete, identity.keys.digest)
    guard newest.holders?.values.contains(own) == false, circle.willing(own, in: newest.digest) == nil else { return }
    let known = try database.request(.change, of: peer.digest, secret: id)
    guard let asked = try askWhetherWilling(circle.header, by: peer, insteadOfOthers: true), asked.id != known?.id
    else { return }
    noteInvitation(asked, circle.header, by: peer)
  }

  private func noteInvitation(_ request: RequestRecord, _ header: SecretHeader, by peer: PeerRecord) {
    record(
      .changeRequested, peer: peer, secret: header,
      detail: "request \(request.id) asks whether this device takes a share of it")
  }

  /// Nil if there is no room, or the user has been asked and has decided.
  private func askWhetherWilling(
    _ header: SecretHeader, by peer: PeerRecord, insteadOfOthers: Bool = false
  ) throws -> RequestRecord? {
    let now = environment.now()
    let kept = try database.changeRequest(.change, of: peer.digest, secret: header.id, at: now) { row, counts in
      let isOther = insteadOfOthers && (row?.headerDigest != header.digest || row?.state == .approved)
      guard row == nil || isOther, counts.ofPeer < Self.invitationLimit, counts.all < ReleaseConsent.limit else {
        return
      }
      row = RequestRecord(
        kind: .change, peer: peer.digest, secretID: header.id, headerDigest: header.digest,
        description: header.description, byteCount: Int64(clamping: header.dispersal.fragmentByteCount),
        askedAt: now, endsAt: ReleaseConsent.sum(now, ReleaseConsent.askedLifetime))
    }
    guard let kept, kept.state == .waiting, kept.headerDigest == header.digest else { return nil }
    return kept
  }

  /// Whether more than an invitation may be kept of a secret: it is here, or the user has said that it takes a share.
  func isAgreed(_ id: SecretID) throws -> Bool { try database.secret(id) != nil || hasAccepted(id) }

  /// Whether this device's user has said that it takes a share of a secret of which it has none yet.
  func hasAccepted(_ id: SecretID) throws -> Bool {
    let name = LifecycleRecord.Name(.receivingKey, try AskTag.of(id))
    return try database.lifecycle(ofSecret: id).contains { $0.name == name } && !hasGivenUp(id)
  }

  /// Forgets what somebody has asked this device to take a share of, if its user hasn't said yes and isn't asked any more.
  /// With a refusal also what was accepted before.
  func forgetInvitation(_ id: SecretID, isRefused: Bool = false) throws {
    guard try database.secret(id) == nil, try isRefused || !(hasAccepted(id) || hasGivenUp(id)) else { return }
    let now = environment.now()
    let waits = try database.requests().contains {
      $0.kind == .change && $0.secretID == id && $0.state == .waiting && $0.endsAt > now
    }
    guard !waits else { return }
    let mark = try givenUp(id)
    try database.changeLifecycle(
      ofSecret: id, removing: Set(try database.lifecycle(ofSecret: id).map(\.name)).subtracting([mark]))
  }

  /// Notes that this device's user has given up its place in a secret: it takes one again only if its user says so. What it has said stays, as
  /// others keep the first that they hear.
  func giveUp(_ id: SecretID) throws {
    let mark = LifecycleRecord(secretID: id, name: try givenUp(id), content: [0], addedAt: environment.now())
    try database.changeLifecycle(ofSecret: id, adding: [mark])
  }

  func hasGivenUp(_ id: SecretID) throws -> Bool { try decision(on: givenUp(id).digest, of: id) == false }

  private func givenUp(_ id: SecretID) throws -> LifecycleRecord.Name { .init(.decision, try AskTag.of(id)) }

  // MARK: - Joinings

  /// Whether others aren't told where this device has stood since a secret was dealt. Settings that can't be read aren't taken for a yes.
  var withholdsJoinings: Bool { core.verifiedSetting(.tellHolders) != SettingKey.on }

  /// What others may hear of a circle. Later rows are open: what this device says of these is no news.
  func told(_ circle: Circle) -> [LifecycleObject] {
    let objects = circle.objects()
    guard withholdsJoinings else { return objects }
    return objects.filter { object in
      guard case .joining(let joining) = object, joining.keys.digest == identity.keys.digest else { return true }
      return joining.index == 0 || joining.record != circle.header.digest
    }
  }

  /// Says of each share of a known epoch that this device holds it, unless that is said already.
  func sayHeld(_ record: SecretRecord) throws {
    let circle = try circle(of: record)
    for epoch in try held(circle) {
      let said = circle.ready(in: epoch.digest).values.contains { $0.keys.digest == identity.keys.digest }
      // One that is damaged can't be said to be held.
      guard !said, let held = try? share(of: epoch) else { continue }
      let salt = epoch.holders == nil ? held.salt.withUnsafeBytes { Array($0) } : nil
      let rows = try joiningRows(record.id, epoch.digest, index: held.share.index, salt: salt, named: epoch.digest)
      try database.changeLifecycle(ofSecret: record.id, adding: rows, unlessThere: rows.first?.name)
    }
  }

  /// Says that this device would take a share of a secret of which it has the header: its user has said so.
  func sayWilling(_ header: SecretHeader) throws {
    let name: Digest
    do { name = try AskTag.of(header.id) } catch { throw VaultError(.other, "no key could be made") }
    let (known, own) = (try circle(of: header.id), identity.keys.digest)
    let epoch = known?.newestComplete.digest ?? header.digest
    let (mark, key) = (try givenUp(header.id), LifecycleRecord.Name(.receivingKey, name))
    let present = try database.lifecycle(ofSecret: header.id)
    // A key of which a share has come already is worth nothing to whoever deals.
    let last = known?.epochs.values.filter { $0.holders?.values.contains(own) == true }.map(\.number).max() ?? 0
    let isUsed =
      try last > 0 && ownEpochs(header.id).max() ?? 0 >= last && known?.willing(own) == nil
      && known?.willing(own, in: epoch) == nil
    if let old = present.first(where: { $0.name == key }) {
      if isUsed {
        let rows = try joiningRows(header.id, epoch, index: 0, salt: nil, named: name)
        try database.changeLifecycle(
          ofSecret: header.id, adding: rows, removing: [key, mark], ifThere: (key, old.content))
      } else if present.contains(where: { $0.name == mark }) {
        try database.changeLifecycle(ofSecret: header.id, removing: [mark])
      }
    } else {
      let rows = try joiningRows(header.id, epoch, index: 0, salt: nil, named: name)
      try database.changeLifecycle(ofSecret: header.id, adding: rows, removing: [mark], unlessThere: key)
    }
  }

  /// A receiving key and the joining that names it. There is one of each name.
  func joiningRows(
    _ id: SecretID, _ record: Digest, index: UInt8, salt: [UInt8]?, named name: Digest
  ) throws -> [LifecycleRecord] {
    do {
      let key = try AgreementKeyPair.generate()
      let joining = try Joining.sign(
        secret: id, record: record, index: index, salt: salt, receivingKey: key.publicKey, by: identity)
      let secret = try key.secretCopy()
      return [
        try database.receivingKey(secret, named: name, ofSecret: id, at: environment.now()),
        try row(.joining(joining), of: id),
      ]
    } catch { throw VaultError(known: error) ?? VaultError(.other, "a key for the next share can't be made: \(error)") }
  }

  /// The receiving key of this device that a joining names; nil if it isn't here, as after a backup was put back.
  func receivingKey(of joining: Joining) throws -> AgreementKeyPair? {
    guard joining.keys.digest == identity.keys.digest else { return nil }
    for row in try database.lifecycle(ofSecret: joining.secret) where row.name.kind == .receivingKey {
      let key: AgreementKeyPair
      do { key = try AgreementKeyPair(secret: try database.open(row)) } catch { continue }
      if key.publicKey == joining.receivingKey { return key }
    }
    return nil
  }

  // MARK: - What the user wants

  func wish(for id: SecretID) throws -> Wish? {
    for row in try database.lifecycle(ofSecret: id) where row.name.kind == .wish {
      return try? Wish.decode(row.content, limit: Wish.byteLimit)
    }
    return nil
  }

  /// Nil for a proposal that the user hasn't decided about.
  func decision(on proposal: Digest, of id: SecretID) throws -> Bool? {
    for row in try database.lifecycle(ofSecret: id) where row.name == .init(.decision, proposal) {
      return row.content != [0]
    }
    return nil
  }
}

extension Circle {
  /// Whether a card's dealing for a proposal is here.
  func hasDealt(_ card: Digest, proposal: Digest) -> Bool {
    dealings(of: proposal).values.contains { $0.dealing.keys.digest == card }
  }
}
