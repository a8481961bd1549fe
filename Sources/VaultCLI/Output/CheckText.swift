import SecretVault

/// What a drill found, in lines for people.
struct CheckText {
  /// Whether each result begins with the secret's name: where there may be several.
  let namesSecrets: Bool

  /// What a drill doesn't promise.
  static let caution =
    "this is how it stands now: a holder may be gone tomorrow, and only the pieces that were drawn have been seen"

  /// A line with the result, then one for each holder.
  func lines(_ report: CheckReport) -> [String] {
    let name = namesSecrets ? ShareReporter.name(report.secret.description, id: report.secret.id) + ": " : ""
    guard let own = report.own else {
      if report.isUnreadable { return [Printable.escape(name) + "not checked: it is damaged in this device's store"] }
      return [Printable.escape(name) + "not checked: this device holds no share of it"]
    }
    var lines = [Printable.escape(name) + Self.verdict(report)]
    var table = TextTable("HOLDER", "SHARE", "RESULT")
    add(own, report, to: &table)
    for holder in report.holders { add(holder, report, to: &table) }
    for holder in report.possible { add(holder, report, to: &table) }
    lines += table.lines.map { "  " + $0 }
    if let problem = report.problem { lines.append("  nobody was asked: \(Printable.escape(problem.reason))") }
    let strangers = report.strangers
    if strangers > 0, report.problem == nil {
      lines.append("  \(Measures.count(strangers, "holder")) of \(report.secret.shareCount) not known to this device")
    }
    if report.others > 0 { lines.append("  \(Measures.count(report.others, "other peer")) asked, with no share of it") }
    if report.answered > 0 { lines.append("  " + Self.sampling(report)) }
    return lines
  }

  /// `recoverable now: 4 of 5 holders answered, 3 needed`
  static func verdict(_ report: CheckReport) -> String {
    let start = report.isRecoverable ? "recoverable now" : "NOT recoverable now"
    return
      "\(start): \(report.answered) of \(Measures.count(report.secret.shareCount, "holder")) answered, \(report.secret.threshold) needed"
  }

  /// How much was seen, and what it says about the rest.
  static func sampling(_ report: CheckReport) -> String {
    let chance = report.onePercentNoticed
    if chance >= 1 { return "damage of 1 % of a fragment would have been noticed for certain" }
    let percent = Measures.decimal(chance * 100, digits: chance < 0.1 ? 1 : 0)
    return "damage of 1 % of a fragment would have been noticed with a probability of \(percent) %"
  }

  private func add(_ holder: HolderCheck, _ report: CheckReport, to table: inout TextTable) {
    table.add(
      holder.peer ?? "this device", holder.index.map { "\($0)" } ?? "-", Self.result(holder, of: report.pieceCount))
  }

  /// What came of asking one holder.
  static func result(_ holder: HolderCheck, of count: UInt64) -> String {
    let reason = holder.reason ?? ""
    switch holder.state {
    case .answered: return "answered with \(holder.piecesSeen) of \(Measures.count(count, "piece"))"
    case .damaged: return "DAMAGED: \(reason)"
    case .unreachable: return reason.hasPrefix("unreachable") ? reason : "unreachable: \(reason)"
    case .refused: return reason.hasPrefix("refused") ? reason : "refused: \(reason)"
    case .unknown: return "doesn't know the secret"
    case .undelivered, .removed: return reason
    }
  }
}

extension HolderCheck {
  var json: JSONValue {
    [
      "peer": JSONValue(peer), "index": JSONValue(index), "state": .string(state.rawValue),
      "provedShare": .bool(hasProvedShare), "piecesSeen": .integer(Int64(piecesSeen)), "reason": JSONValue(reason),
    ]
  }
}

extension CheckReport {
  var json: JSONValue {
    [
      "secret": secret.json, "checkedAt": .string(Timestamp.exact(checkedAt)), "answered": .integer(Int64(answered)),
      "needed": .integer(Int64(secret.threshold)), "recoverable": .bool(isRecoverable),
      "allAnswered": .bool(haveAllAnswered), "own": own?.json ?? .null, "holders": .array(holders.map(\.json)),
      "possible": .array(possible.map(\.json)), "unknownHolders": .integer(Int64(strangers)),
      "otherPeers": .integer(Int64(others)), "pieces": JSONValue(pieceCount),
      "onePercentNoticed": .decimal(onePercentNoticed), "problem": JSONValue(problem?.reason),
    ]
  }
}
