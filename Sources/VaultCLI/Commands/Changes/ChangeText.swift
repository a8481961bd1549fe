import SecretVault

/// How far a change of a secret's holders has come, in words.
enum ChangeText {
  static func lines(_ status: ChangeStatus) -> [String] {
    let name = Printable.escape(status.secret.name)
    var lines = ["\(name): \(phase(status))"]
    if let change = status.change { lines.append("  \(Printable.escape(change.sentence))") }
    if let request = status.request {
      lines.append("  your word is wanted: vault requests approve \(request), or refuse \(request)")
    }
    if let problem = status.problem { lines.append("  this device can't agree: \(Printable.escape(problem))") }
    if status.hasOldShare { lines.append("  this device still has its older share") }
    if !status.oldShares.isEmpty, case .complete = status.phase { lines.append("  " + old(status)) }
    return lines
  }

  private static func phase(_ status: ChangeStatus) -> String {
    switch status.phase {
    case .gathering(let absent, let unwilling):
      guard !absent.isEmpty || !unwilling.isEmpty else { return "holders are being asked" }
      var parts: [String] = []
      if !absent.isEmpty {
        parts.append(
          "nothing has been heard of the \(absent.count == 1 ? "holder of share" : "holders of shares") "
            + absent.map { "\($0)" }.joined(separator: ", ") + " (or say --leave-out-absent)")
      }
      if !unwilling.isEmpty {
        parts.append("\(list(unwilling)) \(unwilling.count == 1 ? "hasn't" : "haven't") said yes yet")
      }
      return "waits: " + parts.joined(separator: "; ")
    case .proposed(let agreed, let needed, let until):
      return "\(agreed) of \(needed) holders have agreed; it can be agreed to until \(Timestamp.minute(until))"
    case .made(let ready, let needed, let missing):
      return
        "\(ready) holders have their new shares, \(needed) are needed before older ones go; missing: \(list(missing))"
    case .complete: return "all is done"
    }
  }

  private static func old(_ status: ChangeStatus) -> String {
    let count = status.oldShares.count
    return "\(list(status.oldShares)) may still have \(count == 1 ? "a share" : "shares") from before: "
      + (count < status.formerThreshold
        ? "too few to open it"
        : "enough to open it together; only a new secret changes that (vault secret reshare)")
  }

  static func list(_ names: [String]) -> String { names.map { Printable.escape($0) }.joined(separator: ", ") }
}

extension ChangeStatus {
  var json: JSONValue {
    var (state, absent, unwilling, missing): (String, [Int], [String], [String]) = ("complete", [], [], [])
    var (have, need, until): (Int?, Int?, Int64?) = (nil, nil, nil)
    switch phase {
    case .gathering(let unheard, let silent): (state, absent, unwilling) = ("gathering", unheard, silent)
    case .proposed(let agreed, let needed, let end): (state, have, need, until) = ("proposed", agreed, needed, end)
    case .made(let ready, let needed, let others): (state, have, need, missing) = ("made", ready, needed, others)
    case .complete: break
    }
    return [
      "secret": .string(secret.id), "name": .string(secret.name), "state": .string(state),
      "absent": .array(absent.map { .integer(Int64($0)) }), "unwilling": .array(unwilling.map { .string($0) }),
      "have": have.map { .integer(Int64($0)) } ?? .null, "need": need.map { .integer(Int64($0)) } ?? .null,
      "until": JSONValue(until.map { Timestamp.exact($0) }), "missing": .array(missing.map { .string($0) }),
      "request": request.map { .integer($0) } ?? .null, "hasOldShare": .bool(hasOldShare),
      "oldShares": .array(oldShares.map { .string($0) }), "problem": JSONValue(problem),
      "change": change?.json ?? .null,
    ]
  }
}

extension ChangeSummary {
  var json: JSONValue {
    [
      "number": .integer(Int64(number)), "threshold": .integer(Int64(threshold)),
      "formerThreshold": .integer(Int64(formerThreshold)), "stays": .array(stays.map(\.json)),
      "comes": .array(comes.map(\.json)), "leaves": .array(leaves.map(\.json)),
      "othersLeave": .integer(Int64(othersLeave)), "sentence": .string(sentence),
    ]
  }
}

extension ChangeSummary.Holder {
  var json: JSONValue {
    ["share": .integer(Int64(index)), "name": JSONValue(name), "fingerprint": .string(fingerprint)]
  }
}
