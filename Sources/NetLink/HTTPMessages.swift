package import HTTPRequests
import Sodium
package import WireCodec

extension HTTPRequest {
  private enum Limits {
    static let path = 1024
    static let headers = 8
    /// The recipients of a share are named in one line.
    static let header = 48 << 10
    static let body = 1 << 20
    static let answer = 7 << 20
    static let secretAnswer = 60 << 10
    /// A day, for every wait.
    static let milliseconds: UInt32 = 86_400_000
  }

  package var encoded: [UInt8] {
    var writer = BodyWriter()
    writer.text(method.rawValue)
    writer.text(server.description)
    writer.text(path)
    writer.list(headers) { $0.text($1) }
    writer.optional(body) { $0.block($1) }
    writer.number(Self.milliseconds(patience))
    writer.number(Self.milliseconds(deadline))
    writer.number(UInt32(clamping: answerLimit))
    writer.flag(hasSecretAnswer)
    return writer.bytes
  }

  package init(encoded bytes: [UInt8]) throws(WireError) {
    var reader = Reader(bytes.span.bytes)
    guard let method = Method(rawValue: try reader.words(limit: 16, "method")) else {
      throw .invalidValue(field: "method")
    }
    let address = try reader.words(limit: ServerAddress.textLimit, "server")
    // In its normal form alone.
    guard let server = try? ServerAddress(address), server.description == address else {
      throw .invalidValue(field: "server")
    }
    let path = try reader.words(limit: Limits.path, "path")
    guard path.hasPrefix("/"), !path.contains(" ") else { throw .invalidValue(field: "path") }
    self.init(method: method, server: server, path: path)
    headers = try reader.list(limit: Limits.headers, "headers") { reader throws(WireError) in
      try reader.words(limit: Limits.header, "header")
    }
    body = try reader.optional("body") { reader throws(WireError) in try reader.bytes32(limit: Limits.body, "body") }
    patience = .milliseconds(Int64(try Self.time(&reader, "patience")))
    deadline = .milliseconds(Int64(try Self.time(&reader, "deadline")))
    answerLimit = Int(try reader.u32("answer limit"))
    hasSecretAnswer = try reader.flag("secret")
    guard answerLimit <= (hasSecretAnswer ? Limits.secretAnswer : Limits.answer) else {
      throw .limitExceeded(field: "answer limit", limit: Limits.answer)
    }
    try reader.finish()
  }

  private static func milliseconds(_ time: Duration) -> UInt32 {
    let (seconds, rest) = time.components
    guard (0..<Int64(Limits.milliseconds)).contains(seconds) else { return seconds < 0 ? 0 : Limits.milliseconds }
    return min(UInt32(clamping: seconds * 1000 + rest / 1_000_000_000_000_000), Limits.milliseconds)
  }

  private static func time(_ reader: inout Reader, _ field: StaticString) throws(WireError) -> UInt32 {
    let value = try reader.u32(field)
    guard value <= Limits.milliseconds else { throw .limitExceeded(field: field.description, limit: 86_400_000) }
    return value
  }

  package var answerFrameLimit: Int { answerLimit + HTTPAnswer.headByteCount }
}

extension HTTPAnswer {
  static let headByteCount = 2 + 1 + 4

  private var head: [UInt8] {
    var writer = BodyWriter()
    writer.number(UInt16(clamping: status))
    writer.flag(retryAfter != nil)
    writer.number(UInt32(clamping: retryAfter ?? 0))
    return writer.bytes
  }

  /// The message that brings it; nil if there is no memory for a secret one.
  package func frame(_ id: UInt64) -> NetFrame? {
    let head = head
    return body.withBytes { bytes in
      guard body.isSecret else { return NetFrame(.answer, id, head + bytes.withUnsafeBytes { Array($0) }) }
      guard var secret = try? SecretBytes(zeros: head.count + bytes.byteCount) else { return nil }
      secret.withUnsafeMutableBytes { target in
        target.copyBytes(from: head)
        bytes.withUnsafeBytes {
          UnsafeMutableRawBufferPointer(rebasing: target[head.count...]).copyMemory(from: $0)
        }
      }
      return NetFrame(.secretAnswer, id, secret: SecretBody(secret))
    }
  }

  package init(_ frame: NetFrame) throws(WireError) {
    guard let secret = frame.secret else {
      let (status, retryAfter) = try Self.head(Array(frame.body.prefix(Self.headByteCount)))
      let body: AnswerBuffer
      do { body = try AnswerBuffer(open: Array(frame.body.dropFirst(Self.headByteCount))) } catch {
        throw .capacityExceeded
      }
      self.init(status: status, retryAfter: retryAfter, body: body)
      return
    }
    let (status, retryAfter) = try Self.head(secret.bytes.withUnsafeBytes { Array($0.prefix(Self.headByteCount)) })
    let body: AnswerBuffer
    do {
      let rest = try secret.bytes.withUnsafeBytes { bytes throws(SodiumError) in
        try SecretBytes(copying: UnsafeRawBufferPointer(rebasing: bytes.dropFirst(Self.headByteCount)).bytes)
      }
      body = AnswerBuffer(secret: rest)
    } catch { throw .capacityExceeded }
    self.init(status: status, retryAfter: retryAfter, body: body)
  }

  private static func head(_ bytes: [UInt8]) throws(WireError) -> (Int, Int?) {
    var reader = Reader(bytes.span.bytes)
    let status = Int(try reader.u16("status"))
    let isThere = try reader.flag("retry")
    let seconds = try reader.u32("seconds")
    guard isThere ? seconds <= 86_400 : seconds == 0 else { throw .invalidValue(field: "seconds") }
    return (status, isThere ? Int(seconds) : nil)
  }
}

extension HTTPError {
  private static let reasonLimit = 512

  package var encoded: [UInt8] {
    var writer = BodyWriter()
    let (code, reason): (UInt8, String) =
      switch self {
      case .invalidAddress(let reason): (1, reason)
      case .insecureAddress: (2, "")
      case .unreachable(let reason): (3, reason)
      case .untrusted(let reason): (4, reason)
      case .timedOut: (5, "")
      case .answerTooLong: (6, "")
      case .cancelled: (7, "")
      case .noResources: (8, "")
      }
    writer.u8(code)
    writer.text(plain(reason, limit: Self.reasonLimit))
    return writer.bytes
  }

  package init(encoded bytes: [UInt8]) throws(WireError) {
    var reader = Reader(bytes.span.bytes)
    let code = try reader.u8("code")
    let reason = try reader.words(limit: Self.reasonLimit, "reason")
    switch code {
    case 1: self = .invalidAddress(reason)
    case 2: self = .insecureAddress
    case 3: self = .unreachable(reason)
    case 4: self = .untrusted(reason)
    case 5: self = .timedOut
    case 6: self = .answerTooLong
    case 7: self = .cancelled
    case 8: self = .noResources
    default: throw .invalidValue(field: "code")
    }
    try reader.finish()
    // Behind those that have no words stand none.
    guard encoded == bytes else { throw .invalidValue(field: "reason") }
  }
}

/// Words as ``Reader/words(limit:_:)`` takes them.
func plain(_ text: String, limit: Int) -> String {
  String(decoding: text.utf8.prefix(limit).map { (0x20...0x7E).contains($0) ? $0 : UInt8(ascii: "?") }, as: UTF8.self)
}
