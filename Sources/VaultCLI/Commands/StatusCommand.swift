import ArgumentParser
import SecretVault
import VaultDaemon
import VaultGroups

struct StatusCommand: AsyncParsableCommand, UnlockingCommand {
  static let configuration = CommandConfiguration(
    commandName: "status",
    abstract: "Show where this device, its peers and secrets stand, and what waits.",
    discussion: """
      Asks nobody: what it says about others is what this device knows. Whether a
      secret can be recovered is as the last 'vault check' found it. REPLACED names
      peers that say that another device has this one's place.

      While the daemon waits for the passphrase it says that, and asks for nothing;
      it says all if an option gives the passphrase.

      Example: vault status --json
      """)

  @OptionGroup var global: GlobalOptions
  @OptionGroup var unlock: UnlockOptions

  func run() async throws {
    let composition = try Composition(global)
    let console = global.console
    if try VaultCore.needsPassphrase(at: composition.folders), unlock.passphrase == .terminal,
      let daemon = try composition.lockedDaemon()
    {
      let text = try? VaultCore.lockedCard(at: composition.folders)
      let status = LockedStatus(card: try text.map { try PeerText.card($0) }, daemon: daemon)
      return try console.result(status.lines, json: status.json)
    }
    let vault = try composition.open(unlock)
    defer { composition.finish(vault) }
    try await show(vault, console)
  }

  private func show(_ vault: Vault, _ console: Console) async throws {
    vault.directory.lookClosely()
    try? await vault.changing.lookAtRequests()
    let status = try vault.overview.status()
    let groups = VaultGroups(vault)
    var all: [GroupFacts] = []
    var invitations: [WaitingInvitation] = []
    do {
      all = try await groups.list()
      invitations = try groups.invitations().filter { !$0.isTaken }
    } catch { console.warning("groups can't be told about: \(VaultError(error).reason)") }
    let messages = try MessageTally(vault)
    var changes: [ChangeStatus] = []
    do { changes = try vault.changing.statuses() } catch {
      console.warning("changes of holders can't be told about: \(VaultError(error).reason)")
    }
    var lines = StatusText.lines(status, all, invitations: invitations.count, messages, now: Clocks.now())
    let open = changes.filter { $0.isOpen }
    if !open.isEmpty { lines += [""] + open.flatMap { ChangeText.lines($0) } }
    try console.result(lines, json: status.json(all, invitations: invitations.count, messages, changes))
  }
}
