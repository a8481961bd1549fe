package import Sodium
package import WireCodec

/// Content of *confirm*: how far its sender has come.
package struct ConfirmContent: WireValue, Hashable, Sendable {
  /// The roster that the sender knows, so that others notice who has missed a newer one.
  package let serial: UInt64
  package let rosterDigest: Digest
  /// For each stream the newest number up to which the sender has all messages, its own included.
  package let vector: VersionVector

  package init(serial: UInt64, rosterDigest: Digest, vector: VersionVector) {
    self.serial = serial
    self.rosterDigest = rosterDigest
    self.vector = vector
  }

  package func encode(into writer: inout Writer) throws(WireError) {
    try writer.u64(serial)
    try writer.bytes(rosterDigest.bytes)
    try vector.encode(into: &writer)
  }

  package init(from reader: inout Reader) throws(WireError) {
    serial = try reader.u64("serial")
    rosterDigest = try reader.digest("roster digest")
    vector = try VersionVector(from: &reader)
  }
}

/// Content of *resend*, and part of that of *skip*: sequence numbers by stream.
package struct SequenceTable: WireValue, Hashable, Sendable {
  package static let byteLimit = GrouperMessage.contentByteLimit

  /// Numbers by stream; none of the sets is empty.
  package private(set) var rows: [StreamID: SequenceSet]

  /// Takes sets; empty ones are left out.
  package init(_ rows: [StreamID: SequenceSet] = [:]) { self.rows = rows.filter { !$0.value.isEmpty } }

  package var isEmpty: Bool { rows.isEmpty }

  package var count: UInt64 { rows.values.reduce(0) { $0 + $1.count } }

  /// Writes the canonical encoding: in ascending order of streams.
  package func encode(into writer: inout Writer) throws(WireError) {
    try writer.count16(rows.count)
    for (stream, set) in rows.sorted(by: { $0.key < $1.key }) {
      try stream.encode(into: &writer)
      try set.encode(into: &writer)
    }
  }

  /// Reads a table; refuses empty sets and streams out of order.
  package init(from reader: inout Reader) throws(WireError) {
    let count = try reader.count16(limit: StreamID.limit, "streams")
    rows = [:]
    var last: StreamID?
    for _ in 0..<count {
      let stream = try StreamID(from: &reader)
      let set = try SequenceSet(from: &reader)
      guard !set.isEmpty else { throw .invalidValue(field: "sequences") }
      if let last, last >= stream { throw .invalidValue(field: "stream order") }
      last = stream
      rows[stream] = set
    }
  }
}

/// Content of *skip*: messages that mean nothing any more, and how far its sender has come, so that whoever takes its word
/// learns of what took their place.
package struct SkipContent: WireValue, Hashable, Sendable {
  package let table: SequenceTable
  /// As in *confirm*.
  package let vector: VersionVector

  package init(table: SequenceTable, vector: VersionVector) {
    self.table = table
    self.vector = vector
  }

  package func encode(into writer: inout Writer) throws(WireError) {
    try table.encode(into: &writer)
    try vector.encode(into: &writer)
  }

  package init(from reader: inout Reader) throws(WireError) {
    table = try SequenceTable(from: &reader)
    vector = try VersionVector(from: &reader)
  }
}
