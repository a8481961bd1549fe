import Foundation
import Glibc
import Synchronization
import TestTime

/// Stands before a real server and treats its answers as a server could that lies or is slow. What it is asked it passes on as it is.
final class Intermediary: Sendable {
  enum Manner: Sendable {
    case honest
    /// A bit of each share is another one.
    case damages
    /// Each share comes under the name of another.
    case exchanges
    /// Nothing ever comes.
    case withholds
    /// The next page begins where nothing will be for long.
    case runsAhead
    /// Answers are no JSON.
    case babbles
    /// An answer comes a few bytes at a time, and those only when ``move()`` says so.
    case dawdles
  }

  /// As the server's interface has it.
  private struct Page: Codable {
    struct Share: Codable {
      var share: String
      var cursor: UInt64
      var sender: String
      var expires: UInt64
      var data: Data
    }

    var shares: [Share]
    var next: UInt64
    var more: Bool
  }

  private final class State: Sendable {
    let manner = Mutex(Manner.honest)
    /// Steps of who dawdles.
    let moves = Happenings()
    let passed = Mutex<[(part: String, ringer: AsyncStream<Void>.Continuation)]>([])

    func note(_ head: String) {
      passed.withLock { passed in for one in passed where head.contains(one.part) { one.ringer.yield() } }
    }
  }

  private let state = State()
  private let listener: LoopbackListener

  var address: String { "http://127.0.0.1:\(listener.port)" }

  /// In front of the server at a port of loopback.
  init(before port: Int) throws {
    listener = try LoopbackListener { [state] connection in
      guard let server = LoopbackListener.connect(port: port) else { return }
      defer { close(server) }
      while let request = HTTPText(from: connection), LoopbackListener.send(request.bytes, to: server) {
        state.note(request.head)
        guard let answer = HTTPText(from: server) else { return }
        let manner = state.manner.withLock { $0 }
        let bytes = Self.treat(answer, to: request, manner).bytes
        guard case .dawdles = manner else {
          guard LoopbackListener.send(bytes, to: connection) else { return }
          continue
        }
        for start in stride(from: 0, to: bytes.count, by: 512) {
          let count = state.moves.count
          if case .dawdles = state.manner.withLock({ $0 }) { state.moves.block(beyond: count) }
          guard LoopbackListener.send(bytes[start..<min(start + 512, bytes.count)], to: connection) else { return }
        }
      }
    }
  }

  /// Rings from now on whenever a request with this in its head has gone on to the server.
  func bell(for part: String) -> AsyncStream<Void> {
    let (bell, ringer) = AsyncStream.makeStream(of: Void.self)
    state.passed.withLock { $0.append((part, ringer)) }
    return bell
  }

  func set(_ manner: Manner) {
    state.manner.withLock { $0 = manner }
    state.moves.note()
  }

  /// Lets answers that dawdle come a few bytes further.
  func move() { state.moves.note() }

  private static func treat(_ answer: HTTPText, to request: HTTPText, _ manner: Manner) -> HTTPText {
    var answer = answer
    if case .babbles = manner { answer.body = Array("<html>{\"shares\":".utf8) }
    guard request.head.hasPrefix("GET "), request.head.contains("/shares?"),
      var page = try? JSONDecoder().decode(Page.self, from: Data(answer.body))
    else { return answer }
    switch manner {
    case .honest, .dawdles, .babbles: return answer
    case .damages:
      for place in page.shares.indices {
        let middle = page.shares[place].data.startIndex + page.shares[place].data.count / 2
        page.shares[place].data[middle] ^= 4
      }
    case .exchanges:
      let all = page.shares.map(\.data)
      for place in page.shares.indices { page.shares[place].data = all[(place + 1) % all.count] }
    case .withholds: page.shares = []
    case .runsAhead:
      page.shares = []
      page.next += 1_000_000_000
    }
    let encoder = JSONEncoder()
    encoder.outputFormatting = .withoutEscapingSlashes
    answer.body = (try? [UInt8](encoder.encode(page))) ?? []
    return answer
  }
}
