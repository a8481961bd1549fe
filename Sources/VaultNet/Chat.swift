import NetLink
import XMPPLink
import XMPPRequests

/// A connection to a server of XMPP, whose events go to `vault`.
final class Chat: Sendable {
  let loop: Loop
  let prover: RemoteProver
  private let socket: FrameSocket
  private let id: UInt64
  private let certificates: MemoryFile?

  init(_ message: ConnectMessage, _ password: Password?, _ socket: FrameSocket, _ id: UInt64) throws(XMPPError) {
    let asked = message.account
    certificates = try message.certificates.map { (bytes) throws(XMPPError) in
      guard let file = MemoryFile(bytes) else { throw .noResources }
      return file
    }
    let account = try XMPPAccount(asked.address, host: asked.host, port: asked.port, certificates: certificates?.path)
    prover = RemoteProver(socket, id)
    if message.isRegistration {
      guard let password else { throw .invalidPassword("it is empty") }
      loop = try Loop(account, .registration(password), nil)
    } else {
      loop = try Loop(account, .login(resource: message.resource), prover)
    }
    self.socket = socket
    self.id = id
  }

  /// Begins, and hands on what comes until the end.
  func run() async {
    do throws(XMPPError) {
      let address = try await loop.begin()
      try? socket.write(NetFrame(.begun, id, address.encoded))
    } catch {
      try? socket.write(NetFrame(.refusal, id, error.encoded))
      return
    }
    // Who doesn't read lets the queue run full, which has its limit.
    for await event in loop.events.stream { try? socket.write(NetFrame(.event, id, event.encoded)) }
  }

  func close() {
    prover.take(.failure(.cancelled))
    loop.close()
  }
}

/// Who knows the password: `vault`.
final class RemoteProver: ScramProver {
  private let answer = PendingAnswer()
  private let socket: FrameSocket
  private let id: UInt64

  init(_ socket: FrameSocket, _ id: UInt64) {
    self.socket = socket
    self.id = id
  }

  func answer(_ question: ScramQuestion) async throws(XMPPError) -> [UInt8] {
    try await answer.wait {
      // If it can't be written, everything is over.
      try? self.socket.write(NetFrame(.question, self.id, question.encoded))
    }.get()
  }

  func take(_ answer: Result<[UInt8], XMPPError>) { self.answer.give(answer) }
}
