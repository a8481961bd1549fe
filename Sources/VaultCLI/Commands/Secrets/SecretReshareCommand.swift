import ArgumentParser
import SecretVault
import Synchronization

struct SecretReshareCommand: OpenedCommand {
  static let configuration = CommandConfiguration(
    commandName: "reshare",
    abstract: "Share a secret anew: for other people, or with another threshold.",
    discussion: """
      Recovers the secret, as 'vault recover' does, and shares a copy of it under a
      new id and a new key. Nothing of it is written in clear. Without --to the peers
      get shares that hold one of the old secret, as far as this device knows, and
      that is asked at a terminal; holders that are no peers are named, and get none
      unless they are accepted first. Without --threshold as many shares are needed
      as before.

      The old secret stays until you delete this device's share of it, and the others
      keep theirs: who held a share of it can still recover the old one. The id of
      the new secret goes to standard output.

      With --edit your editor opens on the text first, in memory only, as for 'vault
      note': a note, a contact as vCard, a password entry with a line for each field,
      or a file of text up to 1 MiB. Left as it was, it is not shared anew unless
      --to or --threshold is given, too.

      A password of the secret is asked for when the shares are in, and is the
      password of the new one, too.

      Examples: vault secret reshare "house keys" --to Bob --to Dave --delete-old
                vault secret reshare photos --threshold 3 --delete-old
                vault secret reshare mail --edit

      Exit codes: those of 'vault recover' and 'vault share'; 130 nothing was changed
      in the editor.
      """)

  @Argument(help: "Id, beginning of an id, or description.", completion: .secrets)
  var secret: String

  @Option(help: ArgumentHelp("Shares needed to recover the new one: at least 2.", valueName: "t"))
  var threshold: Int?

  @Option(
    name: .customLong("to"), help: ArgumentHelp("A peer that gets a share; may be repeated.", valueName: "peer"),
    completion: .peers)
  var recipients: [String] = []

  @Flag(help: "Edit it first.")
  var edit = false

  @Flag(name: .customLong("no-labels"), help: "Do not attach the recipients' names and cards to the shares.")
  var noLabels = false

  @Flag(name: .customLong("keep-old"), help: "Keep this device's share of the old secret; do not ask.")
  var keepOld = false

  @Flag(
    name: .customLong("delete-old"),
    help: "Delete this device's share of the old secret once the new one can be recovered; do not ask.")
  var deleteOld = false

  @Flag(help: "Do not ask who gets a share: those that hold one of the old secret do.")
  var yes = false

  @OptionGroup var consent: ConsentOptions
  @OptionGroup var password: PasswordOptions
  @OptionGroup var global: GlobalOptions
  @OptionGroup var unlock: UnlockOptions

  var namedDescriptors: [(option: String, descriptor: Int32)] { password.namedDescriptors }

  func validate() throws {
    try password.check(beside: unlock)
    try consent.check()
    if keepOld, deleteOld { throw ValidationError("--keep-old and --delete-old exclude each other.") }
    if let threshold { try ShareOptions.check(threshold: threshold, use: "read the secret") }
  }

  func run(_ vault: Vault, _ console: Console) async throws {
    let old = try vault.overview.secret(secret).summary
    let isDeleted = Atomic(false)
    let watch = SharingWatch(
      vault, console,
      remark: { isDeleted.load(ordering: .acquiring) ? "" : "; the old secret stays as it is" },
      json: {
        ReshareReport(old: old, share: $0).json($0.json(ParcelText()), oldDeleted: isDeleted.load(ordering: .acquiring))
      })
    defer { watch.end() }
    // Behind this point nothing may be repeated: something was edited, or shared.
    let isPastRecovery = Atomic(false)
    var request = ReshareRequest(
      reference: secret, threshold: threshold, recipients: recipients, includesLabels: noLabels ? false : nil)
    if edit {
      let editor = ContentEditor(
        editor: try Editor(), vault: vault, console: console, mayStay: threshold != nil || !recipients.isEmpty,
        nothing: "nothing was shared", otherwise: "recover it into a file, change that, and share the file")
      request.edit = { (content) async throws in
        isPastRecovery.store(true, ordering: .relaxed)
        return try await editor.editApart(content)
      }
    }
    let strangers = try vault.recovering.planReshare(request).leftOut
    if !strangers.isEmpty {
      console.warning(
        "holders of the old secret that get no share, as they are no peers: \(MessageWords.list(strangers))")
    }
    let recovery = RecoveryReporter(console)
    request.confirm = SharePlanText.question(chosen: recipients, saysYes: yes)
    let sharing = ShareReporter(console, isPlanAsked: request.confirm != nil)
    let report = try await consent.run(
      vault, console, mayRepeat: { !isPastRecovery.load(ordering: .relaxed) }
    ) { (isFirst) async throws in
      try await vault.recovering.reshare(
        request, passwords: password.source(console),
        recovering: { event in recovery.show(event, isFirst: isFirst) },
        sharing: { event in
          isPastRecovery.store(true, ordering: .relaxed)
          watch.note(event)
          sharing.show(event)
        })
    }
    sharing.conclude(report.share)
    try settleOld(report, vault, console, isDeleted)
    try await ParcelText.conclude(report.share, for: "vault secret reshare", vault, console, watch) {
      report.json($0.json($1), oldDeleted: isDeleted.load(ordering: .acquiring))
    }
  }

  /// Asks what becomes of this device's share of the old secret, and does it.
  private func settleOld(
    _ report: ReshareReport, _ vault: Vault, _ console: Console, _ isDeleted: borrowing Atomic<Bool>
  ) throws {
    let name = ShareReporter.name(report.old.description, id: report.old.id)
    guard report.share.isRecoverable else {
      console.warning("the old secret \(name) stays: the new one can't be recovered yet")
      return
    }
    if try isToBeDeleted(name) {
      isDeleted.store(true, ordering: .releasing)
      do { _ = try vault.overview.delete(report.old.id) } catch {
        isDeleted.store(false, ordering: .releasing)
        throw error
      }
      console.note(
        "deleted this device's share of the old secret \(name); whoever else holds one keeps it, and \(report.old.threshold) of them still recover it"
      )
      return
    }
    console.note(
      "the old secret \(name) stays as it is; delete this device's share of it with 'vault secret delete \(report.old.id.prefix(12))'"
    )
  }

  private func isToBeDeleted(_ name: String) throws -> Bool {
    if keepOld || deleteOld { return deleteOld }
    guard Question.isPossible else { return false }
    let choices = ["keep it", "delete this device's share of it; the others keep theirs"]
    return try Question.choose("What becomes of the old secret \(name)?", among: choices) == 1
  }
}

extension ReshareReport {
  func json(_ share: JSONValue, oldDeleted: Bool) -> JSONValue {
    ["old": old.json, "share": share, "oldDeleted": .bool(oldDeleted)]
  }
}
