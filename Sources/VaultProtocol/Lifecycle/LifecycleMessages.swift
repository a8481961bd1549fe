package import ShamirKit
package import Sodium
package import WireCodec

/// The first 8 bytes of an object's digest, by which two devices find out what the other lacks.
package typealias ObjectMark = UInt64

extension Digest {
  package var mark: ObjectMark { bytes.prefix(8).reduce(0) { $0 << 8 | UInt64($1) } }
}

/// "What do you know about how this secret's sharing changes? This is what I know."
///
/// Followed by an answer of ``LifecycleItem``s and a ``LifecycleEnd`` that says what is wanted; then the same the other
/// way round, and a ``LifecycleResult`` once it is kept. A no is a result, too.
package struct LifecycleRequest: PeerMessage {
  package static let type = MessageType.lifecycleRequest
  /// Most objects of a secret that are named.
  package static let markLimit = 8192

  package let request: UInt64
  /// ``AskTag`` of the secret; nil for "of all in which I have a place".
  package let tag: Digest?
  /// Of the share that the requester proves; nil for somebody who has none.
  package let proof: LifecycleProof?
  /// Ascending.
  package let known: [ObjectMark]

  package init(request: UInt64, tag: Digest?, proof: LifecycleProof?, known: [ObjectMark]) {
    self.request = request
    self.tag = tag
    self.proof = proof
    self.known = known
  }

  package func encode(into writer: inout Writer) throws(WireError) {
    try writer.u64(request)
    try writer.flag(tag != nil)
    if let tag { try writer.bytes(tag.bytes) }
    try writer.flag(proof != nil)
    if let proof { try proof.encode(into: &writer) }
    try writeMarks(known, into: &writer)
  }

  package init(from reader: inout Reader) throws(WireError) {
    request = try reader.u64("request")
    tag = try reader.flag("whether there is a tag") ? digest(from: &reader, "tag") : nil
    proof = try reader.flag("whether there is a proof") ? LifecycleProof(from: &reader) : nil
    known = try marks(from: &reader)
    guard tag != nil || proof == nil && known.isEmpty else { throw .invalidValue(field: "tag") }
  }

  /// The nonce of a proof: BLAKE2b-256("vault/lifecycle-challenge/v1", handshake hash or parcel binding, tag, request).
  package static func challenge(
    binding: Digest, tag: Digest, request: UInt64
  ) throws(ProtocolError) -> [UInt8] {
    do throws(SodiumError) {
      var hash = try DomainHash("vault/lifecycle-challenge/v1")
      hash.append(binding)
      hash.append(tag)
      hash.append(request)
      return hash.digest().bytes
    } catch { throw .sodium(error) }
  }
}

/// That the requester has a share of this epoch.
package struct LifecycleProof: WireValue, Hashable, Sendable {
  /// The header's or the record's digest.
  package let record: Digest
  package let number: UInt32
  package let index: UInt8
  /// Zeros where rows are open.
  package let salt: [UInt8]
  package let proof: PossessionProof

  package init(record: Digest, number: UInt32, index: UInt8, salt: [UInt8], proof: PossessionProof) {
    self.record = record
    self.number = number
    self.index = index
    self.salt = salt
    self.proof = proof
  }

  package func encode(into writer: inout Writer) throws(WireError) {
    try writer.bytes(record.bytes)
    try writer.u32(number)
    try writer.u8(index)
    try write(salt, count: HolderRow.saltByteCount, "salt", into: &writer)
    try proof.encode(into: &writer)
  }

  package init(from reader: inout Reader) throws(WireError) {
    record = try digest(from: &reader, "record")
    number = try reader.u32("number")
    index = try reader.u8("index")
    salt = try reader.bytes(HolderRow.saltByteCount, "salt")
    proof = try PossessionProof(from: &reader)
  }
}

/// One object, whose bytes are read by ``LifecycleObject/init(_:_:)``.
package struct LifecycleItem: PeerMessage {
  package static let type = MessageType.lifecycleItem

  package let request: UInt64
  package let kind: LifecycleObject.Kind
  package let bytes: [UInt8]

  package init(request: UInt64, kind: LifecycleObject.Kind, bytes: [UInt8]) {
    self.request = request
    self.kind = kind
    self.bytes = bytes
  }

  package func encode(into writer: inout Writer) throws(WireError) {
    try writer.u64(request)
    try writer.u8(kind.rawValue)
    try writer.bytes32(bytes)
  }

  package init(from reader: inout Reader) throws(WireError) {
    request = try reader.u64("request")
    kind = try choice(from: &reader, "kind of object")
    bytes = try reader.bytes32(limit: LifecycleObject.byteLimit, "object")
  }
}

/// Nothing more follows of this side's objects.
package struct LifecycleEnd: PeerMessage {
  package static let type = MessageType.lifecycleEnd

  package let request: UInt64
  /// Of the objects that the other side has named; ascending.
  package let wanted: [ObjectMark]

  package init(request: UInt64, wanted: [ObjectMark] = []) {
    self.request = request
    self.wanted = wanted
  }

  package func encode(into writer: inout Writer) throws(WireError) {
    try writer.u64(request)
    try writeMarks(wanted, into: &writer)
  }

  package init(from reader: inout Reader) throws(WireError) {
    request = try reader.u64("request")
    wanted = try marks(from: &reader)
  }
}

package typealias LifecycleResult = OutcomeMessage<LifecycleResultKind>
package enum LifecycleResultKind: MessageKind { package static let type = MessageType.lifecycleResult }

private func writeMarks(_ marks: [ObjectMark], into writer: inout Writer) throws(WireError) {
  try writer.count16(marks.count)
  for mark in marks { try writer.u64(mark) }
}

private func marks(from reader: inout Reader) throws(WireError) -> [ObjectMark] {
  let count = try reader.count16(limit: LifecycleRequest.markLimit, "objects")
  var marks: [ObjectMark] = []
  for _ in 0..<count {
    let mark = try reader.u64("object")
    guard mark > marks.last ?? 0 || marks.isEmpty else { throw .invalidValue(field: "objects") }
    marks.append(mark)
  }
  return marks
}
