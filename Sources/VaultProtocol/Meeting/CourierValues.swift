package import WireCodec

/// A parcel that one of two devices that meet could give to the other.
package struct CourierOffer: WireValue, Hashable, Sendable {
  package static let byteCount = ParcelCopy.byteCount + Parcel.tagByteCount + 4 + 8 + 3
  /// Most offers of a message.
  package static let countLimit = 256

  package let copy: ParcelCopy
  /// What it shows of its recipient.
  package let tag: [UInt8]
  /// Bytes of its encoding.
  package let size: Int
  /// Milliseconds since 1970, from which on it is worth nothing.
  package let expiresAt: Int64
  /// Carriers that may still take it behind the one that it is offered to.
  package let hopsLeft: UInt8
  /// Which of its sender's carriers the copy went to first, from 0, or ``ParcelProof/noBranch``.
  package let branch: UInt8
  /// Whether it is addressed to the other, as far as the one who offers it can tell.
  package let isYours: Bool
  /// Whether it may be left at servers. Nobody signs that: a dishonest carrier can disregard it.
  package let allowsServers: Bool

  /// An offer; of a parcel for no server, unless that is said.
  package init(
    copy: ParcelCopy, tag: [UInt8], size: Int, expiresAt: Int64, hopsLeft: UInt8, branch: UInt8, isYours: Bool,
    allowsServers: Bool = false
  ) {
    self.copy = copy
    self.tag = tag
    self.size = size
    self.expiresAt = expiresAt
    self.hopsLeft = hopsLeft
    self.branch = branch
    self.isYours = isYours
    self.allowsServers = allowsServers
  }

  package func encode(into writer: inout Writer) throws(WireError) {
    try require()
    guard tag.count == Parcel.tagByteCount else { throw .invalidValue(field: "parcel tag") }
    try copy.encode(into: &writer)
    try writer.bytes(tag)
    try writer.count32(size)
    try writer.u64(UInt64(expiresAt))
    try writer.u8(hopsLeft)
    try writer.u8(branch)
    try writer.u8((isYours ? Flags.isYours : 0) | (allowsServers ? Flags.allowsServers : 0))
  }

  package init(from reader: inout Reader) throws(WireError) {
    copy = try ParcelCopy(from: &reader)
    tag = try reader.bytes(Parcel.tagByteCount, "parcel tag")
    size = try reader.count32(limit: Parcel.byteLimit, "parcel")
    expiresAt = try time(from: &reader, "parcel expiry")
    hopsLeft = try reader.u8("parcel hops")
    branch = try reader.u8("parcel branch")
    let flags = try reader.u8("offer")
    guard flags & ~(Flags.isYours | Flags.allowsServers) == 0 else { throw .invalidValue(field: "offer") }
    isYours = flags & Flags.isYours != 0
    allowsServers = flags & Flags.allowsServers != 0
    try require()
  }

  private enum Flags {
    static let isYours: UInt8 = 1
    static let allowsServers: UInt8 = 2
  }

  private func require() throws(WireError) {
    guard Parcel.isByteCount(size) else { throw .invalidValue(field: "parcel size") }
    guard (1...Parcel.timeLimit).contains(expiresAt) else { throw .invalidValue(field: "parcel expiry") }
    guard hopsLeft <= Parcel.hopLimit else { throw .invalidValue(field: "parcel hops") }
    guard branch <= ParcelProof.noBranch else { throw .invalidValue(field: "parcel branch") }
  }
}

/// What a device says to an offer.
package struct CourierReply: WireValue, Hashable, Sendable {
  package enum Answer: Hashable, Sendable {
    /// It takes the parcel; as a carrier it says how likely it is to get it to the recipient, in 1/65535.
    case wanted(claim: UInt16)
    case had
    /// It takes no more, or not this.
    case refused
  }

  package static let byteCount = ParcelCopy.byteCount + 1 + 2

  package let copy: ParcelCopy
  package let answer: Answer

  /// A reply to the offer of `copy`.
  package init(copy: ParcelCopy, answer: Answer) {
    self.copy = copy
    self.answer = answer
  }

  package func encode(into writer: inout Writer) throws(WireError) {
    let (number, claim): (UInt8, UInt16) =
      switch answer {
      case .wanted(let claim): (1, claim)
      case .had: (2, 0)
      case .refused: (3, 0)
      }
    try copy.encode(into: &writer)
    try writer.u8(number)
    try writer.u16(claim)
  }

  package init(from reader: inout Reader) throws(WireError) {
    copy = try ParcelCopy(from: &reader)
    let number = try reader.u8("reply")
    let claim = try reader.u16("claim")
    switch (number, claim) {
    case (1, _): answer = .wanted(claim: claim)
    case (2, 0): answer = .had
    case (3, 0): answer = .refused
    case (2, _), (3, _): throw .invalidValue(field: "claim")
    default: throw .invalidValue(field: "reply")
    }
  }
}

/// Something that names a parcel, or a copy of one. A list of such names each once.
protocol ParcelNamed: WireValue {
  associatedtype Name: Hashable
  var name: Name { get }
}

extension CourierOffer: ParcelNamed {
  var name: ParcelCopy { copy }
}

extension CourierReply: ParcelNamed {
  var name: ParcelCopy { copy }
}

extension ParcelReceipt: ParcelNamed {
  var name: ParcelID { id }
}

/// Writes a list in which nothing comes twice.
func write<Value: ParcelNamed>(list: [Value], into writer: inout Writer) throws(WireError) {
  guard list.count <= CourierOffer.countLimit else {
    throw .limitExceeded(field: "parcels", limit: CourierOffer.countLimit)
  }
  guard Set(list.map(\.name)).count == list.count else { throw .invalidValue(field: "parcels") }
  try writer.count16(list.count)
  for value in list { try value.encode(into: &writer) }
}

/// Reads a list in which nothing comes twice.
func list<Value: ParcelNamed>(
  of type: Value.Type, from reader: inout Reader
) throws(WireError) -> [Value] {
  let count = try reader.count16(limit: CourierOffer.countLimit, "parcels")
  var list: [Value] = []
  var names: Set<Value.Name> = []
  for _ in 0..<count {
    let value = try Value(from: &reader)
    guard names.insert(value.name).inserted else { throw .invalidValue(field: "parcels") }
    list.append(value)
  }
  return list
}
