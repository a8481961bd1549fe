import Courier
import VaultProtocol
import VaultStore

/// Parcels that go out in a meeting, and those that come.
extension CourierDesk {
  // MARK: - Giving

  /// A parcel that is to be given, of which it is noted durably that the peer gets it; nil if it is here no more, was damaged, or may not be given:
  /// another meeting was faster.
  func content(of header: ParcelHeader, isTheirs: Bool) throws -> [UInt8]? {
    if let content = try room.post.parcelContent(header.id.bytes), try isWhole(content, header) {
      return try promise(header, isTheirs: isTheirs) ? content : nil
    }
    if let carried = try room.carriedContent(header.copy), try isWhole(carried, header) { return carried }
    try room.carrying.changeCourier { courier, _ in courier.drop(header.copy) }
    return nil
  }

  private func promise(_ header: ParcelHeader, isTheirs: Bool) throws -> Bool {
    guard !isTheirs else { return true }
    let now = room.environment.now()
    return try room.carrying.changeCourier { courier, _ in
      courier.promise(header, to: device, isTheirs: isTheirs, at: now)
    }
  }

  /// Notes that the peer has got a parcel; returns whether that was one of this device's own.
  func gave(_ header: ParcelHeader, isTheirs: Bool) throws -> Bool {
    let now = room.environment.now()
    let isOwn = try room.carrying.changeCourier { courier, _ in
      let isOwn = courier.outgoing[header.id] != nil
      courier.gave(header, to: device, isTheirs: isTheirs, at: now)
      return isOwn
    }
    let record = isOwn ? try room.database.parcel(header.id.bytes) : nil
    if let record { try room.post.noteUnderway(record) }
    return isOwn
  }

  /// Notes that the peer didn't want a parcel after all: another carrier may have its place, unless this one may have got another copy, in whichever
  /// meeting. A carrier isn't given it again on that day, and what has gone out of others' parcels counts.
  func wasRefused(_ header: ParcelHeader, isTheirs: Bool) throws {
    let (now, monotonic) = (room.environment.now(), room.environment.monotonic())
    if !isTheirs {
      room.carrying.memory.refuse(header.copy, from: peer.digest, at: monotonic, for: MeetingMemory.worthlessTime)
    }
    try room.carrying.changeCourier { courier, _ in
      if courier.outgoing[header.id] == nil {
        courier.movedInVain(header.size, at: now)
      } else if !isTheirs {
        courier.takeBack(header, from: device)
      }
    }
  }

  // MARK: - Taking

  /// What became of a parcel that has come.
  enum Outcome: Sendable {
    /// It is durable here: for this device, with what proves it, or for others.
    case mine(CarriedReceipt?)
    case carried
    /// It was here before.
    case known(CarriedReceipt?)
    case refused
  }

  /// Keeps a parcel that has come, durably, if it is what was offered.
  func take(_ parcel: MeetingIntake.Whole) throws -> Outcome {
    let header = parcel.header
    guard let content = parcel.content else {
      // There was no memory for it, which isn't its giver's fault.
      try cameInVain(header)
      return .refused
    }
    guard try isWhole(content, header) else { return try refuse(header) }
    return Self.isFor(room.identity.keys.digest, header) ? try takeOwn(header, content) : try carry(header, content)
  }

  private func takeOwn(_ header: ParcelHeader, _ content: [UInt8]) throws -> Outcome {
    let isDirect = header.branch == ParcelHeader.noBranch
    let monotonic = room.environment.monotonic()
    let arrival = ParcelArrival(
      way: !isDirect ? .carriers : isNearby ? .bluetooth : .session, from: peer.digest,
      hops: isDirect ? 0 : header.hops, branch: header.branch)
    switch try room.intake.takeParcel(content, by: arrival) {
    case .taken(let receipt), .known(let receipt):
      guard let receipt,
        let word = CarriedReceipt(
          id: header.id, branch: receipt.branch, expiresAt: receipt.expiresAt, proof: receipt.proof)
      else { return .mine(nil) }
      let now = room.environment.now()
      let isNew = try room.carrying.changeCourier { courier, _ in
        defer { courier.confirmed(word, at: now) }
        return courier.receipts[word.id] == nil
      }
      // Another may have brought it amid this meeting; the next one begins with the word that it is here.
      return isNew ? .mine(word) : .known(word)
    case .ignored:
      // Whoever says that it is its own could have known; a carrier has brought what it was given.
      guard !isDirect else { return try refuse(header) }
      room.carrying.memory.refuse(header.copy, at: monotonic)
      room.noteVain(header.size, of: peer, isCarried: true)
    case .unknownSender:
      // Its sender may become a peer in a moment; but anybody can make such parcels, and no carrier can look in.
      let isNew = room.carrying.memory.noteUnknownSender(header.copy, at: monotonic)
      if isNew, isDirect { noteWaste(header) }
      if isNew, !isDirect { room.noteVain(header.size, of: peer, isCarried: true) }
    case .full:
      // Neither can a sender know how much is here; but anybody can make ever new ones.
      if room.carrying.memory.noteFull(header.copy, at: monotonic) {
        room.noteVain(header.size, of: peer, isCarried: !isDirect)
      }
    }
    try cameInVain(header)
    return .refused
  }

  /// Doesn't ask this peer for the copy, which isn't what it has said, or worth nothing by its own making, again for a day.
  private func refuse(_ header: ParcelHeader) throws -> Outcome {
    let monotonic = room.environment.monotonic()
    room.carrying.memory.refuse(header.copy, from: peer.digest, at: monotonic, for: MeetingMemory.worthlessTime)
    noteWaste(header)
    try cameInVain(header)
    return .refused
  }

  private func noteWaste(_ header: ParcelHeader) {
    let isEnough = room.carrying.memory.noteWaste(
      header.size, of: peer.digest, isCarried: header.branch != ParcelHeader.noBranch,
      at: room.environment.monotonic())
    guard isEnough else { return }
    room.environment.log.warning("\(peer.name) brings what is worth nothing, and isn't asked for more today")
  }

  /// What came for nothing uses up the bytes of the day, too.
  private func cameInVain(_ header: ParcelHeader) throws {
    let now = room.environment.now()
    try room.carrying.changeCourier { courier, _ in courier.movedInVain(header.size, at: now) }
  }

  private func carry(_ header: ParcelHeader, _ content: [UInt8]) throws -> Outcome {
    let now = room.environment.now()
    let arrival = try room.carrying.changeCourier { (courier, contents) throws(StoreError) in
      let arrival = courier.took(header, from: device, isPeer: true, isMine: false, at: now)
      // In one transaction with the word that it is carried.
      if case .carried = arrival { try contents.put(header.copy, content) }
      return arrival
    }
    switch arrival {
    case .carried: return .carried
    case .known: return .known(nil)
    case .mine, .refused: return .refused
    }
  }

  /// Whether these bytes are the very copy that a header speaks of.
  private func isWhole(_ content: [UInt8], _ header: ParcelHeader) throws -> Bool {
    guard content.count == header.size, let parcel = try? Parcel.decode(content, limit: Parcel.byteLimit),
      parcel.tag == header.tag.bytes, parcel.expiresAt == header.expiresAt
    else { return false }
    return try Self.copy(of: parcel) == header.copy
  }
}

extension Meetings {
  /// Counts bytes that a peer has brought in vain, though it need not be to blame.
  func noteVain(_ byteCount: Int, of peer: PeerRecord, isCarried: Bool) {
    let isEnough = carrying.memory.noteVain(
      byteCount, of: peer.digest, isCarried: isCarried, at: environment.monotonic())
    guard isEnough else { return }
    environment.log.warning("much that \(peer.name) brings breaks off or can't be taken: it has to wait with more")
  }
}
