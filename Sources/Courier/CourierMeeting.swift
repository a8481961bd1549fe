/// The steps of a meeting, in the order in which they are taken.
extension Courier {
  /// What this device says first.
  public func greeting(_ condition: DeviceCondition, at now: Int64) -> Greeting {
    var ids = Array(satchel.parcels.keys) + Array(outgoing.keys)
    if ids.count > Greeting.idLimit {
      ids = sorted(satchel.parcels.values.map(\.header) + outgoing.values.map(\.header)).map(\.id)
    }
    return Greeting(
      ids: ids,
      takes: limits.isOn && isAwake(condition) && account.leftToday(limits, at: now) > 0 && account.isFair(0, limits))
  }

  /// Receipts for the other: of what it carries or has sent, and what is new since the last meeting with it.
  public mutating func receipts(for device: DeviceKey, _ greeting: Greeting, at now: Int64) -> [Receipt] {
    let told = receipts.toTell(device, greeting.ids, since: encounters.told(device))
    encounters.tell(device, at: now)
    return told.filter { $0.expiresAt > now }
  }

  /// What this device could give to `device`: first what is addressed to it, then own parcels that need a carrier, then
  /// what may be handed on.
  ///
  /// `isTheirs` tells whether a parcel's tag is that of `device`.
  public func offers(
    to device: DeviceKey, _ greeting: Greeting, _ condition: DeviceCondition, isTheirs: (ParcelHeader) -> Bool,
    at now: Int64
  ) -> [Offer] {
    var theirs: [ParcelHeader] = []
    var own: [ParcelHeader] = []
    var others: [ParcelHeader] = []
    for parcel in outgoing.values where parcel.header.expiresAt > now {
      if parcel.recipient == device {
        theirs.append(parcel.header)
      } else if greeting.takes, isOpen(parcel, to: device), !greeting.contains(parcel.header.id),
        let header = parcel.header.handedOn(branch: UInt8(parcel.carriers.count))
      {
        own.append(header)
      }
    }
    let awake = isAwake(condition)
    for parcel in satchel.parcels.values where parcel.header.expiresAt > now {
      if isTheirs(parcel.header) {
        theirs.append(parcel.header)
      } else if greeting.takes, awake, isOpen(parcel, to: device), !greeting.contains(parcel.header.id),
        let header = parcel.header.handedOn(branch: parcel.header.branch)
      {
        others.append(header)
      }
    }
    let first = sorted(theirs).map { Offer(header: $0, isYours: true) }
    let rest = (sorted(own) + sorted(others)).map { Offer(header: $0, isYours: false) }
    return Array((first + rest).prefix(Offer.limit))
  }

  /// Which of the other's offers this device wants.
  ///
  /// `isMine` tells whether a parcel's tag is this device's, `recipient` whose it is, if this device knows them.
  public func replies(
    to offers: [Offer], from device: DeviceKey, isPeer: Bool, _ condition: DeviceCondition,
    isMine: (ParcelHeader) -> Bool,
    recipient: (ParcelHeader) -> DeviceKey?, at now: Int64
  ) -> [Reply] {
    var moved = 0
    return offers.prefix(Offer.limit).map { offer in
      let header = offer.header
      guard isAlive(header.expiresAt, at: now) else { return Reply(id: header.id, answer: .refused) }
      if isMine(header) {
        return Reply(id: header.id, answer: received.contains(header.id) ? .had : .wanted(UInt16.max))
      }
      if carried.contains(header.id) || outgoing[header.id] != nil || receipts[header.id] != nil {
        return Reply(id: header.id, answer: .had)
      }
      let parcel = CarriedParcel(header: header, from: device, fromPeer: isPeer, receivedAt: now)
      guard isAwake(condition), takes(header.size + moved, at: now), case .taken = satchel.taking(parcel, limits) else {
        return Reply(id: header.id, answer: .refused)
      }
      moved += header.size
      let likelihood = estimate(for: recipient(header), at: now)
      return Reply(id: header.id, answer: .wanted(UInt16(likelihood * Double(UInt16.max))))
    }
  }

  /// What of the offers is given to `device` after its replies, in this order, within `budget` bytes.
  ///
  /// - What is addressed to it, in any case.
  /// - Own parcels, if fewer than ``CourierPolicy/carriers`` have them: to a carrier that is more likely than this
  ///   device to reach the recipient, at once; to any, when patience is over; to one that is shunned, once in a while,
  ///   or when a quarter of the parcel's time is over.
  /// - Others' parcels, to a carrier that is more likely than this device; the last to one that meets the recipient.
  public func selection(
    _ offers: [Offer], _ replies: [Reply], to device: DeviceKey, budget: Int, recipient: (ParcelHeader) -> DeviceKey?,
    at now: Int64, using generator: inout some RandomNumberGenerator
  ) -> [ParcelHeader] {
    let wanted = Dictionary(
      replies.prefix(Offer.limit).compactMap { reply -> (ParcelKey, UInt16)? in
        guard case .wanted(let claim) = reply.answer else { return nil }
        return (reply.id, claim)
      }, uniquingKeysWith: { first, _ in first })
    let belief = policy.usesRecords ? records.belief(in: device, at: now) : 1
    let shunned = policy.usesRecords && records.isShunned(device, at: now)
    var left = budget
    var today = account.leftToday(limits, at: now)
    var chosen: [ParcelHeader] = []
    for offer in offers {
      let header = offer.header
      guard let claim = wanted[header.id], header.size <= left else { continue }
      let believed = Double(claim) / Double(UInt16.max) * belief
      if let parcel = outgoing[header.id] {
        if !offer.isYours {
          if shunned, !isDesperate(parcel, at: now), generator.next() % CourierPolicy.exploration != 0 { continue }
          let better = believed > estimate(for: parcel.recipient, at: now)
          guard better || isImpatient(parcel, at: now) else { continue }
        }
      } else {
        guard let parcel = satchel.parcels[header.id], header.size <= today else { continue }
        let better = !shunned && believed > estimate(for: recipient(header), at: now)
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

  /// Notes that `device` has got a parcel of the selection: before its receipt, if it is the recipient, is learned.
  public mutating func gave(_ header: ParcelHeader, to device: DeviceKey, isTheirs: Bool, at now: Int64) {
    if let parcel = outgoing[header.id] {
      if !isTheirs, isOpen(parcel, to: device) {
        outgoing[header.id]?.carriers.append(OutgoingParcel.Grant(carrier: device, at: now))
      }
    } else if let parcel = satchel.parcels[header.id] {
      account.moved(header.size, at: now)
      if isTheirs {
        if !parcel.isHandedOver { account.deliveredForOther() }
        satchel.update(header.id) { $0.isHandedOver = true }
      } else if isOpen(parcel, to: device) {
        satchel.update(header.id) { $0.handedTo.append(device) }
      }
    }
  }

  /// Takes a parcel that `device` gave, or that a server kept.
  ///
  /// What isn't for this device is carried within ``limits``; of what the header says nothing is believed beyond them.
  public mutating func took(
    _ header: ParcelHeader, from device: DeviceKey, isPeer: Bool, isMine: Bool, at now: Int64
  ) -> Arrival {
    guard isAlive(header.expiresAt, at: now), device != own else { return .refused }
    if isMine {
      return received.contains(header.id) ? .known : .mine
    }
    if carried.contains(header.id) || outgoing[header.id] != nil || receipts[header.id] != nil { return .known }
    guard takes(header.size, at: now), let header = header.capped(hops: policy.hops - 1) else { return .refused }
    // It has come over the radio, whether or not there is room.
    account.moved(header.size, at: now)
    let parcel = CarriedParcel(header: header, from: device, fromPeer: isPeer, receivedAt: now)
    guard case .taken(let evicted) = satchel.take(parcel, limits) else { return .refused }
    account.took(header.size)
    carried.insert(header.id, until: header.expiresAt, at: now)
    return .carried(evicted: evicted)
  }

  private func takes(_ size: Int, at now: Int64) -> Bool {
    limits.isOn && size <= account.leftToday(limits, at: now) && account.isFair(size, limits)
  }

  private func isOpen(_ parcel: OutgoingParcel, to device: DeviceKey) -> Bool {
    parcel.carriers.count < policy.carriers && !parcel.carriers.contains { $0.carrier == device }
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
