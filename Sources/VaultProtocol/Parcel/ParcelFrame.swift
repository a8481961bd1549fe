import PeerAuth
package import WireCodec

/// A message as a parcel carries it: what would have been one message of a session.
package struct ParcelFrame: Hashable, Sendable {
  /// Most frames of a letter.
  package static let countLimit = 512
  /// Version of a letter's body.
  static let bodyVersion: UInt8 = 1

  package let type: UInt16
  package let bytes: [UInt8]

  /// A message of any type. Whether a letter may hold it is checked when the letter is sealed.
  package init(type: UInt16, bytes: [UInt8]) {
    self.type = type
    self.bytes = bytes
  }

  /// A public message. A release is none: its share goes in as a ``SealedRelease``.
  package init<Message: PeerMessage>(_ message: Message) throws(WireError) {
    self.init(type: Message.type.rawValue, bytes: try message.encoded())
  }

  /// Most bytes of a message of this type: those of a session. Nil for types that no letter may hold: the goodbye, the messages of meetings, which
  /// are about parcels themselves, and the release, which would show a share to whoever gets the recipient's keys later.
  package static func byteLimit(_ type: UInt16) -> Int? {
    switch type {
    case ReceivedMessage.goodbyeType, MessageType.release.rawValue, 0x3000...0x30ff: nil
    default: MessageType.byteLimit(type, isPeer: true) ?? PeerSession.unknownMessageLimit
    }
  }

  /// A letter's body: the frames one behind the other.
  static func body(_ frames: [ParcelFrame]) throws(WireError) -> [UInt8] {
    guard (1...countLimit).contains(frames.count) else { throw .limitExceeded(field: "frames", limit: countLimit) }
    var count = 1
    for frame in frames {
      try requireAllowed(frame.type, byteCount: frame.bytes.count)
      count += 2 + 4 + frame.bytes.count
    }
    guard count <= ParcelLetter.bodyLimit else {
      throw .limitExceeded(field: "letter", limit: ParcelLetter.bodyLimit)
    }
    return try publicBytes(count: count) { writer throws(WireError) in
      try writer.u8(bodyVersion)
      for frame in frames {
        try writer.u16(frame.type)
        try writer.bytes32(frame.bytes)
      }
    }
  }

  /// The frames of a letter's body.
  static func frames(of body: RawSpan) throws(WireError) -> [ParcelFrame] {
    var reader = Reader(body)
    let version = try reader.u8("letter version")
    guard version == bodyVersion else { throw .unsupported(field: "letter version", value: UInt64(version)) }
    var frames: [ParcelFrame] = []
    repeat {
      guard frames.count < countLimit else { throw .limitExceeded(field: "frames", limit: countLimit) }
      let type = try reader.u16("frame type")
      let count = try reader.count32(limit: ParcelLetter.bodyLimit, "frame")
      try requireAllowed(type, byteCount: count)
      frames.append(ParcelFrame(type: type, bytes: try reader.bytes(count, "frame")))
    } while reader.remaining > 0
    return frames
  }

  private static func requireAllowed(_ type: UInt16, byteCount: Int) throws(WireError) {
    guard let limit = byteLimit(type) else { throw .invalidValue(field: "frame type") }
    guard byteCount <= limit else { throw .limitExceeded(field: "frame", limit: limit) }
  }
}
