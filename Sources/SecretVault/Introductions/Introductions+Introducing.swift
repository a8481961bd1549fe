import PeerAuth
import ShamirKit
import Sodium
import VaultProtocol
import VaultStore

/// What one device knows of a holder of a secret.
struct KnownHolder {
  let index: Int
  let digest: Digest
  /// Its newest card; nil for somebody who isn't known any more.
  let card: PeerCard?
  var canBeCalled = false

  /// The card as it may be handed on: signed by its owner, and without what is for peers alone.
  var handedOn: HolderCard? {
    guard let card, card.signature != nil, let index = UInt8(exactly: index), let bytes = try? card.published.encoded()
    else { return nil }
    return HolderCard(index: index, bytes: bytes)
  }
}

/// A dealer names the holders of its secret to one another, and holders hand on newer cards.
extension Introductions {
  /// What goes behind the shares of a new secret: to each recipient the signed cards of the others. A card that only came as a QR code has no
  /// signature yet, and is handed on when its owner was met.
  func introductions(_ header: SecretHeader, _ recipients: [PeerRecord], first: Int) throws -> [NewOutboxRecord] {
    guard header.labels != nil, usesIntroductions else { return [] }
    var holders: [KnownHolder] = []
    if first > 1 { holders.append(KnownHolder(index: 1, digest: identity.keys.digest, card: try core.ownCard())) }
    for (offset, peer) in recipients.enumerated() {
      // What it has shown in a session since it was chosen counts.
      let newest = try database.peer(peer.digest) ?? peer
      holders.append(KnownHolder(index: first + offset, digest: peer.digest, card: try directory.storedCard(newest)))
    }
    let now = environment.now()
    var entries: [NewOutboxRecord] = []
    for (offset, peer) in recipients.enumerated() {
      if let entry = try introduction(header, to: peer, index: first + offset, holders, at: now) {
        entries.append(entry)
      }
    }
    return entries
  }

  /// The word for one recipient, sealed to it; nil if there is nobody to name.
  func introduction(
    _ header: SecretHeader, to peer: PeerRecord, index: Int, _ holders: [KnownHolder], at now: Int64
  ) throws -> NewOutboxRecord? {
    let cards = holders.filter { $0.index != index }.compactMap(\.handedOn)
    guard !cards.isEmpty, let number = UInt8(exactly: index) else { return nil }
    let sealed: [UInt8]
    do {
      sealed = try IntroductionBundle.seal(
        cards, header: header, index: number, dealer: identity.keys.digest,
        recipient: try directory.storedCard(peer).keys)
    } catch {
      throw VaultError(.other, "the other holders' cards could not be sealed for \(peer.name): \(error)")
    }
    return NewOutboxRecord(
      recipient: peer.digest, kind: DeliveryKind.introduction, secretID: header.id, index: index,
      payload: sealed, hasFragment: false, nextAttemptAt: now + OutboxRecord.lease, createdAt: now)
  }

  /// The signed card of a holder of this device's secrets has become known: the other holders hear of it. Called before the card is kept: whoever is
  /// killed in between learns it anew, and says it again. Throws if the card had better not be kept, as it would never be news again.
  func introduceLate(_ card: PeerCard) throws(StoreError) {
    for id in try database.secretsWithShare(for: card.keys.digest) {
      do {
        if usesIntroductions, try introduceLate(card, toHoldersOf: id) { continue }
      } catch {
        environment.log.error(
          "the holders of a secret could not be introduced to one another: this device \(VaultCore.words(error))")
      }
      // What is wrong with one secret keeps no other waiting; its holders hear everything anew once that is mended.
      try database.forgetIntroductions(ofSecret: id, besides: card.keys.digest)
    }
  }

  /// False if there is nothing to say of this secret.
  private func introduceLate(_ card: PeerCard, toHoldersOf id: SecretID) throws -> Bool {
    guard let record = try database.secret(id), record.origin == .dealt else { return false }
    let header = try directory.header(of: record)
    guard header.labels != nil else { return false }
    let digest = card.keys.digest
    let holders = try knownHolders(of: record).map { holder in
      holder.digest == digest ? KnownHolder(index: holder.index, digest: digest, card: card) : holder
    }
    let now = environment.now()
    for holder in holders where holder.digest != digest && holder.digest != identity.keys.digest {
      guard let peer = try database.peer(holder.digest),
        var entry = try introduction(header, to: peer, index: holder.index, holders, at: now)
      else { continue }
      entry.nextAttemptAt = now
      try database.replaceIntroduction(entry)
    }
    return true
  }

  /// The user removes a peer: whoever hasn't heard yet that it holds shares of this device's secrets won't. Called before it is removed: whoever is
  /// killed in between finds it still there, and removes it again.
  func introduceNoMore(_ digest: Digest) throws {
    for waiting in try database.openIntroductions(besides: digest)
    where waiting.entry.recipient != digest {
      var left: NewOutboxRecord?
      do { left = try introduction(waiting, without: digest) } catch {
        // Better that nobody is named than this one.
        environment.log.error(
          "the holders of a secret are not introduced to \(waiting.entry.recipient): this device \(VaultCore.words(error))"
        )
      }
      if let left {
        try database.replaceIntroduction(left)
      } else {
        try database.cancelDelivery(waiting.id, reason: "nobody is left")
      }
    }
  }

  /// A waiting introduction as it is without one of the holders; nil if nobody is left.
  private func introduction(_ waiting: OutboxRecord, without digest: Digest) throws -> NewOutboxRecord? {
    guard let id = waiting.entry.secretID, let index = waiting.entry.index,
      let record = try database.secret(id), record.origin == .dealt,
      let peer = try database.peer(waiting.entry.recipient)
    else { return nil }
    let holders = try knownHolders(of: record).filter { $0.digest != digest }
    var entry = try introduction(directory.header(of: record), to: peer, index: index, holders, at: environment.now())
    entry?.nextAttemptAt = waiting.nextAttemptAt
    return entry
  }

  // MARK: - Who holds what

  /// The holders of a secret that this device knows of and can name cards of: as its dealer, or by the dealer's word.
  func knownHolders(of record: SecretRecord) throws -> [KnownHolder] {
    var holders: [KnownHolder] = []
    switch record.origin {
    case .dealt:
      if let own = record.ownIndex {
        holders.append(KnownHolder(index: own, digest: identity.keys.digest, card: try core.ownCard()))
      }
      for entry in try database.deliveries(ofSecret: record.id) where entry.state != .cancelled {
        guard let index = entry.entry.index else { continue }
        holders.append(try known(entry.entry.recipient, index, nil))
      }
    case .held:
      for row in try database.introductions(ofSecret: record.id) where row.state == .active {
        holders.append(try known(row.digest, row.index, row))
      }
    }
    return holders.sorted { $0.index < $1.index }
  }

  private func known(_ digest: Digest, _ index: Int, _ row: IntroductionRecord?) throws -> KnownHolder {
    if let peer = try database.peer(digest) {
      return KnownHolder(
        index: index, digest: digest, card: try directory.storedCard(peer),
        canBeCalled: try directory.recipient(peer).canBeCalled)
    }
    guard let row else { return KnownHolder(index: index, digest: digest, card: nil) }
    let card = try? card(of: row)
    return KnownHolder(index: index, digest: digest, card: card, canBeCalled: card?.addresses.isEmpty == false)
  }

  /// How many of the other holders this device knows, and how many of these it could dial, for a drill's answer. `peer` has just proved a share.
  func reach(of record: SecretRecord, beside peer: PeerRecord) throws -> HolderReach {
    var known: [Digest: Bool] = [:]
    if let recipient = try? directory.recipient(peer) { known[peer.digest] = recipient.canBeCalled }
    for holder in try knownHolders(of: record) where holder.card != nil && holder.digest != identity.keys.digest {
      known[holder.digest] = known[holder.digest] == true || holder.canBeCalled
    }
    // Shares of earlier programs came without cards; but who has proved one in a drill is known.
    if let drill = try database.drill(ofSecret: record.id) {
      for holder in drill.holders where known[holder.peer] == nil {
        guard let other = try database.peer(holder.peer) else { continue }
        known[holder.peer] = try self.known(other.digest, Int(holder.index), nil).canBeCalled
      }
    }
    return HolderReach(known: known.count, dialable: known.values.count { $0 })
  }

  // MARK: - Newer cards

  /// What this device has of a secret's other holders: by it another holder knows which cards are news. Nil if it can't have any: its own
  /// has come with the session.
  private func cardRequest(_ request: UInt64, to peer: PeerRecord, about record: SecretRecord) throws -> CardRequest? {
    var known: [CardRequest.Known] = []
    for holder in try knownHolders(of: record)
    where holder.digest != identity.keys.digest && holder.digest != peer.digest {
      guard let index = UInt8(exactly: holder.index), known.last?.index != index, let card = holder.card else {
        continue
      }
      // A card without a signature is worth one of the same serial that has one.
      let serial = card.signature == nil ? max(card.serial, 1) - 1 : card.serial
      known.append(CardRequest.Known(index: index, serial: serial))
    }
    let isDealer = record.origin == .held && record.dealer == peer.digest
    guard isDealer || !known.isEmpty else { return nil }
    return CardRequest(request: request, known: Array(known.prefix(HolderCard.countLimit)))
  }

  /// Cards of a secret's holders that are newer than those that somebody has; as the secret's dealer, also those that it doesn't have.
  func newerCards(than request: CardRequest, for peer: Digest, about record: SecretRecord) throws -> Cards {
    var serials: [UInt8: UInt64] = [:]
    for known in request.known { serials[known.index] = known.serial }
    let isDealer = record.origin == .dealt
    // Without labels nobody hears from the dealer who the others are.
    if isDealer, try directory.header(of: record).labels == nil { return Cards(request: request.request, cards: []) }
    var cards: [HolderCard] = []
    for holder in try knownHolders(of: record) where holder.digest != peer {
      guard let card = holder.handedOn, cards.last?.index != card.index, let serial = holder.card?.serial else {
        continue
      }
      if serials[card.index].map({ serial > $0 }) ?? isDealer { cards.append(card) }
    }
    return Cards(request: request.request, cards: Array(cards.prefix(HolderCard.countLimit)))
  }

  /// How newer cards of a secret's holders are asked for in a session with a holder, and taken. Nil where introductions are off.
  func cardExchange(
    with peer: PeerRecord, about header: SecretHeader, changed: @escaping @Sendable ([Digest]) -> Void = { _ in }
  ) -> CardExchange? {
    guard usesIntroductions, let record = try? database.secret(header.id) else { return nil }
    return CardExchange(
      request: { [self] number in try? cardRequest(number, to: peer, about: record) },
      take: { [self] cards in
        do {
          let digests = try takeCards(cards, about: record, from: peer)
          if !digests.isEmpty { changed(digests) }
        } catch {
          environment.log.info("cards of \(peer.name) were not taken: \(VaultError(error))")
        }
      })
  }

  /// Takes cards that another holder of a secret has handed on. Only the secret's dealer introduces anybody; from others, only newer cards of those
  /// who are known count, by their owners' signatures. Returns the digests of those whose card has changed.
  func takeCards(_ cards: [HolderCard], about record: SecretRecord, from peer: PeerRecord) throws -> [Digest] {
    guard usesIntroductions, record.origin == .held || !cards.isEmpty else { return [] }
    if record.origin == .held, peer.digest == record.dealer, peer.introducer == nil {
      let header = try directory.header(of: record)
      guard let own = record.ownIndex.flatMap({ UInt8(exactly: $0) }) else { return [] }
      let checked: [(index: UInt8, card: PeerCard)]
      do {
        checked = try IntroductionBundle.check(
          cards.filter { $0.index != own }, header: header, index: own, dealer: try directory.storedCard(peer).keys,
          recipient: identity.keys)
      } catch {
        guard !cards.isEmpty else { return [] }
        throw VaultError(.refused, "\(peer.name) handed on cards that don't verify")
      }
      _ = try introduce(checked, record)
      return checked.map(\.card.keys.digest)
    }
    let holders = Dictionary(try knownHolders(of: record).map { ($0.digest, $0) }) { first, _ in first }
    var changed: [Digest] = []
    for handed in cards {
      guard let card = try? handed.card(), let known = holders[card.keys.digest]?.card,
        card.keys.digest != identity.keys.digest, (try? card.isUpdate(of: known)) == true
      else { continue }
      try update(with: card)
      try updatePeer(with: card)
      changed.append(card.keys.digest)
    }
    return changed
  }

  /// A newer card of a peer, by its own signature. Its name stays, and whether it has proved its keys.
  private func updatePeer(with card: PeerCard) throws {
    guard let bytes = try? card.published.encoded(),
      let known = try database.peer(card.keys.digest),
      (try? card.isUpdate(of: directory.storedCard(known))) == true
    else { return }
    // Until now there was none that could be handed on.
    let isNews = try directory.storedCard(known).signature == nil
    do {
      if isNews { try introduceLate(card) }
      try database.updatePeer(known.digest) { record in
        // Whoever has met it in the same moment knows better.
        if record.card == known.card { record.card = bytes }
      }
    } catch StoreError.notFound {
      return
    } catch { throw error }
  }

  // MARK: - Keeping

  enum IntroductionOutcome: Hashable {
    case kept
    case refused(RefusalReason)
  }

  /// Keeps what the dealer of a secret says about its holders. Who was removed stays removed, and a peer stays a peer. A card with somebody else's
  /// key is left out: its signature proves nothing about that key, and its owner could keep the others apart with it.
  func introduce(_ holders: [(index: UInt8, card: PeerCard)], _ record: SecretRecord) throws -> IntroductionOutcome {
    guard usesIntroductions else { return .refused(.notAccepted) }
    let peers = try database.peers().map { peer in try directory.storedCard(peer).keys }
    let strangers = holders.filter { holder in
      !peers.contains { $0 != holder.card.keys && $0.sharesKey(with: holder.card.keys) }
    }
    guard let quota = core.quota else { return .refused(.internalFailure) }
    let now = environment.now()
    var outcome = IntroductionOutcome.kept
    var taken: [PeerCard] = []
    let isHeld = try database.changeIntroductions(ofSecret: record.id) { (rows, context) throws(StoreError) in
      var kept = rows
      for holder in strangers {
        let keys = holder.card.keys
        guard try !context.isOthers(noiseKey: keys.noise, than: keys.digest) else { continue }
        taken.append(holder.card)
        let bytes: [UInt8]
        do { bytes = try holder.card.published.encoded() } catch { throw .invalid("the card of a holder") }
        if let place = kept.firstIndex(where: { $0.digest == keys.digest }) {
          guard kept[place].state == .active else { continue }
          kept[place].index = Int(holder.index)
          if let known = try? core.cards.decode(kept[place].card), (try? holder.card.isUpdate(of: known)) == true {
            kept[place].card = bytes
          }
        } else {
          let holder = IntroductionRecord(
            secretID: record.id, digest: keys.digest, noiseKey: keys.noise, index: Int(holder.index),
            dealer: record.dealer, card: bytes, addedAt: now)
          // Whom the user has removed no dealer brings back, with no other secret.
          kept.append(try context.isRemoved(keys.digest) ? holder.removed : holder)
        }
      }
      guard !taken.isEmpty else {
        outcome = .refused(.notAccepted)
        return
      }
      let added = kept.reduce(0) { $0 + $1.card.count } - rows.reduce(0) { $0 + $1.card.count }
      let (total, isTooMuch) = UInt64(max(0, context.usage.byteCount)).addingReportingOverflow(UInt64(max(0, added)))
      guard added <= 0 || (!isTooMuch && total <= quota.bytes) else {
        outcome = .refused(.quotaBytes)
        return
      }
      // Not more than the secret has holders beside this one, removed ones included.
      guard kept.count <= record.shareCount - 1 else {
        outcome = .refused(.quotaCount)
        return
      }
      rows = kept
    }
    guard isHeld else { return .refused(.unavailable) }
    // Of a peer it is news only if its owner has signed something newer.
    if outcome == .kept { for card in taken { try updatePeer(with: card) } }
    return outcome
  }
}
