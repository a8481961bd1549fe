/// What is asked for, when, and of whom.
extension Multicast {
  /// What is to be asked now, by whom it is asked for: of each at most as much as he answers at once.
  mutating func questions(at now: UInt64) -> [NodeID: SequenceTable] {
    var tables: [NodeID: [StreamID: SequenceSet]] = [:]
    var room: [NodeID: UInt64] = [:]
    for stream in progress.keys.sorted() where stream != own {
      guard var row = progress[stream], row.rumoured > row.contiguous, let since = row.gapSince else { continue }
      defer { progress[stream] = row }
      guard now < since || now - since >= settings.grace else { continue }
      let missing = row.missing(window: settings.window)
      var fresh = missing
      var retries: [StreamProgress.Question] = []
      row.questions.removeAll { question in
        let rest = question.numbers.intersection(missing)
        if rest.isEmpty { return true }
        let waits = now < question.until && question.until - now <= 4 * settings.ttl
        if waits, members[question.target] == true {
          fresh.subtract(question.numbers)
          return false
        }
        retries.append(question)
        return true
      }
      for retry in retries {
        let numbers = retry.numbers.intersection(missing)
        fresh.subtract(numbers)
        ask(numbers, of: stream, attempt: retry.attempt + 1, at: now, &row, &tables, &room)
      }
      ask(fresh, of: stream, attempt: 0, at: now, &row, &tables, &room)
    }
    return tables.mapValues { SequenceTable($0) }
  }

  private func ask(
    _ numbers: SequenceSet, of stream: StreamID, attempt: Int, at now: UInt64, _ row: inout StreamProgress,
    _ tables: inout [NodeID: [StreamID: SequenceSet]], _ room: inout [NodeID: UInt64]
  ) {
    guard let first = numbers.first else { return }
    let candidates = candidates(from: first, of: stream, at: now, row)
    guard !candidates.isEmpty else { return }
    let target = candidates[attempt % candidates.count]
    let left = room[target] ?? settings.window
    let asked = numbers.prefix(left, ranges: Self.rangeLimit)
    guard !asked.isEmpty else { return }
    room[target] = left - asked.count
    tables[target, default: [:]][stream, default: SequenceSet()].formUnion(asked)
    let wait = settings.ttl << UInt64(min(attempt, 2))
    row.questions.append(
      StreamProgress.Question(numbers: asked, target: target, until: now + wait, attempt: attempt))
  }

  /// Who may be asked, in turn: the sender himself if he was heard of within the last TTL, then those who have said that they have
  /// something of it, the one who was heard of last first, then the sender.
  private func candidates(
    from first: UInt64, of stream: StreamID, at now: UInt64, _ row: StreamProgress
  ) -> [NodeID] {
    func isActive(_ node: NodeID) -> Bool { node != own.node && members[node] == true }
    let holders = row.holders.filter { $0.value >= first && isActive($0.key) && $0.key != stream.node }.keys
      .sorted { (lastHeard[$0] ?? 0, $0) > (lastHeard[$1] ?? 0, $1) }
    guard isActive(stream.node) else { return holders }
    let isNear = lastHeard[stream.node].map { now < $0 + settings.ttl } ?? false
    return isNear ? [stream.node] + holders : holders + [stream.node]
  }
}
