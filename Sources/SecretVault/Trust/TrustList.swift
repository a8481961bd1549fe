package import PeerAuth
import Sodium
import VaultStore
import WireCodec

/// The trust list, and what changes it.
package final class TrustList: Room {
  package let core: VaultCore
  let directory: Directory
  let introductions: Introductions
  let circles: Circles

  init(_ core: VaultCore, _ directory: Directory, _ introductions: Introductions, _ circles: Circles) {
    self.core = core
    self.directory = directory
    self.introductions = introductions
    self.circles = circles
  }

  /// Trusts a scanned card, or updates label and addresses of one with the same keys.
  package func addPeer(_ card: PeerCard, name: String?, deviceOf: String? = nil) throws -> PeerAddition {
    let digest = card.keys.digest
    let first = try deviceOf.map { reference in try directory.find(reference) }
    guard first?.digest != digest else {
      throw VaultError(
        .usage, "\(first?.name ?? "it") is this very card", hint: "name the peer whose other device it is")
    }
    let person = first.map { $0.person ?? $0.digest }
    let label = name ?? (card.label.isEmpty ? "peer" : card.label)
    try Self.checkName(label)
    try checkKeys(of: card)
    let bytes: [UInt8]
    do { bytes = try card.published.encoded() } catch { throw VaultError(.damaged, "the card can't be stored") }
    if let known = try database.peer(digest) {
      return try refresh(known, with: card, bytes, name: name, person: person)
    }
    var chosen = label
    if name == nil {
      // Two friends may carry the same label; the local name has to be unique.
      var number = 2
      while try database.peer(named: chosen) != nil {
        chosen = Self.numbered(label, number)
        number += 1
      }
    }
    let record = PeerRecord(
      digest: digest, signingKey: card.keys.signing, noiseKey: card.keys.noise, boxKey: card.keys.box, name: chosen,
      card: bytes, state: .scanned, person: person, addedAt: environment.now())
    let beacon = try beacon(of: card)
    do { try database.addPeer(record, beaconKey: beacon) } catch StoreError.alreadyExists {
      throw VaultError(.usage, "you have a peer named \(chosen) already", hint: "choose another name with --name")
    } catch { throw error }
    self.record(.peerAdded, peer: record, detail: card.fingerprint)
    return PeerAddition(peer: try directory.summary(record), change: .added)
  }

  /// Throws why a card can't be imported under its own label, whoever shows it.
  package func check(_ card: PeerCard) throws {
    try Self.checkName(card.label)
    guard !PeerName.isBlank(card.label) else { throw VaultError(.refused, "its name can't be seen") }
    guard !PeerName.claimsIntroduction(card.label) else {
      throw VaultError(.refused, "its name says that somebody has introduced it, which only this program says")
    }
    try checkKeys(of: card)
  }

  /// Throws if a card's signature is wrong, or its keys are this device's, or in part another peer's.
  private func checkKeys(of card: PeerCard) throws {
    if card.signature != nil {
      do { try card.verify() } catch {
        throw VaultError(.damaged, "the card's signature is wrong", hint: "ask for a fresh one: `vault id --text`")
      }
    }
    guard card.keys.digest != identity.keys.digest else {
      throw VaultError(.usage, "this is your own card", hint: "peers add it on their devices; you add theirs")
    }
    guard !card.keys.sharesKey(with: identity.keys) else {
      throw VaultError(.refused, "this card reuses one of your own keys, which no honest card does")
    }
    guard try database.peer(card.keys.digest) == nil else { return }
    for other in try database.peers() {
      guard try !directory.storedCard(other).keys.sharesKey(with: card.keys) else {
        throw VaultError(.refused, "this card reuses a key of your peer \(other.name), which no honest card does")
      }
    }
  }

  /// Makes an introduced holder a peer, by the keys that were shown. Its user and this one should have compared the fingerprint.
  package func acceptIntroduced(_ holder: IntroducedHolder, name: String?) throws -> PeerAddition {
    let card = try holder.card()
    guard !introductions.areIntroductionsOff else {
      throw VaultError(
        .refused, "\(holder.name), was not made a peer: the setting introductions is off",
        hint: "switch it on with `vault settings set introductions on`, or import the card with `vault peer add`")
    }
    guard try introductions.introducedHolder(card.keys.digest) != nil else {
      throw VaultError(.notFound, "\(holder.name), is not here any more")
    }
    return try addPeer(card, name: name)
  }

  private func refresh(
    _ known: PeerRecord, with card: PeerCard, _ bytes: [UInt8], name: String?, person: Digest?
  ) throws -> PeerAddition {
    let stale = try directory.storedCard(known)
    // The picture may be older than what the peer has said since. Of the same serial, a signed card stays: it can be handed on.
    let isCurrent = card.serial >= stale.serial
    let replaces = card.serial > stale.serial || (isCurrent && (card.signature != nil || stale.signature == nil))
    let changed: PeerRecord
    do {
      if replaces, stale.signature == nil, card.signature != nil { try introductions.introduceLate(card) }
      changed = try database.updatePeer(known.digest) { record in
        if let name { record.name = name }
        if replaces { record.card = bytes }
        if let person { record.person = person == record.digest ? nil : person }
      }
    } catch StoreError.alreadyExists {
      throw VaultError(.usage, "you have another peer named \(name ?? known.name) already")
    } catch { throw error }
    if isCurrent, let beacon = try beacon(of: card) {
      try database.setBeaconKey(ofPeer: known.digest, to: beacon)
    }
    let saysTheSame = !replaces || (card.label == stale.label && card.addresses == stale.addresses)
    let isSame = changed.name == known.name && changed.person == known.person && saysTheSame
    if !isSame { record(.peerChanged, peer: changed) }
    return PeerAddition(peer: try directory.summary(changed), change: isSame ? .unchanged : .updated)
  }

  /// Peers that go by the label of a card which is none of them.
  package func namesakes(of card: PeerCard) throws -> [PeerSummary] {
    let label = PeerName.skeleton(card.label)
    let peers = try database.peers()
    guard !peers.contains(where: { $0.digest == card.keys.digest }) else { return [] }
    return try peers.map { peer in try directory.summary(peer) }
      .filter { PeerName.skeleton($0.label) == label || PeerName.skeleton($0.name) == label }
  }

  private func beacon(of card: PeerCard) throws -> SecretBytes? {
    guard let key = card.beaconKey else { return nil }
    do { return try SecretBytes(copying: key.span.bytes) } catch { throw VaultError(.other, "no memory is left") }
  }

  package func peers() throws -> [PeerSummary] {
    try database.peers().map { record in try directory.summary(record) }
  }

  /// One peer by name, or the start of its card digest or fingerprint.
  package func peer(_ reference: String, mustBeWhole: Bool = false) throws -> PeerSummary {
    try directory.summary(directory.find(reference, mustBeWhole: mustBeWhole))
  }

  package func renamePeer(_ reference: String, to name: String) throws -> PeerSummary {
    try Self.checkName(name)
    let peer = try directory.find(reference)
    do {
      let changed = try database.updatePeer(peer.digest) { $0.name = name }
      record(.peerChanged, peer: changed, detail: "was \(peer.name)")
      return try summaryOrDamage(changed)
    } catch StoreError.alreadyExists {
      throw VaultError(.usage, "you have another peer named \(name) already")
    } catch { throw error }
  }

  /// Says where a peer listens. An empty list falls back to the addresses in its card.
  package func setPeerAddresses(_ reference: String, to addresses: [PeerAddress]) throws -> PeerSummary {
    let peer = try directory.find(reference)
    let changed = try database.updatePeer(peer.digest) { $0.addresses = addresses.map(\.description) }
    record(.peerChanged, peer: changed, detail: "address")
    return try directory.summary(changed)
  }

  /// Ends the trust in a peer, destroys what waits for it, and changes the beacon key that it knew.
  package func removePeer(_ reference: String) throws -> PeerRemoval {
    let peer = try directory.find(reference)
    let summary = try directory.summary(peer)
    let holds = try circles.secretsKnownHeld(by: peer)
    // All of this before the trust ends: whoever is killed in between finds the peer still there, and removes it again. But a failure keeps nobody
    // trusted.
    var failure: VaultError?
    do { try introductions.introduceNoMore(peer.digest) } catch { failure = VaultError(error) }
    do { try endInvitations(of: peer.digest) } catch { failure = failure ?? VaultError(error) }
    do { try database.replaceBeaconKey(freshSecret(PeerCard.beaconKeyByteCount)) } catch {
      failure = failure ?? VaultError(error)
    }
    let removed = try database.removePeer(peer.digest)
    record(.peerRemoved, peer: peer)
    do { try forgetReplaced(peer.digest) } catch { failure = failure ?? VaultError(error) }
    // Another process may have named it to somebody in between.
    do { try introductions.introduceNoMore(peer.digest) } catch { failure = failure ?? VaultError(error) }
    if let failure { throw failure }
    return PeerRemoval(
      peer: summary,
      destroyedDeliveries: removed.cancelled.compactMap(\.entry.secretID).map { directory.secretReference($0) },
      stillHolds: holds)
  }

  /// Invitations to a peer and by it are worth nothing any more; whoever is in a group already stays there.
  private func endInvitations(of peer: Digest) throws {
    _ = try database.changeGroupLetters { letters in
      letters.removeAll { $0.peer == peer && ($0.kind == .received || $0.node == nil) }
    }
  }

  private func summaryOrDamage(_ peer: PeerRecord) throws(StoreError) -> PeerSummary {
    do { return try directory.summary(peer) } catch { throw .damaged("the card of \(peer.name)") }
  }

  /// A session with a peer has begun: it is proven, and its newest card counts.
  @discardableResult
  func met(_ keys: CardKeys, _ card: PeerCard?) -> PeerRecord? {
    var peer: PeerRecord?
    do {
      guard let known = try database.peer(keys.digest) else { return nil }
      peer = known
      let now = environment.now()
      let newer = newerCard(keys, card, than: known)
      if known.state != .proven || newer != nil {
        if newer != nil, let card, (try? directory.storedCard(known))?.signature == nil {
          try introductions.introduceLate(card)
        }
        let changed = try database.updatePeer(keys.digest) { record in
          record.state = .proven
          record.lastSeenAt = now
          if let newer { record.card = newer }
        }
        peer = changed
        if known.state != .proven { record(.peerProven, peer: changed) }
      } else {
        database.notePeerSeen(keys.digest, at: now)
      }
      try forgetReplaced(keys.digest)
    } catch .notFound {
      // Removed in the same moment: the next message ends the session.
    } catch {
      core.logFault("the session with a peer could not be noted: \(error)")
    }
    return peer
  }

  /// A session that this device has opened has begun.
  func met(_ recipient: Recipient, _ card: PeerCard?) {
    if met(recipient.keys, card) == nil { introductions.metIntroduced(recipient.keys, card) }
  }

  /// The card that a peer showed, as it is stored, if it is to replace the one that is known.
  private func newerCard(_ keys: CardKeys, _ card: PeerCard?, than peer: PeerRecord) -> [UInt8]? {
    guard let card, card.keys == keys, let shown = try? card.published.encoded(), shown != peer.card else { return nil }
    // What the peer itself signs counts more than an unsigned picture, whatever serial that carried.
    guard let known = try? directory.storedCard(peer),
      known.signature == nil ? (try? core.cards.verify(card)) != nil : (try? card.isUpdate(of: known)) == true
    else { return nil }
    return shown
  }

  private static let nameByteLimit = 64

  /// A name with a number behind it. A long one is cut for that, at the border of a character.
  private static func numbered(_ name: String, _ number: Int) -> String {
    let end = "-\(number)"
    var start = name[...]
    while start.utf8.count + end.utf8.count > nameByteLimit { start.removeLast() }
    // One character may have as many bytes as a whole name.
    return (start.isEmpty ? "peer" : start) + end
  }

  private static func checkName(_ name: String) throws {
    guard !name.isEmpty, name.utf8.count <= nameByteLimit else {
      throw VaultError(.usage, "a name must be 1 to \(nameByteLimit) bytes long")
    }
    guard !name.unicodeScalars.contains(where: { $0.value < 0x20 || (0x7f...0x9f).contains($0.value) }) else {
      throw VaultError(.usage, "a name can't contain control characters")
    }
  }
}
