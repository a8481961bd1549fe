import Courier
import Sodium
import VaultProtocol
import VaultStore

/// What a device decides and keeps in a meeting with one peer, step by step. Between two steps nothing is held: several programs of one vault may
/// meet different peers at once.
///
/// Nothing that the peer says is believed but what can be checked, and every sum has a limit.
struct CourierDesk: Sendable {
  /// Most bytes that are given, and most that are taken, in one meeting.
  static let byteBudget = 64 << 20 + Offer.limit * 64
  /// The same over Bluetooth, in parcels of the size that the setting `ble-limit` allows.
  private static let nearbyBudget = 10
  /// Most peers among whom a parcel's recipient is looked for.
  private static let peopleLimit = 1024
  /// Most own parcels that become known to the courier in one meeting.
  private static let newLimit = 256

  /// A peer that this device has met.
  private struct Person: Sendable {
    let digest: Digest
    let device: DeviceKey
  }

  let vault: Vault
  /// Who is met.
  let peer: PeerRecord
  /// Whether that is over Bluetooth.
  let isNearby: Bool
  /// Most bytes of a parcel that is moved.
  let parcelLimit: Int
  /// Most bytes that are moved in each direction.
  let budget: Int
  /// What this device says first.
  let greeting: CarrierGreeting
  private let own: DeviceKey
  private let device: DeviceKey
  private let people: [Person]
  /// Own parcels that no carrier gets at present.
  private let heldBack: Set<ParcelKey>

  /// Begins a meeting: notes it, and makes the courier know what this device has to send.
  init(_ vault: Vault, meeting peer: PeerRecord, isNearby: Bool) throws(VaultError) {
    self.vault = vault
    self.peer = peer
    self.isNearby = isNearby
    let own = try vault.ownDevice()
    let device = try Self.device(peer.digest)
    (self.own, self.device) = (own, device)
    let limit = isNearby ? Int(clamping: vault.nearbySettings().byteLimit) : ParcelHeader.sizeLimit
    parcelLimit = min(limit, ParcelHeader.sizeLimit)
    let nearbyBudget = parcelLimit.multipliedReportingOverflow(by: Self.nearbyBudget)
    budget = isNearby && !nearbyBudget.overflow ? min(Self.byteBudget, nearbyBudget.partialValue) : Self.byteBudget
    let now = vault.environment.now()
    // What the courier knew before is compared with what is there afterwards: what another program adds meanwhile stays.
    let before = try vault.readCourier()
    people = try Self.people(vault, before.encounters, at: now)
    let all = try vault.outgoingRecords(way: .session, at: now)
    let open = Set(try vault.outgoingRecords(way: .carriers, at: now).compactMap { ParcelKey($0.id) })
    let known = Set(all.compactMap { ParcelKey($0.id) })
    heldBack = known.subtracting(open)
    let gone = before.outgoing.keys.filter { !known.contains($0) }
    let fresh = try Self.fresh(all, before, vault)
    let limits = vault.carryingLimits()
    let condition = vault.deviceCondition()
    greeting = try vault.changeCourier { courier, _ in
      courier.limits = limits
      _ = courier.fit()
      _ = courier.expire(at: now)
      for id in gone { courier.withdraw(id) }
      for one in fresh {
        _ = courier.send(one.id, tag: one.tag, size: one.size, expiresAt: one.expiresAt, to: one.recipient, at: now)
      }
      courier.met(device, isPeer: true, at: now)
      return courier.greeting(condition, at: now)
    }
  }

  // MARK: - Beginning

  private struct FreshParcel: Sendable {
    let id: ParcelKey
    let tag: RecipientTag
    let size: Int
    let expiresAt: Int64
    let recipient: DeviceKey
  }

  /// Own parcels that the courier doesn't know yet, the oldest first.
  private static func fresh(
    _ records: [ParcelRecord], _ courier: Courier, _ vault: Vault
  ) throws(VaultError) -> [FreshParcel] {
    var fresh: [FreshParcel] = []
    for record in records.sorted(by: { $0.createdAt < $1.createdAt }) {
      guard fresh.count < newLimit else { break }
      guard let id = ParcelKey(record.id), courier.outgoing[id] == nil,
        // It may have been confirmed since the list was read, or be damaged: a post says so.
        let content = try vault.parcelContent(record.id),
        let parcel = try? Parcel.decode(content, limit: Parcel.byteLimit), parcel.id.bytes == record.id,
        let tag = RecipientTag(parcel.tag)
      else { continue }
      fresh.append(
        FreshParcel(
          id: id, tag: tag, size: content.count, expiresAt: parcel.expiresAt, recipient: try device(record.peer)))
    }
    return fresh
  }

  /// Peers that were met and may be met again: of no others it matters whom a parcel is for.
  private static func people(
    _ vault: Vault, _ encounters: Encounters, at now: Int64
  ) throws(VaultError) -> [Person] {
    var people: [Person] = []
    for peer in try stored({ () throws(StoreError) in try vault.database.peers() }) where people.count < peopleLimit {
      let device = try device(peer.digest)
      if encounters.predictability(of: device, at: now) > 0 {
        people.append(Person(digest: peer.digest, device: device))
      }
    }
    return people
  }

  static func device(_ digest: Digest) throws(VaultError) -> DeviceKey {
    guard let key = DeviceKey(digest.bytes) else { throw VaultError(.other, "a card's digest has the wrong size") }
    return key
  }

  // MARK: - Receipts

  /// Receipts for the peer.
  func receipts(for greeting: CarrierGreeting) throws(VaultError) -> [CarriedReceipt] {
    let now = vault.environment.now()
    return try vault.changeCourier { courier, _ in courier.receipts(for: device, greeting, at: now) }
  }

  /// Takes what of the peer's receipts is genuine; returns how many of them were news. `handedOver` is the parcel that the peer, its recipient, has just
  /// got from here.
  func learn(_ receipts: [CarriedReceipt], handedOver: ParcelKey? = nil) throws(VaultError) -> Int {
    guard !receipts.isEmpty else { return 0 }
    let now = vault.environment.now()
    let courier = try vault.readCourier()
    var genuine: [CarriedReceipt] = []
    for receipt in receipts.prefix(CarrierGreeting.idLimit) where courier.receipts[receipt.id] == nil {
      guard let id = ParcelID(receipt.id.bytes), ParcelProof.isGenuine(receipt.proof, for: id) else { continue }
      let word = ParcelReceipt(id: id, branch: receipt.branch, expiresAt: receipt.expiresAt, proof: receipt.proof)
      let way: ParcelArrival.Way? = handedOver == receipt.id ? (isNearby ? .bluetooth : .session) : nil
      let parcel = courier.outgoing[receipt.id]
      let carriers = parcel?.carriers.compactMap { try? Digest($0.carrier.bytes) } ?? []
      let isConfirmed = try vault.takeReceipt(word, handedOverBy: way, carriers: carriers)
      // Somebody who has seen the receipt of an own parcel may have named another branch.
      guard isConfirmed || parcel == nil else { continue }
      genuine.append(receipt)
    }
    guard !genuine.isEmpty else { return 0 }
    let taken = genuine
    _ = try vault.changeCourier { courier, _ in courier.learn(taken, from: device, at: now) }
    return taken.count
  }

  // MARK: - Offers

  /// What this device could give to the peer.
  func offers(to greeting: CarrierGreeting) throws(VaultError) -> [CarriedOffer] {
    let now = vault.environment.now()
    var courier = try vault.readCourier()
    for id in heldBack where courier.outgoing[id]?.recipient != device { courier.withdraw(id) }
    let offers = courier.offers(
      to: device, greeting, vault.deviceCondition(), isTheirs: { Self.isFor(peer.digest, $0) }, at: now)
    return offers.filter { $0.header.size <= parcelLimit }
  }

  /// What this device says to the peer's offers.
  func replies(to offers: [CarriedOffer]) throws(VaultError) -> [CarriedReply] {
    let now = vault.environment.now()
    let monotonic = vault.environment.monotonic()
    let courier = try vault.readCourier()
    let ownDigest = vault.identity.keys.digest
    let replies = courier.replies(
      to: offers, from: device, isPeer: true, vault.deviceCondition(), isMine: { Self.isFor(ownDigest, $0) },
      recipient: { recipient(of: $0) }, at: now)
    var left = budget
    return zip(offers, replies).map { offer, reply in
      guard case .wanted = reply.answer else { return reply }
      let size = offer.header.size
      guard size <= parcelLimit, size <= left,
        !vault.meetings.isRefused(offer.header.id, from: peer.digest, at: monotonic)
      else {
        return CarriedReply(id: reply.id, answer: .refused)
      }
      left -= size
      return reply
    }
  }

  /// What of the offers the peer gets, behind its replies.
  func selection(_ offers: [CarriedOffer], _ replies: [CarriedReply]) throws(VaultError) -> [ParcelHeader] {
    let now = vault.environment.now()
    let courier = try vault.readCourier()
    var generator = SystemRandomNumberGenerator()
    return courier.selection(
      offers, replies, to: device, budget: budget, recipient: { recipient(of: $0) }, at: now, using: &generator)
  }

  private func recipient(of header: ParcelHeader) -> DeviceKey? {
    people.first { Self.isFor($0.digest, header) }?.device
  }

  /// Whether a parcel is for the card with this digest.
  static func isFor(_ card: Digest, _ header: ParcelHeader) -> Bool {
    guard let id = ParcelID(header.id.bytes) else { return false }
    do throws(SodiumError) { return try Parcel.tag(of: id, for: card) == header.tag.bytes } catch { return false }
  }

  // MARK: - Parcels

  /// A parcel that is to be given; nil if it is here no more, or was damaged.
  func content(of header: ParcelHeader) throws(VaultError) -> [UInt8]? {
    let id = header.id.bytes
    if let content = try vault.parcelContent(id), isWhole(content, header) { return content }
    if let carried = try carriedContent(header.id), isWhole(carried, header) { return carried }
    try vault.changeCourier { courier, _ in courier.drop(header.id) }
    return nil
  }

  private func carriedContent(_ id: ParcelKey) throws(VaultError) -> [UInt8]? {
    do throws(StoreError) { return try vault.database.carriedContent(id) } catch .damaged { return nil } catch {
      throw VaultError(error)
    }
  }

  /// Notes that the peer has got a parcel; returns whether that was one of this device's own.
  func gave(_ header: ParcelHeader, isTheirs: Bool) throws(VaultError) -> Bool {
    let now = vault.environment.now()
    let isOwn = try vault.changeCourier { courier, _ in
      let isOwn = courier.outgoing[header.id] != nil
      courier.gave(header, to: device, isTheirs: isTheirs, at: now)
      return isOwn
    }
    let record = isOwn ? try stored { () throws(StoreError) in try vault.database.parcel(header.id.bytes) } : nil
    if let record { try vault.noteUnderway(record) }
    return isOwn
  }

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
  func take(_ parcel: MeetingIntake.Whole) throws(VaultError) -> Outcome {
    let header = parcel.header
    guard let content = parcel.content else { return .refused }
    guard isWhole(content, header) else {
      vault.meetings.refuse(
        header.id, from: peer.digest, at: vault.environment.monotonic(), for: MeetingMemory.worthlessTime)
      return .refused
    }
    return Self.isFor(vault.identity.keys.digest, header) ? try takeOwn(header, content) : try carry(header, content)
  }

  private func takeOwn(_ header: ParcelHeader, _ content: [UInt8]) throws(VaultError) -> Outcome {
    let monotonic = vault.environment.monotonic()
    let isDirect = header.branch == ParcelHeader.noBranch
    let arrival = ParcelArrival(
      way: !isDirect ? .carriers : isNearby ? .bluetooth : .session, from: peer.digest,
      hops: isDirect ? 0 : max(1, CourierPolicy().hops - min(header.hopsLeft, CourierPolicy().hops)),
      branch: header.branch)
    switch try vault.takeParcel(content, by: arrival) {
    case .taken(let receipt):
      guard let receipt,
        let word = CarriedReceipt(
          id: header.id, branch: receipt.branch, expiresAt: receipt.expiresAt, proof: receipt.proof)
      else { return .mine(nil) }
      let now = vault.environment.now()
      let isNew = try vault.changeCourier { courier, _ in
        defer { courier.confirmed(word, at: now) }
        return courier.receipts[word.id] == nil
      }
      return isNew ? .mine(word) : .known(word)
    case .ignored:
      vault.meetings.refuse(header.id, from: peer.digest, at: monotonic, for: MeetingMemory.worthlessTime)
      return .refused
    case .full:
      vault.meetings.refuse(header.id, from: peer.digest, at: monotonic, for: MeetingMemory.fullTime)
      return .refused
    }
  }

  private func carry(_ header: ParcelHeader, _ content: [UInt8]) throws(VaultError) -> Outcome {
    let now = vault.environment.now()
    let arrival = try vault.changeCourier { (courier, contents) throws(StoreError) in
      let arrival = courier.took(header, from: device, isPeer: true, isMine: false, at: now)
      // In one transaction with the word that it is carried.
      if case .carried = arrival { try contents.put(header.id, content) }
      return arrival
    }
    switch arrival {
    case .carried: return .carried
    case .known: return .known(nil)
    case .mine, .refused: return .refused
    }
  }

  /// Whether these bytes are the parcel that a header speaks of.
  private func isWhole(_ content: [UInt8], _ header: ParcelHeader) -> Bool {
    guard content.count == header.size, let parcel = try? Parcel.decode(content, limit: Parcel.byteLimit) else {
      return false
    }
    return parcel.id.bytes == header.id.bytes && parcel.tag == header.tag.bytes
      && parcel.expiresAt == header.expiresAt
  }
}

extension Vault {
  /// This device, as carriers know it.
  func ownDevice() throws(VaultError) -> DeviceKey { try CourierDesk.device(identity.keys.digest) }

  /// What the courier knows.
  func readCourier() throws(VaultError) -> Courier {
    let own = try ownDevice()
    return try mendingCourier { () throws(StoreError) in try database.readCourier(own: own) }
  }

  /// Changes what the courier knows, in one transaction; the content of what isn't carried any more goes with it.
  func changeCourier<Value>(
    _ body: (inout Courier, inout CarriedContents) throws(StoreError) -> Value
  ) throws(VaultError) -> Value {
    let own = try ownDevice()
    return try mendingCourier { () throws(StoreError) in try database.changeCourier(own: own, body) }
  }

  /// What was damaged is begun anew: of it nothing depends but what is carried for others.
  private func mendingCourier<Value>(_ body: () throws(StoreError) -> Value) throws(VaultError) -> Value {
    do throws(StoreError) { return try body() } catch .damaged(let what) {
      environment.log.error("\(what) is damaged: what was carried for others is given up")
      try stored { () throws(StoreError) in try database.resetCourier() }
      return try stored(body)
    } catch { throw VaultError(error) }
  }
}
