import SecretVault
import VaultGroups
import VaultXMPP

/// Brings a new message on its way, for as long as a command waits for that. The daemon does what isn't done then.
struct MessageDelivery {
  /// How long a session with the recipient is tried.
  static let patience = Duration.seconds(10)

  private let what: String
  private let vault: Vault
  private let console: Console

  /// For a command of this name.
  init(for what: String, _ vault: Vault, _ console: Console) {
    (self.what, self.vault, self.console) = (what, vault, console)
  }

  /// Tries the ways in their order, and says how the message stands then.
  func deliver(_ message: MessageSummary, pigeonsOnly: Bool) async throws(VaultError) -> MessageSummary {
    if let peer = message.peer { await vault.deliverMessages(to: peer, limit: Self.patience) }
    var now = try vault.message(message.number)
    guard !Self.hasArrived(now), !pigeonsOnly else { return now }
    // Nothing of this fails the command: the message is kept, and the daemon does what isn't done here.
    await tryAccount()
    if message.isSealed {
      do throws(VaultError) { try await handToGroups() } catch {
        console.warning("it can't go through groups just now: \(error.reason)")
      }
    }
    now = try vault.message(message.number)
    return now
  }

  /// Where a daemon runs, it has the account; elsewhere it is asked for once.
  private func tryAccount() async {
    let report = await AccountRound.run(vault, limit: Self.patience)
    if let problem = report.problem { console.warning("it can't go through the account just now: \(problem.reason)") }
  }

  static func hasArrived(_ message: MessageSummary) -> Bool {
    message.state == "delivered" || message.state == "read"
  }

  private func handToGroups() async throws(VaultError) {
    for handover in try await VaultGroups(vault).handParcels(for: what) where handover.unsent > 0 {
      console.note(
        "too few servers of \(handover.group.name) are there just now; what waits is sent by 'vault daemon', or by 'vault group sync'"
      )
    }
  }
}
