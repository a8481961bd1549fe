import AgePlugin
import ArgumentParser
import SecretVault

struct KeyRecipientCommand: OpenedCommand {
  static let configuration = CommandConfiguration(
    commandName: "recipient",
    abstract: "Print a key's public half, for the program age.",
    discussion: """
      Whoever has this line encrypts to the key's holders with age or rage, without
      this program and without asking anybody. Only the holders can read it again:
      see 'vault key identity'.

      Example: vault key recipient family
      """)

  @Argument(help: "Name or id of the key.", completion: .keys)
  var key: String

  @OptionGroup var global: GlobalOptions
  @OptionGroup var unlock: UnlockOptions

  func run(_ vault: Vault, _ console: Console) async throws {
    let recipient = try vault.items.recipient(of: key)
    try console.result([recipient.ageText], json: recipient.json)
  }
}

struct KeyIdentityCommand: OpenedCommand {
  static let configuration = CommandConfiguration(
    commandName: "identity",
    abstract: "Print a key's identity file, for the program age.",
    discussion: """
      With it age decrypts on this device what was encrypted to the key's recipient:
      age -d -i FILE. It starts age-plugin-quorum, which recovers the key from its
      holders once you have said yes, unless it is unlocked ('vault unlock KEY'). The
      file names the key; there is nothing secret in it.

      Example: vault key identity family > family-identity.txt
      """)

  @Argument(help: "Name or id of the key.", completion: .keys)
  var key: String

  @OptionGroup var global: GlobalOptions
  @OptionGroup var unlock: UnlockOptions

  func run(_ vault: Vault, _ console: Console) async throws {
    let recipient = try vault.items.recoverableRecipient(of: key)
    let identity = try QuorumIdentity(keyID: recipient.id.bytes).text
    let lines = ["# key: \(Printable.escape(recipient.name))", "# public key: \(recipient.ageText)", identity]
    try console.result(lines, json: recipient.json(identity: identity))
  }
}

extension KeyRecipient {
  /// As age reads it.
  var ageText: String { AgeRecipient.text(of: publicHalf) }

  var json: JSONValue { ["id": .string(id.description), "name": .string(name), "recipient": .string(ageText)] }

  func json(identity: String) -> JSONValue {
    [
      "id": .string(id.description), "name": .string(name), "recipient": .string(ageText),
      "identity": .string(identity),
    ]
  }
}
