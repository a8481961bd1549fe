import Foundation

/// Larger groups and longer times than anybody waits for, on virtual time.
enum LongRuns {
  struct Row: Encodable {
    let devices: Int
    /// Updates that were made.
    let messages: Int
    /// How many times to live passed.
    let periods: Double
    /// Devices that were offline on average (F), and for how many times to live at once (L/T).
    let offline, absence: Double
    /// What members did with them, all together.
    let downloads, delivered, resent, questions, confirms, skips: Int
    /// Of the device for which it is most.
    let uploadsOfOne: Int
    /// Messages that a member still keeps in the end.
    let kept: Int
    let seconds: Double
    let mebibytes: Double
  }

  /// All devices online, in a time to live: the size that the papers say a group may have.
  static func crowd(_ devices: Int, _ messages: Int) throws -> Row {
    var group = try SimulatedGroup(devices)
    let start = Stopwatch.now()
    for number in 0..<messages {
      for place in 0..<devices { try group.write(place, "object \(place) \(number)") }
      try group.step(group.ttl / UInt64(messages))
    }
    try group.step(group.ttl / 2)
    try group.step(group.ttl / 2)
    try group.check()
    return row(group, messages * devices, 2, offline: 0, absence: 0, since: start)
  }

  /// Devices go offline by chance, each for a fifth of the time and for up to three times to live at once, and change objects
  /// that others change, too. In the end all have the same.
  static func years(_ devices: Int, messages: Int, perPeriod: Int, objects: Int) throws -> Row {
    var group = try SimulatedGroup(devices)
    var chance = Chance(1)
    let start = Stopwatch.now()
    let steps = 50
    let pause = group.ttl / UInt64(steps)
    var back = [Int](repeating: 0, count: devices)
    var written = 0
    var step = 0
    var (absences, absentSteps) = (0, 0)
    while written < messages {
      step += 1
      for place in 0..<devices {
        if step < back[place] { continue }
        if !group.members[place].isOnline { group.setOnline(place, true) }
        // For 1.5 times to live on average, with four times as long in between.
        if Int.random(in: 0..<(6 * steps), using: &chance) == 0 {
          let absence = Int.random(in: 1..<(3 * steps), using: &chance)
          back[place] = step + absence
          absences += 1
          absentSteps += absence
          group.setOnline(place, false)
        }
      }
      for place in 0..<devices where written < messages {
        // On average so many in a time to live, also of those who are offline.
        for _ in 0..<max(perPeriod / steps, 1) {
          try group.write(place, "object \(Int.random(in: 0..<objects, using: &chance))")
          written += 1
        }
      }
      try group.step(pause)
    }
    for place in 0..<devices { group.setOnline(place, true) }
    for _ in 0..<(6 * steps) { try group.step(pause) }
    try group.check()
    return row(
      group, written, Double(step) / Double(steps), offline: Double(absentSteps) / Double(step),
      absence: Double(absentSteps) / Double(max(absences, 1) * steps), since: start)
  }

  private static func row(
    _ group: SimulatedGroup, _ messages: Int, _ periods: Double, offline: Double, absence: Double, since start: Double
  ) -> Row {
    Row(
      devices: group.members.count, messages: messages, periods: periods, offline: offline, absence: absence,
      downloads: group.sum { $0.downloads }, delivered: group.sum { $0.delivered }, resent: group.sum { $0.resent },
      questions: group.sum { $0.questions },
      confirms: group.sum { $0.confirms }, skips: group.sum { $0.skips },
      uploadsOfOne: group.members.map(\.counts.uploads).max() ?? 0, kept: group.members.map(\.kept).max() ?? 0,
      seconds: Stopwatch.now() - start, mebibytes: Stopwatch.peakMebibytes())
  }
}

/// Numbers by a fixed rule, so that a run comes again.
struct Chance: RandomNumberGenerator {
  private var state: UInt64
  init(_ seed: UInt64) { state = seed }
  mutating func next() -> UInt64 {
    state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
    return state ^ (state >> 29)
  }
}
