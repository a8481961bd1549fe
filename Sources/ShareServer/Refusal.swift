import GRDB
import Sodium

/// Why a request isn't done, as its sender is told: a status of HTTP, a stable word, and a sentence without content.
struct Refusal: Error, Sendable, Equatable {
  let status: Int
  let code: String
  let message: String
  /// Seconds.
  var retryAfter: Int?

  init(_ status: Int, _ code: String, _ message: String, retryAfter: Int? = nil) {
    self.status = status
    self.code = code
    self.message = message
    self.retryAfter = retryAfter
  }

  /// One and the same for a group that there isn't, a wrong key, and a key of another group.
  static let unauthorized = Refusal(401, "unauthorized", "no such group, or not a key of it")
  static let forbidden = Refusal(403, "forbidden", "this needs another kind of key")
  static let notSender = Refusal(403, "forbidden", "only its sender may erase a share")
  static let notFound = Refusal(404, "not_found", "there is nothing here")
  static let noRecipient = Refusal(404, "recipient", "a recipient is not a user of this group")
  static let taken = Refusal(409, "conflict", "another share has this id")
  static let owner = Refusal(409, "owner", "the owner of a group can't be removed; erase the group instead")
  static let names = Refusal(507, "quota", "the group keeps the names of too many removed users")
  static let tooLarge = Refusal(413, "too_large", "the body is larger than is allowed here")
  static let wrongType = Refusal(415, "media_type", "the body has to be of another media type")
  static let slow = Refusal(408, "timeout", "the request took too long to arrive")
  static let busy = Refusal(503, "busy", "too much is under way; try again", retryAfter: 1)
  static let stopping = Refusal(503, "stopping", "the service is stopping", retryAfter: 5)
  static let unavailable = Refusal(503, "unavailable", "the store doesn't answer; try again", retryAfter: 5)
  static let diskFull = Refusal(507, "full", "the service has no room left")

  static func malformed(_ message: String) -> Refusal { Refusal(400, "malformed", message) }
  static func quota(_ message: String) -> Refusal { Refusal(507, "quota", message) }
  static func rate(_ seconds: Int) -> Refusal { Refusal(429, "rate", "too many requests", retryAfter: seconds) }
  static func method(_ allowed: [String]) -> Refusal {
    Refusal(405, "method", "only \(allowed.joined(separator: ", ")) here")
  }

  /// What a fault of the store means for who asked.
  init(_ error: any Error) {
    switch error {
    case let refusal as Refusal: self = refusal
    case let error as DatabaseError where error.resultCode == .SQLITE_FULL: self = .diskFull
    case let error as RedisFault where error.isFull: self = .diskFull
    case let error as FileFault where error.isFull: self = .diskFull
    default: self = .unavailable
    }
  }
}
