import ArgumentParser
import Glibc
import SecretVault

struct ShareCommand: OpenedCommand {
  static let configuration = CommandConfiguration(
    commandName: "share",
    abstract: "Encrypt a file and hand out shares of it.",
    discussion: """
      Every chosen peer, and you, get one share; THRESHOLD shares rebuild the file,
      fewer tell nothing about it. Without --to all peers are chosen, which is asked
      at a terminal. The id of the secret goes to standard output. Peers that are
      offline, even if you have never met them, get their share from the daemon, or
      by 'vault secret deliver'; or by parcel, whenever they are there: through an
      account, the servers of a group that they are in, or others' devices that carry
      it. A peer named with --to that refuses ends it before anything is shared.

      Ctrl-C says whether anything was shared, and how to stop what still waits.

      The description and, unless --no-labels, the recipients' names travel with the
      shares in clear. At a terminal a description is proposed that tells no more
      than the kind and the day; the file's name is inside, where nobody sees it.
      With --password the file is encrypted under a password as well, which is asked
      for when the shares are in.

      Examples: vault share note.txt --threshold 2 --to Bob
                vault share keys.txt --threshold 2 --description "house keys"
                tar c photos | vault share - --threshold 2 --description photos

      Exit codes: 2 recoverable but not all delivered, or a peer was left out, 3
      fewer than the threshold delivered, 5 a chosen peer refused.
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
    let options = try options.settled(vault, kind: "file")
    if file == "-", Console.inputIsTerminal { console.note("reading the secret from the terminal; Ctrl-D ends it") }
    try await options.share(
      file == "-" ? .descriptor(STDIN_FILENO, name: "stdin") : .file(path: file), removingSource: removeSource, vault,
      console)
  }
}
