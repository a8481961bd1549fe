import ArgumentParser
import SecretVault
import VaultGroups

/// `vault group invite`
struct GroupInviteCommand: OpenedCommand {
  static let configuration = CommandConfiguration(
    commandName: "invite",
    abstract: "Invite a peer to a group.",
    discussion: """
      For the owner. The peer is told over the network or Bluetooth, now or when it is
      there: the daemon tries again. Nobody but this peer, known by its keys, can take
      the invitation. When its user says 'vault group join', your daemon takes it in.

      Example: vault group invite Family Bob
      """)

  @Argument(help: ArgumentHelp("The group, and a peer.", valueName: "group> <peer"))
  var words: [String]

  @OptionGroup var global: GlobalOptions
  @OptionGroup var unlock: UnlockOptions

  func validate() throws { _ = try GroupAndSomebody(words, "a peer") }

  func run(_ vault: Vault, _ console: Console) async throws {
    let asked = try GroupAndSomebody(words, "a peer")
    let groups = VaultGroups(vault)
    let group = try await groups.findMember(asked.group)
    let report = try await groups.invite(asked.somebody, to: group)
    if report.isDelivered {
      console.note("\(report.peer) is told, and joins with 'vault group join \(shellQuoted(group.name))'")
    } else {
      let reason = report.problem?.reason ?? "the daemon is at it"
      console.note("\(report.peer) is invited, and will be told later: \(reason)")
      if let hint = report.problem?.hint { console.note("hint: " + hint) }
    }
    if try vault.status().daemon == nil {
      console.note("run 'vault daemon' here: it is what lets \(report.peer) in")
    }
    if console.json { try console.result(report.json(group)) }
  }
}

/// `vault group join`
struct GroupJoinCommand: OpenedCommand {
  static let configuration = CommandConfiguration(
    commandName: "join",
    abstract: "Join a group to which a peer invites you.",
    discussion: """
      NAME is the group's, or the inviting peer's; it may be left out if there is one
      invitation only. The owner's device is asked to take this one in. If it is away,
      the daemon asks again until it is there.

      Example: vault group join Family
      """)

  @Argument(help: "The group's name, the beginning of its id, or who invites.")
  var name: String?

  @OptionGroup var card: GroupCardOptions
  @OptionGroup var global: GlobalOptions
  @OptionGroup var unlock: UnlockOptions

  func run(_ vault: Vault, _ console: Console) async throws {
    let joined = try await VaultGroups(vault).join(name, email: card.email, userName: card.userName)
    console.note("joined \(joined.name) of \(joined.owner), with \(joined.memberCount) members")
    if console.json { try console.result(joined.json) }
  }
}
