import Glibc
import Synchronization

/// A server on loopback that answers every request as a test says, however wrong, and keeps what it was asked.
final class ScriptedServer: Sendable {
  /// What to send for the n-th request, the first being 0; nil keeps silent.
  typealias Script = @Sendable (_ number: Int, _ head: String) -> [UInt8]?

  private let listener: LoopbackListener
  private let heard = Heard()

  private final class Heard: Sendable {
    let requests = Mutex<[String]>([])
    let (bell, ringer) = AsyncStream.makeStream(of: Void.self)
  }

  /// Heads and bodies of the requests so far, as text.
  var requests: [String] { heard.requests.withLock { $0 } }
  var address: String { "http://127.0.0.1:\(listener.port)" }

  /// Returns when the first request has come.
  func wasAsked() async { for await _ in heard.bell { return } }

  init(_ script: @escaping Script) throws {
    listener = try LoopbackListener { [heard] connection in
      while let request = HTTPText(from: connection) {
        let text = request.head + "\r\n\r\n" + String(decoding: request.body, as: UTF8.self)
        let number = heard.requests.withLock {
          $0.append(text)
          return $0.count - 1
        }
        heard.ringer.yield()
        guard let answer = script(number, text) else {
          // Silent until the other side goes.
          var byte: UInt8 = 0
          _ = recv(connection, &byte, 1, 0)
          return
        }
        guard LoopbackListener.send(answer, to: connection) else { return }
      }
    }
  }

  /// Ends it: nobody answers at its port from then on.
  func end() { listener.end() }

  /// An answer with this status and body, and further lines of the head.
  static func answer(_ status: Int, _ body: String = "", lines: [String] = []) -> [UInt8] {
    let head = ["HTTP/1.1 \(status) X", "Content-Length: \(body.utf8.count)"] + lines
    return Array((head.joined(separator: "\r\n") + "\r\n\r\n" + body).utf8)
  }
}
