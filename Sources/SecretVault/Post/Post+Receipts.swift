package import Sodium
package import VaultProtocol
import VaultStore

/// Receipts that are owed for others' parcels, and those that come for own ones.
extension Post {
  /// Proves to the sender that a parcel has arrived, and by which branch.
  func receipt(for id: ParcelID, _ seed: ParcelSeed, expiresAt: Int64, _ arrival: ParcelArrival) -> ParcelReceipt? {
    do {
      return ParcelReceipt(
        id: id, branch: arrival.branch, expiresAt: expiresAt, proof: try seed.proof(branch: arrival.branch))
    } catch {
      environment.log.error("a receipt can't be made: \(error)")
      return nil
    }
  }

  /// Notes that a sender is owed a receipt by parcel, unless it gets one in the session. Kept in memory: if it is lost, the parcel comes again.
  func owe(_ receipt: ParcelReceipt?, to peer: Digest, _ arrival: ParcelArrival) {
    guard let receipt, !arrival.isDirect else { return }
    let owed = ParcelMemory.Owed(peer: peer, usesServers: !arrival.isPrivate)
    parcelMemory.owe(receipt, to: owed, at: environment.monotonic())
  }

  /// Makes one parcel of a peer's receipts. What came without servers is confirmed without them: its sender may want none.
  func makeReceiptParcels() throws {
    var failure: VaultError?
    parcelMemory.payOwed { owed, receipts in
      do {
        // First, as it changes nothing if it is told again.
        try carrying.tellCourier(received: receipts)
        return try makeReceiptParcel(
          delivered: receipts, read: [], to: owed.peer, ways: usualWays(pigeonsOnly: !owed.usesServers))
      } catch {
        failure = VaultError(error)
        return false
      }
    }
    if let failure { throw failure }
  }

  /// False if it is there already.
  @discardableResult
  func makeReceiptParcel(
    delivered: [ParcelReceipt], read: [[UInt8]], to digest: Digest, ways: ParcelRecord.Ways
  ) throws -> Bool {
    // Former peers hear nothing.
    guard let peer = try database.peer(digest) else { return true }
    try makeRoomForReceipts(to: digest)
    let envelope = try MessageEnvelope(lifetime: ParcelTimes.receiptLifetime, at: environment.now())
    let content: MessageContent
    do { content = .receipts(try MessageReceipts(delivered: delivered, read: read)) } catch {
      throw VaultError(.other, "receipts can't be written: \(error)")
    }
    let parcel = try envelope.seal(content, from: identity, to: try directory.storedCard(peer).keys)
    let record = envelope.record(.receipt, to: digest, message: read.first, ways: ways)
    return try database.addParcel(record, content: parcel, replySecret: nil)
  }

  /// Receipts aren't confirmed, so those that were handed over make room first, then the oldest: who misses one sends its parcel again.
  private func makeRoomForReceipts(to peer: Digest) throws {
    let waiting = try parcels(.receipt, [.waiting, .posted]).filter { $0.peer == peer }
    guard waiting.count >= ParcelTimes.receiptsForPeer else { return }
    let oldest = waiting.filter { !$0.handedOver.isEmpty } + waiting.filter(\.handedOver.isEmpty)
    for record in oldest.prefix(waiting.count - ParcelTimes.receiptsForPeer + 1) { try end(record) }
  }

  // MARK: - Receipts for own parcels

  /// Takes a receipt for an own parcel. True if all of it is genuine, including the branch.
  ///
  /// Only the recipient can show what the parcel's id is the hash of, so that alone proves the arrival; the branch may have been changed on
  /// the way.
  ///
  /// `handedOverBy` is the way by which the recipient got the parcel a moment ago, if this is the answer; `carriers` are those to whom it was
  /// given, in the order of branches.
  @discardableResult
  package func takeReceipt(
    _ receipt: ParcelReceipt, handedOverBy way: ParcelArrival.Way?, carriers: [Digest] = []
  ) throws -> Bool {
    guard ParcelProof.isGenuine(receipt.proof, for: receipt.id),
      let record = try database.parcel(receipt.id),
      record.direction != .received, let seed = record.seed.flatMap({ ParcelSeed($0) })
    else { return false }
    let isWhole = ParcelProof.isGenuine(receipt.proof, branch: receipt.branch, seed: seed)
    let branch = isWhole ? receipt.branch : ParcelProof.noBranch
    // The others have it, too, but haven't delivered it.
    let bringer = carriers.indices.contains(Int(branch)) ? [carriers[Int(branch)]] : []
    try confirm(record, Confirmation(branch: branch, way: way, carriers: bringer, isKnown: isWhole))
    return isWhole
  }

  /// How an own parcel has arrived, as far as is known.
  struct Confirmation {
    let branch: UInt8
    let way: ParcelArrival.Way?
    /// Who first had the copy that arrived.
    let carriers: [Digest]
    /// Whether the branch is the recipient's word.
    let isKnown: Bool

    /// Only that it has arrived.
    static let unknown = Confirmation(branch: ParcelProof.noBranch, way: nil, carriers: [], isKnown: false)

    /// Empty if unknown.
    func route(of record: ParcelRecord) -> String {
      if let way { return way.name }
      guard isKnown else { return "" }
      if branch < ParcelProof.noBranch { return Way.carriers.name }
      return Way.allCases.first { record.handedOver[$0] != nil }?.name ?? ""
    }
  }

  /// An own parcel has arrived.
  func confirm(_ read: ParcelRecord, _ how: Confirmation) throws {
    switch read.direction {
    case .received: return
    case .receipt: try end(read)
    case .request, .change, .answer:
      // A request is still to be answered; an answer is kept in case its request comes again.
      try change(read) { $0.ways = [] }
    case .message: try confirmMessage(read, how)
    }
  }

  private func confirmMessage(_ parcel: ParcelRecord, _ how: Confirmation) throws {
    let now = max(1, environment.now())
    let done = try database.confirmParcel(parcel.id) { message in
      let route = how.route(of: parcel)
      if !route.isEmpty { message.route = route }
      message.add(carriers: how.carriers)
      guard message.partsDone == message.partCount else {
        if message.state == .waiting { message.state = .underway }
        return
      }
      if message.deliveredAt == 0 { message.deliveredAt = now }
      if [.waiting, .underway, .lost].contains(message.state) { message.state = .delivered }
    }
    guard let message = done?.message, message.partsDone == message.partCount else { return }
    environment.log.info("message \(message.number) has arrived")
  }

  // MARK: - Receipts that came by parcel

  /// Takes what a peer says about own parcels and messages.
  func take(_ receipts: MessageReceipts, from peer: PeerRecord, by way: ParcelArrival.Way) throws {
    var genuine: [ParcelReceipt] = []
    var probes: [ParcelRecord] = []
    for receipt in receipts.delivered {
      // Only its recipient may say so.
      guard let record = try database.parcel(receipt.id), record.peer == peer.digest else { continue }
      // The receipt may be here before it was noted that the server has the parcel.
      let isUnnoted = record.handedOver.isEmpty && receipt.branch == ParcelProof.noBranch
      let hint: ParcelArrival.Way? = isUnnoted && way == .account && record.ways.contains(.account) ? .account : nil
      guard try takeReceipt(receipt, handedOverBy: hint, carriers: carrying.carriers(of: receipt.id)) else { continue }
      genuine.append(receipt)
      if record.isProbe { probes.append(record) }
    }
    if !genuine.isEmpty {
      // It has signed for what only its box key opens.
      provedByParcel(peer)
      for probe in probes { try end(probe) }
      try carrying.tellCourier(learned: genuine)
    }
    for id in receipts.read { try noteRead(id, by: peer) }
  }

  private func noteRead(_ id: [UInt8], by peer: PeerRecord) throws {
    guard try database.message(direction: .sent, peer: peer.digest, id: id) != nil else { return }
    // What was read has arrived.
    for parcel in try parcels(.message, [.waiting, .posted])
    where parcel.peer == peer.digest && parcel.message == id {
      try confirm(parcel, .unknown)
    }
    let now = max(1, environment.now())
    try changeMessage({ () throws(StoreError) in
      try database.message(direction: .sent, peer: peer.digest, id: id)
    }) { message in
      guard message.state != .read else { return }
      message.state = .read
      message.readAt = now
      if message.deliveredAt == 0 { message.deliveredAt = now }
    }
  }

  /// Changes a message even if it has changed meanwhile; nothing if it is gone.
  func changeMessage(
    _ find: () throws(StoreError) -> MessageRecord?, _ body: (inout MessageRecord) -> Void
  ) throws {
    while let before = try find() {
      var after = before
      body(&after)
      guard after != before else { return }
      if try database.updateMessage(after, from: before) { return }
    }
  }

  /// If it belongs to a message.
  func noteUnderway(_ parcel: ParcelRecord) throws {
    guard parcel.direction == .message, let id = parcel.message else { return }
    try changeMessage({ () throws(StoreError) in
      try database.message(direction: .sent, peer: parcel.peer, id: id)
    }) { message in
      if message.state == .waiting { message.state = .underway }
    }
  }
}

extension ParcelRecord {
  /// Whether it says that messages were read. It names the first of them.
  var tellsOfReading: Bool { direction == .receipt && message != nil }
}

extension MessageRecord {
  /// Parts of a file may come by several carriers.
  mutating func add(carriers more: [Digest]) {
    for carrier in more where !carriers.contains(carrier) && carriers.count < Self.carrierLimit {
      carriers.append(carrier)
    }
  }
}
