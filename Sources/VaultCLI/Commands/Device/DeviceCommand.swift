import ArgumentParser

struct DeviceCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "device",
    abstract: "Show and look after this device: passphrase, log, damaged database.",
    discussion: """
      Without a command, this device's public key is shown, as by 'vault id'.

      Examples: vault device
                vault device log
      """,
    subcommands: [
      DeviceShowCommand.self, DevicePassphraseCommand.self, DeviceLogCommand.self, DeviceRebuildCommand.self,
    ],
    defaultSubcommand: DeviceShowCommand.self)
}

/// `vault id`, where the other nouns have it.
struct DeviceShowCommand: AsyncParsableCommand, UnlockingCommand {
  static let configuration = CommandConfiguration(
    commandName: "show",
    abstract: "Show your public key for peers to import, as 'vault id' does.",
    discussion: "Example: vault device show --text")

  @OptionGroup var identity: IdentityCommand

  var unlock: UnlockOptions { identity.unlock }

  func run() async throws { try await identity.run() }
}
