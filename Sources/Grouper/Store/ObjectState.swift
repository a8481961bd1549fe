package import WireCodec

/// One version of an object, made by one message.
package struct ObjectVersion: Hashable, Sendable {
  package let version: VersionVector
  /// When it was made, after everything that it has seen.
  package let time: HybridTime
  /// Who made it, in which counting.
  package let stream: StreamID
  package let sequence: UInt64
  package let isDeletion: Bool

  package var sender: NodeID { stream.node }

  init(_ message: GrouperMessage) {
    version = message.version
    time = message.time
    stream = message.stream
    sequence = message.sequence
    isDeletion = message.type == .delete
  }

  /// Whether this one wins where the newest wins: by time, then by sender and number. A total order, the same for everybody, in which
  /// a version comes after all that it has seen.
  func isNewer(than other: ObjectVersion) -> Bool {
    (time, stream, sequence) > (other.time, other.stream, other.sequence)
  }
}

/// What is known of an object: the versions that count, and what all have seen that ever counted.
struct ObjectState: WireValue, Hashable, Sendable {
  static let byteLimit = 16 << 20
  static let versionLimit = StreamID.limit

  let className: String
  let objectID: String
  var seen: VersionVector
  /// One where the newest wins, else all that are concurrent.
  var versions: [ObjectVersion]

  init(className: String, objectID: String) {
    self.className = className
    self.objectID = objectID
    seen = VersionVector()
    versions = []
  }

  /// The version that is shown.
  var newest: ObjectVersion? { versions.max { $1.isNewer(than: $0) } }

  /// Takes a version. Says which versions mean nothing any more, this one included if it comes too late.
  mutating func take(_ version: ObjectVersion, keepingConflicts: Bool) -> [ObjectVersion] {
    seen.merge(version.version)
    let all = versions + [version]
    if keepingConflicts {
      // What another one has seen means nothing any more. The same for everybody, in whatever order they come.
      versions = all.filter { candidate in
        !all.contains { $0 != candidate && $0.version.includes(candidate.version) }
      }
      if versions.count > Self.versionLimit {
        versions = Array(versions.sorted { $0.isNewer(than: $1) }.prefix(Self.versionLimit))
      }
    } else {
      versions = all.max { $1.isNewer(than: $0) }.map { [$0] } ?? []
    }
    // No more than can be written: what the versions that count have seen is enough.
    if seen.entries.count > VersionVector.entryLimit {
      seen = versions.reduce(into: VersionVector()) { $0.merge($1.version) }
      if seen.entries.count > VersionVector.entryLimit { seen = version.version }
    }
    return all.filter { !versions.contains($0) }
  }

  func encode(into writer: inout Writer) throws(WireError) {
    try writer.u8(1)
    try writer.text16(className)
    try writer.text16(objectID)
    try seen.encode(into: &writer)
    try writer.count16(versions.count)
    for version in versions { try version.encode(into: &writer) }
  }

  init(from reader: inout Reader) throws(WireError) {
    guard try reader.u8("object version") == 1 else { throw .invalidValue(field: "object version") }
    className = try reader.text16(limit: GrouperMessage.classByteLimit, "class")
    objectID = try reader.text16(limit: GrouperMessage.objectByteLimit, "object id")
    seen = try VersionVector(from: &reader)
    versions = try reader.list(reader.count16(limit: Self.versionLimit, "versions"))
  }
}

extension ObjectVersion: WireValue {
  package func encode(into writer: inout Writer) throws(WireError) {
    try version.encode(into: &writer)
    try time.encode(into: &writer)
    try stream.encode(into: &writer)
    try writer.u64(sequence)
    try writer.flag(isDeletion)
  }

  package init(from reader: inout Reader) throws(WireError) {
    version = try VersionVector(from: &reader)
    time = try HybridTime(from: &reader)
    stream = try StreamID(from: &reader)
    sequence = try reader.u64("sequence")
    isDeletion = try reader.flag("deletion")
  }
}
