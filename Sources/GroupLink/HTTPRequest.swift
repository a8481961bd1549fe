/// What is asked of a server.
struct HTTPRequest: Sendable {
  /// The method's name.
  enum Method: String, Sendable {
    case get = "GET"
    case put = "PUT"
    case post = "POST"
    case delete = "DELETE"
  }

  let method: Method
  /// The address of the server, and the path with its query, percent-encoded.
  let server: ServerAddress
  let path: String
  /// Lines of the head, without line ends. Nothing secret: what authorises comes apart.
  var headers: [String] = []
  /// Sent as it is; none for a request without a body.
  var body: [UInt8]?
  /// How long nothing may move: a page or a share may take long over a slow link, but not stand still.
  var patience: Duration = .seconds(30)
  /// From the beginning to the last byte of the answer.
  var deadline: Duration = .seconds(900)
  /// Longest answer.
  var answerLimit = 64 << 10
  /// Whether the answer has a key in it, and so is kept in secret memory.
  var hasSecretAnswer = false
}

/// What a server answered.
struct HTTPAnswer: Sendable {
  let status: Int
  /// Seconds after which the server wants to be asked again, if it said so.
  let retryAfter: Int?
  let body: AnswerBuffer
}
