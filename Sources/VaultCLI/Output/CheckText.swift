import SecretVault

/// What a drill found, in lines for people.
struct CheckText {
  /// Whether each result begins with the secret's name: where there may be several.
  let namesSecrets: Bool
  /// Whose device each peer is, by name: only of people with several.
  let people: [String: String]

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
    lines += table.lines(on: .output, indent: 2).map { "  " + $0 }
    if report.answered > 0 { lines.append("  " + Self.elsewhere(report.isRecoverableElsewhere)) }
    if let line = peopleLine(report) { lines.append("  " + Printable.escape(line)) }
    let deaf = report.holders.filter(\.listensNowhere).compactMap(\.peer)
    if !deaf.isEmpty {
      lines.append("  nobody can call on \(Printable.escape(MessageWords.list(deaf))): no address is known here")
    }
    if let problem = report.problem { lines.append("  nobody was asked: \(Printable.escape(problem.reason))") }
    let strangers = report.strangers
    if strangers > 0, report.problem == nil {
      let unknown = "\(Measures.count(strangers, "holder")) of \(report.secret.shareCount) not known to this device"
      lines.append("  " + unknown + (report.areIntroductionsOff ? ", or not asked: \(Self.introductionsOff)" : ""))
    }
    if report.others > 0 { lines.append("  \(Measures.count(report.others, "other peer")) asked, with no share of it") }
    if report.answered > 0 { lines.append("  " + Self.sampling(report)) }
    return lines + Self.repairLines(report)
  }

  static func question(_ part: OwnPart, of name: String) -> String {
    switch part {
    case .fragment: "This device's fragment of \(name) is damaged or missing. Rebuild it from pieces of other holders?"
    case .share:
      "This device's share of \(name) is damaged or missing. Ask the other holders to deal theirs anew, so that it gets one?"
    }
  }

  /// What was made anew, what it waits for, or what can be done.
  private static func repairLines(_ report: CheckReport) -> [String] {
    guard let repair = report.repair else {
      return report.repairable.map { ["  this device's \($0.rawValue) can be made anew: vault check --repair"] } ?? []
    }
    var lines = repair.failures.map { "  not used: \(Printable.escape($0.peer)) \(Printable.escape($0.reason))" }
    switch repair.state {
    case .done:
      lines.append(
        repair.part == .fragment
          ? "  repaired: this device's fragment is rebuilt, and fits the secret"
          : "  repaired: this device has a new share")
    case .waits(let status):
      lines.append("  being repaired: the other holders have to agree on their devices, with 'vault requests'")
      lines += ChangeText.lines(status).map { "  " + $0 }
    case .failed(let error):
      lines.append("  not repaired: \(Printable.escape(error.reason))")
      if let hint = error.hint { lines.append("  \(Printable.escape(hint))") }
    }
    return lines
  }

  /// Why those who were introduced count for nothing here.
  static let introductionsOff = "the setting introductions is off ('vault settings set introductions on' changes that)"

  static func elsewhere(_ isRecoverable: Bool?) -> String {
    switch isRecoverable {
    case true?: "without this device: recoverable, by a holder that knows and can call enough of the others"
    case false?: "without this device: NOT recoverable, no holder knows and can call enough of the others"
    case nil:
      "without this device: not known, those that answered don't say that enough holders know and can call one another"
    }
  }

  /// `the holders that answered are devices of 2 people`, where somebody has several of them.
  private func peopleLine(_ report: CheckReport) -> String? {
    let peers = report.holders.filter { $0.state == .answered }.compactMap(\.peer)
    let persons = Set(peers.map { people[$0].map { "person \($0)" } ?? "peer \($0)" })
    guard persons.count < peers.count else { return nil }
    // Its user is one of them.
    let own = report.own?.state == .answered ? 1 : 0
    return "the \(peers.count + own) holders that answered are devices of \(persons.count + own) people"
  }

  /// `recoverable now: 4 of 5 holders answered, 3 needed`
  static func verdict(_ report: CheckReport) -> String {
    let start = report.isRecoverable ? "recoverable now" : "NOT recoverable now"
    // Fewer fragments than shares may be needed once the threshold was raised.
    if report.isRecoverable, report.answered < report.secret.threshold {
      return
        "\(start): \(report.proved) of \(Measures.count(report.secret.shareCount, "holder")) have their shares, \(report.secret.threshold) needed, and \(report.answered) their fragments, \(report.fragmentsNeeded) needed"
    }
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

  static func result(_ holder: HolderCheck, of count: UInt64) -> String {
    let reason = holder.reason ?? ""
    switch holder.state {
    case .answered:
      let others =
        holder.reach.map { "; knows \(Measures.count(Int($0.known), "other holder")), can call \($0.dialable)" } ?? ""
      return "answered with \(holder.piecesSeen) of \(Measures.count(count, "piece"))\(others)"
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
      "listensNowhere": .bool(listensNowhere), "knowsHolders": JSONValue(reach.map { Int($0.known) }),
      "canDialHolders": JSONValue(reach.map { Int($0.dialable) }),
    ]
  }
}

extension CheckReport {
  var json: JSONValue {
    [
      "secret": secret.json, "checkedAt": .string(Timestamp.exact(checkedAt)), "answered": .integer(Int64(answered)),
      "needed": .integer(Int64(secret.threshold)), "recoverable": .bool(isRecoverable),
      "withoutThisDevice": isRecoverableElsewhere.map { .bool($0) } ?? .null,
      "allAnswered": .bool(haveAllAnswered), "own": own?.json ?? .null, "holders": .array(holders.map(\.json)),
      "possible": .array(possible.map(\.json)), "unknownHolders": .integer(Int64(strangers)),
      "introductionsOff": .bool(areIntroductionsOff),
      "otherPeers": .integer(Int64(others)), "pieces": JSONValue(pieceCount),
      "onePercentNoticed": .decimal(onePercentNoticed), "problem": JSONValue(problem?.reason),
      "repairable": JSONValue(repairable?.rawValue), "repair": repair?.json ?? .null,
    ]
  }
}

extension Repair {
  var json: JSONValue {
    var (word, change, reason): (String, JSONValue, String?) = ("done", .null, nil)
    switch state {
    case .done: break
    case .waits(let status): (word, change) = ("waiting", status.json)
    case .failed(let error): (word, reason) = ("failed", error.reason)
    }
    return [
      "part": .string(part.rawValue), "state": .string(word), "reason": JSONValue(reason), "change": change,
      "notUsed": .array(failures.map { ["peer": .string($0.peer), "reason": .string($0.reason)] }),
    ]
  }
}
