/// What a device decides about parcels that travel by carriers: what it carries, what it gives to whom, and whom it
/// believes.
///
/// There is no clock, no randomness and no storage in here, and no content of parcels: time comes in milliseconds since
/// 1970, chance from a generator, and the whole value can be stored. When two devices meet, each of them
/// 1. notes it (``met(_:isPeer:at:)``) and says its ``greeting(for:_:isTheirs:at:)``;
/// 2. tells receipts (``receipts(for:_:at:)``), which the other checks and takes (``learn(_:from:at:)``);
/// 3. offers parcels (``offers(to:_:_:isTheirs:declined:at:)``), the recipient's own first;
/// 4. replies to offers (``replies(to:from:isPeer:_:isMine:recipient:at:)``);
/// 5. gives some of what is wanted (``selection(_:_:to:budget:recipient:at:using:)``), of which it notes that before it
///    goes out (``promise(_:to:isTheirs:at:)``) and when it has arrived (``gave(_:to:isTheirs:at:)``, or
///    ``takeBack(_:from:)``), which the other takes (``took(_:from:isPeer:isMine:at:)``), and confirms if it is the
///    recipient (``confirmed(_:at:)``).
///
/// Carriers are others' devices, and some lie. What one can do, and no more:
/// - **Drop.** Each parcel goes to at most five carriers of its sender's choice, and the sender keeps it until its
///   recipient confirms. A carrier that drops takes one of the five places of each parcel it is given, and those of the
///   carriers that it would have handed it on to. After some parcels its sender shuns it (``CarrierRecords``): others
///   come first, but for one parcel in sixteen and those that have waited for long. One that takes the bytes and breaks
///   off has a place as well, and isn't shunned for that: nobody can tell it from one whose line broke.
/// - **Say that it meets everybody.** It gets parcels sooner, at most one of a parcel's five places, and one of the
///   ``CourierPolicy/handOn`` places of each carrier that holds it. Nobody gives their own copy away, and nothing of
///   what it says enters anybody's table of meetings. A carrier doesn't learn whether those that it hands on to
///   deliver: if 30 % of all lie so and drop, 52 % of parcels arrive in the simulation, and 74 % if they only drop.
/// - **Say that a parcel was delivered.** Only the recipient can make a ``Receipt``; the caller checks it before
///   ``learn(_:from:at:)``. A receipt, once seen, can be kept back: then copies live until they expire.
/// - **Flood.** It gets at most ``CarryingLimits/bytesPerGiver``, displaces nobody who has given less, and as a
///   stranger shares ``CarryingLimits/strangersPercent`` with all strangers. It can use up the day's bytes of those it
///   meets: so ``CarryingLimits/bytesADay`` is also what a flood costs at most, bytes that come in vain included
///   (``movedInVain(_:at:)``), and while it lasts others aren't carried on that day. All tables are bounded; in full
///   ones it pushes out its own first, or what matters least.
/// - **Invent parcels, change hops or expiry, keep copies.** Copies that it makes count as given by it. Hops are capped
///   at this device's own, and an expiry beyond 31 days isn't taken.
/// - **Alter.** The recipient notices, and still takes a true copy. So do carriers: what others have put under the same
///   id is another copy (``CopyKey``), which they carry beside it, at its giver's cost, and at most
///   ``Satchel/copyLimit`` of one giver. The caller of ``took(_:from:isPeer:isMine:at:)`` has worked out the digest
///   from the bytes.
/// - **Change the branch.** A carrier that does deliver can have another named for it, which thereby isn't shunned.
/// - **Be many.** Each new identity can do the above once more: take one of five places of each parcel. A sender
///   surrounded by nothing but liars reaches nobody by carriers; its own way to the recipient stays.
/// - **Watch.** It sees ids, sizes, times, and who gives what to whom; and asks with an offer how likely one meets
///   whoever a tag is for, if it knows the tag. Only devices that know the recipient answer more than how often they
///   reach a server.
package struct Courier: Sendable {
  static let outgoingLimit = 4096

  package let own: DeviceKey
  package var policy: CourierPolicy
  /// What its person gives to others. After lowering them, see ``fit()``.
  package var limits: CarryingLimits
  package internal(set) var satchel = Satchel()
  package internal(set) var outgoing: [ParcelKey: OutgoingParcel] = [:]
  package internal(set) var receipts = ReceiptBook()
  package internal(set) var encounters = Encounters()
  package internal(set) var records = CarrierRecords()
  package internal(set) var account = CarryingAccount()
  var carried = SeenParcels<CopyKey>()
  var received = SeenParcels<ParcelKey>()

  /// A device that has nothing and has met nobody. It carries for others, unless `limits` say otherwise.
  package init(own: DeviceKey, policy: CourierPolicy = CourierPolicy(), limits: CarryingLimits = CarryingLimits()) {
    (self.own, self.policy, self.limits) = (own, policy, limits)
    receipts.own = own
  }

  /// Sends a parcel of this device's own, by servers too if it `allowsServers`. Returns false if it can't: expired,
  /// known, or too many are on their way.
  package mutating func send(
    _ copy: CopyKey, tag: RecipientTag, size: Int, expiresAt: Int64, to recipient: DeviceKey,
    allowsServers: Bool = false, at now: Int64
  ) -> Bool {
    guard
      outgoing.count < Self.outgoingLimit, outgoing[copy.id] == nil, recipient != own, isAlive(expiresAt, at: now),
      let header = ParcelHeader(
        copy: copy, tag: tag, size: size, expiresAt: expiresAt, hopsLeft: policy.hops, branch: ParcelHeader.noBranch,
        allowsServers: allowsServers)
    else { return false }
    outgoing[copy.id] = OutgoingParcel(header: header, recipient: recipient, createdAt: now)
    return true
  }

  /// Notes that a meeting with another device began, or that a server was reached (``DeviceKey/network``).
  package mutating func met(_ device: DeviceKey, isPeer: Bool, at now: Int64) {
    if device != own { encounters.met(device, isPeer: isPeer || device == .network, at: now) }
  }

  /// Forgets what has expired. Returns the own parcels that never arrived; their carriers are settled.
  package mutating func expire(at now: Int64) -> [ParcelKey] {
    satchel.removeExpired(at: now)
    receipts.removeExpired(at: now)
    carried.removeExpired(at: now)
    received.removeExpired(at: now)
    let lost = outgoing.values.filter { $0.header.expiresAt <= now }.map(\.header.id).sorted()
    for id in lost {
      guard let parcel = outgoing.removeValue(forKey: id) else { continue }
      for grant in parcel.carriers where grant.isConfirmed {
        records.settle(grant.carrier, arrived: false, othersArrived: false, at: now)
      }
    }
    return lost
  }

  /// Drops what no longer fits in ``limits``; returns which copies that were.
  package mutating func fit() -> [CopyKey] { satchel.fit(limits) }

  /// Takes receipts that the caller has checked: see ``Receipt``. At most ``Greeting/idLimit`` at once are read.
  package mutating func learn(_ receipts: [Receipt], from device: DeviceKey, at now: Int64) -> Learned {
    var learned = Learned()
    for receipt in receipts.prefix(Greeting.idLimit) {
      // What is known has done its work: no parcel is taken whose receipt is here.
      guard self.receipts[receipt.id] == nil, let receipt = dated(receipt, at: now) else { continue }
      if let parcel = outgoing.removeValue(forKey: receipt.id) {
        settle(parcel, receipt, at: now)
        learned.delivered.append(receipt.id)
      }
      for copy in satchel.copies(of: receipt.id).sorted() {
        satchel.remove(copy)
        learned.dropped.append(copy)
      }
      _ = self.receipts.learn(receipt, from: device, at: now)
    }
    return learned
  }

  /// A receipt with the time of its parcel, where that is known. What it says itself nobody vouches for: who passes it
  /// on could have it forgotten at once, and the other copies live on. Where nothing is known it keeps its own time, so
  /// that none goes round for ever. Nil: it is worth nothing any more.
  private func dated(_ receipt: Receipt, at now: Int64) -> Receipt? {
    // Of several copies nobody here knows the true one: the last of them to expire is the last that needs it.
    let carried = satchel.copies(of: receipt.id).compactMap { satchel.parcels[$0]?.header.expiresAt }.max()
    let expiry = outgoing[receipt.id]?.header.expiresAt ?? carried ?? receipt.expiresAt
    guard isAlive(expiry, at: now) else { return nil }
    return Receipt(id: receipt.id, branch: receipt.branch, expiresAt: expiry, proof: receipt.proof)
  }

  /// Notes that a parcel for this device has been opened and found genuine, and keeps its receipt, to tell it to
  /// others.
  package mutating func confirmed(_ receipt: Receipt, at now: Int64) {
    received.insert(receipt.id, until: receipt.expiresAt, at: now)
    _ = receipts.learn(receipt, from: own, at: now)
  }

  /// Parcels to leave at a server that keeps them for their recipients: own ones, then others', those that expire first
  /// first; none whose sender wants no server.
  ///
  /// `isReachable` tells whether a server that this device reaches keeps anything for whoever a parcel of others is
  /// for.
  package func deposits(
    _ condition: DeviceCondition, at now: Int64, isReachable: (ParcelHeader) -> Bool = { _ in true }
  ) -> [CopyKey] {
    func forServers(_ headers: [ParcelHeader]) -> [ParcelHeader] {
      sorted(headers.filter { $0.allowsServers && $0.expiresAt > now })
    }
    var copies = forServers(outgoing.values.filter { !$0.isDeposited }.map(\.header)).map(\.copy)
    guard limits.isOn, isAwake(condition) else { return copies }
    var left = account.leftToday(limits, at: now)
    // What was handed over is at its recipient's, whose receipt may still be on its way.
    let others = satchel.parcels.values.filter { !$0.isDeposited && !$0.isHandedOver }.map(\.header)
    for header in inTurn(forServers(others)) where header.size <= left && isReachable(header) {
      left -= header.size
      copies.append(header.copy)
    }
    return copies
  }

  /// Notes that a server has a parcel, or is about to get it.
  package mutating func deposited(_ copy: CopyKey, at now: Int64) {
    if outgoing[copy.id]?.header.copy == copy { outgoing[copy.id]?.isDeposited = true }
    if let parcel = satchel.parcels[copy], !parcel.isDeposited {
      account.moved(parcel.header.size, at: now)
      satchel.update(copy) { $0.isDeposited = true }
    }
  }

  /// Notes that the server doesn't have a parcel of others after all. What it was counted for stays counted.
  package mutating func notDeposited(_ copy: CopyKey) { satchel.update(copy) { $0.isDeposited = false } }

  /// How likely this device gets a parcel to `recipient`, by a meeting or by a server. Nil: it doesn't know who that
  /// is.
  ///
  /// A server counts a quarter: nobody here knows whether the recipient reaches it; and nothing, if the parcel isn't
  /// for servers.
  package func estimate(for recipient: DeviceKey?, allowsServers: Bool, at now: Int64) -> Double {
    let meets = recipient.map { encounters.predictability(of: $0, at: now) } ?? 0
    guard allowsServers else { return meets }
    return 1 - (1 - meets) * (1 - CourierPolicy.serverWeight * encounters.predictability(of: .network, at: now))
  }

  private mutating func settle(_ parcel: OutgoingParcel, _ receipt: Receipt, at now: Int64) {
    let branch = Int(receipt.branch)
    guard branch < parcel.carriers.count else {
      // The sender was faster: that says nothing about its carriers.
      account.sentDirectly.addSaturating(1)
      return
    }
    account.sentByCarriers.addSaturating(1)
    account.carriedForMe.addSaturating(parcel.header.size)
    // What may never have got there says nothing about its carrier, whichever branch others name.
    for (index, grant) in parcel.carriers.enumerated() where grant.isConfirmed {
      records.settle(grant.carrier, arrived: index == branch, othersArrived: true, at: now)
    }
  }

  func isAlive(_ expiresAt: Int64, at now: Int64) -> Bool {
    let (left, overflow) = expiresAt.subtractingReportingOverflow(now)
    return !overflow && left > 0 && left <= ParcelHeader.longest
  }

  func isAwake(_ condition: DeviceCondition) -> Bool { (condition.battery ?? 100) >= limits.leastBattery }

  func sorted(_ headers: [ParcelHeader]) -> [ParcelHeader] {
    headers.sorted { ($0.expiresAt, $0.copy) < ($1.expiresAt, $1.copy) }
  }

  /// The same, but what somebody has brought under an id besides their first copy behind all else: who brings many
  /// holds up no others.
  func inTurn(_ headers: [ParcelHeader]) -> [ParcelHeader] {
    let turns = satchel.turns()
    guard !turns.isEmpty else { return headers }
    let placed = headers.enumerated().map { place, header in (turns[header.copy] ?? 0, place, header) }
    return placed.sorted { ($0.0, $0.1) < ($1.0, $1.1) }.map { $0.2 }
  }
}
