import ArgumentParser
import SecretVault
import VaultXMPP

struct FriendCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "friend",
    abstract: "Keep the contacts of the account in use.",
    discussion: """
      A friend sees whether you are there, and you see it of a friend. Whoever is a
      peer too gets what you send sealed; say whose account it is with --peer, if the
      peer's own messages haven't said so yet. To others you can only write what
      their servers can read: 'vault send --plain'.

      Example: vault account friend add bob@example.net --peer Bob
      """,
    subcommands: [
      FriendListCommand.self, FriendSearchCommand.self, FriendAddCommand.self, FriendAcceptCommand.self,
      FriendRemoveCommand.self, FriendUnblockCommand.self,
    ],
    defaultSubcommand: FriendListCommand.self)
}

struct FriendListCommand: OpenedCommand {
  static let configuration = CommandConfiguration(
    commandName: "list",
    abstract: "List the friends of the account in use, and who asks to be one.",
    discussion: """
      Asks nobody, and works without a network. Who is there is known while the
      daemon runs.

      Example: vault account friend
      """)

  @OptionGroup var global: GlobalOptions
  @OptionGroup var unlock: UnlockOptions

  func run(_ vault: Vault, _ console: Console) async throws {
    let friends = try VaultAccounts(vault).friends()
    if friends.isEmpty { console.note("no friends yet; add one with 'vault account friend add'") }
    try FriendText.write(friends, console)
  }
}

struct FriendSearchCommand: OpenedCommand {
  static let configuration = CommandConfiguration(
    commandName: "search",
    abstract: "List the friends whose address, name or peer's name contains something.",
    discussion: """
      Whatever the case of its letters.

      Example: vault account friend search bob
      """)

  @Argument(help: "What to look for.")
  var text: String

  @OptionGroup var global: GlobalOptions
  @OptionGroup var unlock: UnlockOptions

  func validate() throws {
    if text.isEmpty { throw ValidationError("Say what to look for.") }
  }

  func run(_ vault: Vault, _ console: Console) async throws {
    let friends = try VaultAccounts(vault).friends(search: text)
    if friends.isEmpty { console.note("nobody is called so; 'vault account friend list' shows all") }
    try FriendText.write(friends, console)
  }
}

struct FriendOptions: ParsableArguments {
  @Argument(help: "The friend's address.")
  var address: String

  @Option(help: ArgumentHelp("What to call it.", valueName: "name"))
  var name: String?

  @Option(help: ArgumentHelp("The peer whose account it is.", valueName: "peer"), completion: .peers)
  var peer: String?

  func validate() throws {
    if name?.isEmpty == true { throw ValidationError("--name needs a name.") }
  }
}

struct FriendAddCommand: OpenedCommand {
  static let configuration = CommandConfiguration(
    commandName: "add",
    abstract: "Add a friend, and ask it to show whether it is there.",
    discussion: """
      Needs the network: friends are kept by the account's server. Once it accepts
      and asks back, it sees you as well. A friend that is there already gets another
      name, or is asked again.

      Example: vault account friend add bob@example.net --peer Bob
      """)

  @OptionGroup var friend: FriendOptions
  @OptionGroup var global: GlobalOptions
  @OptionGroup var unlock: UnlockOptions

  func run(_ vault: Vault, _ console: Console) async throws {
    let given = (address: friend.address, name: friend.name, peer: friend.peer)
    let friend = try await Interruptible.run { () async throws in
      try await VaultAccounts(vault).addFriend(given.address, name: given.name, peer: given.peer)
    }
    FriendText.note(friend, console)
    if console.json { try console.result(friend.json) }
  }
}

struct FriendAcceptCommand: OpenedCommand {
  static let configuration = CommandConfiguration(
    commandName: "accept",
    abstract: "Accept somebody who asks to be a friend, and ask back.",
    discussion: """
      'vault account friend list' shows who asks; 'vault account friend remove'
      refuses.

      Example: vault account friend accept bob@example.net
      """)

  @OptionGroup var friend: FriendOptions
  @OptionGroup var global: GlobalOptions
  @OptionGroup var unlock: UnlockOptions

  func run(_ vault: Vault, _ console: Console) async throws {
    let given = (address: friend.address, name: friend.name, peer: friend.peer)
    let friend = try await Interruptible.run { () async throws in
      try await VaultAccounts(vault).acceptFriend(given.address, name: given.name, peer: given.peer)
    }
    FriendText.note(friend, console)
    if console.json { try console.result(friend.json) }
  }
}

struct FriendRemoveCommand: OpenedCommand {
  static let configuration = CommandConfiguration(
    commandName: "remove",
    abstract: "Remove a friend, or refuse somebody who asks to be one.",
    discussion: """
      Neither sees any more whether the other is there. What it writes from then on
      isn't kept, and it can't ask to be a friend, until you add it, write to it, or
      unblock it. If it is a peer's account, what is sent to the peer doesn't go
      there any more; the peer itself stays, and what it sends sealed is taken.

      Example: vault account friend remove bob@example.net
      """)

  @Argument(help: "The friend's address.")
  var address: String

  @OptionGroup var global: GlobalOptions
  @OptionGroup var unlock: UnlockOptions

  func run(_ vault: Vault, _ console: Console) async throws {
    let address = address
    let removed = try await Interruptible.run { () async throws in
      try await VaultAccounts(vault).removeFriend(address)
    }
    console.note("removed \(removed); what it writes from now on isn't kept")
    if console.json { try console.result(["removed": .string(removed)]) }
  }
}

struct FriendUnblockCommand: OpenedCommand {
  static let configuration = CommandConfiguration(
    commandName: "unblock",
    abstract: "Let somebody who was removed ask again.",
    discussion: """
      It is nobody's friend then, and can ask to be one. Works without a network.

      Example: vault account friend unblock bob@example.net
      """)

  @Argument(help: "The address.")
  var address: String

  @OptionGroup var global: GlobalOptions
  @OptionGroup var unlock: UnlockOptions

  func run(_ vault: Vault, _ console: Console) async throws {
    let unblocked = try VaultAccounts(vault).unblockFriend(address)
    console.note("\(unblocked) isn't blocked any more")
    if console.json { try console.result(["unblocked": .string(unblocked)]) }
  }
}
