import Sodium
import VaultProtocol
import VaultStore

/// In which order this device's own parcels go by an account. A server may read no more than some kilobytes a second: what is large takes minutes
/// then, and nothing small waits for it.
extension Vault {
  /// Most bytes of what is small.
  private static let smallPostLimit = (64 << 10) + ParcelTimes.sealing
  /// Most parcels, and bytes, of what is small that are handed out at a time.
  private static let smallPosts = (count: 64, bytes: 512 << 10)

  /// Small parcels whose turn it is to go by the account, oldest first, some at a time: to be asked again, when these were handed over, until nothing
  /// is left.
  public func smallAccountPosts() throws(VaultError) -> [OutgoingParcelPost] {
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

  /// The large parcel that goes by the account next, if one is due: what was begun more often in vain comes behind the others, and so does what is
  /// larger. So one that never gets through holds up none that does.
  public func largeAccountPost(_ attempts: [[UInt8]: Int]) throws(VaultError) -> OutgoingParcelPost? {
    let (records, sizes) = try accountRecordsDue()
    let large = records.enumerated().filter { (sizes[$0.element.id] ?? 0) > Self.smallPostLimit }
    // They are in the order of their age.
    let order = large.map { (attempts[$0.element.id] ?? 0, sizes[$0.element.id] ?? 0, $0.offset) }
    for (_, _, place) in order.sorted(by: <) {
      let record = records[place]
      if let post = try post(record) { return OutgoingParcelPost(post: post, recipient: record.peer, record: record) }
    }
    return nil
  }

  private func accountRecordsDue() throws(VaultError) -> ([ParcelRecord], [[UInt8]: Int64]) {
    let records = try outgoingRecords(way: .account, at: environment.now())
    guard !records.isEmpty else { return ([], [:]) }
    return (records, try stored { () throws(StoreError) in try database.parcelByteCounts() })
  }
}
