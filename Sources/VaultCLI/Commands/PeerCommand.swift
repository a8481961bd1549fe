import ArgumentParser

/// `vault peer`
struct PeerCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "peer",
    abstract: "Import, list and change the peers that you trust.",
    discussion: """
      A peer is somebody whose public key you imported. Both sides must import each
      other's. A closed lock in the list means that both have proved their keys in a
      session, an open one that this still has to happen.

      Example: vault peer add bob.png && vault peer ping Bob
      """,
    subcommands: [
      PeerAddCommand.self, PeerListCommand.self, PeerShowCommand.self, PeerRenameCommand.self, PeerAddressCommand.self,
      PeerRemoveCommand.self,
      PeerPingCommand.self,
    ])

  @OptionGroup var global: GlobalOptions

  func run() throws { throw MissingSubcommand(group: Self.self) }
}
