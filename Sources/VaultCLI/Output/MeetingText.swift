import SecretVault
import VaultStore

/// The log of meetings, in lines for people.
enum MeetingText {
  /// Lines that are shown without `--all`.
  static let usualLimit = 50

  /// `isCut`: there may be more of them.
  static func lines(_ meetings: [MeetingLine], isCut: Bool = false) -> [String] {
    guard !meetings.isEmpty else { return ["no meetings in the last \(days) days"] }
    var table = TextTable("MEETING", "WITH", "BY", "BEGUN", "TOOK", "GIVEN", "TAKEN", "END")
    for meeting in meetings {
      let record = meeting.record
      table.add(
        Timestamp.minute(record.beganAt), meeting.peer ?? "a peer that is no more",
        record.isNearby ? "Bluetooth" : "network", record.isDialled ? "here" : "there",
        Measures.milliseconds(Double(record.duration)), words(record.given), words(record.taken), words(record.ending))
    }
    return table.lines + (isCut ? ["these are the newest \(meetings.count); --all shows more"] : [])
  }

  private static var days: Int64 { VaultDatabase.meetingTime / 86_400_000 }

  private static func words(_ given: MeetingRecord.Given) -> String {
    words(
      [
        (given.delivered, "delivered"), (given.handedOver, "handed over"), (given.toCarry, "to carry"),
        (given.passedOn, "passed on"), (given.receipts, given.receipts == 1 ? "receipt" : "receipts"),
      ], given.byteCount)
  }

  private static func words(_ taken: MeetingRecord.Taken) -> String {
    words(
      [
        (taken.received, "for you"), (taken.toCarry, "to carry"),
        (taken.receipts, taken.receipts == 1 ? "receipt" : "receipts"),
      ], taken.byteCount)
  }

  private static func words(_ counts: [(UInt32, String)], _ byteCount: UInt64) -> String {
    var parts = counts.filter { $0.0 > 0 }.map { "\($0.0) \($0.1)" }
    if byteCount > 0 { parts.append(Measures.size(byteCount)) }
    return parts.isEmpty ? "-" : parts.joined(separator: ", ")
  }

  private static func words(_ ending: MeetingRecord.Ending) -> String {
    switch ending {
    case .regular: "done"
    case .brokenOff: "broken off"
    case .refused: "refused"
    case .busy: "busy"
    case .failed: "failed here"
    }
  }
}

extension MeetingLine {
  var json: JSONValue {
    let (given, taken) = (record.given, record.taken)
    return [
      "peer": JSONValue(peer), "beganAt": .string(Timestamp.exact(record.beganAt)),
      "milliseconds": .integer(Int64(clamping: record.duration)), "link": record.isNearby ? "bluetooth" : "network",
      "begunHere": .bool(record.isDialled), "end": .string(record.ending.word),
      "given": [
        "delivered": JSONValue(Int(given.delivered)), "handedOver": JSONValue(Int(given.handedOver)),
        "toCarry": JSONValue(Int(given.toCarry)), "passedOn": JSONValue(Int(given.passedOn)),
        "receipts": JSONValue(Int(given.receipts)), "bytes": .integer(Int64(clamping: given.byteCount)),
      ],
      "taken": [
        "received": JSONValue(Int(taken.received)), "toCarry": JSONValue(Int(taken.toCarry)),
        "receipts": JSONValue(Int(taken.receipts)), "bytes": .integer(Int64(clamping: taken.byteCount)),
      ],
    ]
  }
}

extension MeetingRecord.Ending {
  /// For JSON.
  fileprivate var word: String {
    switch self {
    case .regular: "regular"
    case .brokenOff: "broken-off"
    case .refused: "refused"
    case .busy: "busy"
    case .failed: "failed"
    }
  }
}
