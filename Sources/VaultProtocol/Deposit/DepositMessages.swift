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
package struct OfferAnswer: PeerMessage {
  package static let type = MessageType.offerAnswer

  package enum Verdict: Hashable, Sendable {
    /// The pieces from this number on; 0 for all of them.
    case wants(from: UInt64)
    /// Nothing: it has the share already, durably.
    case complete
    /// Nothing, because.
    case refused(RefusalReason)
    /// Nothing yet: its user is asked, for at most so many seconds more. Another answer follows.
    case asking(seconds: UInt64)
  }

  /// Most seconds that a user may be asked for.
  package static let askingLimit: UInt64 = 3600

  /// The offer's number.
  package let request: UInt64
  package let verdict: Verdict

  package init(request: UInt64, verdict: Verdict) {
    self.request = request
    self.verdict = verdict
  }
  package func encode(into writer: inout Writer) throws(WireError) {
    let (number, value, reason): (UInt8, UInt64, RefusalReason?) =
      switch verdict {
      case .wants(let from): (1, from, nil)
      case .complete: (2, 0, nil)
      case .refused(let reason): (3, 0, reason)
      case .asking(let seconds): (4, seconds, nil)
      }
    try writer.u64(request)
    try writer.u8(number)
    try writer.u64(value)
    try write(reason, into: &writer)
  }
  package init(from reader: inout Reader) throws(WireError) {
    request = try reader.u64("request")
    let number = try reader.u8("verdict")
    let from = try reader.u64("piece")
    let reason = try reason(from: &reader)
    switch (number, from, reason) {
    case (1, _, nil): verdict = .wants(from: from)
    case (2, 0, nil): verdict = .complete
    case (3, 0, .some(let reason)): verdict = .refused(reason)
    case (4, 1...Self.askingLimit, nil): verdict = .asking(seconds: from)
    default: throw .invalidValue(field: "verdict")
    }
  }
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
