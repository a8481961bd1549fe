/// What is wrong with a request. The names of parameters are this protocol's; what they hold never stands here.
package enum CallbackError: Error, Hashable, Sendable {
  /// Longer than ``CallbackRequest/byteLimit``.
  case tooLong
  /// It doesn't begin with `coresecret://x-callback-url/`.
  case otherScheme
  /// No such action.
  case unknownAction
  /// A `%` without two hexadecimal digits behind it, a control character, a `#`, or more parameters than anybody needs.
  case malformed
  /// A parameter is there twice.
  case duplicate(String)
  /// A parameter that the action needs is not there.
  case missing(String)
  /// A parameter has a value that it can't have; `rule` says what it should be.
  case invalid(String, rule: String)
  /// An answer would go to an address of the web or to a file instead of to another program.
  case forbiddenTarget(String)
  /// There is no secret memory left.
  case outOfMemory
}

extension CallbackError: CustomStringConvertible {
  package var description: String {
    switch self {
    case .tooLong: "the request is longer than \(CallbackRequest.byteLimit) bytes"
    case .otherScheme: "the request doesn't begin with \(CallbackRequest.prefix)"
    case .unknownAction: "the request asks for another action than encrypt or decrypt"
    case .malformed: "the request is no URL of the x-callback-url kind"
    case .duplicate(let name): "the request has the parameter \(name) twice"
    case .missing(let name): "the request lacks the parameter \(name)"
    case .invalid(let name, let rule): "the parameter \(name) must be \(rule)"
    case .forbiddenTarget(let name):
      "the parameter \(name) must be the address of a program, not of a web page or a file"
    case .outOfMemory: "there is no secret memory left"
    }
  }
}
