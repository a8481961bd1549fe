/// The steps of a meeting, in the order in which they are taken.
extension Courier {
  /// What this device says first to `device`.
  ///
  /// If it has more parcels than can be named, those for `device` come first, so that it is told which of them have
  /// arrived; a quarter of the places is for the rest. Half of each part is for own ones, half for others'; what one
  /// doesn't need, the other gets. Where not all of a kind are named, it is other ones at another time, so that each is
  /// named in some meeting. `isTheirs` tells whether a parcel's tag is that of `device`.
  package func greeting(
    for device: DeviceKey? = nil, _ condition: DeviceCondition, isTheirs: (ParcelHeader) -> Bool = { _ in false },
    at now: Int64
  ) -> Greeting {
    var copies = Array(satchel.parcels.keys) + outgoing.values.map(\.header.copy)
    if copies.count > Greeting.idLimit {
      let (own, others) = (outgoing.values, satchel.parcels.values.map(\.header))
      let ownForThem = own.filter { device != nil && $0.recipient == device }.map(\.header.copy)
      let theirs = others.filter(isTheirs).map(\.copy)
      let known = Set(ownForThem + theirs)
      let ownRest = own.map(\.header.copy).filter { !known.contains($0) }
      let rest = others.map(\.copy).filter { !known.contains($0) }
      let places = max(Greeting.idLimit - ownRest.count - rest.count, Greeting.idLimit / 4 * 3)
      let first = Self.turn(ownForThem, theirs, places, at: now)
      copies = first + Self.turn(ownRest, rest, Greeting.idLimit - first.count, at: now)
    }
    return Greeting(
      copies: copies,
      takes: limits.isOn && isAwake(condition) && account.leftToday(limits, at: now) > 0 && account.isFair(0, limits))
  }

  /// As many of two kinds as there are places, half of them of each, unless one doesn't need so many.
  private static func turn(_ one: [CopyKey], _ other: [CopyKey], _ places: Int, at now: Int64) -> [CopyKey] {
    let first = turn(one, max(places - other.count, places - places / 2), at: now)
    return first + turn(other, places - first.count, at: now)
  }

  /// So many in a row, as of a ring, from where the time says: nobody gains by an id of their choice, and none is left
  /// out for ever, however regular meetings are.
  private static func turn(_ copies: [CopyKey], _ places: Int, at now: Int64) -> [CopyKey] {
    guard places < copies.count else { return copies }
    let ring = copies.sorted()
    let start = Int(mixed(UInt64(bitPattern: now)) % UInt64(ring.count))
    return (0..<places).map { ring[(start + $0) % ring.count] }
  }

  /// Receipts for the other: of what it carries or has sent, and what is new since the last meeting with it.
  package mutating func receipts(for device: DeviceKey, _ greeting: Greeting, at now: Int64) -> [Receipt] {
    let told = receipts.toTell(device, greeting.copies.map(\.id), since: encounters.told(device))
    encounters.tell(device, at: now)
    return told.filter { $0.expiresAt > now }
  }

  /// What this device could give to `device`: first own parcels for it, then others' for it, then own ones that need a
  /// carrier, then what may be handed on; of each, what somebody has brought under an id besides their first copy
  /// behind the rest, and `declined` ones, which it didn't want lately, last.
  ///
  /// `isTheirs` tells whether a parcel's tag is that of `device`. Own parcels that have gone out to it, but of which it
  /// hasn't said that it has them, it may have again, by the same branch, ``OutgoingParcel/Grant/limit`` times in all.
  package func offers(
    to device: DeviceKey, _ greeting: Greeting, _ condition: DeviceCondition, isTheirs: (ParcelHeader) -> Bool,
    declined: Set<CopyKey> = [], at now: Int64
  ) -> [Offer] {
    let known = Set(greeting.copies)
    var ownForThem: [ParcelHeader] = []
    var theirs: [ParcelHeader] = []
    var own: [ParcelHeader] = []
    var others: [ParcelHeader] = []
    for parcel in outgoing.values where parcel.header.expiresAt > now {
      if parcel.recipient == device {
        ownForThem.append(parcel.header)
      } else if greeting.takes, !known.contains(parcel.header.copy),
        let branch = branch(of: parcel, for: device), let header = parcel.header.handedOn(branch: branch)
      {
        own.append(header)
      }
    }
    let awake = isAwake(condition)
    for parcel in satchel.parcels.values where parcel.header.expiresAt > now {
      if isTheirs(parcel.header) {
        theirs.append(parcel.header)
      } else if greeting.takes, awake, isOpen(parcel, to: device), !known.contains(parcel.header.copy),
        let header = parcel.header.handedOn(branch: parcel.header.branch)
      {
        others.append(header)
      }
    }
    func ordered(_ headers: [ParcelHeader]) -> [ParcelHeader] {
      let sorted = inTurn(sorted(headers))
      return sorted.filter { !declined.contains($0.copy) } + sorted.filter { declined.contains($0.copy) }
    }
    let first = (ordered(ownForThem) + ordered(theirs)).map { Offer(header: $0, isYours: true) }
    let rest = (ordered(own) + ordered(others)).map { Offer(header: $0, isYours: false) }
    return Array((first + rest).prefix(Offer.limit))
  }

  /// Which of the other's offers this device wants.
  ///
  /// `isMine` tells whether a parcel's tag is this device's, `recipient` whose it is, if this device knows them.
  package func replies(
    to offers: [Offer], from device: DeviceKey, isPeer: Bool, _ condition: DeviceCondition,
    isMine: (ParcelHeader) -> Bool, recipient: (ParcelHeader) -> DeviceKey?, at now: Int64
  ) -> [Reply] {
    var moved = 0
    var cost = satchel.cost(of: device)
    var copies: [ParcelKey: Int] = [:]
    return offers.prefix(Offer.limit).map { offer in
      let header = offer.header
      guard isAlive(header.expiresAt, at: now) else { return Reply(copy: header.copy, answer: .refused) }
      if isMine(header) {
        // Without a receipt to tell, the other would never learn that it is here: taking it again makes one.
        let isDone = received.contains(header.id) && receipts[header.id] != nil
        return Reply(copy: header.copy, answer: isDone ? .had : .wanted(UInt16.max))
      }
      if isKnown(header) { return Reply(copy: header.copy, answer: .had) }
      let parcel = CarriedParcel(header: header, from: device, fromPeer: isPeer, receivedAt: now)
      let after = cost + limits.cost(of: header.size)
      let already = satchel.copies(of: header.id, from: device) + copies[header.id, default: 0]
      guard isOnABranch(header), isAwake(condition), takes(header.size + moved, at: now), after <= limits.bytesPerGiver,
        already < Satchel.copyLimit, case .taken = satchel.taking(parcel, limits)
      else { return Reply(copy: header.copy, answer: .refused) }
      moved += header.size
      cost = after
      copies[header.id, default: 0] += 1
      let likelihood = estimate(for: recipient(header), allowsServers: header.allowsServers, at: now)
      return Reply(copy: header.copy, answer: .wanted(UInt16(likelihood * Double(UInt16.max))))
    }
  }

  /// What of the offers is given to `device` after its replies, in this order, within `budget` bytes.
  ///
  /// - What is addressed to it, in any case.
  /// - Own parcels, if fewer than ``CourierPolicy/carriers`` have them: to a carrier that is more likely than this
  ///   device to reach the recipient, at once; to any, when patience is over; to one that is shunned, once in a while,
  ///   or when a quarter of the parcel's time is over.
  /// - Others' parcels, to a carrier that is more likely than this device; the last to one that meets the recipient.
  package func selection(
    _ offers: [Offer], _ replies: [Reply], to device: DeviceKey, budget: Int, recipient: (ParcelHeader) -> DeviceKey?,
    at now: Int64, using generator: inout some RandomNumberGenerator
  ) -> [ParcelHeader] {
    let wanted = Dictionary(
      replies.prefix(Offer.limit).compactMap { reply -> (CopyKey, UInt16)? in
        guard case .wanted(let claim) = reply.answer else { return nil }
        return (reply.copy, claim)
      }, uniquingKeysWith: { first, _ in first })
    let belief = policy.usesRecords ? records.belief(in: device, at: now) : 1
    let shunned = policy.usesRecords && records.isShunned(device, at: now)
    var left = budget
    var today = account.leftToday(limits, at: now)
    var chosen: [ParcelHeader] = []
    for offer in offers {
      let header = offer.header
      guard let claim = wanted[header.copy], header.size <= left else { continue }
      let believed = Double(claim) / Double(UInt16.max) * belief
      if let parcel = own(header) {
        if !offer.isYours {
          if shunned, !isDesperate(parcel, at: now), generator.next() % CourierPolicy.exploration != 0 { continue }
          let better = believed > estimate(for: parcel.recipient, allowsServers: header.allowsServers, at: now)
          guard better || isImpatient(parcel, at: now) else { continue }
        }
      } else {
        guard let parcel = satchel.parcels[header.copy], header.size <= today else { continue }
        let mine = estimate(for: recipient(header), allowsServers: header.allowsServers, at: now)
        let better = !shunned && believed > mine
        // The last place is for one that meets the recipient, not only servers.
        let isLast = parcel.handedTo.count + 1 >= policy.handOn
        guard offer.isYours || better && (!isLast || believed > CourierPolicy.serverWeight) else { continue }
        today -= header.size
      }
      left -= header.size
      chosen.append(header)
    }
    return chosen
  }

  /// Notes that `device` gets a parcel of the selection. To be kept durably before the first byte goes out: whatever
  /// then happens, nobody else gets a copy with the same branch, and no more than ``CourierPolicy/carriers`` get one,
  /// but in the place of one that says that it didn't want it.
  ///
  /// Returns false if it may not be given: it has arrived meanwhile, another carrier has got this branch, or this one
  /// has said in another meeting that it has the parcel.
  package mutating func promise(_ header: ParcelHeader, to device: DeviceKey, isTheirs: Bool, at now: Int64) -> Bool {
    guard let parcel = own(header) else { return satchel.parcels[header.copy] != nil }
    guard !isTheirs else { return true }
    guard branch(of: parcel, for: device) == header.branch else { return false }
    if let place = place(of: device, in: parcel) {
      outgoing[header.id]?.carriers[place].times += 1
    } else {
      outgoing[header.id]?.carriers.append(OutgoingParcel.Grant(carrier: device, at: now))
    }
    return true
  }

  /// Notes that `device` didn't want what it was promised. Its place is free again, unless there is one behind it, or
  /// the parcel has gone out to it more than once: it may have another of these copies.
  package mutating func takeBack(_ header: ParcelHeader, from device: DeviceKey) {
    guard let carriers = own(header)?.carriers, let last = carriers.last, last.carrier == device,
      carriers.count == Int(header.branch) + 1, last.times == 1, !last.isConfirmed
    else { return }
    outgoing[header.id]?.carriers.removeLast()
  }

  /// Notes that `device` has got a parcel of the selection: before its receipt, if it is the recipient, is learned.
  package mutating func gave(_ header: ParcelHeader, to device: DeviceKey, isTheirs: Bool, at now: Int64) {
    if let parcel = own(header) {
      guard !isTheirs else { return }
      if place(of: device, in: parcel) == nil { _ = promise(header, to: device, isTheirs: isTheirs, at: now) }
      guard let place = outgoing[header.id].flatMap({ place(of: device, in: $0) }), place == Int(header.branch) else {
        return
      }
      outgoing[header.id]?.carriers[place].isConfirmed = true
    } else if let parcel = satchel.parcels[header.copy] {
      account.moved(header.size, at: now)
      if isTheirs {
        if !parcel.isHandedOver { account.deliveredForOthers.addSaturating(1) }
        satchel.update(header.copy) { $0.isHandedOver = true }
      } else if isOpen(parcel, to: device) {
        satchel.update(header.copy) { $0.handedTo.append(device) }
      }
    }
  }

  /// Takes a parcel that `device` gave, or that a server kept.
  ///
  /// What isn't for this device is carried within ``limits``; of what the header says nothing is believed beyond them.
  package mutating func took(
    _ header: ParcelHeader, from device: DeviceKey, isPeer: Bool, isMine: Bool, at now: Int64
  ) -> Arrival {
    guard isAlive(header.expiresAt, at: now), device != own else { return .refused }
    if isMine { return received.contains(header.id) ? .known : .mine }
    let isAllowed = takes(header.size, at: now)
    // It has come over the radio, whatever becomes of it.
    movedInVain(header.size, at: now)
    if isKnown(header) { return .known }
    guard isAllowed, isOnABranch(header) else { return .refused }
    var header = header
    header.hopsLeft = min(header.hopsLeft, policy.hops - 1)
    let parcel = CarriedParcel(header: header, from: device, fromPeer: isPeer, receivedAt: now)
    guard case .taken(let evicted) = satchel.take(parcel, limits) else { return .refused }
    account.carriedForOthers.addSaturating(header.size)
    carried.insert(header.copy, until: header.expiresAt, at: now)
    return .carried(evicted: evicted)
  }

  /// Counts bytes that came for nothing: they use up the day's as what is carried does.
  package mutating func movedInVain(_ byteCount: Int, at now: Int64) { account.moved(byteCount, at: now) }

  /// An own parcel, if this is it: its sender never has another copy.
  private func own(_ header: ParcelHeader) -> OutgoingParcel? {
    outgoing[header.id].flatMap { $0.header.copy == header.copy ? $0 : nil }
  }

  /// Only its sender has a copy without a branch, and gives none to carriers: who passed one on would be taken for the
  /// sender, and be to blame for what is in it.
  private func isOnABranch(_ header: ParcelHeader) -> Bool { header.branch != ParcelHeader.noBranch }

  private func isKnown(_ header: ParcelHeader) -> Bool {
    carried.contains(header.copy) || outgoing[header.id] != nil || receipts[header.id] != nil
  }

  private func takes(_ size: Int, at now: Int64) -> Bool {
    limits.isOn && size <= account.leftToday(limits, at: now) && account.isFair(size, limits)
  }

  /// The branch by which `device` may get an own parcel: the next one, or again its own. Nil: none.
  private func branch(of parcel: OutgoingParcel, for device: DeviceKey) -> UInt8? {
    guard let place = place(of: device, in: parcel) else {
      return parcel.carriers.count < policy.carriers ? UInt8(parcel.carriers.count) : nil
    }
    return parcel.carriers[place].isOpen ? UInt8(place) : nil
  }

  private func place(of device: DeviceKey, in parcel: OutgoingParcel) -> Int? {
    parcel.carriers.firstIndex { $0.carrier == device }
  }

  private func isOpen(_ parcel: CarriedParcel, to device: DeviceKey) -> Bool {
    parcel.header.hopsLeft > 0 && parcel.from != device && parcel.handedTo.count < policy.handOn
      && !parcel.handedTo.contains(device)
  }

  /// Whether the parcel has waited long enough for the next of its carriers to be anybody.
  private func isImpatient(_ parcel: OutgoingParcel, at now: Int64) -> Bool {
    guard policy.patience > 0 else { return true }
    return elapsed(from: parcel.createdAt, to: now) / policy.patience >= Int64(parcel.carriers.count)
  }

  /// Whether so much of the parcel's time is over that even a carrier that is shunned is better than none.
  private func isDesperate(_ parcel: OutgoingParcel, at now: Int64) -> Bool {
    let lifetime = elapsed(from: parcel.createdAt, to: parcel.header.expiresAt)
    return elapsed(from: parcel.createdAt, to: now) >= lifetime / 4
  }
}
