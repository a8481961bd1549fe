import ArgumentParser
import SecretVault
import VaultGroups

struct GroupServersCommand: OpenedCommand {
  static let configuration = CommandConfiguration(
    commandName: "servers",
    abstract: "Move a group to other servers.",
    discussion: """
      For the owner, when servers are lost or not wanted any more. Name all that the
      group is to have, those that stay too. Nothing is lost: every member has
      everything. Members are told over the old servers while K of them work; who
      can't be reached so is handed a new invitation.

      Example: vault group servers Family --server https://s1.example.org \\
        --server https://s4.example.net --server https://s5.example.com
      """)

  @OptionGroup var reference: GroupArgument
  @OptionGroup var servers: GroupServerOptions
  @OptionGroup var global: GlobalOptions
  @OptionGroup var unlock: UnlockOptions

  func validate() throws { try servers.check() }

  func run(_ vault: Vault, _ console: Console) async throws {
    let groups = VaultGroups(vault)
    let group = try await groups.findMember(reference.group)
    try groups.checkOwner(of: group)
    let choices = try servers.choices(console)
    let (threshold, sufficient) = (servers.threshold, servers.sufficient)
    let status = try await Interruptible.run { () async throws in
      try await groups.changeServers(of: group, to: choices, threshold: threshold, sufficient: sufficient)
    }
    console.note("\(group.name) is on \(choices.count) servers now; the others hear of it by and by")
    try GroupSync.tellOfServers(status, console)
    try console.result(GroupText.servers(status).lines, json: status.json(id: group.id))
  }
}

struct GroupLeaveCommand: OpenedCommand {
  static let configuration = CommandConfiguration(
    commandName: "leave",
    abstract: "Forget a group on this device, or a request to join one.",
    discussion: """
      Its items stay here, as this device's own; the others keep theirs, and aren't
      told. If you are the owner, nobody can invite or remove anybody any more;
      --erase has the servers forget the group too. Asks first; --yes answers.

      Example: vault group leave Family
      """)

  @OptionGroup var reference: GroupArgument

  @Flag(help: "For the owner: have the servers erase the group too.")
  var erase = false

  @Flag(help: "Do not ask.")
  var yes = false

  @OptionGroup var global: GlobalOptions
  @OptionGroup var unlock: UnlockOptions

  func run(_ vault: Vault, _ console: Console) async throws {
    let groups = VaultGroups(vault)
    let group = try await groups.find(reference.group)
    if erase { try groups.checkOwner(of: group) }
    if !yes {
      let end = group.isOwner && group.memberCount > 1 ? " You are its owner: it can't be changed any more." : ""
      let lost = group.waiting > 0 ? " \(group.waiting) things that aren't sent yet are lost." : ""
      try Question.confirm("Forget \(group.name)? Its items stay here.\(end)\(lost)", option: "--yes")
    }
    let away = try await groups.leave(group, erases: erase)
    console.note("forgot \(group.name)")
    for server in away {
      console.warning("\(server) did not answer and still has the group's shares until they expire")
    }
    if console.json { try console.result(["left": group.json, "serversAway": JSONValue(away)]) }
  }
}
