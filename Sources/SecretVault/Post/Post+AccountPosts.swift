import VaultStore

/// In which order this device's own parcels go by an account. A server may read no more than some kilobytes a second: what is large takes minutes
/// then, and nothing small waits for it.
extension Post {
  /// Most bytes of what is small.
  private static let smallPostLimit = (64 << 10) + ParcelTimes.sealing
  /// Most parcels, and bytes, of what is small that are handed out at a time: what of them didn't get through goes out again.
  private static let smallPosts = (count: 64, bytes: 72 << 10)

  /// Small parcels whose turn it is to go by the account, new ones before those that go again, and the oldest of them first, some at a time: to be
  /// asked again, when these were handed over, until nothing is left.
  package func smallAccountPosts() throws -> [OutgoingParcelPost] {
    let (records, sizes) = try accountRecordsDue()
    var posts: [OutgoingParcelPost] = []
    var byteCount = 0
    for record in records where (sizes[record.id] ?? 0) <= Self.smallPostLimit {
      guard posts.count < Self.smallPosts.count else { break }
      guard let post = try post(record) else { continue }
      guard posts.isEmpty || byteCount + post.bytes.count <= Self.smallPosts.bytes else { break }
      byteCount += post.bytes.count
      posts.append(OutgoingParcelPost(post: post, recipient: record.peer, record: record))
    }
    return posts
  }

  /// The large parcel that goes by the account next, if one is due: what was begun more often in vain comes behind the others, and so does what goes
  /// again, and what is larger. So one that never gets through holds up none that does.
  package func largeAccountPost(_ attempts: [[UInt8]: Int]) throws -> OutgoingParcelPost? {
    let (records, sizes) = try accountRecordsDue()
    let large = records.enumerated().filter { (sizes[$0.element.id] ?? 0) > Self.smallPostLimit }
    // They are in the order of their age.
    let order = large.map { place, record in
      (attempts[record.id] ?? 0, record.handedOver[.account] == nil ? 0 : 1, sizes[record.id] ?? 0, place)
    }
    for (_, _, _, place) in order.sorted(by: <) {
      let record = records[place]
      if let post = try post(record) { return OutgoingParcelPost(post: post, recipient: record.peer, record: record) }
    }
    return nil
  }

  private func accountRecordsDue() throws -> ([ParcelRecord], [[UInt8]: Int64]) {
    let due = try outgoingRecords(way: .account, at: environment.now())
    guard !due.isEmpty else { return ([], [:]) }
    let records = due.filter { $0.handedOver[.account] == nil } + due.filter { $0.handedOver[.account] != nil }
    return (records, try database.parcelByteCounts())
  }
}
