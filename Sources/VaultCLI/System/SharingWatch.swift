import Glibc
import SecretVault
import Synchronization

/// Follows a sharing, so that a signal that ends the program says what has become of it: nothing is shared until everything is
/// stored, and from then on all of it is, piece by piece.
final class SharingWatch: Sendable {
  private enum Stage {
    case before
    /// In this moment.
    case storing
    case shared(id: String)
  }

  private struct State {
    var stage = Stage.before
    var leftOut: [String] = []
    /// The signal's thread has said, or is about to say, what has become of it.
    var isInterrupted = false
    var isIDPrinted = false
  }

  private let state = Mutex(State())
  private let vault: Vault
  private let console: Console
  private let remark: @Sendable () -> String
  private let json: @Sendable (ShareReport) -> JSONValue
  /// Milliseconds that the signal's thread waits for what is just being stored.
  private static let patience: UInt32 = 300

  /// Watches until ``end()``. `remark` is said behind it all, and `json` makes the command's result of a report.
  init(
    _ vault: Vault, _ console: Console, remark: @escaping @Sendable () -> String = { "" },
    json: @escaping @Sendable (ShareReport) -> JSONValue
  ) {
    self.vault = vault
    self.console = console
    self.remark = remark
    self.json = json
    Interruption.say { [self] in farewell() }
  }

  /// Signals end the program as usual again. Doesn't return if one is ending it just now.
  func end() {
    Interruption.say(nil)
    if state.withLock({ $0.isInterrupted }) { Interruption.yieldIfEnding() }
  }

  /// Takes note of what happens, and prints the id as soon as there is one. Doesn't return from the last moment before
  /// everything is stored if a signal is ending the program.
  func note(_ event: ShareEvent) {
    switch event {
    case .leftOut(let peer, _, _): state.withLock { $0.leftOut.append(peer) }
    case .committing:
      let isLate = state.withLock { state in
        if !state.isInterrupted { state.stage = .storing }
        return state.isInterrupted
      }
      if isLate { Interruption.yieldIfEnding() }
    case .sealed(let id):
      state.withLock { $0.stage = .shared(id: id) }
      if !console.json { try? printID(id) }
    default: break
    }
  }

  /// Prints the id to standard output, unless that was done.
  func printID(_ id: String) throws {
    let isFirst = state.withLock { state in
      defer { state.isIDPrinted = true }
      return !state.isIDPrinted
    }
    guard isFirst else { return }
    do { try console.result(id) } catch {
      state.withLock { $0.isIDPrinted = false }
      throw error
    }
  }

  // MARK: - The signal's thread

  private func farewell() -> Interruption.Farewell {
    var waited: UInt32 = 0
    while true {
      let (stage, leftOut, prints) = state.withLock { state in
        if case .storing = state.stage {} else { state.isInterrupted = true }
        defer { if case .shared = state.stage { state.isIDPrinted = true } }
        return (state.stage, state.leftOut, !state.isIDPrinted)
      }
      switch stage {
      case .before:
        return Interruption.Farewell(error: VaultError(.interrupted, "interrupted; nothing was shared\(remark())"))
      case .storing where waited < Self.patience:
        usleep(5000)
        waited += 5
      case .storing:
        return Interruption.Farewell(
          error: VaultError(
            .interrupted, "interrupted while it was stored\(remark())", hint: "'vault list' shows whether it is shared")
        )
      case .shared(let id): return farewell(of: id, leftOut, prints: prints)
      }
    }
  }

  private func farewell(of id: String, _ leftOut: [String], prints: Bool) -> Interruption.Farewell {
    let report = try? vault.sharing.sharing(id, leftOut: leftOut)
    let state = report.map { Self.words($0) } ?? "what isn't delivered waits here"
    var result: String?
    if !console.json {
      result = prints ? id : nil
    } else if let report {
      result = json(report).adding("interrupted", true).text
    }
    return Interruption.Farewell(
      error: VaultError(
        .interrupted, "interrupted after it was shared as \(id): \(state)\(remark())",
        hint: report?.deliveries.allSatisfy({ $0.state == .delivered }) == true ? nil : Self.hint(id)),
      result: result)
  }

  /// How to stop what would still be delivered.
  static func hint(_ id: String) -> String {
    "to stop that: 'vault secret delete \(id.prefix(12))' destroys what waits and this device's share; others keep what they have"
  }

  /// `Bob has a share; shares for Carol and Dave wait here, and the daemon or 'vault secret deliver' delivers them`
  static func words(_ report: ShareReport) -> String {
    func names(_ states: Set<Delivery.State>) -> [String] {
      report.deliveries.filter { states.contains($0.state) }.map(\.peer)
    }
    let have = names([.delivered])
    let waiting = names([.waiting, .unreachable])
    let refused = names([.refused])
    var parts: [String] = []
    if !have.isEmpty { parts.append("\(MessageWords.list(have)) \(have.count == 1 ? "has its" : "have their") share") }
    if waiting.count == 1 {
      parts.append("a share for \(waiting[0]) waits here, and the daemon or 'vault secret deliver' delivers it")
    } else if !waiting.isEmpty {
      parts.append(
        "shares for \(MessageWords.list(waiting)) wait here, and the daemon or 'vault secret deliver' delivers them")
    }
    if !refused.isEmpty { parts.append("\(MessageWords.list(refused)) refused") }
    return parts.joined(separator: "; ")
  }
}
