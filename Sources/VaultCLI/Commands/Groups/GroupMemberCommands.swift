import ArgumentParser
import SecretVault
import VaultGroups

struct GroupMembersCommand: OpenedCommand {
  static let configuration = CommandConfiguration(
    commandName: "members",
    abstract: "List who is in a group, was in it, or is invited.",
    discussion: """
      Names and addresses are what the members say of themselves. PEER is the peer
      that joined by your invitation.

      Example: vault group members Family
      """)

  @OptionGroup var reference: GroupArgument
  @OptionGroup var global: GlobalOptions
  @OptionGroup var unlock: UnlockOptions

  func run(_ vault: Vault, _ console: Console) async throws {
    let groups = VaultGroups(vault)
    let members = try await groups.members(of: groups.findMember(reference.group))
    try console.result(GroupText.table(members).lines, json: .array(members.map(\.json)))
  }
}

struct GroupRemoveCommand: OpenedCommand {
  static let configuration = CommandConfiguration(
    commandName: "remove",
    abstract: "Remove a member, or take an invitation back.",
    discussion: """
      For the owner. The group gets a new key, and everybody who stays new keys to
      the servers; what is sent from then on can't be read by who was removed,
      whatever he kept. What he has already he keeps. Servers that are away are told
      when they are back: the daemon sees to it. Asks first; --yes answers.

      Example: vault group remove Family Bob
      """)

  @Argument(
    help: ArgumentHelp("The group, and a member's name, id or peer.", valueName: "group> <member"),
    completion: .groupsAndMembers)
  var words: [String]

  @Flag(help: "Do not ask.")
  var yes = false

  @OptionGroup var global: GlobalOptions
  @OptionGroup var unlock: UnlockOptions

  func validate() throws { _ = try GroupAndSomebody(words, "a member") }

  func run(_ vault: Vault, _ console: Console) async throws {
    let asked = try GroupAndSomebody(words, "a member")
    let groups = VaultGroups(vault)
    let group = try await groups.findMember(asked.group)
    try groups.checkOwner(of: group)
    if !yes { try Question.confirm("Remove \(asked.somebody) from \(group.name)?", option: "--yes") }
    let removal = try await Interruptible.run { () async throws in
      try await groups.remove(asked.somebody, from: group)
    }
    if removal.wasInvited {
      console.note("\(removal.name) is not invited to \(group.name) any more")
    } else {
      console.note("removed \(removal.name) from \(group.name); the group has a new key")
    }
    if let status = removal.status {
      if status.unfinishedTasks > 0 {
        console.warning("servers that are away are told later; keep 'vault daemon' running until then")
      }
      try GroupSync.tellOfServers(status, console)
    }
    if console.json { try console.result(removal.json) }
  }
}
