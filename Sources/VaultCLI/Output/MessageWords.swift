import SecretVault

/// Messages in words for people: with whom, when, how they came, how they stand, and what is left to do.
enum MessageWords {
  static func other(_ message: MessageSummary) -> String {
    message.peer ?? message.contact ?? "a peer that is no more"
  }

  /// `to Bob`, `from Bob`
  static func party(_ message: MessageSummary) -> String {
    (message.isMine ? "to " : "from ") + other(message)
  }

  /// `Bob`, `Bob and Dan`, `Bob, Dan and Eve`
  static func list(_ names: [String]) -> String {
    guard let last = names.last, names.count > 1 else { return names.first ?? "" }
    return names.dropLast().joined(separator: ", ") + " and " + last
  }

  /// How it came, or came to the other one: `directly`, `by way of Bob and Dan, 2 hops`. Nil while nobody knows.
  static func way(_ message: MessageSummary) -> String? {
    guard let route = message.route else { return nil }
    switch route {
    case "session": return "directly"
    case "bluetooth": return "directly, over Bluetooth"
    case "account":
      guard let hops = message.hops, hops > 0 else { return "through an XMPP account" }
      return "through an XMPP account, \(carriers(message, hops: hops))"
    case "group": return "through a group's servers"
    case "plain": return "through an XMPP account, not sealed: its servers could read it"
    case "carriers": return carriers(message, hops: message.hops ?? 0)
    default: return "by \(route)"
    }
  }

  private static func carriers(_ message: MessageSummary, hops: Int) -> String {
    let whom = message.carriers.isEmpty ? "by others' devices" : "by way of \(list(message.carriers))"
    return whom + (hops > 0 ? ", \(Measures.count(hops, "hop"))" : "")
  }

  /// The same behind a comma; nothing while nobody knows.
  private static func comma(_ way: String?) -> String { way.map { ", " + $0 } ?? "" }

  static func state(_ message: MessageSummary) -> String {
    switch message.state {
    case "waiting": return "waits here" + until(message)
    case "underway": return underway(message) + parts(message) + until(message)
    case "delivered": return "delivered" + at(message.deliveredAt) + comma(way(message))
    case "read": return "read" + at(message.readAt) + comma(way(message))
    case "lost": return "never confirmed: it may not have arrived"
    case "partial":
      return "arriving, \(message.partsDone) of \(Measures.count(message.parts, "part")) are here"
        + comma(way(message))
    case "new": return "new" + comma(way(message))
    case "seen": return way(message) ?? "seen"
    default: return message.state
    }
  }

  private static func underway(_ message: MessageSummary) -> String {
    // Confirmed by nobody yet: who has it may carry it, and may not.
    if !message.carriers.isEmpty { return "on its way, given to \(list(message.carriers)) to carry" }
    return "on its way" + (way(message).map { " " + $0 } ?? "")
  }

  private static func parts(_ message: MessageSummary) -> String {
    guard message.parts > 1, message.partsDone > 0 else { return "" }
    return ", \(message.partsDone) of \(message.parts) parts have arrived"
  }

  private static func until(_ message: MessageSummary) -> String {
    message.expiresAt.map { ", until \(Timestamp.minute($0))" } ?? ""
  }

  private static func at(_ moment: Int64?) -> String { moment.map { " \(Timestamp.minute($0))" } ?? "" }

  /// The line above a message: its number, when it was sent, with whom, how it stands, and when it came if that was late.
  static func head(_ message: MessageSummary) -> String {
    let late = message.isLate ? "  (late: came \(Timestamp.minute(message.storedAt)))" : ""
    return "\(message.number)  \(Timestamp.minute(message.time))  \(party(message))  \(state(message))\(late)"
  }

  /// What a file is: `photo beach.jpg, image/jpeg, 2.3 MB`. Nil for a text.
  static func file(_ message: MessageSummary) -> String? {
    guard message.kind != .text else { return nil }
    let kind = message.kind == .photo ? "photo" : "file"
    var words = [kind + (message.name.map { " \($0)" } ?? "")]
    if let type = message.mediaType, !type.isEmpty { words.append(type) }
    words.append(Measures.size(UInt64(clamping: message.byteCount)))
    return words.joined(separator: ", ")
  }

  /// What the user can do with a message, if there is something that isn't plain.
  static func advice(_ message: MessageSummary) -> String? {
    switch message.state {
    case "lost":
      "send it again"
        + (message.peer.map { ", or see what is wrong: vault peer ping \(shellQuoted($0))" } ?? "")
    case "new", "seen": message.kind == .text ? nil : "vault message save \(message.number)"
    default: nil
    }
  }

  /// What came of sending it, right after that.
  static func outcome(_ message: MessageSummary) -> String {
    let name = other(message)
    switch message.state {
    case "delivered", "read": return "delivered to \(name)" + comma(way(message))
    case "underway":
      let word =
        message.isSealed
        ? "a receipt will tell when it has arrived" : "a receipt comes if the other's program makes one"
      return "\(underway(message)) to \(name)\(parts(message))\(until(message)); \(word)"
    case "waiting" where !message.isSealed:
      return "waits here for \(name); 'vault daemon' or 'vault account sync' sends it"
    case "waiting":
      return "waits here for \(name)\(until(message)); 'vault daemon' sends it by every way there is"
    case "lost": return "not delivered to \(name)"
    default: return "\(message.state), to \(name)"
    }
  }

  static func facts(_ message: MessageSummary) -> [(name: String, value: String)] {
    var facts: [(name: String, value: String)] = [
      ("number", "\(message.number)"), (message.isMine ? "to" : "from", other(message)), ("state", state(message)),
    ]
    facts.append(("kind", file(message) ?? "text"))
    facts.append(("sent", moment(message.sentAt)))
    if !message.isMine { facts.append(("received", moment(message.storedAt))) }
    if message.isMine { facts.append(("delivered", moment(message.deliveredAt))) }
    facts.append(("read", moment(message.readAt)))
    facts.append(("way", way(message) ?? "not known yet"))
    if !message.carriers.isEmpty { facts.append(("carriers", list(message.carriers))) }
    facts.append(("protection", message.isSealed ? "sealed and signed" : "none: its servers could read it"))
    facts.append(("id", message.id))
    if let advice = advice(message) { facts.append(("to do", advice)) }
    return facts
  }

  private static func moment(_ at: Int64?) -> String {
    guard let at, at > 0 else { return "-" }
    return Timestamp.minute(at)
  }
}
