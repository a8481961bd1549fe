import Courier
import Sodium
import VaultProtocol
import VaultStore

/// What a device decides and stores in a meeting. Nothing is locked between two steps: programs of one vault may meet several peers at once.
///
/// Only what can be verified of what the peer says is believed, and every sum has a limit.
struct CourierDesk: Sendable {
  /// Most bytes that are given, and most that are taken, in one meeting.
  static let byteBudget = 64 << 20 + Offer.limit * 64
  /// The same over Bluetooth, in parcels of the size that the setting `ble-limit` allows.
  private static let nearbyBudget = 10
  /// Peers among whom a parcel's recipient is looked for.
  private static let peopleLimit = 1024
  /// Own parcels that the courier learns of in one meeting.
  private static let newLimit = 256

  let room: Meetings
  let peer: PeerRecord
  /// Whether that is over Bluetooth.
  let isNearby: Bool
  /// Most bytes of one parcel.
  let parcelLimit: Int
  /// Most bytes in each direction.
  let budget: Int
  /// What this device says first.
  let greeting: CarrierGreeting
  let device: DeviceKey
  private let lookup: RecipientLookup
  /// Own parcels that no carrier gets at present.
  private let heldBack: Set<ParcelKey>

  /// Notes the meeting, and tells the courier what this device has to send.
  init(_ room: Meetings, meeting peer: PeerRecord, isNearby: Bool) throws {
    self.room = room
    self.peer = peer
    self.isNearby = isNearby
    let device = try Carrying.device(peer.digest)
    self.device = device
    let limit = isNearby ? Int(clamping: room.core.nearbySettings().byteLimit) : ParcelHeader.sizeLimit
    parcelLimit = min(limit, ParcelHeader.sizeLimit)
    let nearbyBudget = parcelLimit.multipliedReportingOverflow(by: Self.nearbyBudget)
    budget = isNearby && !nearbyBudget.overflow ? min(Self.byteBudget, nearbyBudget.partialValue) : Self.byteBudget
    let now = room.environment.now()
    // Read before the parcels are listed, so that what another program adds meanwhile isn't withdrawn.
    let before = try room.carrying.readCourier()
    lookup = RecipientLookup(try Self.people(room, before.encounters, at: now))
    let (all, spreading) = try room.post.outgoingRecordsOfMeetings(at: now)
    let open = Set(spreading.compactMap { ParcelKey($0.id.bytes) })
    let known = Set(all.compactMap { ParcelKey($0.id.bytes) })
    heldBack = known.subtracting(open)
    let gone = before.outgoing.keys.filter { !known.contains($0) }
    let fresh = try Self.fresh(all, before, room)
    let limits = room.carrying.carryingLimits()
    let condition = room.carrying.deviceCondition()
    greeting = try room.carrying.changeCourier { courier, _ in
      courier.limits = limits
      _ = courier.fit()
      _ = courier.expire(at: now)
      for id in gone { courier.withdraw(id) }
      for one in fresh {
        _ = courier.send(
          one.copy, tag: one.tag, size: one.size, expiresAt: one.expiresAt, to: one.recipient,
          allowsServers: one.allowsServers, at: now)
      }
      courier.met(device, isPeer: true, at: now)
      return courier.greeting(for: device, condition, isTheirs: { Self.isFor(peer.digest, $0) }, at: now)
    }
  }

  // MARK: - Beginning

  private struct FreshParcel: Sendable {
    let copy: CopyKey
    let tag: RecipientTag
    let size: Int
    let expiresAt: Int64
    let recipient: DeviceKey
    let allowsServers: Bool
  }

  /// Own parcels that the courier doesn't know yet, oldest first.
  private static func fresh(_ records: [ParcelRecord], _ courier: Courier, _ room: Meetings) throws -> [FreshParcel] {
    var fresh: [FreshParcel] = []
    let usesServers = room.post.usualWays().hasServers
    for record in records.sorted(by: { $0.createdAt < $1.createdAt }) {
      guard fresh.count < newLimit else { break }
      guard let id = ParcelKey(record.id.bytes), courier.outgoing[id] == nil,
        // It may have been confirmed since the list was read; a damaged one is reported when it is posted.
        let content = try room.post.parcelContent(record.id),
        let parcel = try? Parcel.decode(content, limit: Parcel.byteLimit), parcel.id == record.id,
        let tag = RecipientTag(parcel.tag)
      else { continue }
      let copy = try copy(of: parcel)
      fresh.append(
        FreshParcel(
          copy: copy, tag: tag, size: content.count, expiresAt: parcel.expiresAt,
          recipient: try Carrying.device(record.peer), allowsServers: usesServers && record.ways.hasServers))
    }
    return fresh
  }

  /// Peers that may be met again: for others no parcel is carried.
  private static func people(
    _ room: Meetings, _ encounters: Encounters, at now: Int64
  ) throws -> [Digest: DeviceKey] {
    var people: [Digest: DeviceKey] = [:]
    let peers = try room.database.peers()
    room.carrying.memory.notePeers(Set(peers.map(\.digest)))
    for peer in peers where people.count < peopleLimit {
      let device = try Carrying.device(peer.digest)
      if encounters.predictability(of: device, at: now) > 0 { people[peer.digest] = device }
    }
    return people
  }

  static func copy(of parcel: Parcel) throws -> CopyKey {
    let copy: ParcelCopy
    do { copy = try parcel.copy() } catch { throw VaultError(.other, "hashing failed") }
    guard let key = CopyKey(copy) else { throw VaultError(.other, "a parcel's digest has the wrong size") }
    return key
  }

  // MARK: - Receipts

  func receipts(for greeting: CarrierGreeting) throws -> [CarriedReceipt] {
    let now = room.environment.now()
    return try room.carrying.changeCourier { courier, _ in courier.receipts(for: device, greeting, at: now) }
  }

  /// Takes the peer's genuine receipts; returns how many were new. `handedOver` is the parcel that its recipient has just got from here.
  func learn(_ receipts: [CarriedReceipt], handedOver: ParcelKey? = nil) throws -> Int {
    guard !receipts.isEmpty else { return 0 }
    let now = room.environment.now()
    let courier = try room.carrying.readCourier()
    var genuine: [CarriedReceipt] = []
    for receipt in receipts.prefix(CarrierGreeting.idLimit) where courier.receipts[receipt.id] == nil {
      guard let id = ParcelID(receipt.id.bytes), ParcelProof.isGenuine(receipt.proof, for: id) else { continue }
      let word = ParcelReceipt(id: id, branch: receipt.branch, expiresAt: receipt.expiresAt, proof: receipt.proof)
      let way: ParcelArrival.Way? = handedOver == receipt.id ? (isNearby ? .bluetooth : .session) : nil
      let parcel = courier.outgoing[receipt.id]
      let carriers = parcel?.carriers.compactMap { try? Digest($0.carrier.bytes) } ?? []
      let isConfirmed = try room.post.takeReceipt(word, handedOverBy: way, carriers: carriers)
      // Whoever has seen the receipt of an own parcel may have changed the branch in it.
      guard isConfirmed || parcel == nil else { continue }
      genuine.append(receipt)
    }
    guard !genuine.isEmpty else { return 0 }
    _ = try room.carrying.changeCourier { courier, _ in courier.learn(genuine, from: device, at: now) }
    return genuine.count
  }

  // MARK: - Offers

  func offers(to greeting: CarrierGreeting) throws -> [CarriedOffer] {
    let now = room.environment.now()
    var courier = try room.carrying.readCourier()
    let monotonic = room.environment.monotonic()
    for id in heldBack where courier.outgoing[id]?.recipient != device { courier.withdraw(id) }
    let offers = courier.offers(
      to: device, greeting, room.carrying.deviceCondition(), isTheirs: { Self.isFor(peer.digest, $0) },
      declined: room.carrying.memory.declined(by: peer.digest, at: monotonic), at: now)
    return offers.filter { offer in
      // What it wanted and then refused isn't offered again to be carried.
      offer.header.size <= parcelLimit
        && (offer.isYours || !room.carrying.memory.isRefused(offer.header.copy, from: peer.digest, at: monotonic))
    }
  }

  func replies(to offers: [CarriedOffer]) throws -> [CarriedReply] {
    let now = room.environment.now()
    let monotonic = room.environment.monotonic()
    let courier = try room.carrying.readCourier()
    let ownDigest = room.identity.keys.digest
    let replies = courier.replies(
      to: offers, from: device, isPeer: true, room.carrying.deviceCondition(), isMine: { Self.isFor(ownDigest, $0) },
      recipient: { lookup.recipient(of: $0) }, at: now)
    let isWasteful = room.carrying.memory.hasWastedEnough(peer.digest, isCarried: false, at: monotonic)
    let carriesWaste = room.carrying.memory.hasWastedEnough(peer.digest, isCarried: true, at: monotonic)
    let reserve = room.core.diskReserve
    var left = budget
    return zip(offers, replies).map { offer, reply in
      guard case .wanted = reply.answer else { return reply }
      let size = offer.header.size
      let isCarried = offer.header.branch != ParcelHeader.noBranch
      guard !isWasteful, !(carriesWaste && isCarried), size <= parcelLimit, size <= left,
        reserve.allows(UInt64(budget - left + size)),
        !room.carrying.memory.isRefused(offer.header.copy, from: peer.digest, at: monotonic)
      else { return CarriedReply(copy: reply.copy, answer: .refused) }
      left -= size
      return reply
    }
  }

  /// What of the offers the peer gets.
  func selection(_ offers: [CarriedOffer], _ replies: [CarriedReply]) throws -> [ParcelHeader] {
    let now = room.environment.now()
    let courier = try room.carrying.readCourier()
    let wanted = Set(replies.filter { if case .wanted = $0.answer { true } else { false } }.map(\.copy))
    let declined = offers.map(\.header.copy).filter { !wanted.contains($0) }
    room.carrying.memory.noteDeclined(declined, by: peer.digest, at: room.environment.monotonic())
    var generator = SystemRandomNumberGenerator()
    return courier.selection(
      offers, replies, to: device, budget: budget, recipient: { lookup.recipient(of: $0) }, at: now, using: &generator)
  }

  /// Whether one of these is for the peer or for this device.
  func concern(_ headers: [ParcelHeader]) -> Bool {
    let own = room.identity.keys.digest
    return headers.contains { Self.isFor(peer.digest, $0) || Self.isFor(own, $0) }
  }

  static func isFor(_ card: Digest, _ header: ParcelHeader) -> Bool {
    guard let id = ParcelID(header.id.bytes) else { return false }
    do { return try Parcel.tag(of: id, for: card) == header.tag.bytes } catch { return false }
  }
}
