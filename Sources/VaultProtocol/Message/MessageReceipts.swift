import Sodium
import WireCodec

/// What a recipient tells a sender: which parcels have arrived, and which messages have been read.
package struct MessageReceipts: Sendable, Hashable {
  /// Most of either.
  package static let countLimit = 64

  /// Proofs for parcels that have arrived. Whether they hold is still to be checked.
  package let delivered: [ParcelReceipt]
  /// Ids of messages that their recipient has looked at, 16 bytes each. Its word, without a proof.
  package let read: [[UInt8]]

  /// Receipts, at least one. Throws what its reader would throw.
  package init(delivered: [ParcelReceipt], read: [[UInt8]]) throws(ProtocolError) {
    self.delivered = delivered
    self.read = read
    do throws(WireError) { try require() } catch { throw .malformed(error) }
  }

  private func require() throws(WireError) {
    guard delivered.count <= Self.countLimit, read.count <= Self.countLimit else {
      throw .limitExceeded(field: "receipts", limit: Self.countLimit)
    }
    guard !delivered.isEmpty || !read.isEmpty else { throw .invalidValue(field: "receipts") }
    guard read.allSatisfy({ $0.count == MessageContent.idByteCount }) else {
      throw .invalidValue(field: "message id")
    }
  }

  func encode(into writer: inout Writer) throws(WireError) {
    try writer.count16(delivered.count)
    for receipt in delivered { try receipt.encode(into: &writer) }
    try writer.count16(read.count)
    for message in read { try writer.bytes(message) }
  }

  init(from reader: inout Reader) throws(WireError) {
    let deliveredCount = try reader.count16(limit: Self.countLimit, "receipts")
    delivered = try values(deliveredCount, from: &reader, ParcelReceipt.init(from:))
    let readCount = try reader.count16(limit: Self.countLimit, "receipts")
    read = try values(readCount, from: &reader) { reader throws(WireError) in
      try reader.bytes(MessageContent.idByteCount, "message id")
    }
    try require()
  }
}
