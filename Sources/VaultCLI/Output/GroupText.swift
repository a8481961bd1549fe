import Grouper
import SecretVault
import VaultGroups

/// Groups in lines for people.
enum GroupText {
  static func table(_ groups: [GroupFacts], _ invitations: [WaitingInvitation]) -> TextTable {
    var table = TextTable("GROUP", "ID", "STATE", "OWNER", "MEMBERS", "SERVERS", "TO SEND", "MISSING")
    for group in groups {
      let isMember = group.state == .member && group.servers > 0
      table.add(
        group.name, String(group.id.prefix(8)), state(group),
        group.owner.isEmpty ? owner(group, invitations) : group.owner, isMember ? "\(group.memberCount)" : "-",
        isMember ? "\(group.servers)" : "-", isMember ? "\(group.waiting)" : "-", isMember ? missing(group) : "-")
    }
    for invitation in invitations where !invitation.isTaken {
      table.add(
        invitation.name, String(invitation.group.description.prefix(8)), "invited", invitation.peer, "-", "-", "-", "-")
    }
    return table
  }

  /// The command by which somebody joins a group, whose name is its owner's choice.
  static func joining(_ name: String) -> String { "vault group join \(shellQuoted(name))" }

  static func inviting(_ name: String) -> String { "vault group invite \(shellQuoted(name))" }

  private static func owner(_ group: GroupFacts, _ invitations: [WaitingInvitation]) -> String {
    invitations.first { $0.group == group.group }?.peer ?? "?"
  }

  static func state(_ group: GroupFacts) -> String {
    switch group.state {
    case .creating: "being made"
    case .joining: "joining"
    case .member: group.isOwner ? "owner" : "member"
    }
  }

  static func lines(_ group: GroupFacts, _ status: GroupStatus) -> [String] {
    let active = status.members.count(where: \.isActive)
    let current = status.servers.count(where: \.isCurrent)
    var facts: [(name: String, value: String)] = [
      ("group", status.name), ("id", group.id), ("you are", status.isOwner ? "its owner" : "a member"),
      ("owner", status.members.first?.card.name ?? "?"), ("members", "\(active)"),
      (
        "servers",
        "\(current): any \(status.threshold) are enough to read, \(status.sufficient) to send; they keep messages for "
          + DurationText.text(Int64(status.ttl) * 1000)
      ),
      ("to send", waiting(status)), ("missing", missing(status)), ("key", "number \(status.epoch)"),
    ]
    if let confirmed = status.lastConfirm {
      facts.append(("confirmed", Timestamp.minute(Int64(clamping: confirmed))))
    }
    return TextTable.facts(facts) + [""] + servers(status).lines
  }

  private static func missing(_ group: GroupFacts) -> String {
    if group.isMissingKnown { return "\(group.missing)" }
    return group.missing == 0 ? "?" : "\(group.missing) or more"
  }

  static func missing(_ status: GroupStatus) -> String {
    let count = Measures.count(Int(clamping: status.missing), "message")
    guard status.isMissingKnown else {
      let reason = status.hasRoom ? "until another member answers" : "while too little of the disk is free"
      return (status.missing == 0 ? "" : count + " at least; ") + "not known " + reason
    }
    return status.missing == 0 ? "nothing" : count
  }

  /// For a group that was put back from a copy; nil if it wasn't, or everything is here again.
  static func putBack(_ status: GroupStatus) -> String? {
    guard let time = status.putBack, status.missing > 0 || !status.isMissingKnown else { return nil }
    return
      "\(status.name) was put back from a copy on this device, as was found \(Timestamp.minute(Int64(clamping: time))): it counts its messages anew, and asks the other members for what came since"
  }

  static func waiting(_ status: GroupStatus) -> String {
    var words: [String] = []
    if status.outbox.unsent > 0 { words.append(Measures.count(status.outbox.unsent, "message")) }
    if status.outbox.parcels > 0 { words.append(Measures.count(status.outbox.parcels, "share")) }
    if status.unfinishedTasks > 0 { words.append(Measures.count(status.unfinishedTasks, "change") + " of keys") }
    return words.isEmpty ? "nothing" : words.joined(separator: ", ")
  }

  static func servers(_ status: GroupStatus) -> TextTable {
    var table = TextTable("SERVER", "LAST ANSWER", "STATE")
    for server in status.servers {
      var state = server.lastError ?? (server.lastAnswer == nil ? "not asked yet" : "answers")
      if server.lastError == nil, let refusal = server.refusal { state += ", but takes nothing: \(refusal)" }
      if !server.isCurrent { state = "left: " + state }
      if server.damagedShares > 0 { state += "; " + Measures.count(server.damagedShares, "damaged share") }
      table.add(server.address, server.lastAnswer.map { Timestamp.minute(Int64(clamping: $0)) } ?? "never", state)
    }
    return table
  }

  static func line(_ report: ReceiveReport, _ status: GroupStatus) -> String {
    let current = status.servers.count(where: \.isCurrent)
    let changes = Measures.count(report.changes.count, "change")
    return Printable.escape(
      "\(status.name): \(report.answered) of \(current) servers answered, \(changes) came, to send: \(waiting(status))")
  }

  static func table(_ members: [GroupMember]) -> TextTable {
    var table = TextTable("NAME", "E-MAIL", "STATE", "ID", "PEER")
    for member in members {
      table.add(
        member.name + (member.isSelf ? " (you)" : ""), member.email.isEmpty ? "-" : member.email,
        member.state.rawValue
          + (member.problem.map { $0.isEmpty ? ", not told yet" : ", not told yet: it \($0)" } ?? ""),
        member.node.map { String($0.description.prefix(8)) } ?? "-", member.peer ?? "-")
    }
    return table
  }
}
