import Sodium
import WireCodec

extension Grouper {
  /// Most empty pages, one after the other, that are turned at once.
  private static let emptyPageLimit = 256

  /// Takes all that is new on one server. False if it doesn't answer as it should.
  func poll(_ place: RosterServer, wait: Int) async -> Bool {
    var wait = wait
    var emptyPages = 0
    while let link = state?.link(place), !Task.isCancelled {
      guard environment.hasRoom() else {
        storeFault = .noRoom
        // Once for all servers, until there is room again.
        if !lacksRoom { tellFault(.noRoom) }
        lacksRoom = true
        return false
      }
      lacksRoom = false
      let page: SharePage
      do throws(GroupServerError) {
        let server = try server(at: place.address)
        let (cursor, seconds) = (link.cursor, wait)
        page = try await call(place) { access throws(GroupServerError) in
          try await server.list(after: cursor, limit: ServerLimits.pageLimit, wait: seconds, access)
        }
        try page.check(after: link.cursor)
      } catch {
        if Task.isCancelled { return false }
        _ = try? change { transaction, state in try note(place, error, transaction, &state) }
        return false
      }
      let isNews = !page.shares.isEmpty || page.next != link.cursor
      let isNoted = link.failures == 0 && link.answered.map { environment.now() < $0 + 60_000 } ?? false
      do throws(GroupError) {
        guard isNews || !isNoted else { return true }
        try change { transaction, state in
          for share in page.shares { try take(share, from: place, transaction, &state) }
          try handleWaiting(transaction, &state)
          try transaction.setCursor(page.next, of: place)
          if !isNoted { try note(place, nil, transaction, &state) }
          try state.reload(place, transaction)
        }
      } catch {
        storeFault = error
        tellFault(error)
        return false
      }
      guard page.hasMore else { return true }
      // A server looks at so many shares at a time, of which all may be for others. One that never comes to an end is left until later.
      emptyPages = page.shares.isEmpty ? emptyPages + 1 : 0
      guard emptyPages < Self.emptyPageLimit else { return true }
      wait = 0
    }
    return false
  }

  /// Asks a server whether it is still the one that it was: one that was put back from a copy counts from an earlier number, and
  /// would be waited for in vain.
  func look(_ place: RosterServer) async {
    do throws(GroupServerError) {
      let server = try server(at: place.address)
      let info = try await call(place) { access throws(GroupServerError) in try await server.info(access) }
      guard let link = state?.link(place), info.newest < link.cursor else { return }
      environment.tell(
        .serverFailed(address: place.address, .malformed(reason: "it counts from an earlier number than before")))
      try? change { transaction, state in
        try transaction.restartCursor(of: place)
        try state.reload(place, transaction)
      }
    } catch {
      if error == .unauthorized { await renewOwnKey(place) }
    }
  }

  /// An owner whose database was put back from a copy may have keys that have been replaced since. With the master key it has new ones.
  private func renewOwnKey(_ place: RosterServer) async {
    guard let state, state.isOwner, let index = state.roster.servers.firstIndex(of: place),
      let access = state.link(place)?.ownerAccess
    else { return }
    let user = state.roster.owner.users[index]
    do throws(GroupServerError) {
      let key = try await server(at: place.address).rotateKey(of: user, access)
      try? change { transaction, state in
        try transaction.put(place, access: key)
        try state.reload(transaction)
      }
    } catch { environment.tell(.serverFailed(address: place.address, error)) }
  }

  // MARK: - Blobs

  private func fault(
    _ address: String, _ reason: String, _ transaction: GroupTransaction, _ state: inout GroupState
  ) throws {
    try transaction.noteDamage(at: address, reason)
    for link in state.links where link.server.address == address { try state.reload(link.server, transaction) }
    environment.tell(.damagedShare(address: address, reason: reason))
  }

  /// Takes a share from a server. Its name there is its blob's hash, so a server that gives out one for another shows itself.
  private func take(
    _ share: ListedShare, from place: RosterServer, _ transaction: GroupTransaction, _ state: inout GroupState
  ) throws {
    guard try GroupBlob.shareID(share.bytes) == share.id else {
      return try fault(place.address, "a share that doesn't fit its name", transaction, &state)
    }
    try take(share.bytes, from: place, transaction, &state)
  }

  /// Takes a blob from a server, and the message if that makes k.
  func take(
    _ blob: [UInt8], from place: RosterServer, _ transaction: GroupTransaction, _ state: inout GroupState
  ) throws {
    let now = environment.now()
    let number: UInt32
    do throws(GroupError) { number = try GroupBlob.epoch(of: blob) } catch {
      return try fault(place.address, "\(error)", transaction, &state)
    }
    guard let epoch = state.epoch(number) else {
      // A key that will come, or one that is gone with all that it opened.
      guard number > state.current.key.epoch, number - state.current.key.epoch <= 16 else { return }
      return try transaction.keepUnopened(blob, from: place.address, epoch: number, at: now)
    }
    let roster = epoch.roster.roster
    guard let index = roster.servers.firstIndex(of: place) else {
      return try fault(place.address, "a share of a time in which the server wasn't the group's", transaction, &state)
    }
    let header: BlobHeader
    do throws(GroupError) {
      header = try GroupStopwatch.measure(.sharing, GroupBlob.header(of: blob, key: epoch.key))
    } catch .sodium(let error) {
      throw GroupError.sodium(error)
    } catch { return try fault(place.address, "\(error)", transaction, &state) }
    guard Int(header.index) == index + 1, header.common.scheme.threshold == roster.threshold,
      header.common.scheme.shareCount == roster.servers.count
    else { return try fault(place.address, "a share of another server", transaction, &state) }
    let name = try header.common.name()
    guard try !transaction.hasSeen(name) else { return }
    let count = try transaction.keep(blob, of: name, header.index, from: place.address, epoch: number, at: now)
    guard count >= roster.threshold else { return }
    try combine(name, epoch, transaction, &state)
  }

  private func combine(
    _ dealing: DealingID, _ epoch: EpochRecord, _ transaction: GroupTransaction, _ state: inout GroupState
  ) throws {
    let pieces = try transaction.pieces(dealing)
    let until = environment.now() + max(2 * state.ttl, Self.memory)
    let result: BlobCombiner.Result
    do throws(GroupError) {
      result = try GroupStopwatch.measure(.sharing, BlobCombiner.combine(pieces.map(\.blob), key: epoch.key))
    } catch .sharing(.tooFewShares) { return } catch .sodium(let error) { throw GroupError.sodium(error) } catch {
      environment.tell(.refusedMessage(reason: "\(error)"))
      return try transaction.setSeen(dealing, until: until)
    }
    for piece in pieces where result.faulty.contains(piece.index) {
      try fault(piece.address, "a false share of the key", transaction, &state)
    }
    guard try handle(result.message, in: epoch, transaction, &state) else { return }
    try transaction.setSeen(dealing, until: until)
  }

  /// How long it is remembered at least that a message was taken, in milliseconds: so that nobody can play it again.
  static let memory: UInt64 = 60 * 86_400_000

  /// After a newer roster: looks again at what had come from people that the old one didn't have, or under keys that weren't here.
  func handleWaiting(_ transaction: GroupTransaction, _ state: inout GroupState) throws {
    while state.hasNewRoster {
      state.hasNewRoster = false
      for piece in try transaction.takeUnopened(state.current.key.epoch) {
        guard let server = state.roster.servers.first(where: { $0.address == piece.address }) else { continue }
        try take(piece.blob, from: server, transaction, &state)
      }
      for (dealing, number, count) in try transaction.waitingDealings() {
        guard let epoch = state.epoch(number), count >= epoch.roster.roster.threshold else { continue }
        try combine(dealing, epoch, transaction, &state)
      }
    }
  }

  // MARK: - Messages

  /// Handles a message that was put together. One that makes no sense leaves nothing behind and stops nobody. False if it is to be
  /// looked at again when a newer roster has come: it is of somebody whom this one doesn't have.
  private func handle(
    _ bytes: [UInt8], in epoch: EpochRecord, _ transaction: GroupTransaction, _ state: inout GroupState
  ) throws -> Bool {
    var changed = state
    do {
      try transaction.db.inSavepoint {
        let signed = try SignedMessage(bytes)
        let isPresent = epoch.key.epoch == changed.current.key.epoch
        try signed.verify(changed.roster, isHandedOn: isPresent)
        // What a control message says is of its own time only: nobody can deal an old one anew.
        guard signed.message.type.isNormal || signed.message.epoch == epoch.key.epoch || signed.message.type == .roster
        else { throw GroupError.outdated }
        try handle(signed, transaction, &changed)
        return .commit
      }
      state = changed
      return true
    } catch {
      switch GroupError(database: error) {
      case .store(let reason): throw GroupError.store(reason)
      case .damaged(let what): throw GroupError.damaged(what)
      case .sodium(let error): throw GroupError.sodium(error)
      case .unknownMember(let node): return state.roster.member(node) != nil
      case let error:
        environment.tell(.refusedMessage(reason: "\(error)"))
        return true
      }
    }
  }

  private func handle(_ signed: SignedMessage, _ transaction: GroupTransaction, _ state: inout GroupState) throws {
    let message = signed.message
    guard message.receivers.isEmpty || message.receivers.contains(state.own) else { return }
    if message.type == .roster { return try handleRoster(message, transaction, &state) }
    let now = environment.now()
    if message.type.isNormal { try state.setClock(message.time.tolerated(at: now), transaction) }
    try noteConflict(signed, transaction, &state)
    let effects = state.machine.receive(signed, at: now)
    try perform(effects, transaction, &state)
    if message.type == .confirm, message.sender != state.own {
      try noteAnswer(message, transaction, state)
      try noteConfirmation(message, transaction, state)
    }
  }

  func perform(
    _ effects: [MulticastEffect], _ transaction: GroupTransaction, _ state: inout GroupState
  ) throws {
    let now = environment.now()
    var touched: Set<StreamID> = []
    for effect in effects {
      switch effect {
      case .keep(let signed):
        try transaction.keep(signed)
        touched.insert(signed.message.stream)
      case .deliver(let stream, let range):
        for sequence in try transaction.waiting(stream, in: range) {
          guard let record = try transaction.logged(stream, sequence) else { continue }
          try transaction.deliver(record, keepingConflicts: policy.keeps, at: now)
        }
        touched.insert(stream)
      case .confirm(let vector):
        let content = try ConfirmContent(
          serial: state.roster.serial, rosterDigest: state.current.roster.digest(), vector: vector
        ).encoded()
        let signed = try sign(.confirm, to: [], content: content, at: now, state)
        try transaction.enqueue(signed, kind: .confirm, to: [], at: now)
        try transaction.set("last-confirm", to: now)
      case .request(let table, let target):
        let signed = try sign(.resend, to: [target], content: table.encoded(), at: now, state)
        try transaction.enqueue(signed, kind: .other, to: [target], at: now)
      case .answer(let table, let asker):
        try answer(table, to: asker, transaction, state)
      case .countAnew(let proof):
        try countAnew(proof, transaction, &state)
      }
    }
    for stream in touched { try transaction.put(state.machine.kept(of: stream), of: stream) }
  }

  /// Sends what was asked for: the messages that still mean something as they were signed, the others as one skip.
  private func answer(
    _ table: SequenceTable, to asker: NodeID, _ transaction: GroupTransaction, _ state: GroupState
  ) throws {
    let now = environment.now()
    var skipped: [StreamID: SequenceSet] = [:]
    for (stream, numbers) in table.rows.sorted(by: { $0.key < $1.key }) {
      var gone = numbers
      for range in numbers.ranges {
        for sequence in try transaction.logged(stream, in: range) {
          gone.remove(sequence...sequence)
          guard let record = try transaction.logged(stream, sequence) else { continue }
          try transaction.enqueue(record.signed, kind: .other, to: [asker], at: now)
        }
      }
      skipped[stream] = gone.prefix(.max, ranges: SequenceSet.rangeLimit)
    }
    let skip = SequenceTable(skipped)
    guard !skip.isEmpty else { return }
    let content = try SkipContent(table: skip, vector: state.machine.confirmation).encoded()
    let signed = try sign(.skip, to: [asker], content: content, at: now, state)
    try transaction.enqueue(signed, kind: .other, to: [asker], at: now)
  }
}
