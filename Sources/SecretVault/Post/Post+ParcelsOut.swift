import PeerAuth
import ShamirKit
import Sodium
package import VaultProtocol
import VaultStore

/// Parcels that go out through groups, and parcels that are made of deliveries.
extension Post {
  /// Parcels that are made at a time.
  private static let makingLimit = 8

  /// What is to be posted to a group now, at most 16 MiB. To be asked again until nothing is left.
  package func parcelsToPost(group: [UInt8], folder: [UInt8]) throws -> [ParcelPost] {
    parcelMemory.note(group: group, in: folder)
    try prepareParcels()
    try makeDepositParcels(group, folder)
    try chooseGroup(group, folder)
    let now = environment.now()
    var posts: [ParcelPost] = []
    var byteCount = 0
    for record in try ownParcels() where record.group == folder && Self.mayPost(record, at: now) {
      // What has waited for a day takes the next group.
      if record.state == .posted, let next = try nextFolder(of: record), next != folder { continue }
      guard let post = try post(record) else { continue }
      guard posts.isEmpty || byteCount + post.bytes.count <= ParcelTimes.postByteLimit else { break }
      byteCount += post.bytes.count
      posts.append(post)
    }
    return posts
  }

  private static func mayPost(_ record: ParcelRecord, at now: Int64) -> Bool {
    WayOrder.isUnderWay(record, at: now) && record.ways.contains(.group)
      && (record.state == .waiting || isToBeRepeated(record, at: now))
  }

  package func parcelsToWithdraw(folder: [UInt8]) throws -> [ParcelID] {
    try database.parcels(nil, [.withdrawn]).filter { $0.group == folder }.map(\.id)
  }

  /// A parcel was taken out of its group.
  package func withdrew(_ id: ParcelID) throws {
    guard try database.parcel(id)?.state == .withdrawn else { return }
    try database.removeParcels([id])
  }

  /// A parcel is durable in the outbox of its group.
  package func posted(_ id: ParcelID) throws {
    let now = environment.now()
    if let before = try database.parcel(id), before.direction != .received,
      before.state == .waiting || before.state == .posted
    {
      var record = before
      record.state = .posted
      record.handedOver[.group] = now
      // Receipts go by no other way once the group has them; only word of reading goes in a session, too, as nobody asks for it again.
      if record.direction == .receipt { record.ways = .init(record.tellsOfReading ? [.group, .session] : [.group]) }
      try database.updateParcel(record, from: before)
    }
    if let record = try database.parcel(id) { try noteUnderway(record) }
  }

  /// A parcel was taken out of its group; a receipt is done then.
  package func wasTakenOut(_ id: ParcelID) throws {
    guard let record = try database.parcel(id), record.direction == .receipt, record.state == .posted else { return }
    try database.removeParcels([id])
  }

  /// Groups with something to post or to withdraw. Asked once a second.
  package func foldersWithParcels() throws -> Set<[UInt8]> {
    try sweepParcels()
    var folders: Set<[UInt8]> = []
    for direction in Self.ownDirections {
      folders.formUnion(try database.parcelGroups([.waiting, .withdrawn], direction: direction))
    }
    guard !parcelMemory.groups.isEmpty else { return folders }
    let now = environment.now()
    let directory = WayDirectory(self)
    for record in try undecidedParcels() {
      let order = WayOrder(record: record, reach: try directory.reach(record.peer), now: now)
      if order.isTurn(of: .group) { folders.formUnion(try mailboxFolders(of: record.peer)) }
    }
    for owed in parcelMemory.owed.keys where usualWays(pigeonsOnly: !owed.usesServers).contains(.group) {
      if try !directory.reach(owed.peer).contains(.account) { folders.formUnion(try mailboxFolders(of: owed.peer)) }
    }
    for entry in try deliveriesForParcels() where try !directory.reach(entry.entry.recipient).contains(.account) {
      folders.formUnion(try mailboxFolders(of: entry.entry.recipient))
    }
    return folders
  }

  /// Own parcels that no group has yet.
  private func undecidedParcels() throws -> [ParcelRecord] {
    try Self.ownDirections.flatMap { try parcels($0, [.waiting]).filter(\.group.isEmpty) }
  }

  /// Groups through which shares were asked for at `time` or later, or how holders change, without an answer yet.
  package func foldersAwaitingAnswers(since time: Int64) throws -> Set<[UInt8]> {
    let posted = try parcels(.request, [.posted]).filter { $0.delivery == nil && $0.secretID != nil }
    let asking = try posted + parcels(.change, [.posted])
    return Set(asking.filter { $0.handedOver[.group] ?? 0 >= time }.map(\.group))
  }

  package func isOwnParcel(_ tag: [UInt8], _ id: ParcelID) -> Bool {
    (try? Parcel.tag(of: id, for: identity.keys.digest)) == tag
  }

  /// An unanswered request or message is posted again after a day, and each time after twice as long. The clock may have been set back.
  private static func isToBeRepeated(_ record: ParcelRecord, at now: Int64) -> Bool {
    let last = record.handedOver[.group] ?? 0
    return record.state == .posted && [.request, .change, .message].contains(record.direction)
      && !(0..<max(parcelRepetition, last - record.createdAt)).contains(now - last)
  }

  func post(_ record: ParcelRecord) throws -> ParcelPost? {
    guard let bytes = try parcelContent(record.id), let parcel = try? Parcel.decode(bytes, limit: Parcel.byteLimit),
      parcel.id == record.id
    else {
      // It may have been ended since the list was read.
      guard try database.parcel(record.id) == record else { return nil }
      environment.log.error("a parcel that was to be posted is damaged, and given up")
      try database.removeParcels([record.id])
      return nil
    }
    return ParcelPost(id: record.id, tag: parcel.tag, bytes: bytes, expiresAt: record.expiresAt)
  }

  /// Nil if it is damaged or gone.
  func parcelContent(_ id: ParcelID) throws -> [UInt8]? {
    do { return try database.parcelContent(id) } catch StoreError.damaged { return nil }
  }

  /// Parcels take the first group in which their peer has a mailbox, when it is a group's turn; those unanswered for a day take the next one.
  private func chooseGroup(_ group: [UInt8], _ folder: [UInt8]) throws {
    let now = environment.now()
    let directory = WayDirectory(self)
    for before in try ownParcels() where before.group != folder && before.ways.contains(.group) {
      guard before.group.isEmpty || Self.isToBeRepeated(before, at: now),
        try hasMailbox(Self.mailboxTag(group: group, card: before.peer), folder: folder)
      else { continue }
      if before.group.isEmpty {
        let order = WayOrder(record: before, reach: try directory.reach(before.peer), now: now)
        guard order.isTurn(of: .group) else { continue }
      } else if try nextFolder(of: before) != folder {
        continue
      }
      var record = before
      record.group = folder
      record.state = .waiting
      _ = try database.updateParcel(record, from: before)
    }
  }

  /// The next of the groups in which a parcel's peer has a mailbox.
  private func nextFolder(of record: ParcelRecord) throws -> [UInt8]? {
    let folders = try mailboxFolders(of: record.peer).sorted { $0.lexicographicallyPrecedes($1) }
    return folders.first { record.group.lexicographicallyPrecedes($0) } ?? folders.first
  }

  // MARK: - Deliveries

  /// Deliveries that have failed in sessions and may go by parcel.
  private func deliveriesForParcels() throws -> [OutboxRecord] {
    let now = environment.now()
    let all = try database.waitingDeliveries()
    let waiting = try (all + introductions.introductionsForParcels(at: now)).filter { entry in
      entry.attempts > 0 && entry.lastError != nil && !parcelMemory.isUnfit(entry.id)
    }
    guard !waiting.isEmpty else { return [] }
    let parcels = try database.parcels(.request, [.waiting, .posted, .answered])
    var carried: Set<Int64> = []
    var probed: Set<Digest> = []
    var counts: [Digest: Int] = [:]
    for record in parcels {
      // What was refused for the moment is sent again a day later, like unanswered ones.
      let isRecent = (0..<Self.parcelRepetition).contains(now - record.createdAt)
      if let delivery = record.delivery, record.state != .answered || isRecent { carried.insert(delivery) }
      if record.isProbe, isRecent || !record.ways.isEmpty { probed.insert(record.peer) }
      if record.state != .answered { counts[record.peer, default: 0] += 1 }
    }
    var chosen: [OutboxRecord] = []
    for entry in waiting where !carried.contains(entry.id) {
      // The share waits until the peer has proved its keys.
      if probed.contains(entry.entry.recipient), try !isProven(entry.entry.recipient) { continue }
      guard counts[entry.entry.recipient, default: 0] < Self.parcelsOfPeer, try fitsParcel(entry) else { continue }
      counts[entry.entry.recipient, default: 0] += 1
      chosen.append(entry)
    }
    return chosen
  }

  func fitsParcel(_ entry: OutboxRecord) throws -> Bool {
    if entry.entry.kind == DeliveryKind.introduction { return true }
    guard let id = entry.entry.secretID, let index = entry.entry.index,
      let fragment = try database.fragment(of: id, index: index)
    else { return false }
    return UInt64(max(0, fragment.byteCount)) <= Self.parcelFragmentLimit
  }

  private func makeDepositParcels(_ group: [UInt8], _ folder: [UInt8]) throws {
    guard try !mailboxes(in: folder).isEmpty, usualWays().contains(.group) else { return }
    let directory = WayDirectory(self)
    try makeDepositParcels(in: folder) { recipient in
      guard try hasMailbox(Self.mailboxTag(group: group, card: recipient), folder: folder) else { return false }
      return try !directory.reach(recipient).contains(.account)
    }
  }

  /// Makes parcels of deliveries to peers with an account, or without a mailbox if there may be carriers. They may take a group later.
  ///
  /// A peer that hasn't proved its keys gets a probe first.
  func makeDepositParcels() throws {
    let directory = WayDirectory(self)
    var hasCarriers: Bool?
    try makeDepositParcels(in: []) { recipient in
      let (usual, reach) = (usualWays(), try directory.reach(recipient))
      if let way = Way.allCases.first(where: { usual.contains($0) && reach.contains($0) }) { return way == .account }
      if let hasCarriers { return hasCarriers }
      let found = try carrying.mayMeetCarriers()
      hasCarriers = found
      return found
    }
  }

  private func makeDepositParcels(in folder: [UInt8], _ isTurn: (Digest) throws -> Bool) throws {
    var made = 0
    var probed: Set<Digest> = []
    for entry in try deliveriesForParcels() where made < Self.makingLimit {
      let recipient = entry.entry.recipient
      guard try isTurn(recipient), let peer = try database.peer(recipient) else { continue }
      guard peer.state == .proven else {
        if probed.insert(recipient).inserted { try probe(peer, folder) }
        continue
      }
      do {
        try makeDepositParcel(entry, peer, folder)
        made += 1
      } catch {
        // Another attempt would fail, too; a session says why.
        parcelMemory.noteUnfit(entry.id)
        environment.log.error("a share can't be sent to \(peer.name) by parcel: \(VaultError(error).reason)")
      }
    }
  }

  private func makeDepositParcel(_ entry: OutboxRecord, _ peer: PeerRecord, _ folder: [UInt8]) throws {
    if entry.entry.kind == DeliveryKind.introduction {
      let request = core.requestNumber()
      guard let job = introductions.introductionAsker(entry) else {
        throw VaultError(.damaged, "an introduction is damaged")
      }
      return try post(
        [try Self.frame(Hello(services: introductions.services)), try Self.frame(job.message(request))], request, entry,
        peer, folder)
    }
    guard let id = entry.entry.secretID, let index = entry.entry.index, let number = UInt8(exactly: index),
      let record = try database.secret(id)
    else { throw VaultError(.damaged, "the secret of a waiting share is missing") }
    let header = try directory.header(of: record)
    let reader = try database.openFragment(of: id, index: index)
    let request = core.requestNumber()
    var frames = [
      try Self.frame(Hello(services: introductions.services)),
      try Self.frame(Offer(request: request, index: number, sealedShare: entry.entry.payload, header: header.bytes)),
    ]
    let plan = header.dispersal
    guard plan.fragmentByteCount <= Self.parcelFragmentLimit else { throw VaultError(.other, "it is too large") }
    for stripe in 0..<plan.stripeCount {
      let bytes = try reader.read(at: Int64(clamping: plan.pieceOffset(stripe)), count: plan.pieceByteCount(stripe))
      frames.append(try Self.frame(Piece(request: request, number: stripe, bytes: bytes)))
    }
    frames.append(try Self.frame(DepositEnd(request: request)))
    try post(frames, request, entry, peer, folder)
  }

  /// Makes a parcel of a delivery's messages.
  private func post(
    _ frames: [ParcelFrame], _ request: UInt64, _ entry: OutboxRecord, _ peer: PeerRecord, _ folder: [UInt8]
  ) throws {
    // Nothing secret comes back, so the reply key isn't kept.
    let envelope = try ParcelEnvelope(lifetime: Self.parcelLifetime, at: environment.now())
    let parcel = try envelope.seal(frames, from: identity, to: try directory.storedCard(peer).keys)
    let earlier = try database.parcels(ofDelivery: entry.id).filter { $0.state == .answered }
    try database.removeParcels(earlier.map(\.id))
    _ = try database.addParcel(
      envelope.record(
        .request, to: peer.digest, about: entry.entry.secretID, delivery: entry.id, group: folder, request: request,
        ways: usualWays()),
      content: parcel, replySecret: nil)
  }

  static func frame<Message: PeerMessage>(_ message: Message) throws -> ParcelFrame {
    do { return try ParcelFrame(message) } catch { throw VaultError(.other, "a message can't be written: \(error)") }
  }
}

extension ParcelRecord {
  /// The id under which a received parcel is kept: first 16 bytes of BLAKE2b-256("vault/parcel-row/v1", sender's card digest, parcel's id). Senders
  /// choose ids, and must not be able to choose that of another sender's parcel.
  static func receivedID(of id: ParcelID, from sender: Digest) throws -> ParcelID {
    do {
      var hash = try DomainHash("vault/parcel-row/v1")
      hash.append(sender)
      hash.append(id.bytes)
      guard let id = ParcelID(Array(hash.digest().bytes.prefix(ParcelID.byteCount))) else {
        throw SodiumError.verificationFailed
      }
      return id
    } catch { throw VaultError(.other, "hashing failed") }
  }
}

/// The seed, times and reply key of a new request. Answers seal secrets to that key.
struct ParcelEnvelope {
  let seed: ParcelSeed
  let id: ParcelID
  let createdAt: Int64
  let expiresAt: Int64
  let replyKey: AgreementKeyPair

  init(lifetime: Int64, at now: Int64) throws {
    do {
      seed = try ParcelSeed.fresh()
      id = try seed.parcelID()
      replyKey = try AgreementKeyPair.generate()
    } catch { throw VaultError(.other, "no parcel can be made: \(error)") }
    createdAt = min(max(0, now), Parcel.timeLimit)
    expiresAt = Parcel.expiry(createdAt: createdAt, lifetime: lifetime)
  }

  func seal(_ frames: [ParcelFrame], from sender: Identity, to keys: CardKeys) throws -> [UInt8] {
    do {
      return try ParcelLetter.seal(
        seed: seed, createdAt: createdAt, expiresAt: expiresAt, kind: .request, replyKey: replyKey.publicKey,
        frames: frames, from: sender, to: keys
      ).encoded()
    } catch { throw VaultError(.other, "a parcel can't be made: \(error)") }
  }

  func record(
    _ direction: ParcelRecord.Direction, to peer: Digest, about secret: SecretID? = nil, delivery: Int64? = nil,
    group: [UInt8] = [], request: UInt64, ways: ParcelRecord.Ways
  ) -> ParcelRecord {
    ParcelRecord(
      id: id, direction: direction, peer: peer, secretID: secret, delivery: delivery, group: group,
      createdAt: createdAt, expiresAt: expiresAt, request: request, seed: seed.bytes, ways: ways)
  }

  /// To which proofs in the request are bound.
  func binding(from sender: Identity, to keys: CardKeys) throws(SodiumError) -> Digest {
    try ParcelLetter.binding(
      id: id, createdAt: createdAt, expiresAt: expiresAt, sender: sender.keys.digest, recipient: keys.digest,
      replyKey: replyKey.publicKey)
  }
}
