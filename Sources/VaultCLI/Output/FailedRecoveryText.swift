import SecretVault
import VaultDaemon

/// What goes with an error, line by line: what each holder did, or which secrets were meant.
enum FailedRecoveryText {
  static func lines(of error: VaultError, verbose: Bool) -> [String] {
    if let recovery = error.recovery { return table(recovery.holders, verbose: verbose) }
    return error.candidates.map { RecoverCommand.line($0, now: Clocks.now()) }
  }

  /// As `vault check` shows holders.
  private static func table(_ holders: [HolderOutcome], verbose: Bool) -> [String] {
    var table = TextTable("HOLDER", "RESULT")
    table.add("this device", "has its share")
    let away = holders.count { $0.state == .unreachable }
    let isCrowd = away > Crowd.limit && !verbose
    for holder in holders where !isCrowd || holder.state != .unreachable { table.add(holder.peer, result(holder)) }
    if isCrowd { table.add("\(away) holders", "unreachable; they may hold a share (--verbose names them)") }
    // Each line is escaped and set in, as those of any error.
    let columns = Screen.error.columns.map { $0 - 2 }
    return table.lines(on: Screen(columns: columns))
  }

  private static func result(_ holder: HolderOutcome) -> String {
    let reason = holder.reason
    switch holder.state {
    case .answered, .notNeeded: return "answered"
    case .waiting: return reason ?? "waits"
    case .refused: return word("refused", reason)
    case .unreachable: return word("unreachable", reason) + "; may hold a share"
    case .bad: return "BAD: " + (reason ?? "sent something that does not verify")
    }
  }

  private static func word(_ word: String, _ reason: String?) -> String {
    guard let reason else { return word }
    return reason.hasPrefix(word) ? reason : "\(word): \(reason)"
  }
}
