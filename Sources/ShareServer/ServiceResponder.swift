import HTTPTypes
import Hummingbird
import Logging
import NIOCore
import NIOHTTP1
import Sodium

/// What is known of the connection that a request came over.
struct ServiceContext: InitializableFromSource {
  let channel: any Channel

  init(source: ApplicationRequestContextSource) { channel = source.channel }
}

/// Answers requests: says what they ask for, holds them to the limits, and lets the store do it.
struct ServiceResponder: HTTPResponder {
  let store: any ShareStore
  let metrics: ServerMetrics
  let connections: Connections
  let bodies: RequestBodies
  let gate: RequestGate
  let log: Logger
  let health: HealthCheck

  func respond(to request: Request, context: ServiceContext) async throws -> Response {
    let start = ContinuousClock.now
    let route = Route(path: request.uri.path)
    var response: Response
    do {
      guard let route else { throw Refusal.notFound }
      guard route.methods.contains(request.method.rawValue) else { throw Refusal.method(route.methods) }
      response = try await answer(request, route, context)
    } catch let error as HTTPParserError {
      // Hummingbird answers what isn't HTTP.
      throw error
    } catch {
      let refusal = error is CancellationError ? Refusal.stopping : Refusal(error)
      if refusal == .unavailable {
        log.error("a request could not be done", metadata: ["error": "\(ServerStore.words(error))"])
      }
      response = Answers.refusal(refusal, allowed: refusal.status == 405 ? route?.methods ?? [] : [])
    }
    note(request, route, response, start)
    // Refused, but never with a body: its sender would take that for the next answer.
    return request.method == .head ? response.createHeadResponse() : response
  }

  private func note(_ request: Request, _ route: Route?, _ response: Response, _ start: ContinuousClock.Instant) {
    let time = ContinuousClock.now - start
    let template = route?.template ?? "other"
    let known = ["GET", "PUT", "POST", "DELETE"].contains(request.method.rawValue)
    let method = known ? request.method.rawValue : "other"
    metrics.answered(method: method, route: template, status: response.status.code, in: time)
    log.debug(
      "request",
      metadata: [
        "method": "\(method)", "route": "\(template)", "status": "\(response.status.code)",
        "group": "\(route?.group?.short ?? "-")", "milliseconds": "\(Int(time / .milliseconds(1)))",
      ])
  }

  private func answer(_ request: Request, _ route: Route, _ context: ServiceContext) async throws -> Response {
    let address = gate.address(of: request, context)
    try gate.admit(address, at: store.clock.now)
    switch (route, request.method) {
    case (.health, _): return try await health()
    case (.description, _):
      return Answers.text(String(decoding: PackageResources.openapi_yaml, as: UTF8.self), type: "application/yaml")
    case (.groups, _): return try await makeGroup(request, address)
    case (.noGroup, _): throw Refusal.unauthorized
    default: break
    }
    guard let group = route.group else { throw Refusal.notFound }
    let caller = try await caller(request, group)
    switch (route, request.method) {
    case (.group, .get): return try await info(caller)
    case (.shares, _): return try await list(request, caller, address, context)
    case (.share(_, let share), .get): return try await read(caller, share, address)
    case (.share(_, let share), .put): return try await put(request, caller, share, address)
    case (.share(_, let share), _):
      try needAccess(caller)
      try await store.eraseShare(caller, id(share))
      return Answers.nothing
    default: break
    }
    guard caller.isMaster else { throw Refusal.forbidden }
    switch route {
    case .group:
      try await store.eraseGroup(caller)
      return Answers.nothing
    case .master: return try await rotateKey(request, caller, nil)
    case .users: return try await addUser(request, caller)
    case .userKey(_, let user): return try await rotateKey(request, caller, user)
    case .user(_, let user):
      try await store.removeUser(caller, id(user))
      return Answers.nothing
    default: throw Refusal.notFound
    }
  }

  private func caller(_ request: Request, _ group: Identifier) async throws -> Caller {
    do { return try await gate.caller(request, group, store) } catch let refusal as Refusal {
      // Who deletes something takes this for success, if an attempt before had no answer.
      if refusal == .unauthorized, request.method == .delete { try await store.settle() }
      throw refusal
    }
  }

  private func id(_ text: String) throws(Refusal) -> Identifier {
    guard let id = Identifier(text) else { throw .malformed("an id has 32 hexadecimal digits in lower case") }
    return id
  }

  private func needAccess(_ caller: Caller) throws(Refusal) { if caller.isMaster { throw .forbidden } }

  private func health() async throws -> Response {
    guard await health.isHealthy else { throw Refusal.unavailable }
    return Answers.json { $0.text("status", "ok") }
  }

  // MARK: - Groups and users

  private func makeGroup(_ request: Request, _ address: ClientAddress?) async throws -> Response {
    try gate.checkCreation(request)
    let ttl = try await bodies.ttl(request)
    try gate.admitGroup(address, at: store.clock.now)
    let (group, owner) = (try Identifier.fresh(), try Identifier.fresh())
    let master = try ServerKey(drawing: .master)
    let access = try ServerKey(drawing: .access)
    let storedMaster = try StoredKey(master, group: group, user: nil)
    let storedAccess = try StoredKey(access, group: group, user: owner)
    try await store.makeGroup(group, ttl: ttl, owner: owner, master: storedMaster, access: storedAccess)
    return try Answers.json(.created) { json in
      json.text("group", group.description)
      json.text("owner", owner.description)
      try json.key("masterKey", master)
      try json.key("accessKey", access)
      json.number("ttl", ttl)
    }
  }

  private func info(_ caller: Caller) async throws -> Response {
    let info = try await store.info(caller)
    return Answers.json { json in
      json.text("group", caller.groupID.description)
      json.number("ttl", caller.ttl)
      if caller.isMaster { json.number("users", info.users) }
      json.number("shares", info.shares)
      json.number("bytes", info.bytes)
      json.object("quota") { quota in
        quota.number("bytes", store.limits.groupBytes)
        quota.number("shares", store.limits.groupShares)
      }
      json.number("newest", info.newest)
      json.number("time", info.time)
    }
  }

  private func addUser(_ request: Request, _ caller: Caller) async throws -> Response {
    try await bodies.nothing(request)
    let user = try Identifier.fresh()
    let key = try ServerKey(drawing: .access)
    let stored = try StoredKey(key, group: caller.groupID, user: user)
    try await store.addUser(caller, id: user, access: stored)
    return try Answers.json(.created) { json in
      json.text("user", user.description)
      try json.key("accessKey", key)
    }
  }

  /// Gives a user, or for nil the group itself, a new key.
  private func rotateKey(_ request: Request, _ caller: Caller, _ user: String?) async throws -> Response {
    let user = try user.map(id)
    try await bodies.nothing(request)
    let key = try ServerKey(drawing: user == nil ? .master : .access)
    let stored = try StoredKey(key, group: caller.groupID, user: user)
    try await store.rotateKey(caller, user: user, to: stored)
    return try Answers.json { json in
      if let user { json.text("user", user.description) }
      try json.key(user == nil ? "masterKey" : "accessKey", key)
    }
  }

  // MARK: - Shares

  /// Whose memory a body is that belongs to a request.
  private func holders(_ caller: Caller, _ address: ClientAddress?) -> [MemoryBudget.Holder] {
    [.group(caller.groupID)] + (address.map { [.address($0)] } ?? [])
  }

  private func put(
    _ request: Request, _ caller: Caller, _ share: String, _ address: ClientAddress?
  ) async throws -> Response {
    try needAccess(caller)
    let id = try id(share)
    let recipients = try RecipientsField.parse(request.headers[values: RequestGate.recipients])
    let (bytes, memory) = try await bodies.octets(request, for: holders(caller, address))
    // Until it is written.
    defer { withExtendedLifetime(memory) {} }
    let receipt = try await store.put(caller, NewShare(id: id, bytes: bytes, recipients: recipients))
    if !receipt.isRepeated { metrics.received(bytes.count) }
    return Answers.json(receipt.isRepeated ? .ok : .created) { json in
      json.number("cursor", receipt.cursor)
      json.number("expires", receipt.expires)
    }
  }

  private func read(_ caller: Caller, _ share: String, _ address: ClientAddress?) async throws -> Response {
    try needAccess(caller)
    let memory = try bodies.budget.reserve(ServerLimits.shareBytes, for: holders(caller, address))
    let bytes = try await store.share(caller, id(share))
    metrics.sent(bytes.count)
    return Answers.octets(bytes, holding: memory)
  }

  private func list(
    _ request: Request, _ caller: Caller, _ address: ClientAddress?, _ context: ServiceContext
  ) async throws -> Response {
    try needAccess(caller)
    let query = try Query(request.uri.query ?? "")
    let page = PageRequest(
      after: try query.number("after", 0...ServerSchema.largestCursor, standard: 0),
      limit: Int(try query.number("limit", 1...Int64(ServerLimits.pageShares), standard: 100)))
    let wait = try query.number("wait", 0...Int64(ServerLimits.wait), standard: 0)
    let holders = holders(caller, address)
    let (found, memory) =
      try await wait == 0
      ? look(caller, page, holders) : look(caller, page, holders, waiting: wait, context)
    metrics.sent(found.shares.reduce(0) { $0 + $1.bytes.count })
    return Answers.page(found, holding: memory)
  }

  private func look(
    _ caller: Caller, _ request: PageRequest, _ holders: [MemoryBudget.Holder]
  ) async throws -> (Page, MemoryBudget.Share) {
    let box = ReservationBox()
    let page = try await store.page(caller, request) { [budget = bodies.budget] bytes, count in
      box.set(try budget.reserve(Answers.pageMemory(bytes, count), for: holders))
    }
    guard let share = box.take() else { throw Refusal.unavailable }
    return (page, share)
  }

  /// Looks, and if there is nothing, again whenever something came, until the time is over, the client has gone or the
  /// service stops.
  private func look(
    _ caller: Caller, _ request: PageRequest, _ holders: [MemoryBudget.Holder], waiting seconds: Int64,
    _ context: ServiceContext
  ) async throws -> (Page, MemoryBudget.Share) {
    let clock = store.board.clock
    let end = clock.uptime() + seconds * 1000
    let ticket = store.board.join(group: caller.group, seat: caller.seat)
    let channel = ObjectIdentifier(context.channel)
    connections.whenGone(channel) { ticket.wake() }
    defer {
      connections.whenGone(channel, nil)
      store.board.leave(ticket)
    }
    var request = request
    while true {
      let rest = Duration.milliseconds(end - clock.uptime())
      do {
        // Who waits holds no memory for a page.
        let found = try await look(caller, request, holders)
        let isPatient = rest > .zero && !store.board.isClosed && !connections.isGone(channel)
        guard found.0.shares.isEmpty, !found.0.more, isPatient else { return found }
        // What was passed over is none of the caller's, and need not be looked at again.
        request = PageRequest(after: found.0.next, limit: request.limit)
      }
      await ticket.wait(rest)
      try Task.checkCancellation()
    }
  }
}
