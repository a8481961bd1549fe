import ArgumentParser
import PeerAuth
import SecretVault
import Sodium

struct InitCommand: AsyncParsableCommand, UnlockingCommand {
  static let configuration = CommandConfiguration(
    commandName: "init",
    abstract: "Make a vault and its keys on this device.",
    discussion: """
      The label is what peers see first when they import your card. A passphrase
      protects the keys on this disk; it is asked for whenever the vault is opened.
      Addresses say where peers can reach you.

      With --replaces this device takes a lost one's place: it says what you and each
      friend have to do, and, whenever you run it again, what has come back.

      Examples: vault init --label Alice --address alice.example.org:4721
                vault init --label Alice --replaces
      """)

  @Option(help: "Your name as peers will see it.")
  var label: String?

  @Flag(help: "Take the place of a device of yours that is lost.")
  var replaces = false

  @Flag(help: "With --replaces: leave out holders from whom nothing has been heard.")
  var leaveOutAbsent = false

  @Flag(
    name: .customLong("no-passphrase"), help: "Protect the keys by this device's own means alone; nothing is asked.")
  var noPassphrase = false

  @Option(
    name: .customLong("address"),
    help: ArgumentHelp("Where peers reach you; may be repeated.", valueName: "host:port"))
  var addresses: [String] = []

  @OptionGroup var global: GlobalOptions
  @OptionGroup var unlock: UnlockOptions

  func validate() throws {
    if noPassphrase, unlock.passphrase != .terminal {
      throw ValidationError("--no-passphrase excludes --passphrase-fd and --passphrase-file.")
    }
    if leaveOutAbsent, !replaces { throw ValidationError("--leave-out-absent goes with --replaces.") }
    if label == nil, !replaces, !Question.isPossible { throw ValidationError("--label needs a name.") }
    if label?.allSatisfy(\.isWhitespace) == true { throw ValidationError("--label needs a name.") }
  }

  func run() async throws {
    let console = global.console
    let composition = try Composition(global)
    if replaces, composition.folders.containsVault { return try await tellWhatIsBack(composition, console) }
    let addresses = try PeerText.addresses(addresses)
    // Asking for a name or a passphrase that will not be used would be unkind.
    guard !composition.folders.containsVault else {
      throw VaultError(
        .vaultExists, "there is a vault already in \(composition.folders.data)",
        hint: "use it, or choose another place with --home")
    }
    guard let label = try label ?? askLabel() else { throw ValidationError("--label needs a name.") }
    let vault: Vault
    if noPassphrase {
      vault = try Vault.create(
        at: composition.folders, label: label, addresses: addresses, passphrase: nil,
        environment: composition.environment)
    } else {
      let passphrase = try unlock.passphrase.new(console)
      try PassphraseStrength.advise(passphrase, label: label, console)
      vault = try Vault.create(
        at: composition.folders, label: label, addresses: addresses, passphrase: passphrase,
        environment: composition.environment)
    }
    defer { composition.finish(vault) }
    let identity = try vault.core.ownIdentity()
    if console.json { try console.result(identity.json) }
    console.note("made the vault of \(identity.card.label) in \(composition.folders.data)")
    console.note("fingerprint: \(identity.fingerprint)")
    guard replaces else {
      console.note(await ReachText.line(vault))
      return console.note("next: 'vault meet' with the people you trust, and 'vault daemon --background'")
    }
    try vault.changing.setReplacing()
    console.note("next, for each secret: see as many friends who hold shares of it as it needs, and")
    console.note("  1. scan each one's card on this device:  vault peer add CARD")
    console.note(
      "  2. each scans yours and types:  vault peer replace \(shellQuoted(label)) CARD  ('vault id' shows it)")
    console.note("  3. run 'vault daemon' here; each friend says yes to 'vault requests'")
    console.note("'vault init --replaces' says what has come back; the old device must be gone for good")
  }

  /// The user's name, asked for where that is possible.
  private func askLabel() throws -> String? {
    guard Question.isPossible else { return nil }
    return try Question.answer("Your name, as your peers will see it: ") { answer in
      answer.allSatisfy(\.isWhitespace) ? nil : answer
    }
  }

  /// On a device that takes a lost one's place.
  private func tellWhatIsBack(_ composition: Composition, _ console: Console) async throws {
    let vault = try composition.open(unlock)
    defer { composition.finish(vault) }
    try vault.changing.setReplacing()
    let peers = try vault.trust.peers()
    let answered = Set(try await vault.changing.regain(leavingOutAbsent: leaveOutAbsent))
    let (heard, away) = (Crowd(console), Crowd(console))
    for peer in peers {
      let hasAnswered = answered.contains(peer.name)
      guard (hasAnswered ? heard : away).takesLine() else { continue }
      console.note(hasAnswered ? "\(peer.name) has answered" : "\(peer.name) could not be asked now")
    }
    let (more, moreAway) = (heard.rest(), away.rest())
    if more + moreAway > 0 {
      console.note("\(more) more have answered, \(moreAway) more could not be asked now (--verbose names them)")
    }
    if peers.isEmpty { console.note("no friend's card is here yet: vault peer add CARD") }
    let statuses = try vault.changing.statuses()
    if statuses.isEmpty { console.note("nobody has put this device in the old one's place yet: vault peer replace") }
    try console.result(statuses.flatMap { ChangeText.lines($0) }, json: .array(statuses.map(\.json)))
  }
}
