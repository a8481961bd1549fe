import SecretVault

/// What waits to be sent, and what is carried for others, in lines for people.
enum OutboxText {
  static func lines(_ outbox: OutboxSummary, now: Int64) -> [String] {
    var lines: [String] = []
    if !outbox.messages.isEmpty {
      var table = TextTable("MESSAGE", "TO", "WHAT", "SINCE", "STATE")
      for message in outbox.messages {
        table.add(
          "\(message.number)", MessageWords.other(message), what(message), Measures.ago(message.storedAt, now: now),
          MessageWords.state(message))
      }
      lines += table.lines
    }
    // Those of messages stand above already.
    let parcels = outbox.parcels.filter { $0.kind != "message" }
    if !parcels.isEmpty {
      if !lines.isEmpty { lines.append("") }
      var table = TextTable("PARCEL", "TO", "SIZE", "SINCE", "TRIED", "UNTIL")
      for parcel in parcels {
        table.add(
          kind(parcel.kind), parcel.peer ?? "a peer that is no more", Measures.size(UInt64(clamping: parcel.byteCount)),
          Measures.ago(parcel.createdAt, now: now), tried(parcel.ways), Timestamp.minute(parcel.expiresAt))
      }
      lines += table.lines
    }
    if lines.isEmpty { lines.append("nothing of your own waits") }
    return lines + ["", carried(outbox.carried, now: now)]
  }

  private static func what(_ message: MessageSummary) -> String {
    switch message.kind {
    case .text: "text"
    case .file: message.name ?? "file"
    case .photo: message.name ?? "photo"
    }
  }

  static func kind(_ kind: String) -> String {
    switch kind {
    case "deposit": "a share to keep"
    case "request": "a request for a share"
    case "answer": "an answer"
    case "change": "word of a secret's holders"
    case "item": "an item"
    case "receipt": "a receipt"
    default: kind
    }
  }

  /// The ways that were tried so far; sessions are tried all the time.
  static func tried(_ ways: [String]) -> String {
    ways.isEmpty ? "sessions" : ways.map { $0 == "account" ? "XMPP" : $0 }.joined(separator: ", ")
  }

  /// `carried for others: 3 parcels, 1.2 MB, the oldest from 5 hours ago`
  static func carried(_ carried: CarriedSummary, now: Int64) -> String {
    guard carried.count > 0 else { return "carried for others: nothing" }
    let size = Measures.size(UInt64(clamping: carried.byteCount))
    let oldest = carried.oldestAt.map { ", the oldest from \(Measures.ago($0, now: now))" } ?? ""
    return "carried for others: \(Measures.count(carried.count, "parcel")), \(size)\(oldest);"
      + " whose they are, and for whom, can't be seen here"
  }
}
