package import Sodium
package import VaultProtocol
package import VaultStore

/// Own parcels, and by which way each goes next.
extension Post {
  /// Own parcels that go by this way now, oldest first, without their contents.
  package func outgoingRecords(way: Way, at now: Int64) throws -> [ParcelRecord] {
    try prepareParcels()
    return try records(way, to: nil, at: now)
  }

  /// The same for the two ways of a meeting, from one reading.
  func outgoingRecordsOfMeetings(at now: Int64) throws -> (session: [ParcelRecord], carriers: [ParcelRecord]) {
    try prepareParcels()
    let all = try ownParcels()
    return (try due(all, .session, to: nil, at: now), try due(all, .carriers, to: nil, at: now))
  }

  private func records(_ way: Way, to peer: Digest?, at now: Int64) throws -> [ParcelRecord] {
    try due(try ownParcels(), way, to: peer, at: now)
  }

  private func due(_ all: [ParcelRecord], _ way: Way, to peer: Digest?, at now: Int64) throws -> [ParcelRecord] {
    guard !all.isEmpty else { return [] }
    let directory = WayDirectory(self)
    var due: [ParcelRecord] = []
    for record in all where peer == nil || record.peer == peer {
      let order = WayOrder(record: record, reach: try directory.reach(record.peer), now: now)
      if order.isTurn(of: way) { due.append(record) }
    }
    return due.oldestFirst()
  }

  /// The same with their contents, at most 16 MiB at a time: to be asked again until nothing is left.
  package func outgoingParcels(to peer: Digest? = nil, way: Way, limit: Int = 64) throws -> [OutgoingParcelPost] {
    try prepareParcels()
    var posts: [OutgoingParcelPost] = []
    var byteCount = 0
    for record in try records(way, to: peer, at: environment.now()) {
      guard posts.count < limit else { break }
      guard let post = try post(record) else { continue }
      guard posts.isEmpty || byteCount + post.bytes.count <= ParcelTimes.postByteLimit else { break }
      byteCount += post.bytes.count
      posts.append(OutgoingParcelPost(post: post, recipient: record.peer, record: record))
    }
    return posts
  }

  /// A server has taken a parcel from the account.
  package func handedToAccount(_ id: ParcelID) throws {
    let now = environment.now()
    guard let record = try database.parcel(id), WayOrder.isUnderWay(record, at: now) else { return }
    // Receipts aren't confirmed; who misses one sends its parcel again.
    if record.direction == .receipt, !record.tellsOfReading { return try end(record) }
    try change(record) { record in
      record.handedOver[.account] = now
      guard record.direction == .receipt else { return }
      // Nobody asks again whether something was read: if the server loses it, a session brings it.
      record.ways = .init([.session])
      if record.state == .waiting { record.group = [] }
    }
    try noteUnderway(record)
  }

  /// A device at this address says that it has taken an own parcel. Its server could say so as well, so that ends only receipts.
  package func acknowledgedByAccount(_ id: ParcelID, from address: String) throws {
    guard let record = try database.parcel(id),
      record.direction == .receipt, try accounts.accountAddress(of: record.peer) == address
    else { return }
    try end(record)
  }

  /// Makes parcels of receipts and deliveries, so that they go with whatever goes next.
  func prepareParcels() throws {
    try sweepParcels()
    try makeReceiptParcels()
    try makeDepositParcels()
  }
}

extension [ParcelRecord] {
  func oldestFirst() -> [ParcelRecord] {
    sorted { ($0.createdAt, $0.id.description) < ($1.createdAt, $1.id.description) }
  }
}
