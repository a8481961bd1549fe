/// One server that keeps shares for groups, as a client sees it. Nobody trusts it: whatever it answers is checked.
///
/// A value stands for a server, not for a group on it: each call names the group and the key (``GroupAccess``), because
/// keys change while calls run. Calls may run at the same time. All ids but those of shares are the server's own. Times
/// are milliseconds since 1970 by the server's clock.
package protocol GroupServer: Sendable {
  // MARK: - A member's calls, with an access key

  /// Stores a share. It is acknowledged only when it is durable. The same call again changes nothing and prolongs nothing.
  ///
  /// - Parameter recipients: who may read it, as the server knows them; empty for everybody in the group.
  func put(
    _ share: ServerShareID, bytes: [UInt8], recipients: [ServerUserID], _ access: GroupAccess
  ) async throws(GroupServerError) -> PutReceipt

  /// What has come for this member after `cursor`: neither expired nor his own, in order of cursor.
  ///
  /// - Parameters:
  ///   - cursor: ``SharePage/next`` of the last page; 0 at first.
  ///   - limit: most shares of the page, 1 to 500.
  ///   - wait: seconds, 0 to 60, that the server may wait for something to come.
  func list(
    after cursor: UInt64, limit: Int, wait: Int, _ access: GroupAccess
  ) async throws(GroupServerError) -> SharePage

  /// Removes a share that this member has put.
  func remove(_ share: ServerShareID, _ access: GroupAccess) async throws(GroupServerError)

  func info(_ access: GroupAccess) async throws(GroupServerError) -> ServerGroupInfo

  // MARK: - An owner's calls, with the master key

  /// Makes a group, whose first user is the caller.
  ///
  /// - Parameters:
  ///   - ttl: seconds that shares live, 60 to 2,592,000.
  ///   - token: what the server's operator demands from whoever makes a group there, if he does.
  func createGroup(ttl: Int, token: CreationToken?) async throws(GroupServerError) -> CreatedGroup

  func addUser(_ access: GroupAccess) async throws(GroupServerError) -> AddedUser

  /// Draws a new access key for a user. The old one holds until the new one is used first.
  func rotateKey(of user: ServerUserID, _ access: GroupAccess) async throws(GroupServerError) -> ServerKey

  /// Removes a user; his keys end at once. His shares stay until they expire. That there is none is no error.
  func removeUser(_ user: ServerUserID, _ access: GroupAccess) async throws(GroupServerError)

  /// Draws a new master key. The old one holds until the new one is used first.
  func rotateMaster(_ access: GroupAccess) async throws(GroupServerError) -> ServerKey

  /// Erases the group and everything in it.
  func deleteGroup(_ access: GroupAccess) async throws(GroupServerError)
}

/// Why a call to a server failed. Never carries keys or content; the texts are the server's, escaped before they are shown.
public enum GroupServerError: Error, Hashable, Sendable {
  /// No answer: no connection, no name, or too slow.
  case unreachable(reason: String)
  /// Whoever answers there has no certificate that is trusted.
  case untrusted(reason: String)
  /// The server says no: HTTP's status, and the code of its error.
  case refused(status: Int, code: String)
  /// It knows no such group, or the key doesn't open it: it doesn't say which.
  case unauthorized
  /// The group has used up what the server gives it.
  case quota
  /// The share is larger than the server takes.
  case tooLarge
  /// Too many requests: come back after so many seconds.
  case busy(retryAfter: Int)
  /// It is there, but can't do its work just now: the code of its error, and after how many seconds to come back.
  case unavailable(code: String, retryAfter: Int)
  /// The answer isn't what the interface describes.
  case malformed(reason: String)
}

extension GroupServerError: CustomStringConvertible {
  /// One plain sentence.
  public var description: String {
    switch self {
    case .unreachable(let reason): "no answer: \(reason)"
    case .untrusted(let reason): "its certificate is not trusted: \(reason)"
    case .refused(let status, let code): "refused with status \(status) (\(code))"
    case .unauthorized: "the key doesn't open the group, or the group is gone"
    case .quota: "it is full: the group has used up its room there, or the server its disk"
    case .tooLarge: "the share is larger than the server takes"
    case .busy(let seconds): "too many requests, asks to come back after \(seconds) s"
    case .unavailable("unavailable", let seconds): "its own store doesn't answer, come back after \(seconds) s"
    case .unavailable(let code, let seconds): "it can't do it just now (\(code)), come back after \(seconds) s"
    case .malformed(let reason): "an answer that makes no sense: \(reason)"
    }
  }
}
