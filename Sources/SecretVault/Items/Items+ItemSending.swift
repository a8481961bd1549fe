import PeerAuth
package import Sodium
import VaultProtocol
import VaultStore

/// An item to be left with a peer. Only ciphertext.
package struct ItemJob: Sendable {
  /// The encoded header.
  package let header: [UInt8]
  /// Bytes of the ciphertext.
  package let byteCount: UInt64
  /// What it hashes to.
  package let digest: Digest
  /// Reads a piece of it.
  package let piece: @Sendable (UInt64) throws -> [UInt8]
  /// Told of each piece's bytes once they are sent.
  package let progress: @Sendable (Int) -> Void
}

extension Items {
  /// Sends an item to a peer, over a session. It waits there until its user accepts it; the peer takes it only if it holds a
  /// share of the item's key.
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
    let job = ItemJob(
      header: record.header, byteCount: total, digest: digest, piece: read,
      progress: { access.progress(sent.add($0), total) })
    switch await links.send(.item(job), to: try directory.recipient(peer)) {
    case .success(.itemTaken(let isKnown)):
      self.record(.itemSent, peer: peer, secret: storedHeader(record.keyID), detail: summary.name)
      return ItemDelivery(item: summary, peer: peer.name, isKnown: isKnown)
    case .failure(let failure):
      if failure.refusal == .keyNotHeld {
        throw VaultError(
          .refused, "\(peer.name) holds no share of the key \(summary.key), so it takes no item under it",
          hint:
            "copy the item to a key that you share with \(peer.name): vault item copy \(summary.id.prefix(12)) --to KEY"
        )
      }
      throw VaultError(failure, peer: peer.name)
    case .success:
      throw VaultError(.other, "\(peer.name) answered something else")
    }
  }

  /// What somebody has sent goes on to nobody before its user has looked at it.
  func requireVerified(_ record: ItemRecord, _ summary: ItemSummary) throws {
    guard record.state == .waiting else { return }
    throw VaultError(
      .refused, "\(summary.shortName) waits to be accepted here and was never verified",
      hint: "accept it with `vault item accept \(summary.id.prefix(12))`, or delete it")
  }

  /// The length of an item's ciphertext, and its pieces.
  func ciphertext(
    of record: ItemRecord
  ) throws -> (UInt64, @Sendable (UInt64) throws -> [UInt8]) {
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

  static func itemDigest(
    _ byteCount: UInt64, _ read: (UInt64) throws -> [UInt8]
  ) throws -> Digest {
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

extension SessionRoute {
  /// Offers an item and sends what its receiver lacks of it.
  func item(
    _ id: UInt64, _ job: ItemJob, _ conversation: Conversation
  ) async throws(LinkFailure) -> PeerReply {
    try await conversation.send(ItemOffer(request: id, digest: job.digest, header: job.header))
    // Taking an interrupted transfer up again, the receiver reads all that it has: some seconds a gigabyte.
    let patience = 2 + Int(clamping: job.byteCount / (256 << 20))
    let answer = try await conversation.receive(ItemAnswer.self, patience: patience)
    guard answer.request == id else { throw LinkFailure(.misbehaved, "answered something that was not asked") }
    let first: UInt64
    switch answer.verdict {
    case .asking: throw LinkFailure(.misbehaved, "did not say whether it takes the item")
    case .refused(let reason): throw .refused(reason)
    case .complete: return .itemTaken(isKnown: true)
    case .wants(let from): first = from
    }
    let count = ItemDigest.pieceCount(job.byteCount)
    guard first <= count else { throw LinkFailure(.misbehaved, "asked for pieces that don't exist") }
    let began = environment.monotonic()
    let allowance = environment.deadlines.slowDelivery / .milliseconds(1)
    var sent = 0
    for number in first..<count {
      if Task.isCancelled { throw LinkFailure(.local, "sending was interrupted") }
      // A receiver that takes a byte now and then would keep it going for days.
      let allowed = allowance + Double(sent) / Double(BatchFetch.minimumRate) * 1000
      guard environment.monotonic() - began < allowed else { throw .tooSlow }
      let bytes: [UInt8]
      do { bytes = try job.piece(number) } catch { throw LinkFailure(local: error) }
      try await conversation.send(ItemPiece(request: id, number: number, bytes: bytes))
      sent += bytes.count
      job.progress(bytes.count)
    }
    try await conversation.send(ItemEnd(request: id))
    let result = try await conversation.receive(ItemResult.self, patience: 2 + patience)
    guard result.request == id else { throw LinkFailure(.misbehaved, "answered something that was not asked") }
    if let refusal = result.refusal { throw .refused(refusal) }
    return .itemTaken(isKnown: false)
  }
}
