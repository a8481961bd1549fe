import PeerAuth
import ShamirKit
import Sodium
import Synchronization
import VaultProtocol
import VaultStore

/// What comes by parcel. Anybody can make and bring one: until it was opened and its signature holds, nobody is to blame for it.
package final class Intake: Room {
  package let core: VaultCore
  let introductions: Introductions
  let post: Post
  let messages: Messages
  let sharing: Sharing
  let items: Items
  let parcelRoom = Atomic(true)

  init(
    _ core: VaultCore, _ introductions: Introductions, _ post: Post, _ messages: Messages, _ sharing: Sharing,
    _ items: Items
  ) {
    self.core = core
    self.introductions = introductions
    self.post = post
    self.messages = messages
    self.sharing = sharing
    self.items = items
  }

  /// Most bytes of unanswered parcels of a peer.
  private static let receivedBytesOfPeer = 64 << 20
  /// How long an answer isn't posted again, whatever comes.
  private static let answerRepetition = Post.parcelRepetition / 2

  /// Verifies a parcel that has come, and keeps it durably. Taking it again changes nothing. Throws only for this device's own faults: then it is
  /// to be tried again.
  package func takeParcel(_ encoded: [UInt8], by arrival: ParcelArrival) throws -> ParcelTaking {
    try post.sweepParcels()
    guard let parcel = try? Parcel.decode(encoded, limit: Parcel.byteLimit) else {
      return .ignored("it makes no sense")
    }
    guard parcel.isFor(identity.keys.digest) else { return .ignored("it is for somebody else") }
    let hasRoom = core.hasDiskRoom(for: encoded.count)
    if parcelRoom.exchange(hasRoom, ordering: .relaxed) != hasRoom {
      if hasRoom {
        environment.log.info("parcels are taken again: enough of the disk is free")
      } else {
        environment.log.warning("parcels aren't taken: too little of the disk is free (`keep-free`)")
      }
    }
    guard hasRoom else { return .full }
    let now = environment.now()
    // It may be this device's clock that is wrong: what is to be deleted for its time, others see to.
    guard try !post.isOver(parcel.expiresAt, at: now) else { return .full }
    switch try post.open(parcel) {
    case .worthless(let reason): return ignore(parcel.id, reason)
    case .ofNobodyKnown:
      _ = ignore(parcel.id, "its sender is no peer")
      return .unknownSender
    case .message(let letter, let peer):
      guard isTimely(letter.createdAt, letter.expiresAt, at: now) else { return .full }
      return try messages.takeMessage(letter, from: peer, by: arrival.corrected(sender: peer.digest))
    case .letter(let letter, let peer):
      guard isTimely(letter.createdAt, letter.expiresAt, at: now) else { return .full }
      let arrival = arrival.corrected(sender: peer.digest)
      let taking: ParcelTaking =
        switch letter.kind {
        case .request: try takeRequest(letter, encoded, peer, arrival.folder)
        case .answer: try takeAnswer(letter, encoded, peer, arrival)
        }
      guard taking.isTaken else { return taking }
      let receipt = post.receipt(for: letter.id, letter.seed, expiresAt: letter.expiresAt, arrival)
      // In a group it is seen that a parcel was taken, and of a request its answer tells.
      if arrival.folder == nil { post.owe(receipt, to: peer.digest, arrival) }
      return taking.isNew ? .taken(receipt: receipt) : .known(receipt: receipt)
    }
  }

  /// Whether the times that its sender has given a letter may be, as far as this device's clock goes.
  private func isTimely(_ createdAt: Int64, _ expiresAt: Int64, at now: Int64) -> Bool {
    createdAt <= ReleaseConsent.sum(now, Post.parcelClockTolerance)
      && expiresAt <= ReleaseConsent.sum(now, Parcel.lifetimeLimit)
  }

  /// Says once what is wrong with a parcel.
  private func ignore(_ id: ParcelID, _ reason: String, _ peer: PeerRecord? = nil) -> ParcelTaking {
    if post.parcelMemory.isNews(id) {
      if let peer {
        recordUnlessTooMany(.refused, peer: peer, detail: "sent a parcel that was dropped: \(reason)")
      } else if core.strangers.isNew("parcel", at: environment.monotonic()) {
        environment.log.info("a parcel was dropped: \(reason)")
      }
    }
    return .ignored(reason)
  }

  // MARK: - Requests

  private func takeRequest(
    _ letter: ParcelLetter, _ encoded: [UInt8], _ peer: PeerRecord, _ folder: [UInt8]?
  ) throws -> ParcelTaking {
    let id = try ParcelRecord.receivedID(of: letter.id, from: peer.digest)
    if let known = try database.parcel(id) {
      try repeatAnswer(to: known, by: folder)
      return .known(receipt: nil)
    }
    let request: ParcelRequest
    do throws(ProtocolError) { request = try ParcelRequest(letter.frames) } catch {
      return ignore(letter.id, "its sender \(VaultCore.words(error))", peer)
    }
    let secret: SecretID?
    switch request {
    case .deposit(let id): secret = id
    case .release(let tag), .lifecycle(let tag?, _): secret = try database.secret(askTag: tag)?.id
    case .item, .introduction, .lifecycle(nil, _): secret = nil
    }
    let counts = try database.parcelCounts(ofPeer: peer.digest)
    guard counts.count < Post.parcelsOfPeer, counts.all < Post.parcelsOfAll, counts.known < Post.knownParcelsOfPeer,
      counts.bytes + encoded.count <= Self.receivedBytesOfPeer
    else { return .full }
    // Only these have large answers.
    if request.hasLargeAnswer {
      guard counts.answerBytes < Post.answerBytesOfPeer, counts.allAnswerBytes < Post.answerBytesOfAll else {
        return .full
      }
    }
    let way = try answerFolder(to: peer.digest, cameBy: folder)
    let isNew = try database.addParcel(
      ParcelRecord(
        id: id, direction: .received, peer: peer.digest, secretID: secret, group: way,
        createdAt: letter.createdAt, expiresAt: letter.expiresAt),
      content: encoded, replySecret: nil)
    // Another program of this vault may have taken it in the same moment.
    return isNew ? .taken(receipt: nil) : try takeRequest(letter, encoded, peer, folder)
  }

  /// By which group an answer goes: that by which its request came, if the sender takes parcels there. Anybody may bring a request into a group in
  /// which its sender isn't.
  ///
  /// One that came another way goes by whichever way has its turn.
  private func answerFolder(to peer: Digest, cameBy folder: [UInt8]?) throws -> [UInt8] {
    guard let folder else { return [] }
    let folders = try post.mailboxFolders(of: peer)
    if folders.isEmpty || folders.contains(folder) { return folder }
    return folders.min { $0.lexicographicallyPrecedes($1) } ?? folder
  }

  /// A request that comes again may not have got its answer. But anybody can bring it again, so that isn't done at each time.
  private func repeatAnswer(to known: ParcelRecord, by folder: [UInt8]?) throws {
    guard known.state == .answered, let id = known.inReplyTo else { return }
    let now = environment.now()
    let way = try answerFolder(to: known.peer, cameBy: folder)
    let ways = post.usualWays()
    guard let before = try database.parcel(id), before.direction == .answer,
      before.state == .posted || before.ways.isEmpty,
      !(0..<Self.answerRepetition).contains(now - max(before.handedOver[.group] ?? 0, before.createdAt))
    else { return }
    var answer = before
    answer.state = .waiting
    answer.ways = ways
    answer.handedOver[.account] = nil
    if !way.isEmpty, ways.contains(.group) { answer.group = way }
    try database.updateParcel(answer, from: before)
  }

  // MARK: - Answers

  private func takeAnswer(
    _ letter: ParcelLetter, _ encoded: [UInt8], _ peer: PeerRecord, _ arrival: ParcelArrival
  ) throws -> ParcelTaking {
    guard let id = letter.inReplyTo,
      let before = try database.parcel(id),
      before.direction == .request || before.direction == .change, before.peer == peer.digest, !before.isProbe
    else { return ignore(letter.id, "nobody waits for it") }
    switch before.state {
    case .answered, .withdrawn: return .known(receipt: nil)
    case .waiting, .posted: break
    }
    if let delivery = before.delivery {
      try settle(delivery, before, letter, peer, arrival)
      return .taken(receipt: nil)
    }
    if before.direction == .request, before.secretID == nil {
      try items.settleItem(before, letter, peer)
      return .taken(receipt: nil)
    }
    var record = before
    record.state = .answered
    record.inReplyTo = letter.id
    let isKept = try database.updateParcel(record, from: before, content: .set(encoded))
    // Something has changed in the same moment: it was posted, or is wanted no more.
    return isKept ? .taken(receipt: nil) : try takeAnswer(letter, encoded, peer, arrival)
  }

  /// What the holder says about a share that was to be kept.
  private func settle(
    _ delivery: Int64, _ record: ParcelRecord, _ letter: ParcelLetter, _ peer: PeerRecord, _ arrival: ParcelArrival
  ) throws {
    let entry = try database.delivery(delivery)
    if let entry, entry.entry.kind == DeliveryKind.introduction {
      return try settle(introduction: entry, record, letter, peer, arrival)
    }
    let outcome: Result<Void, LinkFailure>
    do throws(LinkFailure) {
      try Post.checkDurable(
        "the share", letter.frames, request: record.request, peer: peer.name, OfferAnswer.self, DepositResult.self)
      outcome = .success(())
    } catch {
      outcome = .failure(error)
    }
    if let entry, entry.state == .waiting || entry.state == .refused, let id = entry.entry.secretID {
      _ = try sharing.settle(entry, peer, id, entry.entry.index ?? 0, outcome, route: arrival.way.name)
    }
    try finish(record, of: delivery)
  }

  /// Ends a request whose answer has settled the delivery.
  private func finish(_ record: ParcelRecord, of delivery: Int64) throws {
    guard try database.delivery(delivery)?.state == .waiting else { return try post.end(record) }
    // It may be sent again, but not at once.
    try post.change(record, content: .clear) { $0.state = .answered }
  }

  /// What the holder says about an introduction.
  private func settle(
    introduction entry: OutboxRecord, _ record: ParcelRecord, _ letter: ParcelLetter, _ peer: PeerRecord,
    _ arrival: ParcelArrival
  ) throws {
    var failure: LinkFailure? = .tooOld(peer.name)
    do throws(LinkFailure) {
      for frame in letter.frames where frame.type == IntroductionResult.type.rawValue {
        let result: IntroductionResult = try Post.parse(frame)
        guard result.request == record.request else { throw .notAsked }
        failure = result.refusal.map { .refused($0) }
      }
    } catch { failure = error }
    if entry.state == .waiting { introductions.settle(introduction: entry, failure, route: arrival.way.name) }
    try finish(record, of: entry.id)
  }
}
