import ArgumentParser
import SecretVault
import VaultGroups

struct GroupCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "group",
    abstract: "Keep things in step among people who are seldom online together.",
    discussion: """
      A group has members, who trust each other, and servers, which nobody trusts:
      each gets an encrypted part of every message, and any K of them are enough to
      read it. They forget it after some time; the members have everything.

      Example: Alice makes a group and invites her peer Bob, and Bob joins.

        vault group create Family --server https://s1.example.org \\
          --server https://s2.example.net --server https://s3.example.com
        vault group invite Family Bob
        vault group join Family          on Bob's device

      While 'vault daemon' runs on both, everything goes on by itself.
      """,
    subcommands: [
      GroupListCommand.self, GroupCreateCommand.self, GroupInviteCommand.self, GroupJoinCommand.self,
      GroupMembersCommand.self, GroupRemoveCommand.self, GroupStatusCommand.self, GroupSyncCommand.self,
      GroupConfirmCommand.self, GroupServersCommand.self, GroupLeaveCommand.self, GroupItemsCommand.self,
      GroupAddCommand.self, GroupDropCommand.self,
    ],
    defaultSubcommand: GroupListCommand.self)
}

struct GroupArgument: ParsableArguments {
  @Argument(
    help: "The group's name, or the beginning of its id; may be left out if there is only one.", completion: .groups)
  var group: String?
}

/// A group and somebody, of whom the first may be left out.
struct GroupAndSomebody {
  let group: String?
  let somebody: String

  /// Of one or two words.
  init(_ words: [String], _ what: String) throws {
    guard (1...2).contains(words.count), let last = words.last, !last.isEmpty else {
      throw ValidationError("Name the group and \(what), or the latter alone if there is only one group.")
    }
    group = words.count == 2 ? words[0] : nil
    somebody = last
  }
}

struct GroupListCommand: OpenedCommand {
  static let configuration = CommandConfiguration(
    commandName: "list",
    abstract: "List the groups, and the invitations that wait.",
    discussion: """
      Asks nobody and waits for nobody. TO SEND is what servers still have to get,
      MISSING what others have sent and hasn't come yet.

      Example: vault group
      """)

  @OptionGroup var global: GlobalOptions
  @OptionGroup var unlock: UnlockOptions

  func run(_ vault: Vault, _ console: Console) async throws {
    let groups = VaultGroups(vault)
    let all = try await groups.list()
    let invitations = try groups.invitations()
    let waiting = invitations.filter { !$0.isTaken }
    let isEmpty = all.isEmpty && waiting.isEmpty
    if isEmpty { console.note("no groups yet; make one with 'vault group create', or let a peer invite you") }
    try console.result(
      isEmpty ? [] : GroupText.table(all, invitations).lines,
      json: ["groups": .array(all.map(\.json)), "invitations": .array(waiting.map(\.json))])
    for invitation in waiting {
      console.note("\(invitation.peer) invites you to \(invitation.name): \(GroupText.joining(invitation.name))")
    }
  }
}

struct GroupStatusCommand: OpenedCommand {
  static let configuration = CommandConfiguration(
    commandName: "status",
    abstract: "Show how a group stands on this device, and when its servers answered.",
    discussion: """
      Asks nobody: 'vault group sync' does.

      Example: vault group status Family
      """,
    aliases: ["show"])

  @OptionGroup var reference: GroupArgument
  @OptionGroup var global: GlobalOptions
  @OptionGroup var unlock: UnlockOptions

  func run(_ vault: Vault, _ console: Console) async throws {
    let groups = VaultGroups(vault)
    let group = try await groups.findMember(reference.group)
    let status = try await groups.status(of: group)
    try console.result(GroupText.lines(group, status), json: status.json(id: group.id))
  }
}
