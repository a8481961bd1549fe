import SecretVault

extension MessageSummary {
  /// All but the text, which comes only from secret memory.
  var json: JSONValue {
    [
      "number": .integer(number), "id": .string(id), "direction": isMine ? "sent" : "received",
      "kind": .string(kind.rawValue), "peer": JSONValue(peer), "contact": JSONValue(contact), "state": .string(state),
      "name": JSONValue(name), "mediaType": JSONValue(mediaType), "bytes": .integer(byteCount),
      "parts": JSONValue(parts), "partsDone": JSONValue(partsDone),
      "sentAt": Self.moment(sentAt), "storedAt": Self.moment(storedAt), "deliveredAt": Self.moment(deliveredAt),
      "readAt": Self.moment(readAt), "expiresAt": Self.moment(expiresAt), "route": JSONValue(route),
      "hops": JSONValue(hops), "carriers": JSONValue(carriers), "sealed": .bool(isSealed), "late": .bool(isLate),
    ]
  }

  /// A moment, or null where there was none.
  private static func moment(_ at: Int64?) -> JSONValue {
    guard let at, at > 0 else { return .null }
    return .string(Timestamp.exact(at))
  }
}

extension OutboxSummary {
  var json: JSONValue {
    [
      "messages": .array(messages.map(\.json)), "parcels": .array(parcels.map(\.json)), "carried": carried.json,
    ]
  }
}

extension OutboxParcel {
  var json: JSONValue {
    [
      "kind": .string(kind), "peer": JSONValue(peer), "bytes": .integer(byteCount),
      "createdAt": .string(Timestamp.exact(createdAt)), "expiresAt": .string(Timestamp.exact(expiresAt)),
      "ways": JSONValue(ways),
    ]
  }
}

extension CarriedSummary {
  var json: JSONValue {
    [
      "count": JSONValue(count), "bytes": .integer(byteCount),
      "oldestAt": JSONValue(oldestAt.map { Timestamp.exact($0) }),
      "nextExpiry": JSONValue(nextExpiry.map { Timestamp.exact($0) }), "sizes": .array(sizes.map { .integer($0) }),
    ]
  }
}
