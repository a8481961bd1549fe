import ArgumentParser
import Grouper
import SecretVault
import VaultGroups

/// `vault group sync`
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

/// `vault group confirm`
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
    try tellOfServers(status, console, needed: report.success ? nil : report)
    guard status.outbox.unsent > 0 else { return }
    throw VaultError(
      .unreachable,
      "\(Measures.count(status.outbox.unsent, "message")) could not be left at \(status.sufficient) of \(status.servers.count(where: \.isCurrent)) servers",
      hint: "nothing is lost: what waits is sent when they take it")
  }

  /// Says if the group was put back from a copy, names the servers that are away, and throws if too few are there.
  static func tellOfServers(_ status: GroupStatus, _ console: Console, needed: ReceiveReport? = nil) throws {
    if let words = GroupText.putBack(status) { console.warning(words) }
    for server in status.servers where server.isCurrent {
      if let error = server.lastError ?? server.refusal { console.warning("\(server.address): \(error)") }
    }
    guard let needed else { return }
    let current = status.servers.filter(\.isCurrent)
    let refusals = current.count { $0.lastError == "\(GroupServerError.unauthorized)" }
    throw VaultError(
      .unreachable, "only \(needed.answered) of \(current.count) servers answered, \(needed.needed) are needed",
      hint: !status.isOwner && refusals > current.count - needed.needed
        ? "has the owner removed this device? Otherwise a new invitation helps"
        : "nothing is lost: what waits is sent when they are back")
  }
}
