import Sodium
import VaultProtocol
import VaultStore

extension Items {
  /// Sends an item in a session. It waits there until the peer's user accepts it; the peer must hold a share of its key.
  package func sendItem(
    _ reference: String, to peerReference: String, access: ItemAccess = ItemAccess()
  ) async throws -> ItemDelivery {
    let record = try resolveItem(reference)
    let summary = try summary(record)
    try requireVerified(record, summary)
    let peer = try directory.find(peerReference)
    let (total, read) = try ciphertext(of: record)
    let digest = try Self.itemDigest(total, read)
    let sent = ByteCounter()
    let asker = ItemAsker(
      header: record.header, byteCount: total, digest: digest, piece: read,
      progress: { access.progress(sent.add($0), total) })
    do {
      let isKnown = try await links.ask(asker, of: try directory.recipient(peer))
      self.record(.itemSent, peer: peer, secret: storedHeader(record.keyID), detail: summary.name)
      return ItemDelivery(item: summary, peer: peer.name, isKnown: isKnown)
    } catch let failure as LinkFailure {
      guard failure.refusal == .keyNotHeld else { throw VaultError(failure, peer: peer.name) }
      throw VaultError(
        .refused, "\(peer.name) holds no share of the key \(summary.key), so it takes no item under it",
        hint:
          "copy the item to a key that you share with \(peer.name): vault item copy \(summary.id.prefix(12)) --to KEY"
      )
    }
  }

  /// What a peer has sent goes on to nobody before the user has accepted it.
  func requireVerified(_ record: ItemRecord, _ summary: ItemSummary) throws {
    guard record.state == .waiting else { return }
    throw VaultError(
      .refused, "\(summary.shortName) waits to be accepted here and was never verified",
      hint: "accept it with `vault item accept \(summary.id.prefix(12))`, or delete it")
  }

  /// The length of an item's ciphertext, and a reader of its pieces.
  func ciphertext(of record: ItemRecord) throws -> (UInt64, @Sendable (UInt64) throws -> [UInt8]) {
    let file = try database.openItem(record)
    let total = UInt64(clamping: record.byteCount)
    let start = Int64(record.header.count)
    return (
      total,
      { number in
        try file.read(
          at: start + Int64(number) * Int64(ItemPiece.byteCount), count: ItemDigest.pieceByteCount(number, of: total))
      }
    )
  }

  static func itemDigest(_ byteCount: UInt64, _ read: (UInt64) throws -> [UInt8]) throws -> Digest {
    do {
      var digest = try ItemDigest(byteCount: byteCount)
      for number in 0..<ItemDigest.pieceCount(byteCount) {
        if Task.isCancelled { throw VaultError(.interrupted, "sending was interrupted") }
        let bytes = try read(number)
        try digest.take(number: number, bytes: bytes.span.bytes)
      }
      return try digest.digest()
    } catch {
      throw VaultError(known: error) ?? VaultError(.other, "the item can't be hashed: \(error)")
    }
  }
}
