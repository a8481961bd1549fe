package import ShamirKit
package import Sodium
import WireCodec

package struct DrillRecord: Hashable, Sendable {
  /// How far the user has been warned, so that nobody is told the same time and again.
  package enum Warning: UInt8, Hashable, Sendable, Comparable {
    case none = 0
    /// As many holders answered as are needed, or fewer than there were.
    case low = 1
    /// Fewer than are needed.
    case lost = 2

    /// Less is less to worry about.
    package static func < (one: Warning, other: Warning) -> Bool { one.rawValue < other.rawValue }
  }

  /// Somebody who has proved to hold a share.
  package struct Holder: Hashable, Sendable {
    package let peer: Digest
    package let index: UInt8
    /// Whether the last drill found share and fragment sound.
    package let isWhole: Bool
    /// When it last proved its share, in milliseconds since 1970.
    package let provenAt: Int64

    package init(peer: Digest, index: UInt8, isWhole: Bool, provenAt: Int64) {
      self.peer = peer
      self.index = index
      self.isWhole = isWhole
      self.provenAt = provenAt
    }
  }

  package let secretID: SecretID
  /// Milliseconds since 1970.
  package let checkedAt: Int64
  /// Holders that answered, this device included.
  package let answered: Int
  package let needed: Int
  /// Whether enough shares and fragments were there.
  package let isRecoverable: Bool
  /// Whether another holder could bring it back with this device gone; nil if nobody knows.
  package let isRecoverableElsewhere: Bool?
  package var warned: Warning
  package let holders: [Holder]

  package init(
    secretID: SecretID, checkedAt: Int64, answered: Int, needed: Int, isRecoverable: Bool,
    isRecoverableElsewhere: Bool? = nil, warned: Warning, holders: [Holder]
  ) {
    self.secretID = secretID
    self.checkedAt = checkedAt
    self.answered = answered
    self.needed = needed
    self.isRecoverable = isRecoverable
    self.isRecoverableElsewhere = isRecoverableElsewhere
    self.warned = warned
    self.holders = holders
  }
}

/// The holders of a ``DrillRecord`` in one column: 16-bit count, then card digest, share number, flag and time each.
struct DrillHolders: WireValue {
  static let countLimit = 255
  private static let entryByteCount = Digest.byteCount + 1 + 1 + 8
  static let byteLimit = 2 + countLimit * entryByteCount

  let holders: [DrillRecord.Holder]

  init(_ holders: [DrillRecord.Holder]) { self.holders = holders }

  func encode(into writer: inout Writer) throws(WireError) {
    guard holders.count <= Self.countLimit else { throw .limitExceeded(field: "holders", limit: Self.countLimit) }
    try writer.count16(holders.count)
    for holder in holders {
      try writer.bytes(holder.peer.bytes)
      try writer.u8(holder.index)
      try writer.flag(holder.isWhole)
      try writer.signed(holder.provenAt)
    }
  }

  init(from reader: inout Reader) throws(WireError) {
    let count = try reader.count16(limit: Self.countLimit, "holders")
    var holders: [DrillRecord.Holder] = []
    for _ in 0..<count {
      let bytes = try reader.bytes(Digest.byteCount, "holder")
      guard let peer = try? Digest(bytes) else { throw .invalidValue(field: "holder") }
      let index = try reader.u8("share number")
      guard index > 0 else { throw .invalidValue(field: "share number") }
      holders.append(
        DrillRecord.Holder(
          peer: peer, index: index, isWhole: try reader.flag("sound"),
          provenAt: try reader.signed("time")))
    }
    self.holders = holders
  }
}
