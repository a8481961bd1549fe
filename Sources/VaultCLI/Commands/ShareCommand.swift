import ArgumentParser
import Glibc
import SecretVault

/// `vault share`
struct ShareCommand: OpenedCommand {
  static let configuration = CommandConfiguration(
    commandName: "share",
    abstract: "Encrypt a file and hand out shares of it.",
    discussion: """
      Every chosen peer, and you, get one share; any THRESHOLD shares rebuild the
      file, fewer tell nothing about it. Without --to all authenticated peers are
      chosen. The id of the secret goes to standard output. Peers that are offline
      get their share from the daemon, or by 'vault retry'; or by parcel, whenever
      they are there: through an account, the servers of a group that they are in, or
      others' devices that carry it.

      The description and, unless --no-labels, the recipients' names travel with the
      shares in clear. With --password the file is encrypted under a password as
      well, which is asked for when the shares are in.

      Examples: vault share note.txt --threshold 2
                tar c photos | vault share - --threshold 2 --to Bob --to Carol

      Exit codes: 2 recoverable but not all delivered, 3 fewer than the threshold
      delivered.
      """)

  @Argument(help: ArgumentHelp("The file, or - for standard input.", valueName: "file"), completion: .file())
  var file: String

  @OptionGroup var options: ShareOptions

  @Flag(name: .customLong("remove-source"), help: "Remove the file once it can be recovered without it.")
  var removeSource = false

  @OptionGroup var global: GlobalOptions
  @OptionGroup var unlock: UnlockOptions

  var neededStreams: Set<Int32> { file == "-" ? [STDIN_FILENO] : [] }

  var namedDescriptors: [(option: String, descriptor: Int32)] { options.password.given.namedDescriptors }

  func validate() throws {
    if file == "-", removeSource { throw ValidationError("--remove-source needs a file, not standard input.") }
    try options.check(beside: unlock, standardInput: file == "-" ? "the secret" : nil)
  }

  func run(_ vault: Vault, _ console: Console) async throws {
    if file == "-", Console.inputIsTerminal { console.note("reading the secret from the terminal; Ctrl-D ends it") }
    try await options.share(
      file == "-" ? .descriptor(STDIN_FILENO, name: "stdin") : .file(path: file), removingSource: removeSource, vault,
      console)
  }
}
