import ArgumentParser
import Glibc
import PeerAuth
import SecretVault
import VaultDaemon

struct PeerReplaceCommand: OpenedCommand {
  static let configuration = CommandConfiguration(
    commandName: "replace",
    abstract: "Put the card of a peer's new device in the place of a lost one's.",
    discussion: """
      For a friend whose device is gone. Meet, and compare the fingerprint of the new
      card. The old card is removed and refused; the new one may ask for its place in
      secrets, which 'vault requests' puts before you. This counts on your device
      alone: each friend does it.

      --undo takes it back, as long as your device has dealt nothing to the new card.

      Examples: vault peer replace Alice alice-new.png
                vault peer replace Alice --undo
      """)

  @Argument(help: "The peer.", completion: .peers)
  var peer: String

  @Argument(
    help: ArgumentHelp("The new card, or a file or picture of it, or -.", valueName: "card"), completion: .file())
  var card: String?

  @OptionGroup var look: CameraOptions

  @Flag(help: "Trust the old card again, and the new one no more.")
  var undo = false

  @Flag(help: "Do not ask: the fingerprints are the same.")
  var yes = false

  @OptionGroup var global: GlobalOptions
  @OptionGroup var unlock: UnlockOptions

  var neededStreams: Set<Int32> { card == "-" ? [STDIN_FILENO] : [] }

  func validate() throws {
    guard undo != (card != nil || look.camera) else {
      throw ValidationError("name the new card, a file or picture of it, or --camera; or say --undo.")
    }
    if card == "-" { try unlock.leavesStandardInput(for: "the card") }
  }

  func run(_ vault: Vault, _ console: Console) async throws {
    guard !undo else {
      let back = try vault.changing.undoReplacement(peer)
      console.note("\(back.name) is trusted again by this fingerprint:")
      console.note("  \(back.fingerprint)")
      return try console.result([Printable.escape(back.name)], json: back.json)
    }
    let texts = look.camera ? try look.texts(device: card, console) : try CardSource.texts(card ?? "-")
    let card = try CardSource.card(among: texts)
    let plan = try vault.changing.replacementPlan(peer, card)
    console.note("the old card of \(plan.old.name): \(plan.oldFingerprint)")
    console.note("  last heard of: \(plan.lastHeardAt.map { Measures.ago($0, now: Clocks.now()) } ?? "never")")
    console.note("the new card:    \(plan.newFingerprint)")
    if !plan.secrets.isEmpty {
      console.note(
        "it may ask to take part again in: \(ChangeText.list(plan.secrets.map(\.name)))")
    }
    if !yes {
      try Question.confirm(
        "Is this the fingerprint on the new device of \(plan.old.name), and is the old device gone?", option: "--yes")
    }
    let added = try vault.changing.replacePeer(peer, with: card)
    console.note("\(added.name) has its new card; the old one is refused from now on")
    try console.result([Printable.escape(added.name)], json: added.json)
  }
}
