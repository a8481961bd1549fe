import SecretVault
import VaultStore
import VaultXMPP

/// Accounts and friends in words.
enum AccountText {
  static func table(_ accounts: [AccountSummary]) -> TextTable {
    var table = TextTable("ACCOUNT", "STATE", "SERVER", "SENT", "CAME")
    for account in accounts {
      table.add(
        account.address, state(account), server(account), flow(account.traffic?.sent), flow(account.traffic?.taken))
    }
    return table
  }

  /// How much went one way, texts and parcels together: `12, 34 kB`.
  private static func flow(_ flow: AccountTraffic.Flow?) -> String {
    guard let flow, flow.bytes > 0 else { return "-" }
    return "\(flow.parcels + flow.texts), \(Measures.size(UInt64(clamping: flow.bytes)))"
  }

  static func state(_ account: AccountSummary) -> String {
    switch account.state {
    case .loggedOut: return "logged out"
    case .other: return "logged in, not in use"
    case .current: break
    }
    guard let connection = account.connection else { return "in use, not connected: the daemon doesn't have it" }
    let since = Timestamp.minute(connection.since)
    return switch connection.state {
    case .connected: "in use, connected since \(since)"
    case .unreachable: "in use, server not reached since \(since)"
    case .wrongPassword: "in use, password refused since \(since)"
    case .untrusted: "in use, server not trusted since \(since)"
    case .refused: "in use, refused by the server since \(since)"
    }
  }

  /// What went to and fro.
  static func sentence(_ traffic: AccountReport) -> String {
    let (sent, taken) = (traffic.parcelsSent + traffic.plainSent, traffic.parcelsTaken + traffic.plainTaken)
    var parts: [String] = []
    if sent + taken > 0 { parts.append("handed over \(sent), took \(taken)") }
    if traffic.receipts > 0 { parts.append("\(Measures.count(traffic.receipts, "receipt")) came") }
    if traffic.friendRequests > 0 {
      let who = traffic.friendRequests == 1 ? "somebody asks" : "\(traffic.friendRequests) people ask"
      parts.append("\(who) to be a friend: see 'vault account friend list'")
    }
    if traffic.passedOver > 0 {
      parts.append("\(Measures.count(traffic.passedOver, "text")) of strangers, or too many, passed over")
    }
    return parts.isEmpty ? "nothing waits, here or there" : parts.joined(separator: "; ")
  }

  private static func server(_ account: AccountSummary) -> String {
    let domain = String(account.address.split(separator: "@").last ?? "")
    return (account.host ?? domain) + (account.port.map { ":\($0)" } ?? "")
  }
}

enum FriendText {
  static func write(_ friends: [FriendSummary], _ console: Console) throws {
    try console.result(friends.isEmpty ? [] : table(friends).lines, json: .array(friends.map(\.json)))
    for friend in friends where friend.asks {
      console.note("\(friend.address) asks to be a friend: vault account friend accept \(shellQuoted(friend.address))")
    }
  }

  static func table(_ friends: [FriendSummary]) -> TextTable {
    var table = TextTable("FRIEND", "NAME", "PEER", "STATE", "THERE")
    for friend in friends {
      table.add(friend.address, friend.name ?? "-", friend.peer ?? "-", state(friend), friend.presence ?? "-")
    }
    return table
  }

  /// Who sees whom.
  static func state(_ friend: FriendSummary) -> String {
    if friend.asks { return "asks" }
    return switch friend.subscription {
    case "blocked": "removed, blocked"
    case "both": "friends"
    case "to": "shows itself to you"
    case "from": "sees you"
    default: "asked"
    }
  }

  static func sentence(_ friend: FriendSummary) -> String {
    let sealed = friend.peer.map { "; what you send to \($0) goes there sealed" } ?? ""
    return switch friend.subscription {
    case "both", "to": "\(friend.address) is a friend\(sealed)"
    case "from": "accepted \(friend.address), and asked back\(sealed)"
    default: "asked \(friend.address)\(sealed)"
    }
  }

  /// What to do if it is a peer's account and nobody has said so: without that, nothing sealed goes there.
  static func unlinked(_ friend: FriendSummary) -> String? {
    guard friend.peer == nil else { return nil }
    return "if it is a peer's account: vault account friend add \(shellQuoted(friend.address)) --peer PEER"
  }

  /// Says what came of adding it.
  static func note(_ friend: FriendSummary, _ console: Console) {
    console.note(sentence(friend))
    if let unlinked = unlinked(friend) { console.note(unlinked) }
  }
}
