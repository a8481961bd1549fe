package struct ServerOptions: Sendable {
  package var host = "127.0.0.1"
  /// 0 lets the system choose.
  package var port = 8420
  /// The folder of everything that is kept. Made if it isn't there.
  package var data: String
  package var redis: RedisOptions?
  package var metrics: (host: String, port: Int)?
  /// Certificate chain and private key, PEM; both or neither.
  package var certificate: String?
  package var privateKey: String?
  /// A file with what has to be known to make a group, if not everybody may.
  package var creationTokenFile: String?
  /// Proxies whose `X-Forwarded-For` is believed.
  package var proxies: [String] = []
  package var limits = ServerLimits()

  package init(data: String) { self.data = data }

  package init(redis: RedisOptions) {
    data = ""
    self.redis = redis
  }
}

/// What one group, one key, one address and everybody together may have. 0 stands for no limit where a rate or a number
/// of groups is meant.
package struct ServerLimits: Sendable {
  package var groupBytes: Int64 = 256 << 20
  package var groupShares: Int64 = 100_000
  /// Users of one group, removed ones not counted.
  package var groupUsers: Int64 = 1000
  /// Names of removed users that are kept for one group at a time.
  var groupNames: Int64 { 8 * groupUsers }
  package var groups: Int64 = 100_000
  package var totalBytes: Int64 = 10 << 30
  package var freeBytes: Int64 = 64 << 20
  /// Requests a second with one key; twice as many at once.
  package var keyRate = 200
  /// Requests a second from one address; twice as many at once.
  package var addressRate = 1000
  package var groupsPerDay = 100
  package var connections = 4096
  package var connectionsPerAddress = 128
  /// Memory for bodies that are under way, both ways.
  package var bodyMemory = 64 << 20

  package static let shareBytes = 1 << 20
  package static let jsonBytes = 4096
  package static let headBytes = 16_384
  package static let recipients = 256
  package static let pageBytes = 4 << 20
  package static let pageShares = 500
  /// Seconds that a request may wait for something new.
  package static let wait = 60
  /// Seconds that shares live.
  package static let ttl: ClosedRange<Int64> = 60...2_592_000

  package init() {}
}

package struct ServerError: Error, Sendable, CustomStringConvertible {
  package let reason: String
  package let hint: String?

  init(_ reason: String, hint: String? = nil) {
    self.reason = reason
    self.hint = hint
  }

  package var description: String { hint.map { "\(reason); \($0)" } ?? reason }
}
