package import Grouper
package import HTTPRequests

extension GroupServerError {
  /// Why there was no answer.
  package init(_ error: HTTPError) {
    switch error {
    case .invalidAddress(let reason): self = .unreachable(reason: "the address can't be used: \(reason)")
    case .insecureAddress:
      self = .unreachable(reason: "the address must begin with https:// unless the server is on this machine")
    case .unreachable(let reason): self = .unreachable(reason: reason)
    case .untrusted(let reason): self = .untrusted(reason: reason)
    case .timedOut: self = .unreachable(reason: "it took too long")
    case .answerTooLong: self = .malformed(reason: "it is too long")
    case .cancelled: self = .unreachable(reason: "nobody waits for it any more")
    case .noResources: self = .unreachable(reason: "this machine has no memory or thread left for a connection")
    }
  }

  /// What a status other than the expected ones means.
  init(_ answer: HTTPAnswer) {
    switch answer.status {
    case 401: self = .unauthorized
    case 413: self = .tooLarge
    case 429: self = .busy(retryAfter: answer.retryAfter ?? 10)
    case 503:
      let code = answer.body.withBytes { ServerJSON.errorCode($0) }
      self = .unavailable(code: code ?? "unavailable", retryAfter: answer.retryAfter ?? 10)
    case 507: self = .quota
    default:
      let code = answer.body.withBytes { ServerJSON.errorCode($0) }
      self = .refused(status: answer.status, code: code ?? "unknown")
    }
  }
}
