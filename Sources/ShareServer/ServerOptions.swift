/// What an operator decides.
public struct ServerOptions: Sendable {
  /// Where to listen.
  public var host = "127.0.0.1"
  /// 0 lets the system choose.
  public var port = 8420
  /// The folder of everything that is kept. Made if it isn't there.
  public var data: String
  /// Redis in place of the folder.
  public var redis: RedisOptions?
  /// Where metrics are served, if anywhere.
  public var metrics: (host: String, port: Int)?
  /// Certificate chain and private key, PEM; both or neither.
  public var certificate: String?
  /// See ``certificate``.
  public var privateKey: String?
  /// A file with what has to be known to make a group, if not everybody may.
  public var creationTokenFile: String?
  /// Proxies whose `X-Forwarded-For` is believed.
  public var proxies: [String] = []
  /// Limits.
  public var limits = ServerLimits()

  /// Everything by default but the folder.
  public init(data: String) { self.data = data }

  /// Everything by default but Redis.
  public init(redis: RedisOptions) {
    data = ""
    self.redis = redis
  }
}

/// What one group, one key, one address and everybody together may have. 0 stands for no limit where a rate or a number of
/// groups is meant.
public struct ServerLimits: Sendable {
  /// Bytes of the shares of one group.
  public var groupBytes: Int64 = 256 << 20
  /// Shares of one group.
  public var groupShares: Int64 = 100_000
  /// Users of one group, removed ones not counted.
  public var groupUsers: Int64 = 1000
  /// Names of removed users that are kept for one group at a time.
  var groupNames: Int64 { 8 * groupUsers }
  /// Groups.
  public var groups: Int64 = 100_000
  /// Bytes of all shares.
  public var totalBytes: Int64 = 10 << 30
  /// Bytes that are left free on the disk.
  public var freeBytes: Int64 = 64 << 20
  /// Requests a second with one key; twice as many at once.
  public var keyRate = 200
  /// Requests a second from one address; twice as many at once.
  public var addressRate = 1000
  /// Groups that one address makes in a day.
  public var groupsPerDay = 100
  /// Connections at a time.
  public var connections = 4096
  /// Connections at a time from one address.
  public var connectionsPerAddress = 128
  /// Memory for bodies that are under way, both ways.
  public var bodyMemory = 64 << 20

  /// Bytes of one share.
  public static let shareBytes = 1 << 20
  /// Bytes of a body of JSON.
  public static let jsonBytes = 4096
  /// Bytes of a request's head.
  public static let headBytes = 16_384
  /// Users that one share may be for.
  public static let recipients = 256
  /// Bytes of shares on one page.
  public static let pageBytes = 4 << 20
  /// Shares on one page.
  public static let pageShares = 500
  /// Seconds that a request may wait for something new.
  public static let wait = 60
  /// Seconds that shares live.
  public static let ttl: ClosedRange<Int64> = 60...2_592_000

  /// The defaults.
  public init() {}
}

/// Why the service can't start, or had to stop.
public struct ServerError: Error, Sendable, CustomStringConvertible {
  /// What happened.
  public let reason: String
  /// What to do about it.
  public let hint: String?

  init(_ reason: String, hint: String? = nil) {
    self.reason = reason
    self.hint = hint
  }

  /// The reason, and behind it the hint.
  public var description: String { hint.map { "\(reason); \($0)" } ?? reason }
}
