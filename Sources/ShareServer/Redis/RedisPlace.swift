/// Where a Redis is, as an operator writes it.
///
/// - `redis://[USER@]HOST:PORT[/DATABASE]`: one server.
/// - `redis+unix://[USER@]/PATH[?db=DATABASE]`: one server on this machine, by its socket.
/// - `redis+sentinel://[USER@]HOST:PORT,HOST:PORT…/NAME[/DATABASE]`: the primary that sentinels know by this name.
///
/// A password never stands here: it would be seen in the list of processes.
struct RedisPlace: Sendable, Equatable {
  struct Address: Sendable, Equatable, Hashable, CustomStringConvertible {
    let host: String
    let port: Int

    var description: String { host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)" }
  }

  enum Way: Sendable, Equatable {
    case server(Address)
    case socket(String)
    case sentinels([Address], name: String)
  }

  let way: Way
  /// A user of Redis's access lists, if not the default one.
  let user: String?
  let database: Int

  static let forms =
    "redis://HOST:PORT[/DATABASE], redis+unix:///PATH[?db=DATABASE] or redis+sentinel://HOST:PORT,HOST:PORT/NAME[/DATABASE]"

  init(_ text: String) throws(ServerError) {
    guard let mark = text.firstRange(of: "://") else { throw Self.malformed }
    let scheme = text[..<mark.lowerBound]
    var rest = text[mark.upperBound...]
    var user: String?
    if let at = rest.lastIndex(of: "@") {
      let name = rest[..<at]
      guard !name.contains(":") else {
        throw ServerError(
          "a password doesn't belong on the command line, where everybody on this machine sees it",
          hint: "put it into a file, and name that with --store-password-file or --key-store-password-file")
      }
      guard !name.isEmpty else { throw Self.malformed }
      user = String(name)
      rest = rest[rest.index(after: at)...]
    }
    self.user = user
    switch scheme {
    case "redis":
      let parts = rest.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
      way = .server(try Self.address(parts[0]))
      database = try Self.database(parts.count == 2 ? parts[1] : "")
    case "redis+unix":
      let parts = rest.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
      guard parts[0].hasPrefix("/"), parts[0].utf8.count < 108 else { throw Self.malformed }
      way = .socket(String(parts[0]))
      let question = parts.count == 2 ? parts[1] : "db="
      guard question.hasPrefix("db=") else { throw Self.malformed }
      database = try Self.database(question.dropFirst(3))
    case "redis+sentinel":
      let parts = rest.split(separator: "/", maxSplits: 2, omittingEmptySubsequences: false)
      guard parts.count >= 2, !parts[1].isEmpty else { throw Self.malformed }
      let addresses = try parts[0].split(separator: ",", omittingEmptySubsequences: false).map(Self.address)
      way = .sentinels(addresses, name: String(parts[1]))
      database = try Self.database(parts.count == 3 ? parts[2] : "")
    default: throw Self.malformed
    }
  }

  var isBehindSentinels: Bool {
    if case .sentinels = way { true } else { false }
  }

  private static var malformed: ServerError { ServerError("a Redis is named by \(forms)") }

  private static func database(_ text: Substring) throws(ServerError) -> Int {
    if text.isEmpty { return 0 }
    guard let number = decimal(text), number < 1 << 16 else { throw malformed }
    return Int(number)
  }

  private static func address(_ text: Substring) throws(ServerError) -> Address {
    guard let colon = text.lastIndex(of: ":"), let port = UInt16(text[text.index(after: colon)...]), port > 0 else {
      throw malformed
    }
    var host = text[..<colon]
    if host.hasPrefix("["), host.hasSuffix("]") { host = host.dropFirst().dropLast() }
    guard !host.isEmpty else { throw malformed }
    return Address(host: String(host), port: Int(port))
  }
}

extension RedisPlace: CustomStringConvertible {
  var description: String {
    switch way {
    case .server(let address): "Redis at \(address)"
    case .socket(let path): "Redis at \(path)"
    case .sentinels(let addresses, let name):
      "Redis \(name) of the sentinels at \(addresses.map(\.description).joined(separator: ", "))"
    }
  }
}
