import WireCodec

/// What a member has heard and asked, for a program that opens a group again and again for a moment: otherwise it would forget what
/// others have spoken of before it can ask for it, and ask each time anew for what it has asked for.
///
/// Nothing depends on it: without it, or with an old one, the next confirms do its work.
struct MulticastMemory: Hashable, Sendable {
  struct Row: Hashable, Sendable {
    var gapSince: UInt64?
    var holders: [NodeID: UInt64]
    var questions: [StreamProgress.Question]

    var isEmpty: Bool { gapSince == nil && holders.isEmpty && questions.isEmpty }
  }

  /// Most bytes; more aren't kept.
  static let byteLimit = 1 << 20
  fileprivate static let memberLimit = 1024
  fileprivate static let questionLimit = 4096

  var lastHeard: [NodeID: UInt64]
  var rows: [StreamID: Row]
}

extension MulticastMemory: WireValue {
  func encode(into writer: inout Writer) throws(WireError) {
    try writer.u8(1)
    try Self.write(lastHeard, into: &writer)
    try writer.count16(rows.count)
    for (stream, row) in rows.sorted(by: { $0.key < $1.key }) {
      try stream.encode(into: &writer)
      try writer.flag(row.gapSince != nil)
      if let since = row.gapSince { try writer.u64(since) }
      try Self.write(row.holders, into: &writer)
      try writer.count16(row.questions.count)
      for question in row.questions {
        try question.numbers.encode(into: &writer)
        try question.target.encode(into: &writer)
        try writer.u64(question.until)
        try writer.u64(UInt64(clamping: question.attempt))
      }
    }
  }

  init(from reader: inout Reader) throws(WireError) {
    guard try reader.u8("memory version") == 1 else { throw .invalidValue(field: "memory version") }
    lastHeard = try Self.times(from: &reader)
    let count = try reader.count16(limit: StreamID.limit, "streams")
    rows = [:]
    for _ in 0..<count {
      let stream = try StreamID(from: &reader)
      let since = try reader.flag("gap") ? try reader.u64("gap since") : nil
      let holders = try Self.times(from: &reader)
      var questions: [StreamProgress.Question] = []
      for _ in 0..<(try reader.count16(limit: Self.questionLimit, "questions")) {
        let numbers = try SequenceSet(from: &reader)
        let target = try NodeID(from: &reader)
        let until = try reader.u64("until")
        let attempt = Int(clamping: try reader.u64("attempt"))
        questions.append(
          StreamProgress.Question(numbers: numbers, target: target, until: until, attempt: min(attempt, 1 << 20)))
      }
      rows[stream] = Row(gapSince: since, holders: holders, questions: questions)
    }
  }

  private static func write(_ times: [NodeID: UInt64], into writer: inout Writer) throws(WireError) {
    try writer.count16(times.count)
    for (node, time) in times.sorted(by: { $0.key < $1.key }) {
      try node.encode(into: &writer)
      try writer.u64(time)
    }
  }

  private static func times(from reader: inout Reader) throws(WireError) -> [NodeID: UInt64] {
    var times: [NodeID: UInt64] = [:]
    for _ in 0..<(try reader.count16(limit: memberLimit, "members")) {
      times[try NodeID(from: &reader)] = try reader.u64("time")
    }
    return times
  }
}

extension Multicast {
  /// Most streams of a member that are remembered by hearsay alone.
  private static let rumourLimit = 3

  var memory: MulticastMemory {
    var rows: [StreamID: MulticastMemory.Row] = [:]
    var rumours: [NodeID: Int] = [:]
    for (stream, row) in progress.sorted(by: { $0.key < $1.key }) {
      if row.known == 0, row.contiguous == 0 {
        // Of streams that no signed message has shown, a few: anybody can make up any number of them.
        guard members[stream.node] != nil, rumours[stream.node, default: 0] < Self.rumourLimit else { continue }
        rumours[stream.node, default: 0] += 1
      }
      let kept = MulticastMemory.Row(gapSince: row.gapSince, holders: row.holders, questions: row.questions)
      if !kept.isEmpty { rows[stream] = kept }
    }
    return MulticastMemory(lastHeard: lastHeard, rows: rows)
  }

  /// Goes on with what was remembered, as far as it isn't past.
  mutating func recall(_ memory: MulticastMemory) {
    lastHeard = memory.lastHeard.filter { members[$0.key] != nil }
    for (stream, row) in memory.rows {
      var known = progress[stream] ?? StreamProgress()
      known.holders = row.holders.filter { members[$0.key] == true }
      known.questions = row.questions
      known.gapSince = known.rumoured > known.contiguous ? row.gapSince ?? known.gapSince : nil
      progress[stream] = known
    }
  }
}
