package import PeerAuth
import ShamirKit
import Sodium
import VaultProtocol
import VaultStore

/// A friend's lost device, and one's own.
extension Changing {
  /// What this device knows of a peer that is to be replaced, for its user to compare.
  package struct ReplacementPlan: Sendable {
    package let old: PeerSummary
    package let oldFingerprint: String
    package let newFingerprint: String
    /// When the old one was heard last, in milliseconds since 1970; nil for never.
    package let lastHeardAt: Int64?
    /// The secrets that the old one dealt, or is known here to hold a share of.
    package let secrets: [SecretReference]
  }

  package func replacementPlan(_ reference: String, _ card: PeerCard) throws -> ReplacementPlan {
    let old = try directory.find(reference)
    guard card.keys.digest != old.digest else {
      throw VaultError(
        .usage, "this is the card of \(old.name) that you have already", hint: "scan the card of the new device")
    }
    var concerned: Set<SecretID> = []
    for card in try [old.digest] + circles.formerCards(of: old.digest) {
      concerned.formUnion(try database.secrets(concerning: card, limit: Circles.placeLimit))
    }
    return ReplacementPlan(
      old: try directory.summary(old), oldFingerprint: consent.fingerprint(of: old),
      newFingerprint: card.fingerprint, lastHeardAt: old.lastSeenAt,
      secrets: concerned.sorted().map { directory.secretReference($0) })
  }

  /// Puts a new card in the place of a peer's: the old one is removed and refused, and the new one, once it has proved its keys, may ask for the
  /// old one's place in secrets.
  package func replacePeer(_ reference: String, with card: PeerCard) throws -> PeerSummary {
    let old = try directory.find(reference)
    _ = try replacementPlan(reference, card)
    let name = old.name
    try database.put(
      Replacement(
        old: old.digest, new: card.keys.digest, card: try bytes(of: old), addedAt: environment.now()))
    do {
      _ = try trust.addPeer(card, name: "\(name.prefix(48)) (new device)")
    } catch {
      try? database.removeReplacement(of: old.digest)
      throw error
    }
    _ = try trust.removePeer(old.digest.description)
    let added = try trust.renamePeer(card.keys.digest.description, to: name)
    record(.peerReplaced, peer: try database.peer(card.keys.digest), detail: consent.fingerprint(of: old))
    return added
  }

  private func bytes(of peer: PeerRecord) throws -> [UInt8] { peer.card }

  /// Takes a replacement back, as long as this device has dealt nothing to the new card: the old one is trusted again.
  package func undoReplacement(_ reference: String) throws -> PeerSummary {
    let new = try directory.find(reference)
    guard let replacement = try database.replacements().last(where: { $0.new == new.digest }) else {
      throw VaultError(.notFound, "\(new.name) is in nobody's place", hint: "see your peers: vault peer list")
    }
    for id in try database.secretsWithLifecycle() {
      guard let circle = try circles.circle(of: id) else { continue }
      for (digest, proposal) in circle.proposals
      where proposal.rows.contains(where: { $0.joining.keys.digest == new.digest })
        && circle.hasDealt(identity.keys.digest, proposal: digest)
      {
        throw VaultError(
          .refused, "this device has dealt a share to \(new.name) already, which can't be taken back",
          hint: "to leave it out again: vault secret remove \(new.name) --all")
      }
    }
    let card: PeerCard
    do { card = try PeerCard.decode(replacement.card, limit: PeerCard.byteLimit) } catch {
      throw VaultError(.damaged, "the old card of \(new.name) is damaged", hint: "import it again: vault peer add")
    }
    _ = try trust.removePeer(new.digest.description)
    let back = try trust.addPeer(card, name: new.name)
    try database.removeReplacement(of: replacement.old)
    return back.peer
  }

  // MARK: - One's own

  private static let replacingKey = "replaces"

  /// Milliseconds for which a device asks for a lost one's places, and waits for the share of one that it has been named.
  static let replacingLifetime = 3 * proposalLifetime

  /// Says that this device takes a lost one's place: from now on it asks peers by itself.
  package func setReplacing() throws {
    let until = UInt64(clamping: environment.now() + Self.replacingLifetime)
    try database.setMeta(Self.replacingKey, to: (0..<8).map { UInt8(truncatingIfNeeded: until >> (56 - 8 * $0)) })
  }

  /// For so long, or until it is said again.
  var isReplacing: Bool {
    let until = ((try? database.meta(Self.replacingKey)) ?? []).reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
    return UInt64(clamping: environment.now()) < until
  }

  /// Asks peers in whose secrets they have a place for this device, says that it would take them, and goes on with all of them. Returns who has
  /// answered.
  package func regain(leavingOutAbsent: Bool = false) async throws -> [String] {
    let peers = try database.peers()
    let answers = await limitedConcurrency(peers, limit: contactConcurrency) { [self] peer -> String? in
      do {
        await take(try await links.ask(PlacesAsker(), of: try directory.recipient(peer)), from: peer.digest)
        return peer.name
      } catch {
        environment.log.debug("\(peer.name) \(VaultCore.words(error))")
        if (error as? LinkFailure)?.isOfLine == true { try? await offPool { [self] in try writeForPlaces(to: peer) } }
        return nil
      }
    }
    try await readPlaces(take)
    if leavingOutAbsent {
      for id in try database.secretsWithLifecycle() where try circles.wish(for: id) != nil {
        try wish(id) { $0.leavesOutAbsent = true }
      }
    }
    try await pursueAll()
    return answers.compactMap(\.self)
  }

  private func take(_ places: [PlacesAsker.Place], from peer: Digest) async {
    // One that was deleted here stands in no other's way.
    for place in places where place.former != nil { try? await offPool { [self] in try take(place, from: peer) } }
  }

  private func take(_ place: PlacesAsker.Place, from peer: Digest) throws {
    let id = place.header.id
    // What its user has given up isn't taken because a peer names it again.
    guard try database.secret(id) == nil, try !circles.hasGivenUp(id) else { return }
    if try circles.circle(of: id) == nil {
      // What one peer invents takes no room from others, and has its limit.
      guard mayTakePlace(of: peer) else { return }
      let row = try circles.row(.header(place.header, dealer: place.dealer, former: place.former), of: id)
      try database.changeLifecycle(ofSecret: id, adding: [row])
    }
    noteNamed(id, by: peer)
    try circles.sayWilling(place.header)
    guard try circles.wish(for: id) == nil, let circle = try circles.circle(of: id),
      !circle.proposals.values.contains(where: { $0.asker.digest == identity.keys.digest })
    else { return }
    let (own, former) = (identity.keys.digest, place.former)
    try wish(id) { wish in
      wish.added.insert(own)
      if let former {
        wish.removed.insert(former)
        wish.places[former] = own
      }
    }
  }
}
