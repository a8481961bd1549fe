import ArgumentParser
import SecretVault
import VaultDaemon

/// How something is shared, whatever it is: the options that all commands have which share.
struct ShareOptions: ParsableArguments {
  @Option(help: ArgumentHelp("Shares needed to recover: at least 2; asked for at a terminal.", valueName: "t"))
  var threshold: Int?

  @Option(
    name: .customLong("to"), help: ArgumentHelp("A peer that gets a share; may be repeated.", valueName: "peer"),
    completion: .peers)
  var recipients: [String] = []

  @Option(
    help: ArgumentHelp(
      "What its holders see it called, in clear; asked for at a terminal, '' for nothing.", valueName: "text"))
  var description: String?

  @Flag(name: .customLong("no-labels"), help: "Do not attach the recipients' names and cards to the shares.")
  var noLabels = false

  @Flag(name: .customLong("no-own-share"), help: "Keep no share on this device.")
  var noOwnShare = false

  @Flag(help: "Do not ask who gets a share, all peers do; nor for a description.")
  var yes = false

  @OptionGroup var password: NewPasswordOptions

  func validate() throws {
    guard let threshold else { return try Self.expectAnswer() }
    try Self.check(threshold: threshold, use: "read the secret")
    try Self.check(threshold: threshold, recipients, keepsOwnShare: !noOwnShare, of: "secret")
  }

  /// `use` is what a holder could do alone.
  static func check(threshold: Int, use: String) throws {
    if threshold == 1 {
      throw ValidationError("A threshold of 1 would let everybody who holds a share \(use) alone; use 2 or more.")
    }
    if !(2...255).contains(threshold) { throw ValidationError("The threshold must be from 2 to 255.") }
  }

  static func check(threshold: Int, _ recipients: [String], keepsOwnShare: Bool, of what: String) throws {
    let holders = recipients.count + (keepsOwnShare ? 1 : 0)
    if holders > 255 { throw ValidationError("A \(what) has at most 255 shares, not \(holders).") }
    if !recipients.isEmpty, threshold > holders {
      throw ValidationError("A threshold of \(threshold) needs as many holders; with these peers there are \(holders).")
    }
  }

  /// Refuses secrets that come from one stream. `what`, if it is said, is read from standard input as well.
  func check(beside unlock: UnlockOptions, standardInput what: String?) throws {
    try password.given.check(beside: unlock)
    guard let what else { return }
    try unlock.leavesStandardInput(for: what)
    if password.given.input.readsStandardInput {
      throw ValidationError("The password and \(what) cannot both come from standard input.")
    }
  }

  /// The same options with a threshold and a description: the user's, who is asked before anything else is if none was given.
  func settled(_ vault: Vault, kind: String) throws -> ShareOptions {
    var settled = self
    settled.threshold = try Self.threshold(threshold, recipients, keepsOwnShare: !noOwnShare, vault)
    settled.description = try description ?? askedDescription(kind, vault)
    return settled
  }

  /// What the user says to a proposal; nil where nobody is asked.
  private func askedDescription(_ kind: String, _ vault: Vault) throws -> String? {
    guard !yes, Question.isPossibleBesideInput else { return nil }
    // It only keeps two from being called the same: what can't be read is no reason to stop.
    let taken = Set(((try? vault.overview.secrets()) ?? []).compactMap(\.description))
    let proposal = Self.proposedDescription(kind, at: Clocks.now(), besides: taken)
    return try Question.answer(
      "Its holders see what it is called, in clear. What is that? [\(proposal)] ", besideInput: true
    ) { answer in answer.isEmpty ? proposal : answer }
  }

  /// The kind and the day, which holders know anyway. A file's name could tell them what is in it.
  static func proposedDescription(_ kind: String, at now: Int64, besides taken: Set<String>) -> String {
    let plain = "\(kind) of \(Timestamp.day(now))"
    var proposal = plain
    var number = 1
    while taken.contains(proposal) {
      number += 1
      proposal = "\(plain), \(number)"
    }
    return proposal
  }

  /// What was given, or what the user says to a proposal for as many people as there are.
  static func threshold(
    _ given: Int?, _ recipients: [String], keepsOwnShare: Bool, _ vault: Vault
  ) throws -> Int {
    if let given { return given }
    let peers = try recipients.isEmpty ? vault.trust.peers() : recipients.map { try vault.trust.peer($0) }
    let people = Set(peers.map(\.personKey)).count + (keepsOwnShare ? 1 : 0)
    let most = min(255, peers.count + (keepsOwnShare ? 1 : 0))
    guard most >= 2 else {
      throw VaultError(
        .usage, "there is nobody to share with, and a secret needs at least 2 holders",
        hint: "import a peer's card first: vault peer add CARD")
    }
    let proposal = proposedThreshold(people: people, most: most)
    return try Question.answer(
      "\(people == 1 ? "1 person" : "\(people) people") will hold it. How many of the \(most) shares are needed to recover it? [\(proposal)] ",
      besideInput: true
    ) { answer in
      if answer.isEmpty { return proposal }
      return Int(answer).flatMap { (2...most).contains($0) ? $0 : nil }
    }
  }

  /// A threshold that isn't given is missing where nobody can be asked for it.
  static func expectAnswer() throws {
    guard Question.isPossibleBesideInput else { throw ValidationError("Missing expected argument '--threshold <t>'.") }
  }

  /// More than half of the people: nearly half may be lost, and nearly half may be of ill will.
  static func proposedThreshold(people: Int, most: Int) -> Int { min(most, max(2, people / 2 + 1)) }

  /// Shares it, tells how that goes, and ends with the code of what came of it.
  func share(_ source: ShareSource, removingSource: Bool = false, _ vault: Vault, _ console: Console) async throws {
    guard let threshold else { throw VaultError(.usage, "--threshold is missing") }
    let watch = SharingWatch(vault, console) { $0.json(ParcelText()) }
    defer { watch.end() }
    var request = ShareRequest(
      source: source, threshold: threshold, recipients: recipients, description: description,
      includesLabels: !noLabels, keepsOwnShare: !noOwnShare, removesSource: removingSource,
      password: try password.layer(console))
    request.confirm = SharePlanText.question(chosen: recipients, saysYes: yes)
    let reporter = ShareReporter(console, isPlanAsked: request.confirm != nil)
    let report = try await vault.sharing.share(request) { event in
      watch.note(event)
      reporter.show(event)
    }
    reporter.conclude(report)
    try await ParcelText.conclude(report, for: "vault share", vault, console, watch) { $0.json($1) }
  }
}
