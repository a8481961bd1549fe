import XMPPRequests

/// Something to be sent, and the answer that is waited for, if any.
///
/// Prepared by who asks, then used by the connection's thread alone.
final class Request: @unchecked Sendable {
  enum Body {
    case stanza([UInt8])
    case secret(SecretStanza)
  }

  /// What comes back.
  struct Answer: Sendable {
    var element: XMLElement?
    /// What was sent before the answer itself, in the order in which it came: the messages of an archive.
    var collected: [XMLElement] = []
  }

  let body: Body
  /// The id of the `iq`, and whom it goes to; nil if no answer is waited for.
  let query: (id: String, to: JID?)?
  /// Most elements that may come before the answer.
  let collectLimit: Int
  var answer = Answer()
  var continuation: CheckedContinuation<Answer, any Error>?
  /// Whoever asked doesn't wait any more.
  var isCancelled = false

  init(_ body: Body, query: (id: String, to: JID?)? = nil, collectLimit: Int = 0) {
    self.body = body
    self.query = query
    self.collectLimit = collectLimit
  }

  func finish(_ result: Result<Answer, XMPPError>) {
    continuation?.resume(with: result.mapError { $0 as any Error })
    continuation = nil
  }

  var size: Int {
    switch body {
    case .stanza(let bytes): bytes.count
    case .secret(let stanza): stanza.bytes.count
    }
  }
}
