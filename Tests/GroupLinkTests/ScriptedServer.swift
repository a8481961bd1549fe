import Glibc
import Synchronization
import Testing
import Threading

/// A server on loopback that answers every request as a test says, however wrong, and keeps what it was asked.
final class ScriptedServer: Sendable {
  /// What to send for the n-th request, the first being 0; nil keeps silent.
  typealias Script = @Sendable (_ number: Int, _ head: String) -> [UInt8]?

  let port: Int
  private let descriptor: Int32
  private let heard = Heard()

  private final class Heard: Sendable {
    let requests = Mutex<[String]>([])
  }

  /// Heads and bodies of the requests so far, as text.
  var requests: [String] { heard.requests.withLock { $0 } }
  var address: String { "http://127.0.0.1:\(port)" }

  init(_ script: @escaping Script) throws {
    descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = in_addr_t(0x7f00_0001).bigEndian
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let descriptor = descriptor
    let isListening = withUnsafeMutablePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
        bind(descriptor, pointer, length) == 0 && listen(descriptor, 16) == 0
          && getsockname(descriptor, pointer, &length) == 0
      }
    }
    try #require(isListening)
    port = Int(UInt16(bigEndian: address.sin_port))
    let heard = heard
    let hasStarted = BackgroundThread.start { Self.serve(descriptor, script, heard) }
    try #require(hasStarted)
  }

  deinit {
    end()
    close(descriptor)
  }

  /// Ends it: nobody answers at its port from then on.
  func end() { shutdown(descriptor, Int32(SHUT_RDWR)) }

  private static func serve(_ descriptor: Int32, _ script: @escaping Script, _ heard: Heard) {
    while true {
      let connection = accept(descriptor, nil, nil)
      guard connection >= 0 else { return }
      BackgroundThread.start {
        defer { close(connection) }
        while let request = request(connection) {
          let number = heard.requests.withLock {
            $0.append(request)
            return $0.count - 1
          }
          guard let answer = script(number, request) else {
            // Silent until the other side goes.
            var byte: UInt8 = 0
            _ = recv(connection, &byte, 1, 0)
            return
          }
          guard
            answer.withUnsafeBytes({ send(connection, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) })
              == answer.count
          else { return }
        }
      }
    }
  }

  private static func request(_ connection: Int32) -> String? {
    var text = ""
    var buffer = [UInt8](repeating: 0, count: 1 << 16)
    while true {
      if let end = text.firstRange(of: "\r\n\r\n") {
        let body = text[end.upperBound...].utf8.count
        if body >= length(in: String(text[..<end.lowerBound])) { return text }
      }
      let count = recv(connection, &buffer, buffer.count, 0)
      guard count > 0 else { return nil }
      text += String(decoding: buffer[..<count], as: UTF8.self)
    }
  }

  private static func length(in head: String) -> Int {
    let name = "content-length: "
    let line = head.lowercased().split(separator: "\r\n").first { $0.hasPrefix(name) }
    return line.flatMap { Int($0.dropFirst(name.count)) } ?? 0
  }

  /// An answer with this status and body, and further lines of the head.
  static func answer(_ status: Int, _ body: String = "", lines: [String] = []) -> [UInt8] {
    let head = ["HTTP/1.1 \(status) X", "Content-Length: \(body.utf8.count)"] + lines
    return Array((head.joined(separator: "\r\n") + "\r\n\r\n" + body).utf8)
  }
}
