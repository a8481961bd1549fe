import PeerAuth
import SecretVault
import VaultDaemon
import VaultGroups
import VaultStore

/// The status of a device, in lines for people.
enum StatusText {
  /// Secrets that are listed one by one; of more, those that need attention come first.
  static let secretLimit = 20

  static func lines(
    _ status: VaultStatus, _ groups: [GroupFacts], invitations: Int, _ messages: MessageTally, now: Int64
  ) -> [String] {
    let card = status.identity.card
    let proven = status.peers.count { $0.summary.state == .proven }
    let dealt = status.secrets.count { $0.summary.origin == .dealt }
    let waiting = status.peers.filter { $0.waiting > 0 }
    var facts: [(name: String, value: String)] = [
      ("this device", card.label), ("fingerprint", status.identity.fingerprint),
      ("addresses", addresses(of: card)),
      ("daemon", daemon(status.daemon, now: now)), ("bluetooth", BluetoothText.words(status)),
      ("peers", "\(status.peers.count), \(proven) of them proven"),
      ("secrets", "\(status.secrets.count): \(dealt) shared here, \(status.secrets.count - dealt) kept for others"),
      (
        "waiting",
        waiting.isEmpty
          ? "nothing" : list(waiting.map { "\(Measures.count($0.waiting, "share")) for \($0.summary.name)" })
      ),
    ]
    if let problem = status.listeningProblem { facts.append(("ELSEWHERE", problem)) }
    if !status.damaged.isEmpty {
      facts.append(("DAMAGED", "in the store: " + list(status.damaged.map { "secret \($0)" })))
    }
    for id in status.damagedIntroductions {
      facts.append(("DAMAGED", "in the store: a holder of secret \(id) that was introduced"))
    }
    for share in status.lost { facts.append(("LOST", LostShareText.sentence(share))) }
    for item in status.lostItems { facts.append(("LOST", LostItemText.sentence(item))) }
    for peer in status.peers {
      guard let since = peer.saysReplacedSince else { continue }
      facts.append(("REPLACED", replaced(by: peer.summary.name, since)))
    }
    if !status.requests.isEmpty {
      facts.append(("requests", "\(status.requests.count) to decide about: see 'vault requests'"))
    }
    if !groups.isEmpty { facts.append(("groups", list(groups.map(group)))) }
    if invitations > 0 { facts.append(("invitations", "\(invitations) to groups: see 'vault group list'")) }
    if let words = messages.words { facts.append(("messages", words)) }
    for setting in status.changedSettings { facts.append(("setting", "\(setting.key) = \(setting.value)")) }
    var lines = TextTable.facts(facts)
    if !status.peers.isEmpty { lines += [""] + peers(status, now: now) }
    if !status.secrets.isEmpty { lines += [""] + secrets(status, now: now) }
    return lines
  }

  /// What a peer says of this device, and what to do about it.
  static func replaced(by peer: String, _ since: Int64) -> String {
    "\(peer) says since \(Timestamp.minute(since)) that another device has this one's place: if so, use that one; if not, somebody has shown \(peer) a wrong card: call \(peer) at once, who takes it back with 'vault peer replace' and --undo"
  }

  private static func group(_ group: GroupFacts) -> String {
    guard group.state == .member else { return "\(group.name) (waits for its owner)" }
    let unsent = group.unsent > 0 ? ", \(group.unsent) to send" : ""
    return "\(group.name) (\(Measures.count(group.memberCount, "member"))\(unsent))"
  }

  static func addresses(of card: PeerCard) -> String {
    card.addresses.isEmpty ? "none published" : PeerText.list(card.addresses)
  }

  static func json(_ daemon: DaemonFacts?, isRunning: Bool, elsewhere: String?) -> JSONValue {
    [
      "running": .bool(isRunning), "locked": .bool(daemon?.locked == true),
      "since": JSONValue(daemon.map { Timestamp.exact($0.startedAt) }),
      "listening": JSONValue(daemon?.listening ?? []), "process": JSONValue(daemon.map { Int($0.process) }),
      "elsewhere": JSONValue(elsewhere),
    ]
  }

  private static func list(_ words: [String]) -> String { words.joined(separator: ", ") }

  private static func daemon(_ running: DaemonLock.Running?, now: Int64) -> String {
    guard let running else { return "not running: peers get no answer, and nothing is delivered" }
    guard let facts = running.facts else { return "running" }
    guard facts.locked != true else { return "locked: vault unlock (process \(facts.process))" }
    let place = facts.listening.isEmpty ? "listening nowhere" : "listening on \(list(facts.listening))"
    return "running since \(Timestamp.minute(facts.startedAt)), \(place) (process \(facts.process))"
  }

  private static func peers(_ status: VaultStatus, now: Int64) -> [String] {
    var table = TextTable("PEER", "STATE", "LAST SEEN", "HOLDS", "WAITING")
    for peer in status.peers {
      table.add(
        peer.summary.name, peer.summary.state.rawValue,
        peer.summary.lastSeenAt.map { Measures.ago($0, now: now) } ?? "never",
        Measures.count(peer.holds.count, "share"), waiting(peer))
    }
    return table.lines
  }

  private static func waiting(_ peer: VaultStatus.Peer) -> String {
    guard peer.waiting > 0 else { return "-" }
    return Measures.count(peer.waiting, "share") + (peer.onItsWay > 0 ? ", \(peer.onItsWay) on the way" : "")
  }

  private static func secrets(_ status: VaultStatus, now: Int64) -> [String] {
    let ordered = status.secrets.enumerated()
      .sorted { (urgency($0.element), $0.offset) < (urgency($1.element), $1.offset) }.map(\.element)
    var table = TextTable("SECRET", "DESCRIPTION", "FROM", "NEEDS", "LAST CHECK")
    for secret in ordered.prefix(secretLimit) {
      table.add(
        String(secret.summary.id.prefix(12)), secret.summary.description ?? "",
        secret.summary.origin == .dealt ? "you" : secret.summary.dealer,
        "\(secret.summary.threshold) of \(secret.summary.shareCount)", check(secret, now: now))
    }
    var lines = table.lines
    if ordered.count > secretLimit { lines.append("and \(ordered.count - secretLimit) more: see 'vault list'") }
    return lines
  }

  /// What is lost comes first, then what is about to be, then what nobody has looked at.
  private static func urgency(_ secret: VaultStatus.Secret) -> Int {
    guard let check = secret.lastCheck else { return 2 }
    if !check.isRecoverable { return 0 }
    return check.answered <= secret.summary.threshold ? 1 : 3
  }

  private static func check(_ secret: VaultStatus.Secret, now: Int64) -> String {
    guard let check = secret.lastCheck else { return secret.summary.ownIndex == nil ? "no share here" : "not yet" }
    let word = check.isRecoverable ? "recoverable" : "NOT recoverable"
    return
      "\(word), \(check.answered) of \(secret.summary.shareCount) answered, \(Measures.ago(check.checkedAt, now: now))"
  }
}

extension VaultStatus {
  func json(
    _ groups: [GroupFacts], invitations: Int, _ messages: MessageTally, _ changes: [ChangeStatus]
  ) -> JSONValue {
    [
      "label": .string(identity.card.label), "fingerprint": .string(identity.fingerprint),
      "addresses": PeerText.json(identity.card.addresses), "daemon": daemonJSON,
      "peers": .array(peers.map(\.json)), "secrets": .array(secrets.map(\.json)),
      "damaged": JSONValue(damaged), "damagedIntroductions": JSONValue(damagedIntroductions),
      "lost": .array(lost.map(\.json)), "lostItems": .array(lostItems.map(\.json)),
      "settings": .array(changedSettings.map(\.json)), "requests": JSONValue(requests.count),
      "bluetooth": BluetoothText.json(self), "groups": .array(groups.map(\.json)),
      "invitations": JSONValue(invitations), "messages": messages.json,
      "changes": .array(changes.map(\.json)),
    ]
  }

  /// Why peers who dial what the card says may not come to the daemon.
  var listeningProblem: String? {
    ListeningPlace.problem(listening: daemon?.facts?.listening ?? [], card: identity.card.addresses)
  }

  private var daemonJSON: JSONValue {
    StatusText.json(daemon?.facts, isRunning: daemon != nil, elsewhere: listeningProblem)
  }
}

/// What can be told of a device while its daemon waits for the passphrase.
struct LockedStatus {
  /// Nil if there is no sound copy of it.
  let card: PeerCard?
  let daemon: DaemonFacts

  var lines: [String] {
    var facts: [(name: String, value: String)] = []
    if let card {
      facts = [
        ("this device", card.label), ("fingerprint", card.fingerprint), ("addresses", StatusText.addresses(of: card)),
      ]
    }
    facts.append(("daemon", "locked: vault unlock (process \(daemon.process))"))
    return TextTable.facts(facts)
  }

  var json: JSONValue {
    [
      "label": JSONValue(card?.label), "fingerprint": JSONValue(card?.fingerprint),
      "addresses": PeerText.json(card?.addresses ?? []),
      "daemon": StatusText.json(daemon, isRunning: true, elsewhere: nil),
    ]
  }
}

extension VaultStatus.Peer {
  var json: JSONValue {
    [
      "name": .string(summary.name), "state": .string(summary.state.rawValue),
      "lastSeenAt": JSONValue(summary.lastSeenAt.map { Timestamp.exact($0) }), "holds": JSONValue(holds),
      "waiting": .integer(Int64(waiting)), "onItsWay": .integer(Int64(onItsWay)),
      "saysReplacedSince": JSONValue(saysReplacedSince.map { Timestamp.exact($0) }),
    ]
  }
}

extension VaultStatus.Secret {
  var json: JSONValue { ["secret": summary.json, "lastCheck": lastCheck?.json ?? .null] }
}
