import Grouper
import HTTPRequests
import Sodium

extension HTTPGroupServer {
  /// Asks with a key, and reads the answer if its status is one of the expected ones.
  func ask<Answer: Sendable>(
    _ request: HTTPRequest, _ kind: ServerKey.Kind?, _ key: ServerKey, expecting statuses: Set<Int> = [200],
    _ read: (RawSpan) throws(ServerJSON.Failure) -> Answer
  ) async throws(GroupServerError) -> Answer {
    // A key of the other kind would only be refused there.
    guard kind == nil || kind == key.kind else { throw .unauthorized }
    let line: AuthorizationLine
    do { line = try AuthorizationLine(key) } catch { throw .unreachable(reason: Self.noMemory) }
    return try await ask(request, line, expecting: statuses, read)
  }

  /// The same with a line that is ready.
  func ask<Answer: Sendable>(
    _ request: HTTPRequest, _ line: AuthorizationLine?, expecting statuses: Set<Int>,
    _ read: (RawSpan) throws(ServerJSON.Failure) -> Answer
  ) async throws(GroupServerError) -> Answer {
    let answer: HTTPAnswer
    do { answer = try await connections.perform(request, authorization: line) } catch { throw GroupServerError(error) }
    guard statuses.contains(answer.status) else { throw GroupServerError(answer) }
    do {
      return try answer.body.withBytes { bytes throws(ServerJSON.Failure) in try read(bytes) }
    } catch {
      switch error {
      case .malformed(let reason): throw .malformed(reason: reason)
      case .noMemory: throw .unreachable(reason: Self.noMemory)
      }
    }
  }
}
