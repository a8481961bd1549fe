package import VaultProtocol
import VaultStore

/// The order in which own parcels go by an account. Servers may read only some kilobytes a second, so small ones don't wait for large ones.
extension Post {
  /// Bytes of a small parcel.
  private static let smallPostLimit = (64 << 10) + ParcelTimes.sealing
  /// Small parcels, and their bytes, that are handed out at a time: those that don't get through go out again.
  private static let smallPosts = (count: 64, bytes: 72 << 10)

  /// Small parcels that are due, new ones first, then the oldest, some at a time: to be asked again until nothing is left.
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

  /// The large parcel that is due next, by fewest failed `attempts`, then new before repeated, then size, then age: none holds up the others.
  package func largeAccountPost(_ attempts: [ParcelID: Int]) throws -> OutgoingParcelPost? {
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

  private func accountRecordsDue() throws -> ([ParcelRecord], [ParcelID: Int64]) {
    let due = try outgoingRecords(way: .account, at: environment.now())
    guard !due.isEmpty else { return ([], [:]) }
    let records = due.filter { $0.handedOver[.account] == nil } + due.filter { $0.handedOver[.account] != nil }
    return (records, try database.parcelByteCounts())
  }
}
