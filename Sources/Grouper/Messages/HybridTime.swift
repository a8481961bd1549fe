package import WireCodec

/// A hybrid logical time: close to the clock, and later than everything it comes after (Kulkarni et al., "Logical physical
/// clocks", 2014).
package struct HybridTime: Hashable, Comparable, Sendable {
  /// Latest time that is read and sent, in milliseconds since 1970: the year 10889.
  package static let millisecondLimit: UInt64 = 1 << 48
  /// How far in the future another's time may be and still move this device's clock, in milliseconds.
  package static let toleranceMilliseconds: UInt64 = 5 * 60 * 1000

  /// Since 1970.
  package let milliseconds: UInt64
  /// Tells times within a millisecond apart.
  package let counter: UInt32

  package static let zero = HybridTime(milliseconds: 0, counter: 0)

  /// The least time after this one that isn't before the clock.
  package func next(at now: UInt64) -> HybridTime {
    if now > milliseconds { return HybridTime(milliseconds: now, counter: 0) }
    if counter < .max { return HybridTime(milliseconds: milliseconds, counter: counter + 1) }
    return HybridTime(milliseconds: milliseconds == .max ? .max : milliseconds + 1, counter: 0)
  }

  /// What this device's clock takes over of another's time: all of it, unless that is too far in the future. A wrong
  /// clock somewhere then makes its own objects look new, and nobody else's.
  package func tolerated(at now: UInt64) -> HybridTime {
    let latest = now + min(Self.toleranceMilliseconds, .max - now)
    return milliseconds <= latest ? self : HybridTime(milliseconds: latest, counter: 0)
  }

  package static func < (left: HybridTime, right: HybridTime) -> Bool {
    (left.milliseconds, left.counter) < (right.milliseconds, right.counter)
  }
}

extension HybridTime: WireValue {
  package func encode(into writer: inout Writer) throws(WireError) {
    try writer.u64(milliseconds)
    try writer.u32(counter)
  }

  /// Reads a time; refuses one over the limit.
  package init(from reader: inout Reader) throws(WireError) {
    milliseconds = try reader.u64("time")
    guard milliseconds <= Self.millisecondLimit else { throw .invalidValue(field: "time") }
    counter = try reader.u32("time counter")
  }
}
