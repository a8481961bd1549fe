import Sodium

extension RedisStore {
  private enum Present: Sendable {
    case nothing(expires: Int64)
    case share(cursor: Int64, expires: Int64, sealed: [UInt8]?, ttl: Int64, now: Int64)
  }

  /// Times that somebody else may put under the same id meanwhile.
  private static let attempts = 3

  func put(_ caller: Caller, _ share: NewShare) async throws -> Receipt {
    let recipients = share.recipients.map { $0.flatMap(\.bytes) } ?? [UInt8(ascii: "*")]
    for _ in 0..<Self.attempts {
      var expires: Int64
      var damaged: Int64 = 0
      switch try await look(caller, share.id, recipients) {
      case .nothing(let end): expires = end
      case .share(let cursor, let end, let sealed, let ttl, let now):
        let bytes = try await open([(share.id, end, sealed ?? [])], caller)[0]
        if let bytes {
          guard bytes == share.bytes else { throw Refusal.taken }
          return Receipt(cursor: cursor, expires: end, isRepeated: true)
        }
        // Damaged, or its key is gone: whoever has the share may put it anew.
        (expires, damaged) = (now + ttl * 1000, cursor)
      }
      if let receipt = try await put(caller, share, recipients, expires: expires, replacing: damaged) { return receipt }
    }
    throw Refusal.busy
  }

  /// Looks whether the share is there. If so the replicas have it when this returns, since it may be acknowledged.
  private func look(_ caller: Caller, _ id: Identifier, _ recipients: [UInt8]) async throws -> Present {
    try await write(
      RedisScripts.look, caller.groupID, [caller.tag, id.bytes, recipients], mayRepeat: true,
      isAcknowledged: { if case .share = $0 { true } else { false } }
    ) { reply in
      let (now, ttl) = (try reply[1].integer, try reply[2].integer)
      guard try reply[0].text == "old" else { return .nothing(expires: now + ttl * 1000) }
      let sealed = try reply[5].optionalBytes.map { Array($0.dropFirst(8)) }
      return .share(
        cursor: try reply[3].integer, expires: try reply[4].integer, sealed: sealed, ttl: ttl, now: now)
    }
  }

  /// Nil if it has to be looked at again.
  private func put(
    _ caller: Caller, _ share: NewShare, _ recipients: [UInt8], expires: Int64, replacing damaged: Int64
  ) async throws -> Receipt? {
    let pair = try await keys.draw(group: caller.groupID, ttl: caller.ttl, expires: expires)
    return try await put(caller, share, recipients, expires: expires, replacing: damaged, under: pair)
  }

  /// The same under keys that were drawn. They may be lost by now, if another primary took over: then it's nil, too.
  func put(
    _ caller: Caller, _ share: NewShare, _ recipients: [UInt8], expires: Int64, replacing damaged: Int64,
    under pair: RedisKeys.Pair
  ) async throws -> Receipt? {
    let seal = try ShareSeal(slot: pair.slot.bytes, group: pair.group.bytes, groupID: caller.groupID, share: share.id)
    let sealed = try seal.seal(share.bytes)
    return try await write(
      RedisScripts.put, caller.groupID,
      [
        caller.tag, share.id.bytes, recipients, digits(expires), digits(Int64(share.bytes.count)), digits(share.weight),
        sealed, digits(damaged), digits(limits.groupShares), digits(limits.groupBytes), digits(limits.totalBytes),
        digits(ServerSchema.largestCursor), pair.epoch,
      ], mayRepeat: true
    ) { reply in
      // What was repeated because an answer was lost is there already.
      guard try reply[0].text == "ok" else { return nil }
      return Receipt(cursor: try reply[2].integer, expires: try reply[3].integer, isRepeated: false)
    }
  }

  /// A share on a page, still sealed.
  private struct Row: Sendable {
    let id: Identifier
    let cursor: Int64
    let expires: Int64
    let sender: Identifier
    var sealed: [UInt8] = []
  }

  private struct Rows: Sendable {
    var rows: [Row]
    let next: Int64
    let more: Bool
  }

  func page(
    _ caller: Caller, _ request: PageRequest, reserve: @escaping @Sendable (Int, Int) throws -> Void
  ) async throws -> Page {
    let arguments = [
      caller.tag, digits(request.after), digits(Int64(request.limit)), digits(Int64(ServerLimits.pageBytes)),
      digits(Int64(Self.scanned)),
    ]
    let found = try await read(RedisScripts.select, caller.groupID, arguments) { connection, reply in
      var rows: [Row] = []
      var bytes = 0
      for part in try reply[4].items {
        bytes += Int(try part[3].integer)
        // Who isn't known any more has nothing left that is kept.
        guard let sender = Identifier(bytes: try part[4].bytes) else { continue }
        rows.append(
          Row(id: try part[0].identifier, cursor: try part[1].integer, expires: try part[2].integer, sender: sender))
      }
      try reserve(bytes, rows.count)
      let contents = rows.map { RedisArgument.bytes(Self.name(caller.groupID, $0.id)) }
      if !rows.isEmpty {
        let reply = try connection.call(["MGET"] + contents).value
        for place in rows.indices {
          // Under its id there may be a later share by now: that one has another cursor, and comes on a later page.
          guard let value = try reply[place].optionalBytes, value.count >= 8,
            value.prefix(8).reduce(0, { $0 << 8 | Int64($1) }) == rows[place].cursor
          else { continue }
          rows[place].sealed = Array(value.dropFirst(8))
        }
      }
      return Rows(rows: rows, next: try reply[2].integer, more: try reply[3].integer == 1)
    }
    let opened = try await open(found.rows.map { ($0.id, $0.expires, $0.sealed) }, caller)
    var page = Page(next: found.next, more: found.more)
    for (row, bytes) in zip(found.rows, opened) {
      guard let bytes else { continue }
      page.shares.append(
        ReadShare(id: row.id, cursor: row.cursor, sender: row.sender, expires: row.expires, bytes: bytes))
    }
    return page
  }

  static func name(_ group: Identifier, _ share: Identifier) -> [UInt8] {
    Array("vs:d".utf8) + group.bytes + share.bytes
  }

  /// The bytes of shares; nil for those whose keys are gone or which are damaged.
  private func open(
    _ shares: [(id: Identifier, expires: Int64, sealed: [UInt8])], _ caller: Caller
  ) async throws -> [[UInt8]?] {
    guard !shares.isEmpty else { return [] }
    let found = try await keys.find(group: caller.groupID, ttl: caller.ttl, expiries: shares.map(\.expires))
    var opened: [[UInt8]?] = []
    for share in shares {
      guard let group = found.group, let slot = found.slot(ttl: caller.ttl, expires: share.expires) else {
        opened.append(nil)
        continue
      }
      let seal = try ShareSeal(slot: slot.bytes, group: group.bytes, groupID: caller.groupID, share: share.id)
      do { opened.append(try seal.open(share.sealed)) } catch SodiumError.verificationFailed { opened.append(nil) }
    }
    // All this may have waited for its turn.
    let now = time.least
    for (place, share) in shares.enumerated() where share.expires <= now { opened[place] = nil }
    return opened
  }

  func share(_ caller: Caller, _ id: Identifier) async throws -> [UInt8] {
    let (expires, sealed) = try await read(RedisScripts.get, caller.groupID, [caller.tag, id.bytes]) { _, reply in
      (try reply[2].integer, Array(try reply[3].bytes.dropFirst(8)))
    }
    guard let bytes = try await open([(id, expires, sealed)], caller)[0] else { throw Refusal.notFound }
    return bytes
  }

  func eraseShare(_ caller: Caller, _ id: Identifier) async throws {
    try await write(RedisScripts.delete, caller.groupID, [caller.tag, id.bytes])
  }
}
