/// Which carriers deliver: what a sender learns from receipts.
///
/// A carrier's parcel is settled once: when the recipient confirms that its copy arrived, or when the parcel expires
/// without that. An arrival counts for it. A copy that never arrived counts against it, but only half if another
/// carrier's did, since an honest carrier drops its copy when it hears that. Both fade by half in ``halfLife``, so that
/// nobody is shunned for ever. Nothing is settled with a carrier that has never said that it has the parcel.
///
/// A carrier is shunned if it should have delivered at least ``enough`` parcels, going by what this sender's carriers
/// do on average, but at least by ``least``, and delivered at most a third of that. So one that says it has parcels and
/// drops them all gets there after some, whatever else it says, since only the recipient can confirm; even if all whom
/// the sender has tried drop everything. One that delivers just enough stays; then it delivers just enough. One that
/// takes a new identity starts anew. Others are preferred to one that is shunned, which gets a parcel only if it has
/// waited for long.
///
/// At most ``limit`` carriers are remembered; only who was given a parcel of this device's own is among them.
package struct CarrierRecords: Sendable {
  static let limit = 1024
  /// When half of what is remembered counts no more: 30 days, in milliseconds.
  static let halfLife: Int64 = 30 * 86_400_000
  /// Parcels that an average carrier would have delivered, after which a carrier can be shunned.
  static let enough = 2.0
  /// The part of parcels that an average carrier delivers at least, as long as nothing arrives.
  static let least = 0.15

  struct Record: Hashable, Sendable {
    var settled = 0.0
    var arrived = 0.0
    var at: Int64

    func faded(to now: Int64) -> Record {
      let factor = power(0.5, Double(elapsed(from: at, to: now)) / Double(CarrierRecords.halfLife))
      return Record(settled: settled * factor, arrived: arrived * factor, at: max(at, now))
    }
  }

  var records: [DeviceKey: Record] = [:]
  var all = Record(at: 0)

  mutating func settle(_ carrier: DeviceKey, arrived: Bool, othersArrived: Bool, at now: Int64) {
    if records[carrier] == nil, records.count >= Self.limit { makeRoom(at: now) }
    let weight = arrived || !othersArrived ? 1 : 0.5
    func settled(_ record: Record) -> Record {
      var record = record.faded(to: now)
      record.settled += weight
      record.arrived += arrived ? 1 : 0
      return record
    }
    records[carrier] = settled(records[carrier] ?? Record(at: now))
    all = settled(all)
  }

  /// What part of the parcels given to this sender's carriers arrived. Without any experience: a half.
  var average: Double { (all.arrived + 0.5) / (all.settled + 1) }

  /// How much of what `carrier` says is believed, from 0 to 1: all of it, unless it delivers less than the average.
  func belief(in carrier: DeviceKey, at now: Int64) -> Double {
    guard let record = records[carrier]?.faded(to: now) else { return 1 }
    return min(1, (record.arrived + 1) / (record.settled * average + 1))
  }

  func isShunned(_ carrier: DeviceKey, at now: Int64) -> Bool {
    guard let record = records[carrier]?.faded(to: now) else { return false }
    let expected = record.settled * max(average, Self.least)
    return expected >= Self.enough && record.arrived <= expected / 3
  }

  private mutating func makeRoom(at now: Int64) {
    let least = records.map { (settled: $0.value.faded(to: now).settled, key: $0.key) }
      .sorted { ($0.settled, $0.key) < ($1.settled, $1.key) }
    for one in least.prefix(Self.limit / 4) { records[one.key] = nil }
  }
}
