import Sodium
import WireCodec

/// What this device's user wants to be changed about a secret's holders: it waits here until a proposal can be made.
struct Wish: WireValue, Hashable, Sendable {
  static let version: UInt8 = 1
  static let byteLimit = 1 << 15

  /// Card digests of those who are to hold no share any more.
  var removed: Set<Digest> = []
  /// Of those who are to hold one.
  var added: Set<Digest> = []
  /// Who takes whose place, and with it the index: new by old.
  var places: [Digest: Digest] = [:]
  /// Nil for as many as now.
  var threshold: UInt8?
  /// Whether holders from whom nothing is heard are left out.
  var leavesOutAbsent = false

  init() {}

  func encode(into writer: inout Writer) throws(WireError) {
    try writer.u8(Self.version)
    for digests in [removed, added] {
      try writer.count16(digests.count)
      for digest in digests.sorted(by: Self.ascending) { try writer.bytes(digest.bytes) }
    }
    try writer.count16(places.count)
    for (old, new) in places.sorted(by: { Self.ascending($0.key, $1.key) }) {
      try writer.bytes(old.bytes)
      try writer.bytes(new.bytes)
    }
    try writer.u8(threshold ?? 0)
    try writer.flag(leavesOutAbsent)
  }

  init(from reader: inout Reader) throws(WireError) {
    try reader.version(Self.version, "wish version")
    removed = Set(try Self.digests(from: &reader))
    added = Set(try Self.digests(from: &reader))
    for _ in 0..<(try reader.count16(limit: 255, "places")) {
      let old = try Self.digest(from: &reader)
      places[old] = try Self.digest(from: &reader)
    }
    let threshold = try reader.u8("threshold")
    self.threshold = threshold == 0 ? nil : threshold
    leavesOutAbsent = try reader.flag("whether absent holders are left out")
  }

  private static func digests(from reader: inout Reader) throws(WireError) -> [Digest] {
    var digests: [Digest] = []
    for _ in 0..<(try reader.count16(limit: 255, "holders")) { digests.append(try digest(from: &reader)) }
    return digests
  }

  private static func digest(from reader: inout Reader) throws(WireError) -> Digest {
    guard let digest = try? Digest(try reader.bytes(Digest.byteCount, "holder")) else {
      throw .invalidValue(field: "holder")
    }
    return digest
  }

  private static func ascending(_ one: Digest, _ other: Digest) -> Bool {
    one.bytes.lexicographicallyPrecedes(other.bytes)
  }
}
