package import WireCodec
package import XMPPRequests

extension XMPPError {
  fileprivate static let reasonLimit = 512

  fileprivate var parts: (code: UInt8, reason: String) {
    switch self {
    case .invalidAddress(let reason): (1, reason)
    case .invalidPassword(let reason): (2, reason)
    case .invalidContent(let reason): (3, reason)
    case .unreachable(let reason): (4, reason)
    case .untrusted(let reason): (5, reason)
    case .unencrypted: (6, "")
    case .noSafeLogin: (7, "")
    case .wrongPassword: (8, "")
    case .refused(let condition): (9, condition.description)
    case .registrationUnavailable(let reason): (10, reason)
    case .accountExists: (11, "")
    case .malformed(let reason): (12, reason)
    case .tooMuch(let reason): (13, reason)
    case .streamEnded(let condition): (14, condition.description)
    case .closed: (15, "")
    case .busy: (16, "")
    case .cancelled: (17, "")
    case .tooManyFiles: (18, "")
    case .noResources: (19, "")
    }
  }

  package var encoded: [UInt8] {
    var writer = BodyWriter()
    writer.error(self)
    return writer.bytes
  }

  package init(encoded bytes: [UInt8]) throws(WireError) {
    var reader = Reader(bytes.span.bytes)
    try self.init(&reader)
    try reader.finish()
  }

  init(_ reader: inout Reader) throws(WireError) {
    let code = try reader.u8("code")
    let reason = try reader.words(limit: Self.reasonLimit, "reason")
    switch code {
    case 1: self = .invalidAddress(reason)
    case 2: self = .invalidPassword(reason)
    case 3: self = .invalidContent(reason)
    case 4: self = .unreachable(reason)
    case 5: self = .untrusted(reason)
    case 6: self = .unencrypted
    case 7: self = .noSafeLogin
    case 8: self = .wrongPassword
    case 9: self = .refused(XMPPCondition(reason))
    case 10: self = .registrationUnavailable(reason)
    case 11: self = .accountExists
    case 12: self = .malformed(reason)
    case 13: self = .tooMuch(reason)
    case 14: self = .streamEnded(XMPPCondition(reason))
    case 15: self = .closed
    case 16: self = .busy
    case 17: self = .cancelled
    case 18: self = .tooManyFiles
    case 19: self = .noResources
    default: throw .invalidValue(field: "code")
    }
    // What stands behind those that have no words, or a word that is none, is refused.
    guard parts.reason == reason else { throw .invalidValue(field: "reason") }
  }

  init(_ fault: NetFault) {
    switch fault {
    case .tooManyFiles: self = .tooManyFiles
    case .busy: self = .busy
    case .unsendable(let reason): self = .invalidContent(reason)
    default: self = .unreachable(fault.description)
    }
  }
}

extension BodyWriter {
  mutating func error(_ value: XMPPError) {
    let (code, reason) = value.parts
    u8(code)
    text(plain(reason, limit: XMPPError.reasonLimit))
  }
}
