import SecretVault

/// How many messages are new, and how many haven't arrived.
struct MessageTally: Hashable {
  /// Beyond this nobody counts.
  static let limit = 1000

  /// Messages that have come and weren't read.
  var new = 0
  /// Messages from here that haven't arrived.
  var waiting = 0
  /// Parcels carried for others.
  var carried = 0

  /// For people; nil if there is nothing to say.
  var words: String? {
    var parts: [String] = []
    if new > 0 { parts.append("\(new)\(new == Self.limit ? " or more" : "") new: see 'vault message inbox'") }
    if waiting > 0 { parts.append("\(waiting) on the way: see 'vault message outbox'") }
    if carried > 0 { parts.append("\(Measures.count(carried, "parcel")) carried for others") }
    return parts.isEmpty ? nil : parts.joined(separator: "; ")
  }

  var json: JSONValue {
    ["new": JSONValue(new), "waiting": JSONValue(waiting), "carried": JSONValue(carried)]
  }
}

extension MessageTally {
  init(_ vault: Vault) throws {
    let outbox = try vault.messages.outbox()
    self.init(
      new: try vault.messages.messages(with: nil, unreadOnly: true, search: nil, limit: Self.limit).count,
      waiting: outbox.messages.count, carried: outbox.carried.count)
  }
}
