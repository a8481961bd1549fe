package import WireCodec

/// How far an object's version has seen everybody's changes: for each stream the sequence number of its last message
/// that it takes account of (Parker et al., "Detection of mutual inconsistency in distributed systems", 1983; numbered by
/// messages instead of changes of the object, which orders the same).
package struct VersionVector: WireValue, Hashable, Sendable {
  package static let entryLimit = StreamID.limit

  /// Sequence numbers by stream; none of them 0.
  package private(set) var entries: [StreamID: UInt64]

  package init() { entries = [:] }

  /// Takes entries; those of 0 are left out.
  package init(_ entries: [StreamID: UInt64]) { self.entries = entries.filter { $0.value > 0 } }

  /// How far it has seen this stream's changes.
  package subscript(stream: StreamID) -> UInt64 {
    get { entries[stream] ?? 0 }
    set { entries[stream] = newValue == 0 ? nil : newValue }
  }

  /// Sees all that the other one has seen, too.
  package mutating func merge(_ other: VersionVector) {
    entries.merge(other.entries) { max($0, $1) }
  }

  /// Whether this one has seen all that the other one has; equal ones have.
  package func includes(_ other: VersionVector) -> Bool {
    other.entries.allSatisfy { self[$0.key] >= $0.value }
  }

  /// Writes the canonical encoding: in ascending order of streams.
  package func encode(into writer: inout Writer) throws(WireError) {
    guard entries.count <= Self.entryLimit else { throw .limitExceeded(field: "versions", limit: Self.entryLimit) }
    try writer.count16(entries.count)
    for (stream, number) in entries.sorted(by: { $0.key < $1.key }) {
      try stream.encode(into: &writer)
      try writer.u64(number)
    }
  }

  /// Reads a vector; refuses numbers of 0 or over the limit, and streams out of order.
  package init(from reader: inout Reader) throws(WireError) {
    let count = try reader.count16(limit: Self.entryLimit, "versions")
    entries = [:]
    var last: StreamID?
    for _ in 0..<count {
      let stream = try StreamID(from: &reader)
      let number = try reader.u64("version")
      guard number > 0, number <= SequenceSet.numberLimit else { throw .invalidValue(field: "version") }
      if let last, last >= stream { throw .invalidValue(field: "version order") }
      last = stream
      entries[stream] = number
    }
  }
}
