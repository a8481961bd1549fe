/// What is asked for, when, and of whom.
extension Multicast {
  /// How many are asked at once where nobody was heard of a moment ago.
  private static let askedAtOnce = 3

  /// A moment ago: how long after somebody was heard of it is likely that he is still there, and how long others wait for him.
  private var moment: UInt64 { settings.ttl / 20 }

  /// What is being put together for each member: what he is asked for, and how much more he answers at once.
  private struct Asking {
    var tables: [NodeID: [StreamID: SequenceSet]] = [:]
    var room: [NodeID: UInt64] = [:]
  }

  /// What is to be asked now, by whom it is asked for: of each at most as much as he answers at once.
  mutating func questions(at now: UInt64) -> [NodeID: SequenceTable] {
    var asking = Asking()
    for stream in progress.keys.sorted() {
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
      askFurther(missing, of: stream, at: now, &row, &asking)
      for retry in retries {
        // Somebody else may have been asked in the meantime, and may still answer.
        let numbers = retry.numbers.intersection(fresh)
        fresh.subtract(numbers)
        ask(
          numbers, of: stream, attempt: retry.attempt + 1, inVain: Set(retries.map(\.target)), at: now, &row, &asking)
      }
      ask(fresh, of: stream, attempt: 0, inVain: [], at: now, &row, &asking)
    }
    return asking.tables.mapValues { SequenceTable($0) }
  }

  /// Asks one more for what others were asked for, and haven't answered: when a moment has passed, or after a minute if somebody is
  /// heard of while they keep silent.
  private func askFurther(
    _ missing: SequenceSet, of stream: StreamID, at now: UInt64, _ row: inout StreamProgress,
    _ asking: inout Asking
  ) {
    var numbers = SequenceSet()
    for question in row.questions { numbers.formUnion(question.numbers.intersection(missing)) }
    guard let first = numbers.first else { return }
    let asked = Set(row.questions.map(\.target))
    let last = row.questions.map { time(of: $0) }.max() ?? 0
    guard let next = candidates(from: first, of: stream, at: now, row).first(where: { !asked.contains($0) }) else {
      return
    }
    let isThere = (lastHeard[next] ?? 0) > last && !asked.contains { (lastHeard[$0] ?? 0) > last }
    let silence = now < last ? moment : now - last
    guard silence >= (isThere ? min(moment, Self.promiseLimit) : moment) else { return }
    ask(numbers, of: stream, next, attempt: row.questions.map(\.attempt).min() ?? 0, at: now, &row, &asking)
  }

  private func ask(
    _ numbers: SequenceSet, of stream: StreamID, attempt: Int, inVain: Set<NodeID>, at now: UInt64,
    _ row: inout StreamProgress, _ asking: inout Asking
  ) {
    guard let first = numbers.first else { return }
    let all = candidates(from: first, of: stream, at: now, row)
    let others = all.filter { !inVain.contains($0) }
    let candidates = others.isEmpty ? all : others
    let isNear = candidates.first.flatMap { lastHeard[$0] }.map { now < $0 + moment } ?? false
    for target in candidates.prefix(isNear ? 1 : Self.askedAtOnce) {
      ask(numbers, of: stream, target, attempt: attempt, at: now, &row, &asking)
    }
  }

  private func ask(
    _ numbers: SequenceSet, of stream: StreamID, _ target: NodeID, attempt: Int, at now: UInt64,
    _ row: inout StreamProgress, _ asking: inout Asking
  ) {
    let left = asking.room[target] ?? settings.window
    let asked = numbers.prefix(left, ranges: Self.rangeLimit)
    guard !asked.isEmpty else { return }
    asking.room[target] = left - asked.count
    asking.tables[target, default: [:]][stream, default: SequenceSet()].formUnion(asked)
    row.questions.append(
      StreamProgress.Question(numbers: asked, target: target, until: now + wait(attempt), attempt: attempt))
  }

  /// How long one who was asked isn't asked again.
  private func wait(_ attempt: Int) -> UInt64 { settings.ttl << UInt64(min(attempt, 2)) }

  private func time(of question: StreamProgress.Question) -> UInt64 {
    question.until - min(question.until, wait(question.attempt))
  }

  /// Who may be asked: the sender, and those who have said that they have something of it, the one who was heard of last first. A sender who
  /// hasn't been heard of within the last TTL is the last: others are there.
  private func candidates(
    from first: UInt64, of stream: StreamID, at now: UInt64, _ row: StreamProgress
  ) -> [NodeID] {
    func isActive(_ node: NodeID) -> Bool { node != own.node && members[node] == true }
    let holders = row.holders.filter { $0.value >= first && isActive($0.key) && $0.key != stream.node }.keys
      .sorted { (lastHeard[$0] ?? 0, $0) > (lastHeard[$1] ?? 0, $1) }
    guard isActive(stream.node) else { return holders }
    let heard = lastHeard[stream.node] ?? 0
    guard lastHeard[stream.node].map({ now < $0 + settings.ttl }) ?? false else { return holders + [stream.node] }
    let place = holders.firstIndex { (lastHeard[$0] ?? 0) <= heard } ?? holders.endIndex
    return holders[..<place] + [stream.node] + holders[place...]
  }
}
