package import Grouper
package import HTTPRequests
import Sodium

/// A share server behind its interface of version 1 (`docs/openapi.yaml`), over HTTPS.
package struct HTTPGroupServer: GroupServer {
  /// How long nothing may move, besides the time that a server may wait for something to come.
  static let usualPatience: Duration = .seconds(30)
  /// Room for an answer with a key in it.
  static let keyAnswerLimit = 4 << 10
  /// Room for a page: what its shares may be as Base64, and for each share as much again as its other members take.
  static let pageAnswerLimit =
    (ServerLimits.pageByteLimit / 3 + 1) * 4 + ServerLimits.pageLimit * 512 + (64 << 10)

  private let address: ServerAddress
  let connections: any HTTPPerformer
  var patience = Self.usualPatience

  /// A server behind these connections. Nothing is opened yet.
  package init(_ address: ServerAddress, _ connections: any HTTPPerformer) {
    self.address = address
    self.connections = connections
  }

  /// `PUT` of a share. Sends nothing if the share is larger than any server takes.
  package func put(
    _ share: ServerShareID, bytes: [UInt8], recipients: [ServerUserID], _ access: GroupAccess
  ) async throws(GroupServerError) -> PutReceipt {
    guard bytes.count <= ServerLimits.shareByteLimit else { throw .tooLarge }
    var request = self.request(.put, "/v1/groups/\(access.group)/shares/\(share)")
    request.headers = ["Content-Type: application/octet-stream"]
    if !recipients.isEmpty {
      request.headers.append("Recipients: " + recipients.map(\.description).joined(separator: ","))
    }
    request.body = bytes
    return try await ask(request, .access, access.key, expecting: [200, 201], ServerJSON.receipt(_:))
  }

  /// A page; the time of the request grows with `wait`.
  package func list(
    after cursor: UInt64, limit: Int, wait: Int, _ access: GroupAccess
  ) async throws(GroupServerError) -> SharePage {
    let wait = min(max(wait, 0), ServerLimits.waitLimit)
    let limit = min(max(limit, 1), ServerLimits.pageLimit)
    var request = self.request(.get, "/v1/groups/\(access.group)/shares?after=\(cursor)&limit=\(limit)&wait=\(wait)")
    request.patience = patience + .seconds(wait)
    request.answerLimit = Self.pageAnswerLimit
    return try await ask(request, .access, access.key) { bytes throws(ServerJSON.Failure) in
      try ServerJSON.page(bytes, after: cursor, limit: limit)
    }
  }

  /// `DELETE` of a share. That it is gone already is no error.
  package func remove(_ share: ServerShareID, _ access: GroupAccess) async throws(GroupServerError) {
    let request = self.request(.delete, "/v1/groups/\(access.group)/shares/\(share)")
    try await ask(request, .access, access.key, expecting: [204, 404]) { _ in }
  }

  /// The group's standing.
  package func info(_ access: GroupAccess) async throws(GroupServerError) -> ServerGroupInfo {
    try await ask(request(.get, "/v1/groups/\(access.group)"), nil, access.key, ServerJSON.info(_:))
  }

  /// A group; the keys of the answer go from the network straight into secret memory.
  package func createGroup(ttl: Int, token: CreationToken?) async throws(GroupServerError) -> CreatedGroup {
    var request = self.request(.post, "/v1/groups", json: "{\"ttl\":\(ttl)}")
    request.hasSecretAnswer = true
    request.answerLimit = Self.keyAnswerLimit
    let authorization: AuthorizationLine?
    do { authorization = if let token { try AuthorizationLine(token) } else { nil } } catch {
      throw .unreachable(reason: Self.noMemory)
    }
    return try await ask(request, authorization, expecting: [201], ServerJSON.createdGroup(_:))
  }

  /// A user; the key of the answer goes straight into secret memory.
  package func addUser(_ access: GroupAccess) async throws(GroupServerError) -> AddedUser {
    let request = keyRequest("/v1/groups/\(access.group)/users")
    return try await ask(request, .master, access.key, expecting: [201], ServerJSON.addedUser(_:))
  }

  /// A new key for a user, straight into secret memory.
  package func rotateKey(
    of user: ServerUserID, _ access: GroupAccess
  ) async throws(GroupServerError) -> ServerKey {
    let request = keyRequest("/v1/groups/\(access.group)/users/\(user)/key")
    return try await ask(request, .master, access.key) { bytes throws(ServerJSON.Failure) in
      try ServerJSON.key(bytes, .access)
    }
  }

  /// `DELETE` of a user. That he is gone already is no error.
  package func removeUser(_ user: ServerUserID, _ access: GroupAccess) async throws(GroupServerError) {
    let request = self.request(.delete, "/v1/groups/\(access.group)/users/\(user)")
    try await ask(request, .master, access.key, expecting: [204, 404]) { _ in }
  }

  /// A new master key, straight into secret memory.
  package func rotateMaster(_ access: GroupAccess) async throws(GroupServerError) -> ServerKey {
    let request = keyRequest("/v1/groups/\(access.group)/master")
    return try await ask(request, .master, access.key) { bytes throws(ServerJSON.Failure) in
      try ServerJSON.key(bytes, .master)
    }
  }

  /// `DELETE` of the group.
  package func deleteGroup(_ access: GroupAccess) async throws(GroupServerError) {
    try await ask(request(.delete, "/v1/groups/\(access.group)"), .master, access.key, expecting: [204]) { _ in }
  }

  static let noMemory = "this machine has no memory left for keys"

  private func request(_ method: HTTPRequest.Method, _ path: String, json: String? = nil) -> HTTPRequest {
    var request = HTTPRequest(method: method, server: address, path: path)
    request.patience = patience
    if let json {
      request.headers = ["Content-Type: application/json"]
      request.body = Array(json.utf8)
    }
    return request
  }

  private func keyRequest(_ path: String) -> HTTPRequest {
    var request = self.request(.post, path, json: "{}")
    request.hasSecretAnswer = true
    request.answerLimit = Self.keyAnswerLimit
    return request
  }
}
