/// What an operator decides.
package struct ServerOptions: Sendable {
  /// Where to listen.
  package var host = "127.0.0.1"
  /// 0 lets the system choose.
  package var port = 8420
  /// The folder of everything that is kept. Made if it isn't there.
  package var data: String
  /// Redis in place of the folder.
  package var redis: RedisOptions?
  /// Where metrics are served, if anywhere.
  package var metrics: (host: String, port: Int)?
  /// Certificate chain and private key, PEM; both or neither.
  package var certificate: String?
  /// See ``certificate``.
  package var privateKey: String?
  /// A file with what has to be known to make a group, if not everybody may.
  package var creationTokenFile: String?
  /// Proxies whose `X-Forwarded-For` is believed.
  package var proxies: [String] = []
  package var limits = ServerLimits()

  /// Everything by default but the folder.
  package init(data: String) { self.data = data }

  /// Everything by default but Redis.
  package init(redis: RedisOptions) {
    data = ""
    self.redis = redis
  }
}

/// What one group, one key, one address and everybody together may have. 0 stands for no limit where a rate or a number of
/// groups is meant.
package struct ServerLimits: Sendable {
  /// Bytes of the shares of one group.
  package var groupBytes: Int64 = 256 << 20
  package var groupShares: Int64 = 100_000
  /// Users of one group, removed ones not counted.
  package var groupUsers: Int64 = 1000
  /// Names of removed users that are kept for one group at a time.
  var groupNames: Int64 { 8 * groupUsers }
  package var groups: Int64 = 100_000
  /// Bytes of all shares.
  package var totalBytes: Int64 = 10 << 30
  /// Bytes that are left free on the disk.
  package var freeBytes: Int64 = 64 << 20
  /// Requests a second with one key; twice as many at once.
  package var keyRate = 200
  /// Requests a second from one address; twice as many at once.
  package var addressRate = 1000
  /// Groups that one address makes in a day.
  package var groupsPerDay = 100
  /// Connections at a time.
  package var connections = 4096
  /// Connections at a time from one address.
  package var connectionsPerAddress = 128
  /// Memory for bodies that are under way, both ways.
  package var bodyMemory = 64 << 20

  package static let shareBytes = 1 << 20
  /// Bytes of a body of JSON.
  package static let jsonBytes = 4096
  /// Bytes of a request's head.
  package static let headBytes = 16_384
  /// Users that one share may be for.
  package static let recipients = 256
  /// Bytes of shares on one page.
  package static let pageBytes = 4 << 20
  package static let pageShares = 500
  /// Seconds that a request may wait for something new.
  package static let wait = 60
  /// Seconds that shares live.
  package static let ttl: ClosedRange<Int64> = 60...2_592_000

  /// The defaults.
  package init() {}
}

/// Why the service can't start, or had to stop.
package struct ServerError: Error, Sendable, CustomStringConvertible {
  /// What happened.
  package let reason: String
  /// What to do about it.
  package let hint: String?

  init(_ reason: String, hint: String? = nil) {
    self.reason = reason
    self.hint = hint
  }

  /// The reason, and behind it the hint.
  package var description: String { hint.map { "\(reason); \($0)" } ?? reason }
}
