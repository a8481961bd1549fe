import Logging
package import SecretVault
import VaultProtocol
import VaultStore
import XMPPRequests

/// The daemon's part: keeps the account in use connected, and hands on what comes and goes by it.
package struct AccountRunner: Sendable {
  private static let pauses = (first: 1.0, longest: 300.0)
  /// After so long a connection was a good one, and the next attempt isn't put off.
  private static let goodAfter = 30_000.0

  private let rooms: AccountRooms
  private let memory = SendingMemory()

  package init(_ vault: Vault) { rooms = AccountRooms(vault) }

  private var log: Logger { rooms.core.surroundings.log }

  /// Works until the task is cancelled.
  package func run() async {
    var failures = 0
    while !Task.isCancelled {
      guard let (account, password) = current() else {
        failures = 0
        // Nobody to be.
        await pause(for: Self.pauses.longest, beside: nil)
        continue
      }
      let began = rooms.core.surroundings.monotonic()
      let reason = await connect(account, password)
      if Task.isCancelled { break }
      let lasted = rooms.core.surroundings.monotonic() - began
      guard let reason else {
        // Another account, or none: at once.
        failures = 0
        continue
      }
      if lasted >= Self.goodAfter { failures = 0 }
      tell(account, reason, isFirst: failures == 0)
      failures = min(failures + 1, 16)
      if case .streamEnded(let condition) = reason, condition.description == "conflict" { rename(account) }
      await pause(for: Self.pause(after: failures, reason), beside: account)
    }
    if let account = try? rooms.accounts.currentAccount() { note(account, nil) }
  }

  /// Seconds until the next attempt, as long again for each one in vain. What another attempt doesn't mend comes last.
  static func pause(after failures: Int, _ reason: XMPPError) -> Double {
    switch AccountConnection.State(reason) {
    case .wrongPassword, .untrusted: pauses.longest
    default: min(pauses.first * Double(1 << max(0, failures - 1)), pauses.longest)
    }
  }

  private func current() -> (AccountRecord, HeldSecret)? {
    guard !rooms.accounts.leavesServersOut() else { return nil }
    do {
      guard let account = try rooms.accounts.currentAccount(),
        let password = try rooms.accounts.accountPassword(account.id)
      else { return nil }
      return (account, password)
    } catch {
      log.error("accounts can't be read: \(VaultError(error).reason)")
      return nil
    }
  }

  /// Connects and works. Returns why it ended; nil if the account isn't the one in use any more, or the task is
  /// cancelled.
  private func connect(_ account: AccountRecord, _ password: HeldSecret) async -> XMPPError? {
    let exchange: AccountExchange
    do {
      exchange = try await AccountExchange.open(
        rooms, account, password: password, resource: account.resource, answers: false, memory: memory)
    } catch { return isCurrent(account) ? error : nil }
    note(account, .connected)
    log.info("\(account.logName): connected")
    log.debug("\(account.logName) is \(account.address)")
    let reason = await exchange.run {
      while true {
        let seen = rooms.core.pulse.count
        guard isCurrent(account) else { return }
        do { try await rooms.core.wait(since: seen) } catch { return }
      }
    }
    exchange.note { try rooms.accounts.forgetPresence(account.id) }
    guard isCurrent(account), !Task.isCancelled else {
      note(account, nil)
      return nil
    }
    // Nobody on this side has closed it.
    return reason ?? .closed
  }

  /// Another device has this one's name at the server, perhaps because both are the same backup: with one name they
  /// would push each other out for ever.
  private func rename(_ account: AccountRecord) {
    attempt(account) { try rooms.accounts.renameDevice(of: account.id, to: AccountRecord.freshResource()) }
  }

  /// Whether this account is still to be connected, and in the same way.
  private func isCurrent(_ account: AccountRecord) -> Bool {
    guard !rooms.accounts.leavesServersOut() else { return false }
    let now: AccountRecord?
    // What can't be read just now is as it was.
    do { now = try rooms.accounts.currentAccount() } catch { return true }
    guard let now else { return false }
    return now.id == account.id && now.host == account.host && now.port == account.port
      && now.certificates == account.certificates && now.resource == account.resource
  }

  private func tell(_ account: AccountRecord, _ reason: XMPPError, isFirst: Bool) {
    let error = VaultError(reason, account: account.logName)
    if isFirst { log.warning("\(error.reason)") } else { log.debug("\(error.reason)") }
    note(account, AccountConnection.State(reason))
  }

  private func note(_ account: AccountRecord, _ state: AccountConnection.State?) {
    attempt(account) { try rooms.accounts.noteAccountConnection(state, of: account.id) }
  }

  /// What fails in the vault is said, and keeps nothing else from going on.
  private func attempt(_ account: AccountRecord, _ body: () throws -> Void) {
    do { try body() } catch { log.error("\(account.logName): \(VaultError(error).reason)") }
  }

  /// Waits, but not longer than until somebody has changed the accounts, or whether servers are used, or the network is
  /// another one.
  private func pause(for seconds: Double, beside account: AccountRecord?) async {
    let jitter = Double.random(in: 0.75...1.25)
    let began = rooms.core.surroundings.monotonic()
    let end = began + seconds * jitter * 1000
    // A server may lock an account to which wrong passwords come often.
    let earliest = account != nil && seconds >= Self.pauses.longest ? began + 5000 : began
    var seen = rooms.core.pulse.count
    let mark = try? rooms.accounts.accountMark()
    let (network, isOff) = (NetworkMark.now(), rooms.accounts.leavesServersOut())
    while rooms.core.surroundings.monotonic() < end {
      // The network is looked at as well.
      do { try await rooms.core.wait(since: seen, atMost: .seconds(1)) } catch { return }
      seen = rooms.core.pulse.count
      guard rooms.core.surroundings.monotonic() >= earliest else { continue }
      if (try? rooms.accounts.accountMark()) != mark || rooms.accounts.leavesServersOut() != isOff
        || (account != nil && NetworkMark.now() != network)
      {
        return
      }
    }
  }
}
