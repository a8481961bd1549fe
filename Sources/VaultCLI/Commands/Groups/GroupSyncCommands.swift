import ArgumentParser
import Grouper
import SecretVault
import VaultGroups

struct GroupSyncCommand: OpenedCommand {
  static let configuration = CommandConfiguration(
    commandName: "sync",
    abstract: "Send what waits and take what is new, now.",
    discussion: """
      'vault daemon' does it by itself, every half a minute, or every few seconds
      while something waits. Asks all servers once, those too that have just failed;
      answers what peers ask for through the group, and sends the answers.

      Example: vault group sync Family
      """)

  @OptionGroup var reference: GroupArgument
  @OptionGroup var global: GlobalOptions
  @OptionGroup var unlock: UnlockOptions

  func run(_ vault: Vault, _ console: Console) async throws {
    try await GroupSync.run(vault, console, reference.group, confirms: false)
  }
}

struct GroupConfirmCommand: OpenedCommand {
  static let configuration = CommandConfiguration(
    commandName: "confirm",
    abstract: "Tell the other members how far this device is, and sync.",
    discussion: """
      Whoever misses something asks for it then, and whoever has what this device
      misses is asked. Happens by itself about once in the time that servers keep
      messages, and when a device was away.

      Example: vault group confirm Family
      """)

  @OptionGroup var reference: GroupArgument
  @OptionGroup var global: GlobalOptions
  @OptionGroup var unlock: UnlockOptions

  func run(_ vault: Vault, _ console: Console) async throws {
    try await GroupSync.run(vault, console, reference.group, confirms: true)
  }
}

/// One round over all servers, for a command.
enum GroupSync {
  static func run(_ vault: Vault, _ console: Console, _ reference: String?, confirms: Bool) async throws {
    let groups = VaultGroups(vault)
    let group = try await groups.findMember(reference)
    let (report, status) = try await groups.sync(group, confirms: confirms)
    try console.result([GroupText.line(report, status)], json: report.json(status, id: group.id))
    // One that was taken is a member's own, who waits for somebody.
    let isInvited = try groups.invitations().contains {
      $0.group == status.group && !$0.isTaken && $0.problem != nil
    }
    try tellOfServers(status, console, needed: report.success ? nil : report, isInvitedAnew: isInvited)
    guard status.outbox.unsent > 0 else { return }
    throw VaultError(
      .unreachable,
      "\(Measures.count(status.outbox.unsent, "message")) could not be left at \(status.sufficient) of \(status.servers.count(where: \.isCurrent)) servers",
      hint: "nothing is lost: what waits is sent when they take it")
  }

  /// Says that what is to go through a group is still here, and why.
  static func tellOfUnsent(_ group: GroupFacts, _ unsent: Int, _ faults: [String], _ console: Console) {
    guard unsent > 0 else { return }
    for fault in faults { console.warning(fault) }
    console.note(
      "too few servers of \(group.name) have taken it; what waits is sent by 'vault daemon', or by 'vault group sync'")
  }

  /// Says if the group was put back from a copy, names the servers that are away, and throws if too few are there.
  static func tellOfServers(
    _ status: GroupStatus, _ console: Console, needed: ReceiveReport? = nil, isInvitedAnew: Bool = false
  ) throws {
    if let words = GroupText.putBack(status) { console.warning(words) }
    for fault in status.serverFaults { console.warning(fault) }
    guard let needed else { return }
    let current = status.servers.filter(\.isCurrent)
    let refusals = current.count { $0.lastError == "\(GroupServerError.unauthorized)" }
    let name = shellQuoted(status.name)
    let hint: String
    if status.isOwner || refusals <= current.count - needed.needed {
      hint = "nothing is lost: what waits is sent when they are back"
    } else if isInvitedAnew {
      hint = "you were removed: `vault group leave \(name)`, then `vault group join \(name)`"
    } else {
      hint =
        "has the owner removed this device? Otherwise a new invitation helps; if so, one and `vault group leave \(name)`, then `vault group join \(name)`"
    }
    throw VaultError(
      .unreachable, "only \(needed.answered) of \(current.count) servers answered, \(needed.needed) are needed",
      hint: hint)
  }
}
