enum Route: Sendable, Equatable {
  case groups
  case group(Identifier)
  case master(Identifier)
  case users(Identifier)
  case user(Identifier, String)
  case userKey(Identifier, String)
  case shares(Identifier)
  case share(Identifier, String)
  /// Below `/v1/groups`, but with a name that no group has.
  case noGroup
  case health
  case description

  /// Longer paths name nothing.
  private static let limit = 256

  init?(path: String) {
    guard path.utf8.first == 0x2f, path.utf8.count <= Self.limit else { return nil }
    let parts = path.utf8.split(separator: 0x2f, omittingEmptySubsequences: false).dropFirst().map { String($0) ?? "" }
    switch parts.count {
    case 1 where parts[0] == "health": self = .health
    case 1 where parts[0] == "openapi.yaml": self = .description
    case 2 where parts == ["v1", "groups"]: self = .groups
    case 3...6 where parts[0] == "v1" && parts[1] == "groups":
      guard let below = Self.below(Array(parts.dropFirst(3)), Identifier(parts[2])) else { return nil }
      self = below
    default: return nil
    }
  }

  private static func below(_ parts: [String], _ group: Identifier?) -> Route? {
    let route: Route?
    let id = group ?? Identifier(high: 0, low: 0)
    switch (parts.first, parts.count) {
    case (nil, _): route = .group(id)
    case ("master", 1): route = .master(id)
    case ("users", 1): route = .users(id)
    case ("users", 2): route = .user(id, parts[1])
    case ("users", 3) where parts[2] == "key": route = .userKey(id, parts[1])
    case ("shares", 1): route = .shares(id)
    case ("shares", 2): route = .share(id, parts[1])
    default: route = nil
    }
    return group == nil && route != nil ? .noGroup : route
  }

  var methods: [String] {
    switch self {
    case .groups, .master, .users, .userKey: ["POST"]
    case .group: ["GET", "DELETE"]
    case .user: ["DELETE"]
    case .shares, .health, .description: ["GET"]
    case .share: ["PUT", "GET", "DELETE"]
    case .noGroup: ["GET", "POST", "PUT", "DELETE"]
    }
  }

  /// The path with names for what differs: for logs and metrics.
  var template: String {
    switch self {
    case .groups: "/v1/groups"
    case .group: "/v1/groups/{group}"
    case .master: "/v1/groups/{group}/master"
    case .users: "/v1/groups/{group}/users"
    case .user: "/v1/groups/{group}/users/{user}"
    case .userKey: "/v1/groups/{group}/users/{user}/key"
    case .shares: "/v1/groups/{group}/shares"
    case .share: "/v1/groups/{group}/shares/{share}"
    case .noGroup: "no group"
    case .health: "/health"
    case .description: "/openapi.yaml"
    }
  }

  var group: Identifier? {
    switch self {
    case .group(let group), .master(let group), .users(let group), .user(let group, _), .userKey(let group, _),
      .shares(let group), .share(let group, _):
      group
    case .groups, .noGroup, .health, .description: nil
    }
  }
}

/// The questions behind a path: `name=decimal number` joined by `&`. Others are left to later versions.
struct Query: Sendable, Equatable {
  private var values: [String: String] = [:]

  init(_ text: some StringProtocol) throws(Refusal) {
    for part in text.split(separator: "&") {
      let pair = part.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      guard values.updateValue(pair.count == 2 ? String(pair[1]) : "", forKey: String(pair[0])) == nil else {
        throw .malformed("a question is put twice")
      }
    }
  }

  func number(_ name: String, _ range: ClosedRange<Int64>, standard: Int64) throws(Refusal) -> Int64 {
    guard let text = values[name] else { return standard }
    guard let number = decimal(text), range.contains(number) else {
      throw .malformed("\(name) has to be a number from \(range.lowerBound) to \(range.upperBound)")
    }
    return number
  }
}

/// A number in decimal digits alone, without a sign.
func decimal(_ text: some StringProtocol) -> Int64? {
  guard (1...19).contains(text.utf8.count), text.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
  return Int64(text)
}

/// The users that a share is for: their ids, with commas between and blanks as HTTP allows (RFC 9110, section 5.6.1).
enum RecipientsField {
  /// Refuses more than 256, and none. Who is named twice counts once.
  static func parse(_ values: [String]) throws(Refusal) -> [Identifier]? {
    guard !values.isEmpty else { return nil }
    var found: [Identifier] = []
    var seen: Set<Identifier> = []
    var count = 0
    for value in values {
      for part in value.split(separator: ",", omittingEmptySubsequences: false) {
        count += 1
        guard count <= ServerLimits.recipients else {
          throw .malformed("a share is for at most \(ServerLimits.recipients) recipients, or for all")
        }
        let name = part.utf8.drop { $0 == 0x20 || $0 == 0x09 }
        let trimmed = name.reversed().drop { $0 == 0x20 || $0 == 0x09 }.reversed()
        guard let id = Identifier(text: Array(trimmed)) else {
          throw .malformed("recipients have to be ids of users, with commas between")
        }
        if seen.insert(id).inserted { found.append(id) }
      }
    }
    return found
  }
}
