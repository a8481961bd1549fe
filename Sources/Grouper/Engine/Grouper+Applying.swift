import Sodium
import WireCodec

/// From messages to the application's objects.
extension Grouper {
  /// Hands the plugin what was delivered and not taken yet. One at a time: whoever comes meanwhile waits.
  func apply() async throws(GroupError) -> [RemoteChange] {
    // What a plugin or a handler changes itself is handed over when it is done.
    if Self.isInPlugin { return [] }
    if isApplying { await withCheckedContinuation { applyWaiters.append($0) } }
    isApplying = true
    defer {
      if applyWaiters.isEmpty { isApplying = false } else { applyWaiters.removeFirst().resume() }
    }
    var changes: [RemoteChange] = []
    var position: Int64 = 0
    // Whose change wasn't taken: his others wait for it.
    var refused: Set<StreamID> = []
    // What was delivered stays so: a task that is cancelled leaves the rest to the next one.
    while !Task.isCancelled {
      let after = position
      let records = try store.read { transaction in try transaction.toApply(after: after, limit: 256) }
      guard let last = records.last else { return changes }
      position = last.position
      for record in inOrder(records) where !refused.contains(record.message.stream) {
        if Task.isCancelled { break }
        // Of a class that this version of the application doesn't know: a later one will.
        guard entities.contains(record.message.className) else { continue }
        do throws(GroupError) {
          if let change = try await apply(record) { changes.append(change) }
        } catch .malformed(let error) {
          // Never the head of the line again.
          environment.tell(.refusedMessage(reason: "\(error)"))
          try store.write { transaction in try transaction.setApplied(record) }
        } catch .plugin(let reason) {
          refused.insert(record.message.stream)
          environment.tell(
            .pluginFailed(
              className: record.message.className, objectID: record.message.objectID, reason: reason))
        }
      }
    }
    return changes
  }

  /// The version of an object that counts, a deletion too; nil of one that was never heard of.
  package func newest(_ name: ObjectName) throws(GroupError) -> ObjectVersion? {
    try store.read { transaction in try transaction.object(name.className, name.objectID)?.newest }
  }

  /// Entities that others name first, as far as each sender's order allows.
  private func inOrder(_ records: [LogRecord]) -> [LogRecord] {
    let rank = Dictionary(uniqueKeysWithValues: entities.enumerated().map { ($1, $0) })
    var queues: [StreamID: ArraySlice<LogRecord>] = [:]
    for record in records { queues[record.message.stream, default: []].append(record) }
    var result: [LogRecord] = []
    while !queues.isEmpty {
      let heads = queues.compactMapValues(\.first)
      guard
        let (node, head) = heads.min(by: {
          (rank[$0.value.message.className] ?? .max, $0.value.position)
            < (rank[$1.value.message.className] ?? .max, $1.value.position)
        })
      else { return result }
      result.append(head)
      queues[node]?.removeFirst()
      if queues[node]?.isEmpty == true { queues[node] = nil }
    }
    return result
  }

  private func apply(_ record: LogRecord) async throws(GroupError) -> RemoteChange? {
    let message = record.message
    let version = ObjectVersion(message)
    let name = ObjectName(className: message.className, objectID: message.objectID)
    let change = RemoteChange(name: name, version: version, senderName: message.name)
    let object = try store.read { transaction in try transaction.object(name.className, name.objectID) }
    let isNewest = object?.newest == version
    if isNewest {
      if message.type == .delete {
        try await taken { try await self.plugin.deleteRemote(change) }
      } else {
        // Not all chunks are here: they come before, so this is damage, and those who have them can send them again.
        guard let content = try body(of: message)?.bytes else { return nil }
        try await taken { try await self.plugin.updateRemote(content, change) }
      }
    }
    try store.write { transaction in try transaction.setApplied(record) }
    if case .keepConflicts(let handler) = policy, let object, object.versions.count > 1 {
      try await settle(object, handler)
    }
    return isNewest ? change : nil
  }

  private func taken(_ body: () async throws -> Void) async throws(GroupError) {
    do {
      try await Self.$isInPlugin.withValue(true) { try await body() }
    } catch {
      // What makes no sense to the plugin never will.
      if case .malformed(let fault)? = error as? GroupError { throw .malformed(fault) }
      throw .plugin("\(error)")
    }
  }

  /// The object's bytes and files in an update; nil if chunks are missing.
  private func body(of message: GrouperMessage) throws(GroupError) -> (bytes: [UInt8], files: [FileReference])? {
    let content = try wire(UpdateContent.decode(message.content, limit: GrouperMessage.contentByteLimit))
    switch content.body {
    case .inline(let bytes): return (bytes, content.files)
    case .file(let file):
      guard let bytes = try fileBytes(file) else { return nil }
      return (bytes, content.files)
    }
  }

  // MARK: - Conflicts

  /// Hands versions that don't know of each other to the application, and sends what it decides.
  private func settle(_ object: ObjectState, _ handler: any ConflictHandler) async throws(GroupError) {
    let name = ObjectName(className: object.className, objectID: object.objectID)
    var candidates: [ObjectConflict.Candidate] = []
    for version in object.versions.sorted(by: { $0.isNewer(than: $1) }) {
      let record = try store.read { transaction in try transaction.logged(version.stream, version.sequence) }
      guard let message = record?.message else { continue }
      let body = message.type == .delete ? nil : try self.body(of: message)
      guard message.type == .delete || body != nil else { return }
      candidates.append(
        ObjectConflict.Candidate(
          version: version, senderName: message.name, content: body?.bytes, files: body?.files ?? []))
    }
    // Who has decided alike, or written the same, doesn't disagree.
    guard Set(candidates.map(\.content)).count > 1 else { return }
    let conflict = ObjectConflict(name: name, candidates: candidates)
    switch await Self.$isInPlugin.withValue(true, operation: { await handler.decide(conflict) }) {
    case .later: return
    case .delete: try send(.delete, name, nil)
    case .replace(let content, let files):
      try send(.update, name, MarshalledObject(name: name, content: content, files: files))
    case .keep(let place):
      guard candidates.indices.contains(place) else { throw .invalid("there is no such candidate") }
      guard let content = candidates[place].content else { return try send(.delete, name, nil) }
      try send(.update, name, MarshalledObject(name: name, content: content, files: candidates[place].files))
    }
  }

  /// Sends a decision. It is handed to the plugin like any change, in the same pass.
  private func send(_ type: MessageType, _ name: ObjectName, _ object: MarshalledObject?) throws(GroupError) {
    let content =
      try object.map { (object) throws(GroupError) in try self.content(of: object) } ?? Array(name.objectID.utf8)
    try change { transaction, state in try make(type, name, content, isApplied: false, transaction, &state) }
    uploads.signal()
  }
}
