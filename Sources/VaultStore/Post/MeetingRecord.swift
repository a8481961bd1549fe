package import Sodium
package import WireCodec

/// One meeting with a peer: when, how, and what it moved. What is in the log of meetings.
package struct MeetingRecord: WireValue, Hashable, Sendable {
  package enum Ending: UInt8, CaseIterable, Sendable {
    /// Everything was said.
    case regular = 1
    /// The connection ended, or the time was over.
    case brokenOff = 2
    /// One of both said no, or sent what can't be right.
    case refused = 3
    /// It didn't begin: another one with the same peer was under way, or just over.
    case busy = 4
    /// This device failed.
    case failed = 5
  }

  /// What went to the peer.
  package struct Given: Hashable, Sendable {
    /// Own parcels for the peer, confirmed by it.
    package var delivered: UInt32 = 0
    /// Own parcels for others, to be carried.
    package var toCarry: UInt32 = 0
    /// Parcels of others for the peer.
    package var handedOver: UInt32 = 0
    /// Parcels of others for others, to be carried on.
    package var passedOn: UInt32 = 0
    /// Bytes of parcels, refused ones included.
    package var byteCount: UInt64 = 0
    /// Receipts that were told.
    package var receipts: UInt32 = 0

    package init() {}
  }

  /// What came from the peer.
  package struct Taken: Hashable, Sendable {
    /// Parcels for this device.
    package var received: UInt32 = 0
    /// Parcels for others, to be carried.
    package var toCarry: UInt32 = 0
    /// Bytes of parcels, refused ones included.
    package var byteCount: UInt64 = 0
    /// Receipts that were news.
    package var receipts: UInt32 = 0

    package init() {}
  }

  static let byteLimit = 128

  package let peer: Digest
  /// When it began, in milliseconds since 1970.
  package let beganAt: Int64
  /// Milliseconds that it took.
  package let duration: UInt64
  /// Whether it was over Bluetooth.
  package let isNearby: Bool
  /// Whether this device began it.
  package let isDialled: Bool
  package let ending: Ending
  package let given: Given
  package let taken: Taken

  package init(
    peer: Digest, beganAt: Int64, duration: UInt64, isNearby: Bool, isDialled: Bool, ending: Ending,
    given: Given = Given(), taken: Taken = Taken()
  ) {
    self.peer = peer
    self.beganAt = beganAt
    self.duration = duration
    self.isNearby = isNearby
    self.isDialled = isDialled
    self.ending = ending
    self.given = given
    self.taken = taken
  }

  package func encode(into writer: inout Writer) throws(WireError) {
    try writer.u8(1)
    try writer.bytes(peer.bytes)
    try writer.signed(beganAt)
    try writer.u64(duration)
    try writer.flag(isNearby)
    try writer.flag(isDialled)
    try writer.u8(ending.rawValue)
    for count in [given.delivered, given.toCarry, given.handedOver, given.passedOn] { try writer.u32(count) }
    try writer.u64(given.byteCount)
    try writer.u32(given.receipts)
    for count in [taken.received, taken.toCarry] { try writer.u32(count) }
    try writer.u64(taken.byteCount)
    try writer.u32(taken.receipts)
  }

  package init(from reader: inout Reader) throws(WireError) {
    guard try reader.u8("version") == 1 else { throw .invalidValue(field: "version") }
    peer = try reader.digest("peer")
    beganAt = try reader.signed("began")
    duration = try reader.u64("duration")
    isNearby = try reader.flag("nearby")
    isDialled = try reader.flag("dialled")
    guard let ending = Ending(rawValue: try reader.u8("ending")) else { throw .invalidValue(field: "ending") }
    self.ending = ending
    var given = Given()
    given.delivered = try reader.u32("delivered")
    given.toCarry = try reader.u32("given to be carried")
    given.handedOver = try reader.u32("handed over")
    given.passedOn = try reader.u32("passed on")
    given.byteCount = try reader.u64("bytes given")
    given.receipts = try reader.u32("receipts told")
    self.given = given
    var taken = Taken()
    taken.received = try reader.u32("received")
    taken.toCarry = try reader.u32("taken to be carried")
    taken.byteCount = try reader.u64("bytes taken")
    taken.receipts = try reader.u32("receipts learned")
    self.taken = taken
  }
}
