package import HTTPRequests
import Sodium
import WireCodec

extension NetHelper: HTTPPerformer {
  /// Beyond the deadline of a request, for the way there and back.
  private static let grace: Duration = .seconds(30)

  package func perform(
    _ request: HTTPRequest, authorization: AuthorizationLine?
  ) async throws(HTTPError) -> HTTPAnswer {
    let call = HTTPCall(request)
    var line: SecretBody?
    do {
      if let authorization { line = SecretBody(try authorization.duplicate()) }
    } catch { throw .noResources }
    let process: NetProcess
    let id: UInt64
    do throws(NetFault) {
      (process, id) = try begin(call) { NetFrame(.request, $0, request.encoded).behind(line, .authorization) }
    } catch { throw HTTPError(error) }
    line = nil
    // It keeps the time itself, if it is honest.
    let watch = Task {
      try await Task.sleep(for: request.deadline + Self.grace)
      process.end(.silent)
    }
    defer { watch.cancel() }
    return try await call.pending.value {
      call.pending.finish(.failure(.cancelled))
      process.send(NetFrame(.cancel, id))
    }
  }
}

extension HTTPError {
  init(_ fault: NetFault) {
    switch fault {
    case .tooManyFiles, .busy: self = .noResources
    default: self = .unreachable(fault.description)
    }
  }
}

private final class HTTPCall: NetProcess.Receiver {
  let pending = PendingResult<HTTPAnswer, HTTPError>()
  private let request: HTTPRequest

  init(_ request: HTTPRequest) { self.request = request }

  func limit(of kind: NetFrame.Kind) -> Int? {
    switch kind {
    case .answer where !request.hasSecretAnswer, .secretAnswer where request.hasSecretAnswer: request.answerFrameLimit
    case .failure: kind.limit
    default: nil
    }
  }

  func take(_ frame: NetFrame) -> NetProcess.Verdict {
    do throws(WireError) {
      pending.finish(
        frame.kind == .failure ? .failure(try HTTPError(encoded: frame.body)) : .success(try HTTPAnswer(frame)))
      return .last
    } catch { return .senseless }
  }

  func end(_ fault: NetFault) { pending.finish(.failure(HTTPError(fault))) }
}
