/// What is wrong with something that an age client has sent.
package enum AgeError: Error, Hashable, Sendable {
  /// Not what the specification has there.
  case malformed(String)
  /// More than is taken.
  case tooMuch(String)

  /// For people.
  package var words: String {
    switch self {
    case .malformed(let what): "\(what) is not as the age specification has it"
    case .tooMuch(let what): "\(what) is more than this plugin takes"
    }
  }
}
