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
      get their share from the daemon, or by 'vault retry'.

      The description and, unless --no-labels, the recipients' names travel with the
      shares in clear.

      Examples: vault share note.txt --threshold 2
                tar c photos | vault share - --threshold 2 --to Bob --to Carol

      Exit codes: 2 recoverable but not all delivered, 3 fewer than the threshold
      delivered.
      """)

  @Argument(help: ArgumentHelp("The file, or - for standard input.", valueName: "file"), completion: .file())
  var file: String

  @Option(help: ArgumentHelp("Shares needed to recover: at least 2.", valueName: "t"))
  var threshold: Int

  @Option(name: .customLong("to"), help: ArgumentHelp("A peer that gets a share; may be repeated.", valueName: "peer"))
  var recipients: [String] = []

  @Option(help: ArgumentHelp("Public words about the secret, in clear.", valueName: "text"))
  var description: String?

  @Flag(name: .customLong("no-labels"), help: "Do not attach the recipients' names to the shares.")
  var noLabels = false

  @Flag(name: .customLong("no-own-share"), help: "Keep no share on this device.")
  var noOwnShare = false

  @Flag(name: .customLong("remove-source"), help: "Remove the file once it can be recovered without it.")
  var removeSource = false

  @OptionGroup var global: GlobalOptions
  @OptionGroup var unlock: UnlockOptions

  var neededStreams: Set<Int32> { file == "-" ? [STDIN_FILENO] : [] }

  func validate() throws {
    if threshold == 1 {
      throw ValidationError(
        "A threshold of 1 would let everybody who holds a share read the secret alone; use 2 or more.")
    }
    if !(2...255).contains(threshold) { throw ValidationError("The threshold must be from 2 to 255.") }
    let holders = recipients.count + (noOwnShare ? 0 : 1)
    if holders > 255 { throw ValidationError("A secret has at most 255 shares, not \(holders).") }
    if !recipients.isEmpty, threshold > holders {
      throw ValidationError("A threshold of \(threshold) needs as many holders; with these peers there are \(holders).")
    }
    if file == "-", removeSource { throw ValidationError("--remove-source needs a file, not standard input.") }
    if file == "-" { try unlock.leavesStandardInput(for: "the secret") }
  }

  func run(_ vault: Vault, _ console: Console) async throws {
    if file == "-", Console.inputIsTerminal { console.note("reading the secret from the terminal; Ctrl-D ends it") }
    let request = ShareRequest(
      source: file == "-" ? .descriptor(STDIN_FILENO, name: "stdin") : .file(path: file), threshold: threshold,
      recipients: recipients, description: description, includesLabels: !noLabels, keepsOwnShare: !noOwnShare,
      removesSource: removeSource)
    let reporter = ShareReporter(console)
    let report = try await vault.share(request) { reporter.show($0) }
    reporter.conclude(report)
    try console.result([report.id], json: report.json)
    let code = ExitCodes.code(of: report)
    if code != ExitCodes.done { throw ExitCode(code) }
  }
}
