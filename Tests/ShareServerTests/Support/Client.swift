import Foundation
import Glibc
import Testing

/// What a service answered.
struct Answer: Sendable {
  let status: Int
  /// Names in lower case.
  let headers: [String: String]
  let body: [UInt8]

  var text: String { String(decoding: body, as: UTF8.self) }

  func json<Value: Decodable>(_ type: Value.Type = Value.self) throws -> Value {
    try JSONDecoder().decode(type, from: Data(body))
  }

  /// The word for what was refused.
  var code: String { ((try? json(ErrorBody.self))?.error) ?? "none" }

  struct ErrorBody: Decodable { let error: String }
}

/// A connection to a service, with no library for HTTP between: tests see and say what is on the wire.
final class Connection: Sendable {
  private let descriptor: Int32

  init(_ place: String, timeout: Int = 30) throws {
    let parts = place.split(separator: ":")
    let port = try #require(UInt16(parts.last ?? ""))
    descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
    try #require(descriptor >= 0)
    var time = timeval(tv_sec: timeout, tv_usec: 0)
    setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &time, socklen_t(MemoryLayout<timeval>.size))
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = port.bigEndian
    inet_pton(AF_INET, String(parts[0]), &address.sin_addr)
    let status = withUnsafePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
      }
    }
    guard status == 0 else { throw NoAnswer() }
  }

  deinit { close(descriptor) }

  /// Sends until all is sent or nobody takes it any more.
  func send(_ bytes: [UInt8]) {
    var done = 0
    while done < bytes.count {
      let count = bytes.withUnsafeBytes {
        Glibc.send(
          descriptor, UnsafeRawBufferPointer(rebasing: $0[done...]).baseAddress, $0.count - done, Int32(MSG_NOSIGNAL))
      }
      guard count > 0 else { return }
      done += count
    }
  }

  /// The next answer, or nil if the connection ends before it is whole.
  func receive() -> Answer? {
    var bytes: [UInt8] = []
    var end: Int?
    while end == nil {
      guard let more = read(), !more.isEmpty else { return nil }
      bytes += more
      end = Data(bytes).range(of: Data("\r\n\r\n".utf8))?.upperBound
    }
    guard let end else { return nil }
    let lines = String(decoding: bytes[..<(end - 4)], as: UTF8.self).components(separatedBy: "\r\n")
    guard let status = lines.first?.split(separator: " ").dropFirst().first.flatMap({ Int($0) }) else { return nil }
    var headers: [String: String] = [:]
    for line in lines.dropFirst() {
      guard let colon = line.firstIndex(of: ":") else { continue }
      headers[line[..<colon].lowercased()] = line[line.index(after: colon)...].trimmingCharacters(in: .whitespaces)
    }
    var body = Array(bytes[end...])
    let length = Int(headers["content-length"] ?? "0") ?? 0
    while body.count < length {
      guard let more = read(), !more.isEmpty else { return nil }
      body += more
    }
    return Answer(status: status, headers: headers, body: body)
  }

  /// The lines that come until so many heads of answers have come, whatever they announce.
  func receiveAll(_ count: Int) -> [String] {
    var bytes: [UInt8] = []
    while true {
      let lines = String(decoding: bytes, as: UTF8.self).components(separatedBy: "\r\n")
      if lines.filter({ $0.hasPrefix("HTTP/1.1 ") }).count == count { return lines }
      guard let more = read(), !more.isEmpty else { return lines }
      bytes += more
    }
  }

  private func read() -> [UInt8]? {
    var buffer = [UInt8](repeating: 0, count: 65_536)
    let count = recv(descriptor, &buffer, buffer.count, 0)
    return count < 0 ? nil : Array(buffer.prefix(count))
  }

  /// Whether the other end has closed, within the timeout.
  func isEnded() -> Bool { read()?.isEmpty ?? false }
}

/// The connection ended before an answer was there.
struct NoAnswer: Error {}

/// One request.
struct Ask: Sendable {
  var method = "GET"
  var path: String
  var headers: [String: String] = [:]
  var body: [UInt8]?

  var bytes: [UInt8] {
    var text = "\(method) \(path) HTTP/1.1\r\nHost: test\r\n"
    for (name, value) in headers { text += "\(name): \(value)\r\n" }
    if let body { text += "Content-Length: \(body.count)\r\n" }
    return Array((text + "\r\n").utf8) + (body ?? [])
  }

  /// Asks over a connection of its own.
  func send(to place: String) async throws -> Answer {
    let bytes = bytes
    return try await offTheCooperativePool {
      let connection = try Connection(place, timeout: 90)
      connection.send(bytes)
      // Thrown, not recorded: some tests kill the service meanwhile.
      guard let answer = connection.receive() else { throw NoAnswer() }
      return answer
    }
  }
}

/// Runs what blocks on a thread of its own.
func offTheCooperativePool<Value: Sendable>(_ body: @escaping @Sendable () throws -> Value) async throws -> Value {
  try await withCheckedThrowingContinuation { continuation in
    Thread.detachNewThread { continuation.resume(with: Result { try body() }) }
  }
}

/// Waits until something holds; fails after a time that is long enough for any machine.
func eventually(
  _ what: String, within seconds: Double = 120, _ location: SourceLocation = #_sourceLocation,
  _ holds: () async throws -> Bool
) async throws {
  let end = ContinuousClock.now + .seconds(seconds)
  while ContinuousClock.now < end {
    if try await holds() { return }
    try await Task.sleep(for: .milliseconds(20))
  }
  Issue.record("never: \(what)", sourceLocation: location)
}
