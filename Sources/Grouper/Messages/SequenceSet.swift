package import WireCodec

/// Sequence numbers, as ranges in ascending order that neither overlap nor touch.
package struct SequenceSet: WireValue, Hashable, Sendable {
  package static let numberLimit: UInt64 = 1 << 62
  /// Most ranges in a message.
  package static let rangeLimit = 512

  package private(set) var ranges: [ClosedRange<UInt64>]

  package init() { ranges = [] }

  package init(_ range: ClosedRange<UInt64>) { ranges = [range] }

  package var isEmpty: Bool { ranges.isEmpty }

  package var count: UInt64 { ranges.reduce(0) { $0 + ($1.upperBound - $1.lowerBound + 1) } }

  package var first: UInt64? { ranges.first?.lowerBound }

  package var last: UInt64? { ranges.last?.upperBound }

  /// Place of the first range that ends at `number` or later.
  private func place(of number: UInt64) -> Int {
    var low = 0
    var high = ranges.count
    while low < high {
      let middle = (low + high) / 2
      if ranges[middle].upperBound < number { low = middle + 1 } else { high = middle }
    }
    return low
  }

  package func contains(_ number: UInt64) -> Bool {
    let place = place(of: number)
    return place < ranges.count && ranges[place].lowerBound <= number
  }

  package mutating func insert(_ number: UInt64) { insert(number...number) }

  package mutating func insert(_ range: ClosedRange<UInt64>) {
    var lower = range.lowerBound
    var upper = range.upperBound
    var begin = place(of: lower)
    if begin > 0, ranges[begin - 1].upperBound + 1 == lower { begin -= 1 }
    var end = begin
    while end < ranges.count, ranges[end].lowerBound <= upper || ranges[end].lowerBound - 1 == upper {
      lower = min(lower, ranges[end].lowerBound)
      upper = max(upper, ranges[end].upperBound)
      end += 1
    }
    ranges.replaceSubrange(begin..<end, with: CollectionOfOne(lower...upper))
  }

  package mutating func formUnion(_ other: SequenceSet) { for range in other.ranges { insert(range) } }

  package mutating func remove(_ range: ClosedRange<UInt64>) {
    let begin = place(of: range.lowerBound)
    var end = begin
    var left: [ClosedRange<UInt64>] = []
    while end < ranges.count, ranges[end].lowerBound <= range.upperBound {
      let old = ranges[end]
      if old.lowerBound < range.lowerBound { left.append(old.lowerBound...(range.lowerBound - 1)) }
      if old.upperBound > range.upperBound { left.append((range.upperBound + 1)...old.upperBound) }
      end += 1
    }
    ranges.replaceSubrange(begin..<end, with: left)
  }

  package mutating func subtract(_ other: SequenceSet) { for range in other.ranges { remove(range) } }

  package func intersection(_ other: SequenceSet) -> SequenceSet {
    var outside = self
    outside.subtract(other)
    var result = self
    result.subtract(outside)
    return result
  }

  /// The first numbers, at most so many, in at most so many ranges.
  package func prefix(_ count: UInt64, ranges limit: Int = SequenceSet.rangeLimit) -> SequenceSet {
    var result = SequenceSet()
    var left = count
    for range in ranges.prefix(limit) where left > 0 {
      let isWhole = range.upperBound - range.lowerBound < left
      let upper = isWhole ? range.upperBound : range.lowerBound + (left - 1)
      left -= upper - range.lowerBound + 1
      result.ranges.append(range.lowerBound...upper)
    }
    return result
  }

  package func encode(into writer: inout Writer) throws(WireError) {
    guard ranges.count <= Self.rangeLimit else { throw .limitExceeded(field: "ranges", limit: Self.rangeLimit) }
    try writer.count16(ranges.count)
    for range in ranges {
      try writer.u64(range.lowerBound)
      try writer.u64(range.upperBound)
    }
  }

  /// Reads a set; refuses numbers of 0 or over the limit, and ranges that overlap, touch or are out of order.
  package init(from reader: inout Reader) throws(WireError) {
    let count = try reader.count16(limit: Self.rangeLimit, "ranges")
    ranges = []
    for _ in 0..<count {
      let lower = try reader.u64("range")
      let upper = try reader.u64("range")
      guard lower > 0, lower <= upper, upper <= Self.numberLimit else { throw .invalidValue(field: "range") }
      if let last = ranges.last, lower <= last.upperBound + 1 { throw .invalidValue(field: "range order") }
      ranges.append(lower...upper)
    }
  }
}
