import SealedPayload
import WireCodec

/// What is encrypted: the message's length, the message, and zeros up to a padmé length, so that the length of what lies
/// on a server tells little.
extension MessageDealing {
  static func pad(_ message: [UInt8]) throws(GroupError) -> [UInt8] {
    guard let length = PaddedLength.of(UInt64(message.count + lengthByteCount)), let count = Int(exactly: length) else {
      throw .invalid("the message is too large")
    }
    return try wire(
      publicBytes(count: count) { writer throws(WireError) in
        try writer.bytes32(message)
        try writer.bytes([UInt8](repeating: 0, count: count - message.count - lengthByteCount))
      })
  }

  static func unpad(_ padded: [UInt8]) throws(GroupError) -> [UInt8] {
    var reader = Reader(padded.span.bytes)
    let message = try wire(reader.bytes32(limit: messageByteLimit, "message"))
    let rest = try wire(reader.bytes(reader.remaining, "padding"))
    guard rest.allSatisfy({ $0 == 0 }), PaddedLength.of(UInt64(message.count + lengthByteCount)) == UInt64(padded.count)
    else { throw .malformed(.invalidValue(field: "padding")) }
    return message
  }
}
