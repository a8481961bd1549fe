import ArgumentParser
import Glibc
import SecretVault

struct NoteCommand: OpenedCommand {
  static let configuration = CommandConfiguration(
    commandName: "note",
    abstract: "Write a note and hand out shares of it.",
    discussion: """
      Without FILE your editor ($VISUAL or $EDITOR) opens on a file that lies in
      memory only. It is wiped and removed when the editor ends, and so is what a
      killed program left of one, by the next command. What the editor itself keeps
      elsewhere is its own affair; vim and nvim are told to keep nothing.

      Everything that 'vault share' says of peers, shares and passwords holds here.

      Examples: vault note --threshold 2
                pwgen | vault note - --threshold 2 --to Bob --description "door code"

      Exit codes: 2 recoverable but not all delivered, 3 fewer than the threshold
      delivered, 130 the editor was left with an empty text.
      """)

  @Argument(
    help: ArgumentHelp("A file with the text, or - for standard input.", valueName: "file"), completion: .file())
  var file: String?

  @Option(help: ArgumentHelp("What it is called, inside the secret.", valueName: "text"))
  var title: String?

  @OptionGroup var options: ShareOptions
  @OptionGroup var global: GlobalOptions
  @OptionGroup var unlock: UnlockOptions

  var neededStreams: Set<Int32> { file == "-" ? [STDIN_FILENO] : [] }
  var namedDescriptors: [(option: String, descriptor: Int32)] { options.password.given.namedDescriptors }

  func validate() throws {
    try options.check(beside: unlock, standardInput: file == "-" ? "the note" : nil)
  }

  func run(_ vault: Vault, _ console: Console) async throws {
    let options = try options.settled(vault, kind: "note")
    let content = try await ContentInput.note(file, title: title, vault, console)
    if title != nil { options.tellOfTitle(console) }
    try await options.share(.memory(content.shared()), vault, console)
  }
}
