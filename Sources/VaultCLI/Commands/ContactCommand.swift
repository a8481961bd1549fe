import ArgumentParser
import Glibc
import SecretVault

struct ContactCommand: OpenedCommand {
  static let configuration = CommandConfiguration(
    commandName: "contact",
    abstract: "Hand out shares of a contact.",
    discussion: """
      FILE is a vCard, version 3.0 or 4.0, with one contact, in UTF-8 and at most
      1 MB. Without it, name, phone and the rest are asked for on the terminal.
      'vault recover -o FILE.vcf' writes the card again, byte for byte.

      Everything that 'vault share' says of peers, shares and passwords holds here.

      Examples: vault contact doctor.vcf --threshold 2
                vault contact --threshold 2 --to Bob

      Exit codes: 2 recoverable but not all delivered, 3 fewer than the threshold
      delivered.
      """)

  @Argument(help: ArgumentHelp("A vCard, or - for standard input.", valueName: "file"), completion: .file())
  var file: String?

  @OptionGroup var options: ShareOptions
  @OptionGroup var global: GlobalOptions
  @OptionGroup var unlock: UnlockOptions

  var neededStreams: Set<Int32> { file == "-" ? [STDIN_FILENO] : [] }
  var namedDescriptors: [(option: String, descriptor: Int32)] { options.password.given.namedDescriptors }

  func validate() throws {
    try options.check(beside: unlock, standardInput: file == "-" ? "the contact" : nil)
  }

  func run(_ vault: Vault, _ console: Console) async throws {
    let options = try options.settled(vault, kind: "contact")
    let content = try ContentInput.contact(file, console)
    try await options.share(.memory(content.shared()), vault, console)
  }
}
