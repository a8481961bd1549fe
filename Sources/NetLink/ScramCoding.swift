package import WireCodec
package import XMPPRequests

extension ScramQuestion {
  package var encoded: [UInt8] {
    var writer = BodyWriter()
    switch self {
    case .opening(let hash):
      writer.u8(1)
      writer.text(hash.rawValue)
    case .challenge(let bytes):
      writer.u8(2)
      writer.block(bytes)
    case .proof(let bytes):
      writer.u8(3)
      writer.block(bytes)
    }
    return writer.bytes
  }

  package init(encoded bytes: [UInt8]) throws(WireError) {
    var reader = Reader(bytes.span.bytes)
    let limit = ScramClient.limits.message
    switch try reader.u8("question") {
    case 1: self = .opening(try reader.word("hash"))
    case 2: self = .challenge(try reader.bytes32(limit: limit, "challenge"))
    case 3: self = .proof(try reader.bytes32(limit: limit, "proof"))
    default: throw .invalidValue(field: "question")
    }
    try reader.finish()
  }

  /// What who knows the password says.
  static func encode(_ answer: Result<[UInt8], XMPPError>) -> [UInt8] {
    var writer = BodyWriter()
    switch answer {
    case .success(let bytes):
      writer.flag(true)
      writer.block(bytes)
    case .failure(let error):
      writer.flag(false)
      writer.error(error)
    }
    return writer.bytes
  }

  package static func decode(answer bytes: [UInt8]) throws(WireError) -> Result<[UInt8], XMPPError> {
    var reader = Reader(bytes.span.bytes)
    let answer: Result<[UInt8], XMPPError>
    if try reader.flag("answer") {
      answer = .success(try reader.bytes32(limit: 6 << 10, "answer"))
    } else {
      answer = .failure(try XMPPError(&reader))
    }
    try reader.finish()
    return answer
  }
}
