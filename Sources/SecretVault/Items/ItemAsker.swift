import Sodium
import VaultProtocol

/// Offers an item and sends what its receiver lacks of it.
struct ItemAsker: Asker {
  /// Encoded.
  let header: [UInt8]
  /// Of the ciphertext.
  let byteCount: UInt64
  let digest: Digest
  let piece: @Sendable (UInt64) throws -> [UInt8]
  /// Told the size of each piece once it is sent.
  let progress: @Sendable (Int) -> Void

  /// True if the item was known there.
  func ask(_ id: UInt64, _ conversation: Conversation) async throws(LinkFailure) -> Bool {
    try await conversation.send(ItemOffer(request: id, digest: digest, header: header))
    // To resume a transfer, the receiver reads all that it has: some seconds a gigabyte.
    let patience = 2 + Int(clamping: byteCount / (256 << 20))
    let answer = try await conversation.receive(ItemAnswer.self, patience: patience)
    guard answer.request == id else { throw .notAsked }
    let first: UInt64
    switch answer.verdict {
    case .asking: throw LinkFailure(.misbehaved, "did not say whether it takes the item")
    case .refused(let reason): throw .refused(reason)
    case .complete: return true
    case .wants(let from): first = from
    }
    let count = ItemDigest.pieceCount(byteCount)
    guard first <= count else { throw LinkFailure(.misbehaved, "asked for pieces that don't exist") }
    var line = SlowLine(conversation.environment)
    for number in first..<count {
      if Task.isCancelled { throw LinkFailure(.local, "sending was interrupted") }
      try line.check()
      let bytes: [UInt8]
      do { bytes = try piece(number) } catch { throw LinkFailure(local: error) }
      try await conversation.send(ItemPiece(request: id, number: number, bytes: bytes))
      line.moved(bytes.count)
      progress(bytes.count)
    }
    try await conversation.send(ItemEnd(request: id))
    let result = try await conversation.receive(ItemResult.self, patience: 2 + patience)
    guard result.request == id else { throw .notAsked }
    if let refusal = result.refusal { throw .refused(refusal) }
    return false
  }
}
