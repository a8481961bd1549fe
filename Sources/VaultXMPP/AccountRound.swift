package import SecretVault
import VaultProtocol
import VaultStore
import XMPPRequests

/// One look at the account in use, for commands where no daemon runs: hands over what waits, and takes what has come.
package enum AccountRound {
  package struct Report: Sendable {
    package let traffic: AccountReport
    /// Why there was no connection, or why it ended; nil if all went well, or if there was nothing to do.
    package let problem: VaultError?
  }

  /// Milliseconds of silence after which nothing more is waited for.
  private static let silence = 500.0

  /// Takes `limit` at most. With `isDone` it waits for more than silence: until that is so. Does nothing where a daemon
  /// runs, or no account is in use.
  package static func run(
    _ vault: Vault, limit: Duration, until isDone: (@Sendable () -> Bool)? = nil
  ) async -> Report {
    let rooms = AccountRooms(vault)
    do {
      guard try rooms.accounts.needsAccountRound(), let account = try rooms.accounts.currentAccount(),
        let password = try rooms.accounts.accountPassword(account.id)
      else { return Report(traffic: AccountReport(), problem: nil) }
      return await run(rooms, account, password, limit: limit, isDone)
    } catch { return Report(traffic: AccountReport(), problem: VaultError(error)) }
  }

  private static func run(
    _ rooms: AccountRooms, _ account: AccountRecord, _ password: HeldSecret, limit: Duration,
    _ isDone: (@Sendable () -> Bool)?
  ) async -> Report {
    let sleep = rooms.core.surroundings.sleep
    let end = rooms.core.surroundings.monotonic() + limit / .milliseconds(1)
    let exchange: AccountExchange
    do {
      exchange = try await within(limit, sleep) { () throws(XMPPError) in
        // A name of its own: rounds of several commands don't end one another.
        try await AccountExchange.open(rooms, account, password: password, resource: nil, answers: true)
      }
    } catch { return Report(traffic: AccountReport(), problem: VaultError(error, account: account.address)) }
    let reason = await exchange.run {
      while rooms.core.surroundings.monotonic() < end, !(exchange.isQuiet(for: silence) && isDone?() ?? true) {
        do { try await sleep(.milliseconds(50)) } catch { break }
      }
    }
    return Report(traffic: exchange.report, problem: reason.map { VaultError($0, account: account.address) })
  }
}

extension AccountExchange {
  /// Whether all that was to be done at once is done, and nothing has come for so many milliseconds.
  func isQuiet(for time: Double) -> Bool { state.withLock { $0.areOthersLeft } && isIdle(for: time) }

  /// The same without what is carried for others.
  func isIdle(for time: Double) -> Bool {
    let now = now
    return state.withLock { state in
      state.isLookedThrough && state.isArchiveRead && !state.hasQuestions && !state.isSending && !state.isTaking
        && now - state.lastAt >= time
    }
  }
}
