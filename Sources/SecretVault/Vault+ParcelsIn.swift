import PeerAuth
import ShamirKit
import Sodium
import VaultProtocol
import VaultStore

/// What comes by parcel. Everybody in a group can post anything: until a parcel was opened and its signature holds, nobody is to blame for it.
extension Vault {
  /// Most bytes of unanswered parcels of a peer.
  private static let receivedBytesOfPeer = 64 << 20

  /// What was found in a parcel.
  enum OpenedParcel {
    case letter(ParcelLetter, from: PeerRecord)
    case worthless(String)
  }

  /// Verifies a parcel that came through the group in this folder, and keeps it durably. Taking it again changes nothing. Throws only for this
  /// device's own faults: then it is to be tried again.
  public func takeParcel(_ encoded: [UInt8], folder: [UInt8]) throws(VaultError) -> ParcelTaking {
    try sweepParcels()
    guard let parcel = try? Parcel.decode(encoded, limit: Parcel.byteLimit) else {
      return .ignored("it makes no sense")
    }
    guard parcel.isFor(identity.keys.digest) else { return .ignored("it is for somebody else") }
    let now = environment.now()
    guard try !isOver(parcel.expiresAt, at: now) else { return ignore(parcel.id, "its time is over") }
    let letter: ParcelLetter
    let peer: PeerRecord
    switch try open(parcel) {
    case .worthless(let reason): return ignore(parcel.id, reason)
    case .letter(let found, let sender): (letter, peer) = (found, sender)
    }
    let latest = ReleaseConsent.sum(now, Parcel.lifetimeLimit)
    guard letter.createdAt <= ReleaseConsent.sum(now, Self.parcelClockTolerance), letter.expiresAt <= latest else {
      return ignore(parcel.id, "it comes from the future: this device's clock or its sender's is wrong", peer)
    }
    switch letter.kind {
    case .request: return try takeRequest(letter, encoded, peer, folder)
    case .answer: return try takeAnswer(letter, encoded, peer)
    }
  }

  /// Opens a parcel. Its sender has to be a peer at this moment.
  func open(_ parcel: Parcel) throws(VaultError) -> OpenedParcel {
    var peer: PeerRecord?
    var ownFault: VaultError?
    do throws(ProtocolError) {
      let letter = try ParcelLetter.open(parcel, with: identity) { (digest) throws(ProtocolError) in
        do throws(VaultError) {
          peer = try stored { () throws(StoreError) in try database.peer(digest) }
          return try peer.map { (known) throws(VaultError) in try storedCard(known).keys }
        } catch {
          ownFault = error
          return nil
        }
      }
      guard let peer else { return .worthless("nobody knows who sent it") }
      return .letter(letter, from: peer)
    } catch {
      if let ownFault { throw ownFault }
      switch error {
      case .sodium: throw VaultError(.other, "a parcel can't be opened: \(error)")
      case .foreignParcel("sender"): return .worthless("its sender is no peer")
      default: return .worthless("it does not verify")
      }
    }
  }

  /// Says once what is wrong with a parcel.
  private func ignore(_ id: ParcelID, _ reason: String, _ peer: PeerRecord? = nil) -> ParcelTaking {
    if parcelMemory.isNews(id.bytes) {
      if let peer {
        recordUnlessTooMany(.refused, peer: peer, detail: "sent a parcel that was dropped: \(reason)")
      } else if strangers.isNew("parcel", at: environment.monotonic()) {
        environment.log.info("a parcel was dropped: \(reason)")
      }
    }
    return .ignored(reason)
  }

  // MARK: - Requests

  private func takeRequest(
    _ letter: ParcelLetter, _ encoded: [UInt8], _ peer: PeerRecord, _ folder: [UInt8]
  ) throws(VaultError) -> ParcelTaking {
    if let known = try stored({ () throws(StoreError) in try database.parcel(letter.id.bytes) }) {
      guard known.direction == .received, known.peer == peer.digest else {
        return ignore(letter.id, "its id is another parcel's", peer)
      }
      try repeatAnswer(to: known)
      return .taken
    }
    let request: ParcelRequest
    do throws(ProtocolError) { request = try ParcelRequest(letter.frames) } catch {
      return ignore(letter.id, "its sender \(Self.words(error))", peer)
    }
    let secret: [UInt8]?
    switch request {
    case .deposit(let id): secret = id
    case .release(let tag): secret = try stored { () throws(StoreError) in try database.secret(askTag: tag) }?.id
    }
    let counts = try stored { () throws(StoreError) in try database.parcelCounts(ofPeer: peer.digest) }
    guard counts.count < Self.parcelsOfPeer, counts.all < Self.parcelsOfAll, counts.known < Self.knownParcelsOfPeer,
      counts.bytes + encoded.count <= Self.receivedBytesOfPeer
    else { return .full }
    let isNew = try stored { () throws(StoreError) in
      try database.addParcel(
        ParcelRecord(
          id: letter.id.bytes, direction: .received, peer: peer.digest, secretID: secret, group: folder,
          createdAt: letter.createdAt, expiresAt: letter.expiresAt),
        content: encoded, replySecret: nil)
    }
    // Another program of this vault may have taken it in the same moment.
    return isNew ? .taken : try takeRequest(letter, encoded, peer, folder)
  }

  /// A request that comes again has not got its answer.
  private func repeatAnswer(to known: ParcelRecord) throws(VaultError) {
    guard known.state == .answered, let id = known.inReplyTo else { return }
    try stored { () throws(StoreError) in
      guard var answer = try database.parcel(id), answer.direction == .answer, answer.state == .posted else { return }
      answer.state = .waiting
      try database.updateParcel(answer)
    }
  }

  // MARK: - Answers

  private func takeAnswer(
    _ letter: ParcelLetter, _ encoded: [UInt8], _ peer: PeerRecord
  ) throws(VaultError) -> ParcelTaking {
    guard let id = letter.inReplyTo,
      var record = try stored({ () throws(StoreError) in try database.parcel(id.bytes) }),
      record.direction == .request, record.peer == peer.digest
    else { return ignore(letter.id, "nobody waits for it") }
    switch record.state {
    case .answered, .withdrawn: return .taken
    case .waiting, .posted: break
    }
    if let delivery = record.delivery {
      try settle(delivery, record, letter, peer)
      return .taken
    }
    record.state = .answered
    record.inReplyTo = letter.id.bytes
    try stored { () throws(StoreError) in _ = try database.updateParcel(record, content: .set(encoded)) }
    return .taken
  }

  /// What the holder says about a share that was to be kept.
  private func settle(
    _ delivery: Int64, _ record: ParcelRecord, _ letter: ParcelLetter, _ peer: PeerRecord
  ) throws(VaultError) {
    let outcome: RouteOutcome
    do throws(LinkFailure) {
      try Self.checkDeposit(letter.frames, request: record.request, peer: peer.name)
      outcome = .answered(.deposited)
    } catch {
      outcome = .failed(error)
    }
    if let entry = try stored({ () throws(StoreError) in try database.delivery(delivery) }),
      entry.state == .waiting || entry.state == .refused, let id = entry.entry.secretID
    {
      _ = try settle(entry, peer, id, entry.entry.index ?? 0, outcome, route: Self.parcelRoute)
    }
    let isOpen = try stored { () throws(StoreError) in try database.delivery(delivery)?.state == .waiting }
    guard isOpen else { return try end(record) }
    // It may be sent again, but not at once.
    var record = record
    record.state = .answered
    try stored { () throws(StoreError) in _ = try database.updateParcel(record, content: .clear) }
  }

  /// Throws unless the answers say that the share is durable.
  private static func checkDeposit(_ frames: [ParcelFrame], request: UInt64, peer: String) throws(LinkFailure) {
    for frame in frames {
      switch frame.type {
      case Hello.type.rawValue: continue
      case OfferAnswer.type.rawValue:
        let answer: OfferAnswer = try parse(frame)
        guard answer.request == request else { throw .notAsked }
        switch answer.verdict {
        case .complete: return
        case .refused(let reason): throw .refused(reason)
        case .wants: continue
        case .asking: throw LinkFailure(.misbehaved, "did not say whether it takes the share")
        }
      case DepositResult.type.rawValue:
        let result: DepositResult = try parse(frame)
        guard result.request == request else { throw .notAsked }
        if let refusal = result.refusal { throw .refused(refusal) }
        return
      case MessageType.unsupported.rawValue: throw .tooOld(peer)
      default: throw LinkFailure(ProtocolError.unexpectedMessage(frame.type))
      }
    }
    throw LinkFailure(.misbehaved, "did not say whether it takes the share")
  }

  /// A message of an answer.
  static func parse<Message: PeerMessage>(_ frame: ParcelFrame) throws(LinkFailure) -> Message {
    do { return try Message.decode(frame.bytes, limit: Message.type.byteLimit) } catch {
      throw LinkFailure(ProtocolError.malformed(error))
    }
  }

  /// Nothing more comes of a request. What may be in a group is taken out of there.
  func end(_ record: ParcelRecord) throws(VaultError) {
    var record = record
    try stored { () throws(StoreError) in
      if record.state == .answered || record.group.isEmpty { return try database.removeParcels([record.id]) }
      record.state = .withdrawn
      try database.updateParcel(record)
    }
  }
}

extension LinkFailure {
  static let notAsked = LinkFailure(.misbehaved, "answered something that was not asked")
}
