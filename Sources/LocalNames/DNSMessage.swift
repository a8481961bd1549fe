/// A message of multicast DNS (RFC 1035, section 4; RFC 6762, section 18), with what DNS-SD needs of it (RFC 6763): records of other
/// types or classes, and authorities, are passed over.
package struct DNSMessage: Hashable, Sendable {
  package enum Fault: Error, Hashable {
    case tooLong, truncated, malformed
    /// More questions and records than anybody needs.
    case tooMany
    /// Of another kind than a question or its answer. To be ignored (RFC 6762, sections 18.3 and 18.11).
    case unsupported
  }

  /// Longest message (RFC 6762, section 17).
  package static let byteLimit = 9000
  /// Questions and records of a message.
  static let entryLimit = 256
  static let headerByteCount = 12

  package var isResponse = false
  /// Whether more known answers follow in another message.
  package var isTruncated = false
  package var questions: [DNSQuestion] = []
  package var answers: [DNSRecord] = []
  package var additionals: [DNSRecord] = []

  package init() {}
}

package struct DNSQuestion: Hashable, Sendable {
  package let name: DNSName
  /// Of a record, or ``any``.
  package let type: UInt16

  package static let any: UInt16 = 255

  package init(_ name: DNSName, _ type: UInt16) {
    self.name = name
    self.type = type
  }
}

package struct DNSRecord: Hashable, Sendable {
  package let name: DNSName
  package let data: DNSData
  /// Seconds. 0 takes it back.
  package var lifetime: UInt32
  /// Whether there is no other record of its name and type (RFC 6762, section 10.2).
  package let isUnique: Bool

  package init(_ name: DNSName, _ data: DNSData, lifetime: UInt32, isUnique: Bool) {
    self.name = name
    self.data = data
    self.lifetime = lifetime
    self.isUnique = isUnique
  }

  /// Whether it answers a question.
  func answers(_ question: DNSQuestion) -> Bool {
    question.name == name && (question.type == data.type || question.type == DNSQuestion.any)
  }
}

/// What a record says.
package enum DNSData: Hashable, Sendable {
  /// PTR.
  case pointer(DNSName)
  /// SRV; priority and weight are written as 0, and not read.
  case service(host: DNSName, port: UInt16)
  /// TXT: texts of up to 255 bytes, at least one.
  case texts([[UInt8]])
  /// A: 4 bytes.
  case four([UInt8])
  /// AAAA: 16 bytes.
  case six([UInt8])

  package var type: UInt16 {
    switch self {
    case .four: 1
    case .pointer: Self.pointerType
    case .texts: Self.textsType
    case .six: 28
    case .service: Self.serviceType
    }
  }

  static let pointerType: UInt16 = 12
  static let textsType: UInt16 = 16
  static let serviceType: UInt16 = 33
}
