import Courier
import SecretVault

/// What this device carries for others, in lines for people.
enum CarryText {
  /// `meetings`: the log, for diagnostics only.
  static func lines(_ status: CarryStatus, meetings: [MeetingLine]?, isCut: Bool, now: Int64) -> [String] {
    let (limits, account) = (status.limits, status.account)
    let used = "\(size(status.carriedBytes)) of \(size(limits.bytes)) used, \(Measures.count(status.carried, "parcel"))"
    let lines = TextTable.facts([
      ("carrying", words(status)), ("room", used),
      ("today", "\(size(status.leftToday)) of \(size(limits.bytesADay)) left"),
      ("from one device", "at most \(size(limits.bytesPerGiver)) at a time"),
      ("battery", battery(status)), ("fair share", fairShare(status)),
      ("sent directly", "\(account.sentDirectly)"), ("sent by carriers", "\(account.sentByCarriers)"),
      ("delivered for others", "\(account.deliveredForOthers)"),
      ("carried for others", "\(size(account.carriedForOthers)) in all"),
      ("carried for you", "\(size(account.carriedForMe)) in all, as recipients have confirmed"),
    ])
    guard let meetings else { return lines }
    return lines + [""] + encounters(status, now: now) + [""] + MeetingText.lines(meetings, isCut: isCut)
  }

  private static func encounters(_ status: CarryStatus, now: Int64) -> [String] {
    guard !status.encounters.isEmpty else { return ["nobody was met yet"] }
    var table = TextTable("MET", "LAST", "AGAIN")
    for encounter in status.encounters {
      table.add(
        who(encounter), Measures.ago(encounter.lastAt, now: now),
        "\(Measures.decimal(encounter.predictability * 100, digits: 0)) %")
    }
    return table.lines
  }

  private static func size(_ bytes: Int) -> String { Measures.size(UInt64(clamping: bytes)) }

  /// Whether parcels are taken, and why not.
  static func words(_ status: CarryStatus) -> String {
    guard status.isOn else {
      return "off: nothing more is taken; what is here goes on only where somebody is met anyway"
    }
    if let reason = status.pausedBecause { return "on, but nothing is taken now: \(reason)" }
    return "on"
  }

  private static func battery(_ status: CarryStatus) -> String {
    let least = "at least \(status.limits.leastBattery) %"
    return least + (status.battery.map { ", now \($0) %" } ?? "; there is none, or it is being charged")
  }

  private static func fairShare(_ status: CarryStatus) -> String {
    guard let fair = status.limits.fairShare else { return "off: carrying goes on however little others do" }
    let rule = "\(size(fair.allowance)), and \(fair.percent) % of what others carried for you"
    return rule + (status.isOverFairShare ? "; reached" : "")
  }

  private static func who(_ encounter: CarryStatus.Encounter) -> String {
    if encounter.isNetwork { return "a server" }
    return encounter.name ?? "a stranger"
  }
}

extension CarryStatus {
  func json(meetings: [MeetingLine]? = nil) -> JSONValue {
    let json: JSONValue = [
      "on": .bool(isOn), "paused": JSONValue(pausedBecause), "battery": JSONValue(battery),
      "carried": ["count": JSONValue(carried), "bytes": JSONValue(carriedBytes), "leftToday": JSONValue(leftToday)],
      "limits": limits.json, "overFairShare": .bool(isOverFairShare), "counters": account.json,
    ]
    guard let meetings else { return json }
    return json.adding("encounters", .array(encounters.map(\.json))).adding("meetings", .array(meetings.map(\.json)))
  }
}

extension CarryingLimits {
  var json: JSONValue {
    [
      "bytes": JSONValue(bytes), "bytesADay": JSONValue(bytesADay), "bytesPerGiver": JSONValue(bytesPerGiver),
      "leastBattery": JSONValue(leastBattery),
      "fairShare": fairShare.map { ["allowance": JSONValue($0.allowance), "percent": JSONValue($0.percent)] } ?? .null,
    ]
  }
}

extension CarryingAccount {
  var json: JSONValue {
    [
      "sentDirectly": JSONValue(sentDirectly), "sentByCarriers": JSONValue(sentByCarriers),
      "deliveredForOthers": JSONValue(deliveredForOthers), "carriedForOthersBytes": JSONValue(carriedForOthers),
      "carriedForMeBytes": JSONValue(carriedForMe),
    ]
  }
}

extension CarryStatus.Encounter {
  var json: JSONValue {
    [
      "name": JSONValue(name), "isNetwork": .bool(isNetwork), "lastAt": .string(Timestamp.exact(lastAt)),
      "predictability": .decimal(predictability),
    ]
  }
}
