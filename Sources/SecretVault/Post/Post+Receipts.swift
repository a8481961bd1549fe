import PeerAuth
package import Sodium
package import VaultProtocol
import VaultStore

/// Receipts: what is owed to others for their parcels, and what comes for this device's own.
extension Post {
  /// What proves to the sender that a parcel has arrived, by the branch by which it has.
  func receipt(
    for id: ParcelID, _ seed: ParcelSeed, expiresAt: Int64, _ arrival: ParcelArrival
  ) -> ParcelReceipt? {
    do {
      return ParcelReceipt(
        id: id, branch: arrival.branch, expiresAt: expiresAt, proof: try seed.proof(branch: arrival.branch))
    } catch {
      environment.log.error("a receipt can't be made: \(error)")
      return nil
    }
  }

  /// Notes that a sender is to be told of a parcel that is durable here: in the session by which it came, or else in a parcel of this device's own. Only
  /// memory knows it: if it is lost, the parcel comes again, and so does this.
  func owe(_ receipt: ParcelReceipt?, to peer: Digest, _ arrival: ParcelArrival) {
    guard let receipt, !arrival.isDirect else { return }
    let owed = ParcelMemory.Owed(peer: peer, usesServers: !arrival.isPrivate)
    parcelMemory.owe(receipt, to: owed, at: environment.monotonic())
  }

  /// Makes parcels of what is owed: of many receipts for one peer a single one. What came without servers is confirmed without them: its sender may
  /// want none.
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

  /// Makes a parcel of receipts. False if it is there already.
  @discardableResult
  func makeReceiptParcel(
    delivered: [ParcelReceipt], read: [[UInt8]], to digest: Digest, ways: ParcelRecord.Ways
  ) throws -> Bool {
    // Whoever is no peer any more hears nothing.
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

  /// No receipt comes for what went by servers, so those that were handed over make room for new ones first, and then the oldest: who misses word of an
  /// arrival sends its parcel again.
  private func makeRoomForReceipts(to peer: Digest) throws {
    let waiting =
      try database.hasParcels([.waiting, .posted], direction: .receipt)
      ? try database.parcels(.receipt, [.waiting, .posted]).filter { $0.peer == peer } : []
    guard waiting.count >= ParcelTimes.receiptsForPeer else { return }
    let oldest = waiting.filter { !$0.handedOver.isEmpty } + waiting.filter(\.handedOver.isEmpty)
    for record in oldest.prefix(waiting.count - ParcelTimes.receiptsForPeer + 1) { try end(record) }
  }

  // MARK: - Receipts for own parcels

  /// Takes a receipt for a parcel of this device's own. True if all of it holds, the branch that it names included.
  ///
  /// Nobody but its recipient can show what its id is the hash of, so with that alone it has arrived; but who brought it, a receipt that was changed
  /// on its way doesn't tell.
  ///
  /// `handedOverBy` is the way by which the parcel was handed to its recipient a moment ago, if this is the answer to that; `carriers` those that
  /// the parcel was given to, in the order of branches.
  @discardableResult
  package func takeReceipt(
    _ receipt: ParcelReceipt, handedOverBy way: ParcelArrival.Way?, carriers: [Digest] = []
  ) throws -> Bool {
    guard ParcelProof.isGenuine(receipt.proof, for: receipt.id),
      let record = try database.parcel(receipt.id.bytes),
      record.direction != .received, let seed = record.seed.flatMap({ ParcelSeed($0) })
    else { return false }
    let isWhole = ParcelProof.isGenuine(receipt.proof, branch: receipt.branch, seed: seed)
    let branch = isWhole ? receipt.branch : ParcelProof.noBranch
    // The others have it, too, and haven't brought it.
    let bringer = carriers.indices.contains(Int(branch)) ? [carriers[Int(branch)]] : []
    try confirm(record, Confirmation(branch: branch, way: way, carriers: bringer, isKnown: isWhole))
    return isWhole
  }

  /// How a parcel has arrived, as far as its sender can tell.
  struct Confirmation {
    let branch: UInt8
    let way: ParcelArrival.Way?
    /// Who had the copy first that has arrived.
    let carriers: [Digest]
    /// Whether the branch is its recipient's word.
    let isKnown: Bool

    /// Where nothing is known but that it has arrived.
    static let unknown = Confirmation(branch: ParcelProof.noBranch, way: nil, carriers: [], isKnown: false)

    /// The name of the route, empty if nobody can tell.
    func route(of record: ParcelRecord) -> String {
      if let way { return way.name }
      guard isKnown else { return "" }
      if branch < ParcelProof.noBranch { return Way.carriers.name }
      return Way.allCases.first { record.handedOver[$0] != nil }?.name ?? ""
    }
  }

  /// A parcel of this device's own has arrived: nobody brings it anywhere any more.
  func confirm(_ read: ParcelRecord, _ how: Confirmation) throws {
    switch read.direction {
    case .received: return
    case .receipt: try end(read)
    case .request, .answer:
      // What it asks is still to be answered; and an answer is kept, should its request come again.
      try change(read) { $0.ways = [] }
    case .message: try confirmMessage(read, how)
    }
  }

  private func confirmMessage(_ parcel: ParcelRecord, _ how: Confirmation) throws {
    let now = max(1, environment.now())
    let done = try database.confirmParcel(parcel.id) { message in
      let route = how.route(of: parcel)
      if !route.isEmpty { message.route = route }
      // Parts of a file may come by several.
      for carrier in how.carriers
      where !message.carriers.contains(carrier) && message.carriers.count < MessageRecord.carrierLimit {
        message.carriers.append(carrier)
      }
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

  /// Takes what a peer says about parcels and messages of this device.
  func take(_ receipts: MessageReceipts, from peer: PeerRecord, by way: ParcelArrival.Way) throws {
    var genuine: [ParcelReceipt] = []
    var probes: [ParcelRecord] = []
    for receipt in receipts.delivered {
      // Only its recipient may say so.
      guard let record = try database.parcel(receipt.id.bytes),
        record.peer == peer.digest
      else { continue }
      // The answer may be here before it was noted that the server has the question.
      let isUnnoted = record.handedOver.isEmpty && receipt.branch == ParcelProof.noBranch
      let hint: ParcelArrival.Way? =
        isUnnoted && way == .account && record.ways.contains(.account) ? .account : nil
      guard try takeReceipt(receipt, handedOverBy: hint, carriers: carrying.carriers(of: receipt.id)) else { continue }
      genuine.append(receipt)
      if record.isProbe { probes.append(record) }
    }
    if !genuine.isEmpty {
      // It signs for what only its box key has opened.
      provedByParcel(peer)
      for probe in probes { try end(probe) }
      try carrying.tellCourier(learned: genuine)
    }
    for id in receipts.read { try noteRead(id, by: peer) }
  }

  private func noteRead(_ id: [UInt8], by peer: PeerRecord) throws {
    let sent = try database.message(direction: .sent, peer: peer.digest, id: id)
    guard sent != nil else { return }
    let going =
      try database.hasParcels([.waiting, .posted], direction: .message)
      ? try database.parcels(.message, [.waiting, .posted]) : []
    // Who has read it has it.
    for parcel in going where parcel.peer == peer.digest && parcel.message == id { try confirm(parcel, .unknown) }
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

  /// Changes a message whatever has become of it meanwhile; nothing if it is gone.
  func changeMessage(
    _ find: () throws(StoreError) -> MessageRecord?, _ body: (inout MessageRecord) -> Void
  ) throws {
    while true {
      guard let before = try find() else { return }
      var after = before
      body(&after)
      guard after != before else { return }
      let (old, new) = (before, after)
      let isDone = try database.updateMessage(new, from: old)
      if isDone { return }
    }
  }

  /// A parcel of a message has gone out.
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
