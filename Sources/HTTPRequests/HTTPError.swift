/// Why a request had no answer that could be used.
package enum HTTPError: Error, Hashable, Sendable {
  /// The address isn't one of a server: the reason in plain words.
  case invalidAddress(String)
  /// Without TLS only this machine itself is reached.
  case insecureAddress
  /// No connection, or it broke: the reason in plain words.
  case unreachable(String)
  /// The server's certificate isn't trusted: the reason in plain words.
  case untrusted(String)
  case timedOut
  case answerTooLong
  case cancelled
  /// This machine has no memory, thread or descriptor left for a connection.
  case noResources
}
