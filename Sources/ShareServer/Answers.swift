import FoundationEssentials
import Hummingbird
import NIOCore
import Sodium

enum Answers {
  static func refusal(_ refusal: Refusal, allowed: [String] = []) -> Response {
    var headers = HTTPFields()
    headers[.contentType] = "application/json"
    if let seconds = refusal.retryAfter { headers[.retryAfter] = "\(seconds)" }
    if refusal.status == 401 { headers[.wwwAuthenticate] = "Bearer" }
    if !allowed.isEmpty { headers[.allow] = allowed.joined(separator: ", ") }
    let body = JSONText {
      $0.text("error", refusal.code)
      $0.text("message", refusal.message)
    }
    return Response(
      status: .init(code: refusal.status), headers: headers, body: ResponseBody(byteBuffer: body.finish()))
  }

  static func json(_ status: HTTPResponse.Status = .ok, _ body: (inout JSONText) throws -> Void) rethrows -> Response {
    var text = JSONText()
    try body(&text)
    return Response(
      status: status, headers: headers("application/json"), body: ResponseBody(byteBuffer: text.finish()))
  }

  static var nothing: Response { Response(status: .noContent) }

  static func octets(_ bytes: [UInt8], holding share: MemoryBudget.Share) -> Response {
    body(ByteBuffer(bytes: bytes), "application/octet-stream", holding: share)
  }

  static func text(_ text: String, type: String) -> Response {
    Response(status: .ok, headers: headers(type), body: ResponseBody(byteBuffer: ByteBuffer(string: text)))
  }

  /// A body whose memory is counted until it has been written or dropped.
  private static func body(_ buffer: ByteBuffer, _ type: String, holding share: MemoryBudget.Share) -> Response {
    let body = ResponseBody(contentLength: buffer.readableBytes) { writer in
      try await writer.write(buffer)
      try await writer.finish(nil)
      withExtendedLifetime(share) {}
    }
    return Response(status: .ok, headers: headers(type), body: body)
  }

  /// Answers are for who asked: no cache between may keep one.
  private static func headers(_ type: String) -> HTTPFields {
    var headers = HTTPFields()
    headers[.contentType] = type
    headers[.cacheControl] = "no-store"
    return headers
  }

  static func page(_ page: Page, holding share: MemoryBudget.Share) -> Response {
    var buffer = ByteBuffer()
    buffer.reserveCapacity(pageMemory(page.shares.reduce(0) { $0 + $1.bytes.count }, page.shares.count))
    buffer.writeString("{\"shares\":[")
    for (number, share) in page.shares.enumerated() {
      var text = JSONText()
      text.text("share", share.id.description)
      text.number("cursor", share.cursor)
      text.text("sender", share.sender.description)
      text.number("expires", share.expires)
      text.text("data", Data(share.bytes).base64EncodedString())
      if number > 0 { buffer.writeString(",") }
      buffer.writeImmutableBuffer(text.finish())
    }
    buffer.writeString("],\"next\":\(page.next),\"more\":\(page.more)}")
    return body(buffer, "application/json", holding: share)
  }

  /// Bytes that a page takes while it is put together and sent: the shares, and the text.
  static func pageMemory(_ bytes: Int, _ count: Int) -> Int { bytes + bytes / 3 * 4 + count * 256 + 64 }
}

/// A flat object of JSON whose texts need no escaping: ids, words and sentences of the service itself.
struct JSONText {
  private var buffer = ByteBuffer(string: "{")
  private var isEmpty = true

  init() {}

  init(_ body: (inout JSONText) -> Void) { body(&self) }

  private mutating func name(_ name: String) {
    buffer.writeString(isEmpty ? "\"\(name)\":" : ",\"\(name)\":")
    isEmpty = false
  }

  mutating func text(_ name: String, _ value: String) {
    self.name(name)
    buffer.writeString("\"\(value)\"")
  }

  mutating func number(_ name: String, _ value: Int64) {
    self.name(name)
    buffer.writeString(String(value))
  }

  /// A key, on its way to its owner. It can't be wiped in the buffers from here on, of which one belongs to the socket.
  mutating func key(_ name: String, _ key: borrowing ServerKey) throws(SodiumError) {
    self.name(name)
    let text = try key.text()
    buffer.writeString("\"")
    text.withUnsafeBytes { _ = buffer.writeBytes($0) }
    buffer.writeString("\"")
  }

  mutating func object(_ name: String, _ body: (inout JSONText) -> Void) {
    self.name(name)
    buffer.writeImmutableBuffer(JSONText(body).finish())
  }

  func finish() -> ByteBuffer {
    var whole = buffer
    whole.writeString("}")
    return whole
  }
}
