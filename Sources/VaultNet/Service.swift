import HTTPLink
import HTTPRequests
import NetLink
import Synchronization
import WireCodec

/// What `vault` asks, done and answered. One thread reads; answers are written by who has them.
final class Service: Sendable {
  /// Requests at once.
  private static let limit = 256

  private let socket: FrameSocket
  private let connections: HTTPConnections
  private let running = Mutex<[UInt64: Task<Void, Never>]>([:])

  /// Nil if this machine has no memory or thread left.
  init?(_ socket: FrameSocket) {
    guard let connections = try? HTTPConnections() else { return nil }
    self.socket = socket
    self.connections = connections
  }

  /// Works until `vault` has closed its end, or says something that makes no sense.
  func run() {
    var authorization: NetFrame?
    do throws(FrameSocket.Fault) {
      while true {
        let frame = try socket.read { _ in true }
        switch frame.kind {
        case .authorization: authorization = frame
        case .request:
          let line = authorization.flatMap { $0.id == frame.id ? $0.secret : nil }
          authorization = nil
          try begin(frame, line)
        case .cancel: running.withLock { $0[frame.id] }?.cancel()
        case .ping: try socket.write(NetFrame(.pong, 0))
        case .answer, .secretAnswer, .failure, .pong: throw .senseless
        }
      }
    } catch {}
  }

  private func begin(_ frame: NetFrame, _ line: SecretBody?) throws(FrameSocket.Fault) {
    let request: HTTPRequest
    do { request = try HTTPRequest(encoded: frame.body) } catch { throw .senseless }
    let id = frame.id
    let isTaken = running.withLock { running in
      guard running.count < Self.limit, running[id] == nil else { return false }
      // It takes itself out, which waits for this lock.
      running[id] = Task { await self.perform(request, line, id) }
      return true
    }
    if !isTaken { try socket.write(NetFrame(.failure, id, HTTPError.noResources.encoded)) }
  }

  private func perform(_ request: HTTPRequest, _ line: SecretBody?, _ id: UInt64) async {
    let answer: NetFrame
    do throws(HTTPError) {
      let authorization = try line.map { (line) throws(HTTPError) in try Self.authorization(line) }
      guard let frame = try await connections.perform(request, authorization: authorization).frame(id) else {
        throw .noResources
      }
      answer = frame
    } catch { answer = NetFrame(.failure, id, error.encoded) }
    running.withLock { $0[id] = nil }
    // Who doesn't read any more is gone, and the other thread sees it.
    try? socket.write(answer)
  }

  private static func authorization(_ line: SecretBody) throws(HTTPError) -> AuthorizationLine {
    do {
      if let made = AuthorizationLine(line: try line.bytes.duplicate()) { return made }
    } catch {}
    throw .noResources
  }
}
