/// What a member answers others, and takes as an answer.
extension Multicast {
  func answer(_ table: SequenceTable, to asker: NodeID) -> [MulticastEffect] {
    var rows: [StreamID: SequenceSet] = [:]
    var left = settings.window
    for (stream, numbers) in table.rows.sorted(by: { $0.key < $1.key }) {
      guard left > 0, let row = progress[stream] else { continue }
      var here = row.held
      if row.contiguous > 0 { here.insert(1...row.contiguous) }
      let answered = numbers.intersection(here).prefix(left)
      left -= answered.count
      rows[stream] = answered
    }
    let answer = SequenceTable(rows)
    return answer.isEmpty ? [] : [.answer(answer, to: asker)]
  }

  /// Takes only what this very member was asked for: nobody can make others overlook messages unasked.
  mutating func skip(_ table: SequenceTable, by node: NodeID) -> [MulticastEffect] {
    var effects: [MulticastEffect] = []
    for (stream, numbers) in table.rows.sorted(by: { $0.key < $1.key }) {
      guard var row = progress[stream] else { continue }
      var asked = SequenceSet()
      for question in row.questions where question.target == node { asked.formUnion(question.numbers) }
      let skipped = numbers.intersection(asked)
      guard !skipped.isEmpty else { continue }
      if stream == own {
        // Nothing of them is left to be shown. A word is believed, but not again and again: others remember so many countings only.
        progress[own]?.questions.removeAll { $0.target == node }
        progress[own]?.holders[node] = nil
        let countings = progress.count { $0.key.node == own.node }
        if countings < Self.beliefLimit { effects.append(.countAnew(proof: nil)) }
        continue
      }
      if let next = row.take(skipped) { effects.append(.deliver(stream, next)) }
      progress[stream] = row
    }
    return effects
  }

  /// The last message of a member who says himself that he hasn't made it: so that he learns that he counts twice.
  func proof(_ stream: StreamID, _ number: UInt64) -> [MulticastEffect] {
    guard let row = progress[stream], number < row.contiguous, row.contiguous <= row.known else { return [] }
    return [
      .answer(SequenceTable([stream: SequenceSet(row.contiguous...row.contiguous)]), to: stream.node)
    ]
  }
}
