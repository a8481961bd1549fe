/// Runs over one world.
struct Experiment: Sendable {
  let name: String
  let days: Int
  let senders: Int
  let messages: Int
  /// Hours in which parcels are sent, and how long each lasts.
  let from: Int
  let until: Int
  let lifetime: Int
  var runs: [Run]
}

/// All experiments, and a line of CSV for each run.
struct Experiments: Sendable {
  let isSmoke: Bool
  let seed: UInt64

  static let heading =
    "table,method,network,carriers,hops,hand_on,patience,droppers,lies,records,sent,arrived,within_6h,median_s,p90_s,"
    + "confirmed,bytes,spoken,copies,twice,dropper_first,dropper_last,arrived_first,arrived_last,seconds"

  var all: [Experiment] {
    let carriers = isSmoke ? [1, 5] : [1, 2, 3, 4, 5]
    let hops = isSmoke ? [1, 3] : [1, 2, 3, 4]
    let droppers = isSmoke ? [0, 0.3] : [0, 0.1, 0.3]
    var outages: [Run] = [Run(table: "outages", method: .direct)]
    var alone: [Run] = [
      Run(table: "alone", method: .direct, hasNetwork: false),
      Run(table: "alone", method: .epidemic, hasNetwork: false),
    ]
    for part in droppers { outages.append(Run(table: "outages", method: .epidemic, droppers: part)) }
    for part in droppers {
      for count in carriers {
        for hop in hops {
          outages.append(Run(table: "outages", method: .courier, carriers: count, hops: hop, droppers: part))
          if part == 0 {
            alone.append(Run(table: "alone", method: .courier, hasNetwork: false, carriers: count, hops: hop))
          }
        }
      }
    }
    let choices = [(0, 2), (600, 2), (3600, 2), (14400, 2), (0, 1), (0, 4), (3600, 4)].map { patience, handOn in
      Run(table: "choices", method: .courier, handOn: handOn, patience: patience)
    }
    var learning = [Run(table: "learning", method: .direct)]
    for lies in [false, true] {
      for records in [false, true] {
        learning.append(
          Run(table: "learning", method: .courier, droppers: 0.3, lies: lies, usesRecords: records))
      }
    }
    let day = 86_400
    let people = self.people
    let many = isSmoke ? 100 : 600
    return [
      Experiment(
        name: "outages", days: 3, senders: people / 2, messages: many, from: day, until: 2 * day, lifetime: day,
        runs: outages),
      Experiment(
        name: "alone", days: 3, senders: people / 2, messages: many, from: day, until: 2 * day, lifetime: day,
        runs: alone),
      Experiment(
        name: "choices", days: 3, senders: people / 2, messages: many, from: day, until: 2 * day, lifetime: day,
        runs: choices),
      Experiment(
        name: "learning", days: 7, senders: isSmoke ? 5 : people / 50, messages: 2 * many, from: day, until: 6 * day,
        lifetime: day,
        runs: learning),
    ]
  }

  private var people: Int { isSmoke ? 50 : 1000 }

  func prepared(_ experiment: Experiment) -> (Trace, [Message]) {
    var world = WorldParameters()
    world.seed = seed
    world.people = people
    world.days = experiment.days
    if isSmoke { (world.edge, world.places, world.towers) = (1000, 4, 2) }
    let messages = Workload.make(
      experiment.messages, people: people, senders: experiment.senders, from: experiment.from, until: experiment.until,
      lifetime: experiment.lifetime, seed: seed)
    return (TraceMaker(world).make(), messages)
  }

  func line(_ run: Run, _ trace: Trace, _ messages: [Message]) -> String {
    let started = ContinuousClock.now
    let drops = Workload.droppers(run.droppers, people: trace.people, seed: seed)
    let outcome: Outcome
    switch run.method {
    case .courier:
      var courier = CourierRun(trace, messages, run, drops: drops, seed: seed)
      outcome = courier.result()
    case .epidemic, .direct:
      var baseline = BaselineRun(trace, messages, run, drops: drops)
      outcome = baseline.result()
    }
    let delays = outcome.delays.compactMap { $0 }.sorted()
    func quantile(_ part: Double) -> Int32 { delays.isEmpty ? -1 : delays[Int(part * Double(delays.count - 1))] }
    func part(_ third: Int) -> String {
      outcome.places[third] == 0 ? "" : rounded(Double(outcome.lost[third]) / Double(outcome.places[third]))
    }
    func arrived(_ third: Int) -> String {
      let range = (messages.count * third / 3)..<(messages.count * (third + 1) / 3)
      return rounded(Double(range.count { outcome.delays[$0] != nil }) / Double(max(1, range.count)))
    }
    let took = started.duration(to: .now).components
    let fields: [String] = [
      run.table, run.method.rawValue, run.hasNetwork ? "yes" : "no", "\(run.carriers)", "\(run.hops)", "\(run.handOn)",
      "\(run.patience)", rounded(run.droppers), run.lies ? "yes" : "no", run.usesRecords ? "yes" : "no",
      "\(messages.count)", "\(delays.count)", "\(delays.count { $0 <= 21_600 })", "\(quantile(0.5))",
      "\(quantile(0.9))", "\(outcome.confirmed)", "\(outcome.bytes)", "\(outcome.spoken)", "\(outcome.copies)",
      "\(outcome.twice)", part(0), part(2), arrived(0), arrived(2),
      rounded(Double(took.seconds) + Double(took.attoseconds) / 1e18),
    ]
    return fields.joined(separator: ",")
  }

  /// With three digits after the point, in a way that doesn't depend on where it runs.
  private func rounded(_ value: Double) -> String {
    let thousandths = Int((value * 1000).rounded())
    let rest = "\(thousandths % 1000)"
    return "\(thousandths / 1000)." + String(repeating: "0", count: 3 - rest.count) + rest
  }
}
