package import Sodium
package import WireCodec

/// One message between `vault` and `vault-net`. `docs/formats/net.md` has the bytes.
package struct NetFrame: Sendable {
  /// What a message is. Below 0x80 are those of `vault`.
  package enum Kind: UInt8, Sendable, CaseIterable {
    /// A line that authorises the request of this number, which follows.
    case authorization = 0x01
    case request = 0x02
    /// Nobody waits for this number's answer any more. It is answered all the same.
    case cancel = 0x03
    case ping = 0x04
    /// A password for the server itself, ahead of what needs it: to make an account, or to change its password.
    case password = 0x05
    /// Begin a connection to a server of XMPP, of this number.
    case connect = 0x06
    /// Something is asked of a connection; the number is that of the question.
    case ask = 0x07
    /// What who knows the password answers.
    case proof = 0x08
    case logout = 0x09
    case close = 0x0A
    /// How many bytes have moved on a connection?
    case progress = 0x0B
    /// The first that is said.
    case version = 0x0C

    case answer = 0x81
    /// The same, with a key in it.
    case secretAnswer = 0x82
    case failure = 0x83
    case pong = 0x84
    /// What does who knows the password say to this?
    case question = 0x85
    case begun = 0x86
    /// A connection hasn't begun, or a question isn't answered.
    case refusal = 0x87
    case reply = 0x88
    case event = 0x89
    case moved = 0x8A
    /// The first that is said.
    case ownVersion = 0x8B

    /// Whether the body is read into secret memory, and what lies ahead of it is forgotten.
    package var isSecret: Bool { self == .authorization || self == .secretAnswer || self == .password }

    package var isOfVault: Bool { rawValue < 0x80 }

    /// Longest body. What one request allows may be less.
    package var limit: Int {
      switch self {
      case .authorization: 8 << 10
      case .request: (1 << 20) + (64 << 10)
      case .cancel, .ping, .pong, .logout, .close: 0
      case .password: 1023
      case .connect: (1 << 20) + (16 << 10)
      case .ask: 256 << 10
      case .proof, .question: 8 << 10
      case .progress, .moved: 8
      case .version, .ownVersion: 4 + NetFrame.versionLimit
      case .begun: 4 << 10
      case .refusal: 2 << 10
      // An archive's page of the longest messages.
      case .reply: 64 << 20
      case .event: 640 << 10
      case .answer: 8 << 20
      case .secretAnswer: 64 << 10
      case .failure: 2 << 10
      }
    }
  }

  /// Longest text of a version.
  package static let versionLimit = 64

  /// Bytes ahead of the body: its length, the kind and the number.
  package static let headByteCount = 4 + 1 + 8

  package let kind: Kind
  /// What it belongs to: a request, or a connection. `vault` counts from one up.
  package let id: UInt64
  /// Empty if there is a secret one.
  package var body: [UInt8] = []
  package var secret: SecretBody?

  package init(_ kind: Kind, _ id: UInt64, _ body: [UInt8] = []) {
    self.kind = kind
    self.id = id
    self.body = body
  }

  package init(_ kind: Kind, _ id: UInt64, secret: SecretBody) {
    self.kind = kind
    self.id = id
    self.secret = secret
  }

  /// This one, with what goes ahead of it, if there is something.
  func behind(_ secret: SecretBody?, _ kind: Kind) -> [NetFrame] {
    (secret.map { [NetFrame(kind, id, secret: $0)] } ?? []) + [self]
  }

  package var byteCount: Int { Self.headByteCount + (secret?.bytes.count ?? body.count) }
}

/// A body that lies in secret memory.
package final class SecretBody: Sendable {
  package let bytes: SecretBytes
  package init(_ bytes: consuming SecretBytes) { self.bytes = bytes }
}

extension NetFrame {
  /// The one number that is all of a body.
  package static func number(_ body: [UInt8]) throws(WireError) -> UInt64 {
    var reader = Reader(body.span.bytes)
    let number = try reader.u64("number")
    try reader.finish()
    return number
  }

  package init(_ kind: Kind, _ id: UInt64, number: UInt64) {
    var writer = BodyWriter()
    writer.number(number)
    self.init(kind, id, writer.bytes)
  }

  package static func version(_ body: [UInt8]) throws(WireError) -> String {
    var reader = Reader(body.span.bytes)
    let version = try reader.words(limit: versionLimit, "version")
    guard !version.isEmpty else { throw .invalidValue(field: "version") }
    try reader.finish()
    return version
  }

  package init(_ kind: Kind, version: String) {
    var writer = BodyWriter()
    writer.text(version)
    self.init(kind, 0, writer.bytes)
  }
}
