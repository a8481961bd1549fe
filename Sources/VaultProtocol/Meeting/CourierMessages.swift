package import WireCodec

/// What each of two devices that meet says first.
package struct CourierGreeting: PeerMessage {
  package static let type = MessageType.courierGreeting
  /// Most parcels of a greeting.
  package static let idLimit = 256
  /// Number of the meeting: the same in all its messages.
  package let request: UInt64
  /// Parcels that it carries or has sent, copy by copy, in the order of their bytes, each once.
  package let copies: [ParcelCopy]
  /// Whether it takes parcels for others at present.
  package let takes: Bool
  /// Receipts for the other. The dialler has none yet: what it has for the other depends on the other's ids.
  package let receipts: [ParcelReceipt]

  /// A greeting. The copies are put in order.
  package init(request: UInt64, copies: [ParcelCopy], takes: Bool, receipts: [ParcelReceipt]) {
    self.request = request
    self.copies = Set(copies).sorted { $0.bytes.lexicographicallyPrecedes($1.bytes) }
    self.takes = takes
    self.receipts = receipts
  }
  package func encode(into writer: inout Writer) throws(WireError) {
    guard copies.count <= Self.idLimit else { throw .limitExceeded(field: "parcels", limit: Self.idLimit) }
    try writer.u64(request)
    try writer.count16(copies.count)
    for copy in copies { try copy.encode(into: &writer) }
    try writer.flag(takes)
    try write(list: receipts, into: &writer)
  }
  package init(from reader: inout Reader) throws(WireError) {
    request = try reader.u64("request")
    let count = try reader.count16(limit: Self.idLimit, "parcels")
    var copies: [ParcelCopy] = []
    for _ in 0..<count {
      let copy = try ParcelCopy(from: &reader)
      if let last = copies.last, !last.bytes.lexicographicallyPrecedes(copy.bytes) {
        throw .invalidValue(field: "parcel order")
      }
      copies.append(copy)
    }
    self.copies = copies
    takes = try reader.flag("takes")
    receipts = try list(of: ParcelReceipt.self, from: &reader)
  }
}

/// What the dialler has for the answerer.
package struct CourierOffers: PeerMessage {
  package static let type = MessageType.courierOffers
  package let request: UInt64
  /// Receipts for the other.
  package let receipts: [ParcelReceipt]
  /// Parcels for the other.
  package let offers: [CourierOffer]

  package init(request: UInt64, receipts: [ParcelReceipt], offers: [CourierOffer]) {
    self.request = request
    self.receipts = receipts
    self.offers = offers
  }
  package func encode(into writer: inout Writer) throws(WireError) {
    try writer.u64(request)
    try write(list: receipts, into: &writer)
    try write(list: offers, into: &writer)
  }
  package init(from reader: inout Reader) throws(WireError) {
    request = try reader.u64("request")
    receipts = try list(of: ParcelReceipt.self, from: &reader)
    offers = try list(of: CourierOffer.self, from: &reader)
  }
}

/// What the answerer wants of the dialler's offers, and what it has itself.
package struct CourierReplies: PeerMessage {
  package static let type = MessageType.courierReplies
  package let request: UInt64
  /// What it says to the dialler's offers.
  package let replies: [CourierReply]
  /// Parcels for the dialler.
  package let offers: [CourierOffer]

  package init(request: UInt64, replies: [CourierReply], offers: [CourierOffer]) {
    self.request = request
    self.replies = replies
    self.offers = offers
  }
  package func encode(into writer: inout Writer) throws(WireError) {
    try writer.u64(request)
    try write(list: replies, into: &writer)
    try write(list: offers, into: &writer)
  }
  package init(from reader: inout Reader) throws(WireError) {
    request = try reader.u64("request")
    replies = try list(of: CourierReply.self, from: &reader)
    offers = try list(of: CourierOffer.self, from: &reader)
  }
}

/// A piece of a parcel: 65536 bytes, the last one fewer, one behind the other.
package struct CourierPiece: PeerMessage {
  package static let type = MessageType.courierPiece
  /// Bytes of every piece but the last.
  package static let byteLimit = 65_536
  package let request: UInt64
  package let copy: ParcelCopy
  /// Carriers that may still take it behind the one that gets it here.
  package let hopsLeft: UInt8
  /// The branch of this copy.
  package let branch: UInt8
  /// Bytes of the parcel's encoding.
  package let total: Int
  /// Where in it the piece begins.
  package let offset: Int
  package let bytes: [UInt8]

  package init(
    request: UInt64, copy: ParcelCopy, hopsLeft: UInt8, branch: UInt8, total: Int, offset: Int, bytes: [UInt8]
  ) {
    self.request = request
    self.copy = copy
    self.hopsLeft = hopsLeft
    self.branch = branch
    self.total = total
    self.offset = offset
    self.bytes = bytes
  }

  /// The piece that begins at `offset` of a parcel's encoding, which is longer.
  package init(
    request: UInt64, copy: ParcelCopy, hopsLeft: UInt8, branch: UInt8, of parcel: [UInt8], offset: Int
  ) {
    self.init(
      request: request, copy: copy, hopsLeft: hopsLeft, branch: branch, total: parcel.count, offset: offset,
      bytes: Array(parcel.dropFirst(offset).prefix(Self.byteLimit)))
  }

  package func encode(into writer: inout Writer) throws(WireError) {
    try require()
    try writer.u64(request)
    try copy.encode(into: &writer)
    try writer.u8(hopsLeft)
    try writer.u8(branch)
    try writer.count32(total)
    try writer.count32(offset)
    try writer.bytes32(bytes)
  }
  package init(from reader: inout Reader) throws(WireError) {
    request = try reader.u64("request")
    copy = try ParcelCopy(from: &reader)
    hopsLeft = try reader.u8("parcel hops")
    branch = try reader.u8("parcel branch")
    total = try reader.count32(limit: Parcel.byteLimit, "parcel")
    offset = try reader.count32(limit: Parcel.byteLimit, "offset")
    bytes = try reader.bytes32(limit: Self.byteLimit, "piece bytes")
    try require()
  }

  private func require() throws(WireError) {
    guard hopsLeft <= Parcel.hopLimit else { throw .invalidValue(field: "parcel hops") }
    guard branch <= ParcelProof.noBranch else { throw .invalidValue(field: "parcel branch") }
    guard Parcel.isByteCount(total) else { throw .invalidValue(field: "parcel size") }
    guard (0..<total).contains(offset), offset.isMultiple(of: Self.byteLimit) else {
      throw .invalidValue(field: "offset")
    }
    guard bytes.count == min(Self.byteLimit, total - offset) else { throw .invalidValue(field: "piece bytes") }
  }
}

/// What became of a parcel whose last piece has come.
package struct CourierTaken: PeerMessage {
  /// What became of it.
  package enum Outcome: UInt8, Hashable, Sendable, CaseIterable {
    /// It is durable with the recipient, or with a carrier.
    case taken = 1
    /// It was there already, or had been.
    case known = 2
    /// It isn't taken.
    case refused = 3
  }

  package static let type = MessageType.courierTaken
  package let request: UInt64
  package let copy: ParcelCopy
  package let outcome: Outcome
  /// Its recipient's receipt, if it has arrived.
  package let receipt: ParcelReceipt?

  /// What became of `copy`. A receipt is for that parcel, and for none that was refused.
  package init(request: UInt64, copy: ParcelCopy, outcome: Outcome, receipt: ParcelReceipt? = nil) {
    self.request = request
    self.copy = copy
    self.outcome = outcome
    self.receipt = receipt
  }
  package func encode(into writer: inout Writer) throws(WireError) {
    try require()
    try writer.u64(request)
    try copy.encode(into: &writer)
    try writer.u8(outcome.rawValue)
    try writer.flag(receipt != nil)
    if let receipt { try receipt.encode(into: &writer) }
  }
  package init(from reader: inout Reader) throws(WireError) {
    request = try reader.u64("request")
    copy = try ParcelCopy(from: &reader)
    outcome = try choice(from: &reader, "outcome")
    receipt = try reader.flag("receipt") ? try ParcelReceipt(from: &reader) : nil
    try require()
  }

  private func require() throws(WireError) {
    guard let receipt else { return }
    guard receipt.id == copy.id, outcome != .refused else { throw .invalidValue(field: "receipt") }
  }
}

/// "Your turn": what the dialler wants of the answerer's offers.
package struct CourierTurn: PeerMessage {
  package static let type = MessageType.courierTurn
  package let request: UInt64
  /// What it says to the answerer's offers.
  package let replies: [CourierReply]

  package init(request: UInt64, replies: [CourierReply]) {
    self.request = request
    self.replies = replies
  }
  package func encode(into writer: inout Writer) throws(WireError) {
    try writer.u64(request)
    try write(list: replies, into: &writer)
  }
  package init(from reader: inout Reader) throws(WireError) {
    request = try reader.u64("request")
    replies = try list(of: CourierReply.self, from: &reader)
  }
}

/// "That was all." Said by the answerer.
package typealias CourierEnd = NumberMessage<CourierEndKind>
package enum CourierEndKind: MessageKind { package static let type = MessageType.courierEnd }
