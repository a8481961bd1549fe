import ShamirKit
import Sodium
import WireCodec

extension Grouper {
  func update(_ object: any Sendable) async throws(GroupError) {
    let marshalled: MarshalledObject
    do { marshalled = try plugin.marshal(object) } catch { throw GroupError(plugin: error) }
    try await update(marshalled)
  }

  package func update(_ object: MarshalledObject) async throws(GroupError) {
    try check(object.name)
    let encoded = try content(of: object)
    try change { transaction, state in
      try make(.update, object.name, encoded, isApplied: !plugin.storesOwnUpdates, transaction, &state)
    }
    uploads.signal()
    _ = try await apply()
  }

  /// An update's content; a large object goes ahead of it, in chunks.
  func content(of object: MarshalledObject) throws(GroupError) -> [UInt8] {
    guard UInt64(object.content.count) <= UpdateContent.objectByteLimit else {
      throw .invalid("an object is larger than 64 MiB; what is larger goes as a file")
    }
    let isLarge = object.content.count > UpdateContent.inlineByteLimit
    let body: UpdateContent.Body = isLarge ? .file(try addFile(bytes: object.content)) : .inline(object.content)
    let update = try UpdateContent(body: body, files: object.files)
    return try wire(update.encoded())
  }

  func delete(_ name: ObjectName) async throws(GroupError) {
    try check(name)
    try change { transaction, state in
      try make(.delete, name, Array(name.objectID.utf8), isApplied: false, transaction, &state)
    }
    uploads.signal()
    _ = try await apply()
  }

  func confirm() throws(GroupError) {
    try change { transaction, state in
      state.machine.confirmSoon(at: environment.now())
      try doWhatIsDue(transaction, &state)
    }
    uploads.signal()
  }

  private func check(_ name: ObjectName) throws(GroupError) {
    guard entities.contains(name.className) else { throw .invalid("\(name.className) is none of the entities") }
    guard !name.objectID.isEmpty else { throw .invalid("the object's id is empty") }
  }

  /// Makes a normal message of this device: numbered, signed, kept, in the outbox.
  func make(
    _ type: MessageType, _ name: ObjectName?, _ content: [UInt8], isApplied: Bool, _ transaction: GroupTransaction,
    _ state: inout GroupState
  ) throws {
    let now = environment.now()
    let sequence = state.machine.nextSequence
    var version = VersionVector()
    var time = HybridTime.zero
    if let name {
      let known = try transaction.object(name.className, name.objectID)
      // Where conflicts are kept all versions were handed on; else only the newest, and nobody has looked at what it has pushed aside.
      version = (policy.keeps ? known?.seen : known?.newest?.version) ?? version
      version[state.stream] = sequence
      // After all that is known of the object, even what comes from a clock in the future.
      time = max(state.clock, known?.newest?.time ?? .zero).next(at: now)
      try state.setClock(time.tolerated(at: now), transaction)
    }
    let signed = try sign(
      type, sequence: sequence, name, to: [], version: version, time: time, content: content, at: now, state)
    try transaction.keep(signed)
    guard let record = try transaction.logged(state.stream, sequence) else { throw GroupError.damaged("the log") }
    try transaction.deliver(record, keepingConflicts: policy.keeps, applied: isApplied, at: now)
    try transaction.enqueue(signed, kind: .normal, to: [], at: now)
    state.machine.made(sequence)
    try transaction.put(state.machine.kept(of: state.stream), of: state.stream)
  }

  func sign(
    _ type: MessageType, sequence: UInt64 = 0, _ name: ObjectName? = nil, to receivers: [NodeID],
    version: VersionVector = VersionVector(), time: HybridTime = .zero, content: [UInt8], at now: UInt64,
    _ state: GroupState
  ) throws(GroupError) -> SignedMessage {
    let id = try sodium(MessageID.random())
    let card = state.keys.card
    let message = try GrouperMessage(
      type: type, group: state.roster.group, epoch: state.roster.epoch, id: id, sequence: sequence,
      className: name?.className ?? "", objectID: name?.objectID ?? "", receivers: receivers.sorted(),
      stream: state.stream, email: card.email, name: card.name, sentTime: now, version: version, time: time,
      content: content)
    return try SignedMessage(message, by: state.keys)
  }

  // MARK: - Dealing

  /// Cuts what waits into blobs, which are durable before the first is put anywhere.
  func dealAll() throws(GroupError) {
    while true {
      let count = try change { transaction, state in
        let records = try transaction.toDeal(epoch: state.current.key.epoch, limit: 16)
        for record in records { try deal(record, transaction, state) }
        return records.count
      }
      guard count > 0 else { return }
    }
  }

  private func deal(_ record: OutboxRecord, _ transaction: GroupTransaction, _ state: GroupState) throws {
    guard let epoch = state.epoch(record.epoch ?? state.current.key.epoch) else {
      return try transaction.forget(record.id)
    }
    let roster = epoch.roster.roster
    let receivers = record.receivers.map { roster.member($0) }
    guard !receivers.contains(where: { $0 == nil || $0?.isActive == false }) else {
      return try transaction.forget(record.id)
    }
    let scheme = try sharing(ThresholdScheme(threshold: roster.threshold, shareCount: roster.servers.count))
    let dealing = try GroupStopwatch.measure(.sharing, MessageDealing(record.message, scheme: scheme, key: epoch.key))
    try transaction.setDealt(
      record.id, epoch: epoch.key.epoch,
      roster.servers.enumerated().map { place, server in
        (server, receivers.compactMap { $0?.users[place] }, dealing.blobs[place])
      })
  }

  // MARK: - Putting

  /// Puts what is due on all servers, side by side. `isForced`: also what waits for a later attempt.
  package func upload(isForced: Bool = false) async throws(GroupError) {
    try dealAll()
    let links = try require().links
    await withTaskGroup(of: Void.self) { group in
      for link in links { group.addTask { await self.upload(to: link.server, isForced: isForced) } }
    }
  }

  func upload(to place: RosterServer, isForced: Bool) async {
    var tried: Set<Int64> = []
    while let link = state?.link(place), isForced || link.isDue(at: environment.now()) {
      do throws(GroupError) {
        let due = try store.read { transaction in
          try transaction.due(place, at: isForced ? UInt64(Int64.max) : environment.now(), limit: 32)
        }.filter { !tried.contains($0.outbox) }
        guard !due.isEmpty else { return }
        tried.formUnion(due.map(\.outbox))
        var results = await put(due, link)
        // Whoever was called off says nothing about the server.
        if Task.isCancelled { results.removeAll { $0.error != nil } }
        guard !results.isEmpty, try note(results, link), !Task.isCancelled else { return }
      } catch {
        storeFault = error
        return tellFault(error)
      }
    }
  }

  private typealias PutResult = (parcel: ParcelRecord, error: GroupServerError?)

  /// Puts up to 32 blobs on one server, a few at a time.
  private func put(_ parcels: [ParcelRecord], _ link: LinkRecord) async -> [PutResult] {
    let server: any GroupServer
    do throws(GroupServerError) { server = try self.server(at: link.server.address) } catch {
      return parcels.map { ($0, error) }
    }
    let place = link.server
    return await withTaskGroup(of: PutResult.self) { group in
      var waiting = parcels[...]
      var results: [PutResult] = []
      func begin() {
        guard let parcel = waiting.popFirst() else { return }
        group.addTask {
          do throws(GroupServerError) {
            let id: ServerShareID
            do throws(GroupError) { id = try GroupBlob.shareID(parcel.blob) } catch {
              throw .malformed(reason: "\(error)")
            }
            try await self.call(place) { access throws(GroupServerError) in
              _ = try await server.put(id, bytes: parcel.blob, recipients: parcel.recipients, access)
            }
            return (parcel, nil)
          } catch { return (parcel, error) }
        }
      }
      for _ in 0..<4 { begin() }
      while let result = await group.next() {
        results.append(result)
        // A server that is away is away for the others, too.
        if let error = result.error, error.concernsServer { waiting = [] }
        begin()
      }
      return results
    }
  }

  /// Notes how it went. False if the server is to be left alone for a while.
  private func note(_ results: [PutResult], _ link: LinkRecord) throws(GroupError) -> Bool {
    let now = environment.now()
    return try change { transaction, state in
      var serverError: GroupServerError?
      for result in results {
        switch result.error {
        case nil: try transaction.setDone(result.parcel, sufficient: state.roster.sufficient, at: now)
        case let error? where error.concernsServer: serverError = error
        case let error?:
          let next = now + backoff(result.parcel.attempts)
          try transaction.setFailed(result.parcel, "\(error)", next: next)
          environment.tell(.serverFailed(address: link.server.address, error))
        }
      }
      try note(link.server, serverError, transaction, &state)
      return serverError == nil
    }
  }

  /// Notes that a server has answered, or how it failed and when it is tried next.
  func note(
    _ server: RosterServer, _ error: GroupServerError?, _ transaction: GroupTransaction, _ state: inout GroupState
  ) throws {
    let now = environment.now()
    guard let link = state.link(server) else { return }
    if let error {
      var wait = backoff(link.failures)
      let seconds: Int? =
        switch error {
        case .busy(let seconds), .unavailable(_, let seconds): seconds
        default: nil
        }
      if let seconds { wait = max(wait, UInt64(min(max(seconds, 0), 3600)) * 1000) }
      try transaction.note(server, error: "\(error)", failures: link.failures + 1, next: now + wait, at: now)
      environment.tell(.serverFailed(address: server.address, error))
    } else {
      try transaction.note(server, error: nil, failures: 0, next: 0, at: now)
    }
    try state.reload(server, transaction)
  }

  /// Makes a member's call: with the newest key, and if that isn't known there yet, or was replaced, with the one before.
  nonisolated func call<Value: Sendable>(
    _ place: RosterServer, _ body: (GroupAccess) async throws(GroupServerError) -> Value
  ) async throws(GroupServerError) -> Value {
    guard let link = await state?.link(place) else { throw .unreachable(reason: "the group has left this server") }
    guard let next = link.nextAccessKey else {
      return try await body(GroupAccess(group: place.group, key: link.accessKey))
    }
    do throws(GroupServerError) {
      let value = try await body(GroupAccess(group: place.group, key: next))
      await useNextKey(of: place, next)
      return value
    } catch {
      guard error == .unauthorized else { throw error }
      return try await body(GroupAccess(group: place.group, key: link.accessKey))
    }
  }

  private func useNextKey(of place: RosterServer, _ key: ServerKey) {
    do throws(GroupError) {
      try change { transaction, state in
        guard state.link(place)?.nextAccessKey?.secret.matches(key.secret) == true else { return }
        try transaction.useNextKey(of: place)
        try state.reload(place, transaction)
      }
    } catch { tellFault(error) }
  }

  /// Twice as long each time, from a second up to ten minutes, half of it by chance.
  func backoff(_ attempts: Int) -> UInt64 {
    let longest = min(UInt64(1000) << UInt64(min(max(attempts, 0), 10)), 600_000)
    return longest / 2 + UInt64(Double(longest / 2) * min(max(environment.jitter(), 0), 1))
  }
}

extension GroupServerError {
  /// Whether whatever else is asked of the server now would fail, too.
  var concernsServer: Bool {
    switch self {
    case .unreachable, .untrusted, .unauthorized, .busy, .unavailable: true
    case .refused(let status, _): status >= 500
    case .quota, .tooLarge, .malformed: false
    }
  }
}

extension LinkRecord {
  /// Whether the server may be called again. A time further off than any that is set comes from a clock that was wrong then.
  func isDue(at now: UInt64) -> Bool { nextAttempt <= now || nextAttempt - now > 3_700_000 }
}
