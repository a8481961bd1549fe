@testable import CallbackURL
import Sodium

/// Requests of other programs by URL.
enum URLTargets {
  static let all = [
    FuzzTarget("callback", upTo: 4096) { bytes in
      let request = try CallbackRequest(bytes.span.bytes)
      require(CallbackTargets(of: bytes.span.bytes) == request.targets, "targets are read apart as with the request")
      for target in [request.targets.success, request.targets.failure, request.targets.cancel] {
        guard let target else { continue }
        require(!CallbackScheme.isForbidden(target.scheme), "no answer goes to the web")
        require(target.text.lowercased().hasPrefix(target.receiver), "the receiver that is named is the one")
        require(!target.text.lowercased().contains("http:"), "no page stands in an answer")
        try check(request.content, behind: target)
      }
      return true
    }
  ]

  /// What is put behind a URL is read from there again.
  private static func check(_ content: borrowing SecretBytes, behind target: CallbackTarget) throws {
    let answer = try target.answer(plaintext: content.bytes, fileName: nil, description: nil)
    let url = exposed(answer)
    require(url.starts(with: target.text.utf8), "an answer begins with the URL that it goes to")
    // What the other program has in its URL is its own affair; ours begins behind it.
    let rest = Array(url[target.text.utf8.count...].drop { $0 == UInt8(ascii: "?") || $0 == UInt8(ascii: "&") })
    let parameters = try QueryParameters(rest.span.bytes)
    require(parameters.places.map { rest.span.bytes.text($0.name) } == ["plaintext"], "an answer adds what it should")
    switch try parameters.value("plaintext", in: rest.span.bytes) {
    case .some(let value): require(exposed(value) == exposed(content), "an answer is read as what was put into it")
    case .none: violated("an answer has its plaintext")
    }
  }
}
