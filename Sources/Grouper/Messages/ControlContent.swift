public import Sodium
public import WireCodec

/// Content of *confirm*: how far its sender has come.
public struct ConfirmContent: WireValue, Hashable, Sendable {
  /// The roster that the sender knows, so that others notice who has missed a newer one.
  public let serial: UInt64
  public let rosterDigest: Digest
  /// For each stream the newest number up to which the sender has all messages, its own included.
  public let vector: VersionVector

  /// Takes all of it.
  public init(serial: UInt64, rosterDigest: Digest, vector: VersionVector) {
    self.serial = serial
    self.rosterDigest = rosterDigest
    self.vector = vector
  }

  /// Exact number of encoded bytes.
  public var encodedByteCount: Int { 8 + 32 + vector.encodedByteCount }

  /// Writes the canonical encoding.
  public func encode(into writer: inout Writer) throws(WireError) {
    try writer.u64(serial)
    try writer.bytes(rosterDigest.bytes)
    try vector.encode(into: &writer)
  }

  public init(from reader: inout Reader) throws(WireError) {
    serial = try reader.u64("serial")
    let digest = try reader.bytes(Digest.byteCount, "roster digest")
    do throws(SodiumError) { rosterDigest = try Digest(digest) } catch { throw .invalidValue(field: "roster digest") }
    vector = try VersionVector(from: &reader)
  }
}

/// Content of *resend*, and part of that of *skip*: sequence numbers by stream.
public struct SequenceTable: WireValue, Hashable, Sendable {
  /// Longest encoding: what a message may hold.
  public static let byteLimit = GrouperMessage.contentByteLimit

  /// Numbers by stream; none of the sets is empty.
  public private(set) var rows: [StreamID: SequenceSet]

  /// Takes sets; empty ones are left out.
  public init(_ rows: [StreamID: SequenceSet] = [:]) { self.rows = rows.filter { !$0.value.isEmpty } }

  /// Whether there are none.
  public var isEmpty: Bool { rows.isEmpty }

  /// How many numbers there are.
  public var count: UInt64 { rows.values.reduce(0) { $0 + $1.count } }

  /// Exact number of encoded bytes.
  public var encodedByteCount: Int { rows.values.reduce(2) { $0 + StreamID.byteCount + $1.encodedByteCount } }

  /// Writes the canonical encoding: in ascending order of streams.
  public func encode(into writer: inout Writer) throws(WireError) {
    try writer.count16(rows.count)
    for (stream, set) in rows.sorted(by: { $0.key < $1.key }) {
      try stream.encode(into: &writer)
      try set.encode(into: &writer)
    }
  }

  /// Reads a table; refuses empty sets and streams out of order.
  public init(from reader: inout Reader) throws(WireError) {
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
public struct SkipContent: WireValue, Hashable, Sendable {
  /// What is skipped.
  public let table: SequenceTable
  /// As in *confirm*.
  public let vector: VersionVector

  /// Takes both.
  public init(table: SequenceTable, vector: VersionVector) {
    self.table = table
    self.vector = vector
  }

  /// Exact number of encoded bytes.
  public var encodedByteCount: Int { table.encodedByteCount + vector.encodedByteCount }

  /// Writes the canonical encoding.
  public func encode(into writer: inout Writer) throws(WireError) {
    try table.encode(into: &writer)
    try vector.encode(into: &writer)
  }

  public init(from reader: inout Reader) throws(WireError) {
    table = try SequenceTable(from: &reader)
    vector = try VersionVector(from: &reader)
  }
}
