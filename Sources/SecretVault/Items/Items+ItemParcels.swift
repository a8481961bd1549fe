import PeerAuth
import VaultProtocol
import VaultStore

/// Items for peers that can't be reached: they go by parcel, as shares do.
extension Items {
  /// Most bytes of an item that goes by parcel.
  package static let parcelItemLimit: UInt64 = 4 << 20

  /// Makes a parcel of an item, durably, which goes by whatever way there is. The peer keeps it, until its user accepts it, if it holds a share of the
  /// item's key.
  package func sendItemByParcel(
    _ reference: String, to peerReference: String
  ) throws -> ItemDelivery {
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
    // About no secret: about one there is a single request to a peer, which asks for its share.
    let row = ParcelRecord(
      id: envelope.id.bytes, direction: .request, peer: peer.digest, createdAt: envelope.createdAt,
      expiresAt: envelope.expiresAt, request: request, seed: envelope.seed.bytes, ways: post.usualWays())
    _ = try database.addParcel(row, content: parcel, replySecret: nil)
    return ItemDelivery(item: summary, peer: peer.name, isKnown: false, isOnItsWay: true)
  }

  private func frames(of record: ItemRecord, request: UInt64) throws -> [ParcelFrame] {
    let (total, read) = try ciphertext(of: record)
    var frames = [
      try Post.frame(Hello(services: introductions.services)),
      try Post.frame(
        ItemOffer(request: request, digest: Self.itemDigest(total, read), header: record.header)),
    ]
    for number in 0..<ItemDigest.pieceCount(total) {
      frames.append(try Post.frame(ItemPiece(request: request, number: number, bytes: try read(number))))
    }
    frames.append(try Post.frame(ItemEnd(request: request)))
    return frames
  }

  /// What a peer says about an item that came to it by parcel.
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
