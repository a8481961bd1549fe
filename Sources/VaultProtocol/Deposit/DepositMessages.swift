package import WireCodec

/// "Would you take a fragment of this size from me?"
package struct Probe: PeerMessage {
  package static let type = MessageType.probe
  /// Comes back in the answer.
  package let request: UInt64
  package let fragmentByteCount: UInt64

  package init(request: UInt64, fragmentByteCount: UInt64) {
    self.request = request
    self.fragmentByteCount = fragmentByteCount
  }
  package func encode(into writer: inout Writer) throws(WireError) {
    try writer.u64(request)
    try writer.u64(fragmentByteCount)
  }
  package init(from reader: inout Reader) throws(WireError) {
    request = try reader.u64("request")
    fragmentByteCount = try reader.u64("fragment length")
  }
}

/// "Yes", or "no, because".
package typealias ProbeAnswer = OutcomeMessage<ProbeAnswerKind>
package enum ProbeAnswerKind: MessageKind { package static let type = MessageType.probeAnswer }

/// The dealer's offer of a share: header, number, sealed share. The fragment follows once it is wanted.
package struct Offer: PeerMessage {
  package static let type = MessageType.offer
  /// Comes back in the answers.
  package let request: UInt64
  /// The number of the share.
  package let index: UInt8
  /// The share, sealed to the recipient's box key.
  package let sealedShare: [UInt8]
  package let header: [UInt8]

  package init(request: UInt64, index: UInt8, sealedShare: [UInt8], header: [UInt8]) {
    self.request = request
    self.index = index
    self.sealedShare = sealedShare
    self.header = header
  }
  package func encode(into writer: inout Writer) throws(WireError) {
    try writer.u64(request)
    try writer.u8(index)
    try writer.bytes16(sealedShare)
    try writer.bytes32(header)
  }
  package init(from reader: inout Reader) throws(WireError) {
    request = try reader.u64("request")
    index = try reader.u8("index")
    sealedShare = try reader.bytes16(limit: 512, "sealed share")
    header = try reader.bytes32(limit: SecretHeader.byteLimit, "header")
  }
}

/// What the holder wants of an offer.
package typealias OfferAnswer = VerdictMessage<OfferAnswerKind>
package enum OfferAnswerKind: VerdictKind {
  package static let type = MessageType.offerAnswer
  package static let mayAsk = true
}

/// One piece of a fragment on its way to its holder.
package typealias Piece = PieceMessage<PieceKind>
package enum PieceKind: MessageKind { package static let type = MessageType.piece }

/// "That was the last piece."
package typealias DepositEnd = NumberMessage<DepositEndKind>
package enum DepositEndKind: MessageKind { package static let type = MessageType.depositEnd }

/// "It is durable here", or "no, because".
package typealias DepositResult = OutcomeMessage<DepositResultKind>
package enum DepositResultKind: MessageKind { package static let type = MessageType.depositResult }
