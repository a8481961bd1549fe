import VaultProtocol
import VaultStore

/// Items for peers that can't be reached go by parcel.
extension Items {
  /// Most bytes of an item that goes by parcel.
  static let parcelItemLimit: UInt64 = 4 << 20

  /// Makes a durable parcel of an item. The peer keeps it until its user accepts it, if it holds a share of the item's key.
  package func sendItemByParcel(_ reference: String, to peerReference: String) throws -> ItemDelivery {
    let record = try resolveItem(reference)
    let summary = try summary(record)
    try requireVerified(record, summary)
    let peer = try directory.find(peerReference)
    guard UInt64(clamping: record.byteCount) <= Self.parcelItemLimit else {
      throw VaultError(
        .refused, "\(summary.shortName) is larger than \(Self.parcelItemLimit >> 20) MiB, the most that goes by parcel",
        hint: "send it when \(peer.name) can be reached")
    }
    let going = try database.parcels(.request, [.waiting, .posted])
    guard going.count(where: { $0.peer == peer.digest && !$0.ways.isEmpty }) < Post.parcelsOfPeer else {
      throw VaultError(.refused, "\(Post.parcelsOfPeer) parcels wait for \(peer.name) already")
    }
    let request = core.requestNumber()
    let envelope = try ParcelEnvelope(lifetime: Post.parcelLifetime, at: environment.now())
    let parcel = try envelope.seal(
      frames(of: record, request: request), from: identity, to: try directory.storedCard(peer).keys)
    // Without a secret: a request about one asks for its share, and there is a single one to a peer.
    let row = envelope.record(.request, to: peer.digest, request: request, ways: post.usualWays())
    _ = try database.addParcel(row, content: parcel, replySecret: nil)
    return ItemDelivery(item: summary, peer: peer.name, isKnown: false, isOnItsWay: true)
  }

  private func frames(of record: ItemRecord, request: UInt64) throws -> [ParcelFrame] {
    let (total, read) = try ciphertext(of: record)
    var frames = [
      try Post.frame(Hello(services: introductions.services)),
      try Post.frame(ItemOffer(request: request, digest: Self.itemDigest(total, read), header: record.header)),
    ]
    for number in 0..<ItemDigest.pieceCount(total) {
      frames.append(try Post.frame(ItemPiece(request: request, number: number, bytes: try read(number))))
    }
    frames.append(try Post.frame(ItemEnd(request: request)))
    return frames
  }

  /// Takes the answer of a peer to which an item went by parcel.
  func settleItem(_ record: ParcelRecord, _ letter: ParcelLetter, _ peer: PeerRecord) throws {
    do {
      try Post.checkDurable(
        "the item", letter.frames, request: record.request, peer: peer.name, ItemAnswer.self, ItemResult.self)
      self.record(.itemSent, peer: peer, detail: "by parcel")
    } catch {
      recordUnlessTooMany(.deliveryFailed, peer: peer, detail: "an item by parcel: \(error.reason)")
    }
    try post.end(record)
  }
}
