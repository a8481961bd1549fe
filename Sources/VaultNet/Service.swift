import HTTPLink
import HTTPRequests
import NetLink
import Sodium
import Synchronization
import WireCodec
import XMPPRequests

/// What `vault` asks, done and answered. One thread reads; answers are written by who has them.
final class Service: Sendable {
  /// Questions and connections at once.
  private static let limit = 2048

  private struct State {
    var running: [UInt64: Task<Void, Never>] = [:]
    var chats: [UInt64: Chat] = [:]
  }

  private let socket: FrameSocket
  private let connections: HTTPConnections
  private let state = Mutex(State())

  /// Nil if this machine has no memory or thread left.
  init?(_ socket: FrameSocket) {
    guard let connections = try? HTTPConnections() else { return nil }
    self.socket = socket
    self.connections = connections
  }

  /// Works until `vault` has closed its end, or says something that makes no sense.
  func run() {
    // A secret goes ahead of what it is for.
    var ahead: NetFrame?
    do throws(FrameSocket.Fault) {
      try socket.write(NetFrame(.ownVersion, version: NetVersion.text))
      let first = try socket.read { $0.kind == .version && $0.id == 0 }
      // It says so itself, when it has read what this one is.
      guard try read({ () throws(WireError) in try NetFrame.version(first.body) }) == NetVersion.text else { return }
      while true {
        let frame = try socket.read { _ in true }
        let secret = ahead.flatMap { $0.id == frame.id ? $0 : nil }
        ahead = nil
        if frame.kind.isSecret { ahead = frame } else { try take(frame, secret) }
      }
    } catch {}
  }

  private func take(_ frame: NetFrame, _ ahead: NetFrame?) throws(FrameSocket.Fault) {
    let id = frame.id
    switch frame.kind {
    case .request:
      let request = try read { () throws(WireError) in try HTTPRequest(encoded: frame.body) }
      let line = ahead?.kind == .authorization ? ahead?.secret : nil
      try begin(id, refusal: NetFrame(.failure, id, HTTPError.noResources.encoded)) {
        await self.perform(request, line, id)
      }
    case .connect:
      let message = try read { () throws(WireError) in try ConnectMessage(encoded: frame.body) }
      try begin(message, try password(ahead), id)
    case .ask:
      let password = try password(ahead)
      let (connection, request) = try read { () throws(WireError) in
        try XMPPRequest.decode(frame.body, password: password)
      }
      let chat = chat(connection)
      try begin(id, refusal: NetFrame(.refusal, id, XMPPError.busy.encoded)) {
        await self.ask(request, chat, id)
      }
    case .progress:
      let connection = try read { () throws(WireError) in try NetFrame.number(frame.body) }
      let chat = chat(connection)
      try begin(id, refusal: NetFrame(.moved, id, number: 0)) {
        await self.answer(NetFrame(.moved, id, number: chat?.loop.progress() ?? 0))
      }
    // What these are for may have ended meanwhile.
    case .proof:
      let answer = try read { () throws(WireError) in try ScramQuestion.decode(answer: frame.body) }
      chat(id)?.prover.take(answer)
    case .logout: chat(id)?.loop.logout()
    case .close: chat(id)?.close()
    case .cancel: state.withLock { $0.running[id] }?.cancel()
    case .ping: try socket.write(NetFrame(.pong, 0))
    default: throw .senseless
    }
  }

  private func read<Value>(_ body: () throws(WireError) -> Value) throws(FrameSocket.Fault) -> Value {
    do throws(WireError) { return try body() } catch { throw .senseless }
  }

  private func password(_ ahead: NetFrame?) throws(FrameSocket.Fault) -> Password? {
    guard let secret = ahead?.kind == .password ? ahead?.secret : nil else { return nil }
    do throws(XMPPError) { return try Password(secret.bytes) } catch { throw .senseless }
  }

  private func chat(_ id: UInt64) -> Chat? { state.withLock { $0.chats[id] } }

  /// Does something on the side. What has come to its end takes itself out by ``answer(_:)``.
  private func begin(
    _ id: UInt64, refusal: NetFrame, _ body: @escaping @Sendable () async -> Void
  ) throws(FrameSocket.Fault) {
    let isTaken = state.withLock { state in
      guard state.running.count < Self.limit, state.running[id] == nil else { return false }
      // It takes itself out, which waits for this lock.
      state.running[id] = Task { await body() }
      return true
    }
    if !isTaken { try socket.write(refusal) }
  }

  /// Who doesn't read any more is gone, and the thread that reads sees it.
  private func answer(_ frame: NetFrame) {
    state.withLock { $0.running[frame.id] = nil }
    try? socket.write(frame)
  }

  // MARK: Servers of groups

  private func perform(_ request: HTTPRequest, _ line: SecretBody?, _ id: UInt64) async {
    do throws(HTTPError) {
      let authorization = try line.map { (line) throws(HTTPError) in try Self.authorization(line) }
      guard let frame = try await connections.perform(request, authorization: authorization).frame(id) else {
        throw .noResources
      }
      answer(frame)
    } catch { answer(NetFrame(.failure, id, error.encoded)) }
  }

  private static func authorization(_ line: SecretBody) throws(HTTPError) -> AuthorizationLine {
    do {
      if let made = AuthorizationLine(line: try line.bytes.duplicate()) { return made }
    } catch {}
    throw .noResources
  }

  // MARK: Servers of XMPP

  private func begin(_ message: ConnectMessage, _ password: Password?, _ id: UInt64) throws(FrameSocket.Fault) {
    let chat: Chat
    do throws(XMPPError) { chat = try Chat(message, password, socket, id) } catch {
      return try socket.write(NetFrame(.refusal, id, error.encoded))
    }
    // One that finds no room is forgotten at once, below.
    state.withLock { if $0.running.count < Self.limit { $0.chats[id] = chat } }
    try begin(id, refusal: NetFrame(.refusal, id, XMPPError.noResources.encoded)) {
      await chat.run()
      self.state.withLock {
        $0.chats[id] = nil
        $0.running[id] = nil
      }
    }
  }

  private func ask(_ request: XMPPRequest, _ chat: Chat?, _ id: UInt64) async {
    do throws(XMPPError) {
      guard let chat else { throw .closed }
      answer(NetFrame(.reply, id, try await chat.loop.perform(request).encoded))
    } catch { answer(NetFrame(.refusal, id, error.encoded)) }
  }
}
