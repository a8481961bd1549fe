/// What is asked of a server.
package struct HTTPRequest: Sendable {
  package enum Method: String, CaseIterable, Sendable {
    case get = "GET"
    case put = "PUT"
    case post = "POST"
    case delete = "DELETE"
  }

  package let method: Method
  package let server: ServerAddress
  /// With its query, percent-encoded.
  package let path: String
  /// Lines of the head, without line ends. Nothing secret: what authorises comes apart.
  package var headers: [String] = []
  package var body: [UInt8]?
  /// How long nothing may move: a page or a share may take long over a slow link, but not stand still.
  package var patience: Duration = .seconds(30)
  /// From the beginning to the last byte of the answer.
  package var deadline: Duration = .seconds(900)
  package var answerLimit = 64 << 10
  /// Whether the answer has a key in it: it is kept in secret memory then.
  package var hasSecretAnswer = false

  package init(method: Method, server: ServerAddress, path: String) {
    self.method = method
    self.server = server
    self.path = path
  }
}

/// What a server answered.
package struct HTTPAnswer: Sendable {
  package let status: Int
  /// Seconds after which the server wants to be asked again, if it said so.
  package let retryAfter: Int?
  package let body: AnswerBuffer

  package init(status: Int, retryAfter: Int?, body: AnswerBuffer) {
    self.status = status
    self.retryAfter = retryAfter
    self.body = body
  }
}

/// Who brings requests to servers: `HTTPConnections` of HTTPLink in the same process, or another process that has it.
package protocol HTTPPerformer: Sendable {
  /// Asks, and waits for the whole answer, of whatever status. Ends at once when the task is cancelled.
  func perform(_ request: HTTPRequest, authorization: AuthorizationLine?) async throws(HTTPError) -> HTTPAnswer
}
