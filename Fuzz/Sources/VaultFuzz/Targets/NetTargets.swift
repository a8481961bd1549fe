import HTTPRequests
import NetLink
import Sodium
import WireCodec
import XMPPRequests

/// What vault and vault-net say to each other, either of which may have been taken over by somebody. A message is one head and
/// one body.
enum NetTargets {
  static let all = [
    FuzzTarget("net-answer", upTo: 65_536) { bytes in
      let (head, body) = try parts(bytes, fromVault: false)
      let again: [UInt8]
      switch head.kind {
      case .answer, .secretAnswer: return try answer(head, body)
      case .failure: again = try HTTPError(encoded: body).encoded
      case .question: again = try ScramQuestion(encoded: body).encoded
      case .begun: return try !JID(encoded: body).domain.isEmpty
      case .refusal: again = try XMPPError(encoded: body).encoded
      case .reply: again = try XMPPReply(encoded: body).encoded
      case .event: again = try XMPPEvent(encoded: body).encoded
      case .moved: again = NetFrame(.moved, head.id, number: try NetFrame.number(body)).body
      case .ownVersion: again = NetFrame(.ownVersion, version: try NetFrame.version(body)).body
      case .pong: again = []
      default: violated("a message of vault's own")
      }
      require(again == body, "a message has one form")
      return true
    },
    FuzzTarget("net-question", upTo: 65_536) { bytes in
      let (head, body) = try parts(bytes, fromVault: true)
      let again: [UInt8]
      switch head.kind {
      case .request:
        let request = try HTTPRequest(encoded: body)
        require(request.answerLimit <= NetFrame.Kind.answer.limit, "an answer has its limit")
        again = request.encoded
      case .connect: again = try ConnectMessage(encoded: body).encoded
      case .ask:
        let (connection, request) = try XMPPRequest.decode(body, password: nil)
        again = request.encoded(for: connection)
      case .proof:
        _ = try ScramQuestion.decode(answer: body)
        return true
      case .progress: again = NetFrame(.progress, head.id, number: try NetFrame.number(body)).body
      case .version: again = NetFrame(.version, version: try NetFrame.version(body)).body
      case .authorization: return AuthorizationLine(line: prepared { try SecretBytes(copying: body.span.bytes) }) != nil
      case .password: return (try? Password(prepared { try SecretBytes(copying: body.span.bytes) })) != nil
      case .cancel, .ping, .logout, .close: again = []
      default: violated("a message of vault-net's")
      }
      require(again == body, "a message has one form")
      return true
    },
  ]

  private static func parts(_ bytes: [UInt8], fromVault: Bool) throws(WireError) -> (FrameHead, [UInt8]) {
    let head = try FrameHead(Array(bytes.prefix(NetFrame.headByteCount)), fromVault: fromVault)
    require(head.bodyByteCount <= head.kind.limit, "a body has its limit before it is read")
    let body = Array(bytes.dropFirst(NetFrame.headByteCount))
    guard body.count == head.bodyByteCount else { throw .truncated(field: "body") }
    return (head, body)
  }

  private static func answer(_ head: FrameHead, _ body: [UInt8]) throws(WireError) -> Bool {
    let frame =
      head.kind.isSecret
      ? NetFrame(head.kind, head.id, secret: SecretBody(prepared { try SecretBytes(copying: body.span.bytes) }))
      : NetFrame(head.kind, head.id, body)
    let answer = try HTTPAnswer(frame)
    require(answer.body.isSecret == head.kind.isSecret, "what is secret stays so")
    let again = prepared { () throws(NoMemory) in
      guard let frame = answer.frame(head.id) else { throw NoMemory() }
      return frame
    }
    require(again.byteCount == NetFrame.headByteCount + body.count, "an answer has one form")
    return true
  }

  private struct NoMemory: Error {}
}
