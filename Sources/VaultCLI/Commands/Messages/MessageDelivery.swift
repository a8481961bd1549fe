import SecretVault
import Synchronization
import VaultGroups
import VaultXMPP

/// Brings a new message on its way, for as long as a command waits for that. The daemon does what isn't done then.
struct MessageDelivery {
  /// How long a session with the recipient is tried.
  static let patience = Duration.seconds(10)

  let vault: Vault
  let console: Console

  /// Tries the ways in their order, and says how the message stands then.
  func deliver(_ message: MessageSummary, pigeonsOnly: Bool) async throws -> MessageSummary {
    let number = message.number
    Interruption.say {
      Interruption.Farewell(
        error: VaultError(
          .interrupted, "interrupted; message \(number) is kept, and goes on by itself",
          hint: "vault message delete \(number)"))
    }
    defer { Interruption.say(nil) }
    if let peer = message.peer, let failure = await vault.meetings.deliverMessages(to: peer, limit: Self.patience),
      failure.kind != .unreachable
    {
      // Who isn't there just now is the ordinary case. What else keeps it from going may need somebody to do something.
      console.warning("\(peer) \(failure.reason)" + (failure.hint.map { "; \($0)" } ?? ""))
    }
    let now = try vault.messages.message(message.number)
    guard now.state != "delivered", now.state != "read", !pigeonsOnly else { return now }
    // Nothing of this fails the command: the message is kept, and the daemon does what isn't done here.
    await tryAccount(message)
    if message.isSealed {
      do { try await handToGroups() } catch {
        console.warning("it can't go through groups just now: \(VaultError(error).reason)")
      }
    }
    return try vault.messages.message(message.number)
  }

  /// Where a daemon runs, it has the account; elsewhere the account is looked in at once. A plain text is waited for: the server
  /// may say in the next moment that there is nobody.
  private func tryAccount(_ message: MessageSummary) async {
    guard !message.isSealed else { return say(await AccountRound.run(vault, limit: Self.patience)) }
    let moment = AnswerMoment(vault, message.number)
    if (try? vault.accounts.needsAccountRound()) != false {
      return say(await AccountRound.run(vault, limit: Self.patience) { moment.isOver })
    }
    let end = vault.core.surroundings.monotonic() + Self.patience / .milliseconds(1)
    while true {
      let seen = vault.core.pulse.count
      guard vault.core.surroundings.monotonic() < end, !moment.isOver else { return }
      // A text that its server has is over after a while without a change.
      do { try await vault.core.wait(since: seen, atMost: .milliseconds(500), isHurried: true) } catch { return }
    }
  }

  private func say(_ report: AccountRound.Report) {
    if let problem = report.problem { console.warning("it can't go through the account just now: \(problem.reason)") }
  }

  private func handToGroups() async throws {
    for handover in try await VaultGroups(vault).handParcels(for: "vault send") {
      GroupSync.tellOfUnsent(handover.group, handover.unsent, handover.faults, console)
    }
  }
}

/// Whether a plain text has got its answer, or has been with its server for so long that none will come at once.
private final class AnswerMoment: Sendable {
  /// Milliseconds in which servers usually say that there is nobody.
  private static let patience = 2000.0

  private let vault: Vault
  private let number: Int64
  private let leftAt = Mutex<Double?>(nil)

  init(_ vault: Vault, _ number: Int64) { (self.vault, self.number) = (vault, number) }

  var isOver: Bool {
    guard let state = try? vault.messages.message(number).state else { return true }
    guard state == "underway" else { return state != "waiting" }
    let now = vault.core.surroundings.monotonic()
    return leftAt.withLock { left in
      let since = left ?? now
      left = since
      return now - since >= Self.patience
    }
  }
}
