import Courier
import VaultProtocol
import VaultStore

/// Parcels that go out in a meeting, and those that come.
extension CourierDesk {
  // MARK: - Giving

  /// The bytes of a parcel to be given, once it is noted durably that the peer gets it; nil if it is gone or damaged, or another meeting was
  /// faster.
  func content(of header: ParcelHeader, isTheirs: Bool) throws -> [UInt8]? {
    if let content = try ParcelID(header.id.bytes).flatMap(room.post.parcelContent), try isWhole(content, header) {
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

  /// Notes that the peer has got a parcel; returns whether it was an own one.
  func gave(_ header: ParcelHeader, isTheirs: Bool) throws -> Bool {
    let now = room.environment.now()
    let isOwn = try room.carrying.changeCourier { courier, _ in
      let isOwn = courier.outgoing[header.id] != nil
      courier.gave(header, to: device, isTheirs: isTheirs, at: now)
      return isOwn
    }
    let record = isOwn ? try ParcelID(header.id.bytes).flatMap(room.database.parcel) : nil
    if let record { try room.post.noteUnderway(record) }
    return isOwn
  }

  /// The peer didn't take a parcel after all: another carrier may have its place, unless this one may have got a copy in another meeting. A
  /// carrier isn't given it again for a day, and the bytes of others' parcels count.
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

  enum Outcome: Sendable {
    /// Durable here: for this device, with its receipt, or for others.
    case mine(CarriedReceipt?)
    case carried
    /// It was here before.
    case known(CarriedReceipt?)
    case refused
  }

  /// Keeps a parcel durably, if it is what was offered.
  func take(_ parcel: MeetingIntake.Whole) throws -> Outcome {
    let header = parcel.header
    guard let content = parcel.content else {
      // No memory was left, which isn't the giver's fault.
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
      // Another may have brought it during this meeting; the next one begins with its receipt.
      return isNew ? .mine(word) : .known(word)
    case .ignored:
      // Its sender could have known; a carrier only brings what it was given.
      guard !isDirect else { return try refuse(header) }
      room.carrying.memory.refuse(header.copy, at: monotonic)
      room.noteVain(header.size, of: peer, isCarried: true)
    case .unknownSender:
      // Its sender may become a peer soon; but anybody can make such parcels, and no carrier can look into them.
      let isNew = room.carrying.memory.noteUnknownSender(header.copy, at: monotonic)
      if isNew, isDirect { noteWaste(header) }
      if isNew, !isDirect { room.noteVain(header.size, of: peer, isCarried: true) }
    case .full:
      // A sender can't know how full it is here; but anybody can make ever new ones.
      if room.carrying.memory.noteFull(header.copy, at: monotonic) {
        room.noteVain(header.size, of: peer, isCarried: !isDirect)
      }
    }
    try cameInVain(header)
    return .refused
  }

  /// Doesn't ask this peer for the copy again for a day: it is not what was offered, or the peer itself made it worthless.
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

  /// Worthless bytes count against the day's limit, too.
  private func cameInVain(_ header: ParcelHeader) throws {
    let now = room.environment.now()
    try room.carrying.changeCourier { courier, _ in courier.movedInVain(header.size, at: now) }
  }

  private func carry(_ header: ParcelHeader, _ content: [UInt8]) throws -> Outcome {
    let now = room.environment.now()
    let arrival = try room.carrying.changeCourier { (courier, contents) throws(StoreError) in
      let arrival = courier.took(header, from: device, isPeer: true, isMine: false, at: now)
      // In one transaction with the note that it is carried.
      if case .carried = arrival { try contents.put(header.copy, content) }
      return arrival
    }
    switch arrival {
    case .carried: return .carried
    case .known: return .known(nil)
    case .mine, .refused: return .refused
    }
  }

  /// Whether these bytes are the copy that the header names.
  private func isWhole(_ content: [UInt8], _ header: ParcelHeader) throws -> Bool {
    guard content.count == header.size, let parcel = try? Parcel.decode(content, limit: Parcel.byteLimit),
      parcel.tag == header.tag.bytes, parcel.expiresAt == header.expiresAt
    else { return false }
    return try Self.copy(of: parcel) == header.copy
  }
}

extension Meetings {
  /// Counts bytes that came in vain, perhaps by nobody's fault.
  func noteVain(_ byteCount: Int, of peer: PeerRecord, isCarried: Bool) {
    let isEnough = carrying.memory.noteVain(
      byteCount, of: peer.digest, isCarried: isCarried, at: environment.monotonic())
    guard isEnough else { return }
    environment.log.warning("much that \(peer.name) brings breaks off or can't be taken: it has to wait with more")
  }
}
