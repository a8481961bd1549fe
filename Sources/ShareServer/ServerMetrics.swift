import Synchronization

/// What is counted, for Prometheus. Nothing here tells one group or user from another.
final class ServerMetrics: Sendable {
  private struct Counters {
    var requests: [RequestKind: Int] = [:]
    var seconds: [String: Double] = [:]
    var received = 0
    var sent = 0
    var commits = 0
    var changes = 0
    var commitSeconds = 0.0
    var failedCommits = 0
    var failedSweeps = 0
    var connections = 0
  }

  private struct RequestKind: Hashable {
    let method: String
    let route: String
    let status: Int
  }

  private let counters = Mutex(Counters())

  func answered(method: String, route: String, status: Int, in time: Duration) {
    counters.withLock { counters in
      counters.requests[RequestKind(method: method, route: route, status: status), default: 0] += 1
      counters.seconds[route, default: 0] += time / .seconds(1)
    }
  }

  func received(_ byteCount: Int) { counters.withLock { $0.received += byteCount } }
  func sent(_ byteCount: Int) { counters.withLock { $0.sent += byteCount } }
  func failedCommit() { counters.withLock { $0.failedCommits += 1 } }
  func failedSweep() { counters.withLock { $0.failedSweeps += 1 } }
  func connections(_ change: Int) { counters.withLock { $0.connections += change } }

  func committed(_ changes: Int, in time: Duration) {
    counters.withLock { counters in
      counters.commits += 1
      counters.changes += changes
      counters.commitSeconds += time / .seconds(1)
    }
  }

  /// The text exposition format, version 0.0.4.
  func text(_ store: any ShareStore) -> String {
    let counters = counters.withLock { $0 }
    let totals = store.totals
    var text = ""
    func add(_ name: String, _ type: String, _ help: String, _ samples: [(labels: String, value: String)]) {
      text += "# HELP vault_server_\(name) \(help)\n# TYPE vault_server_\(name) \(type)\n"
      for sample in samples { text += "vault_server_\(name)\(sample.labels) \(sample.value)\n" }
    }
    func single(_ name: String, _ type: String, _ help: String, _ value: some CustomStringConvertible) {
      add(name, type, help, [("", "\(value)")])
    }
    let requests = counters.requests.map { kind, count in
      ("{method=\"\(kind.method)\",route=\"\(kind.route)\",status=\"\(kind.status)\"}", "\(count)")
    }
    add("requests_total", "counter", "Requests that were answered.", requests.sorted { $0.0 < $1.0 })
    add(
      "request_seconds_total", "counter", "Seconds spent on them, waiting included.",
      counters.seconds.sorted { $0.key < $1.key }.map { ("{route=\"\($0.key)\"}", "\($0.value)") })
    single("received_bytes_total", "counter", "Bytes of shares that were accepted.", counters.received)
    single("sent_bytes_total", "counter", "Bytes of shares that were sent.", counters.sent)
    single("commits_total", "counter", "Transactions that were made durable.", counters.commits)
    single("changes_total", "counter", "Changes that they held.", counters.changes)
    single("commit_seconds_total", "counter", "Seconds that they took.", counters.commitSeconds)
    single("failed_commits_total", "counter", "Transactions that failed.", counters.failedCommits)
    single("failed_sweeps_total", "counter", "Attempts to erase what had expired that failed.", counters.failedSweeps)
    single("groups", "gauge", "Groups.", totals.groups)
    single("shares", "gauge", "Shares.", totals.shares)
    single("share_bytes", "gauge", "Bytes of the shares.", totals.bytes)
    single("slot_keys", "gauge", "Time slots that have a key.", store.slotCount)
    single("waiting_requests", "gauge", "Requests that wait for something new.", store.board.count)
    single("connections", "gauge", "Connections.", counters.connections)
    for gauge in store.gauges { single(gauge.name, gauge.type, gauge.help, gauge.value) }
    return text
  }
}
