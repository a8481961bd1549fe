import Synchronization

final class RedisCounters: Sendable {
  private struct Counts {
    var connections = 0
    var calls = 0
    var failures = 0
    var unreplicated = 0
  }

  private let counts = Mutex(Counts())

  func connected() { counts.withLock { $0.connections += 1 } }
  func called() { counts.withLock { $0.calls += 1 } }
  func failed() { counts.withLock { $0.failures += 1 } }
  func unreplicated() { counts.withLock { $0.unreplicated += 1 } }

  var gauges: [Gauge] {
    let counts = counts.withLock { $0 }
    func counter(_ name: String, _ help: String, _ value: Int) -> Gauge {
      Gauge(name: "redis_\(name)_total", type: "counter", help: help, value: "\(value)")
    }
    return [
      counter("connections", "Connections to Redis that were made.", counts.connections),
      counter("scripts", "Scripts that Redis was asked to run.", counts.calls),
      counter("failures", "Attempts that Redis or the way there failed.", counts.failures),
      counter("unreplicated", "Writes that too few replicas had in time.", counts.unreplicated),
    ]
  }
}
