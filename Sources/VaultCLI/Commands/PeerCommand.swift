import ArgumentParser

struct PeerCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "peer",
    abstract: "Import, list and change the peers that you trust.",
    discussion: """
      A peer is somebody whose public key you imported. Both sides must import each
      other's. A closed lock in the list means that it has proved its keys, in a
      session or by parcel, an open one that this still has to happen.

      Whoever shares a secret introduces its holders to one another: they answer
      each other for that secret, and for nothing else. They are listed apart;
      'accept' makes one a peer, 'remove' ends it for good.

      Example: vault peer add bob.png && vault peer ping Bob
      """,
    subcommands: [
      PeerAddCommand.self, PeerListCommand.self, PeerShowCommand.self, PeerRenameCommand.self, PeerAddressCommand.self,
      PeerReplaceCommand.self, PeerRemoveCommand.self, PeerAcceptCommand.self, PeerPingCommand.self,
      PeerScanCommand.self,
    ],
    defaultSubcommand: PeerListCommand.self)
}
