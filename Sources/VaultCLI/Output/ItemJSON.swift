import SecretVault

// The JSON form of keys and items. Keys and their order are a contract: docs/COMMANDS.md lists them.

extension KeySummary {
  var json: JSONValue {
    [
      "key": secret.json, "items": .integer(Int64(items)), "newItems": .integer(Int64(newItems)),
      "hasPublicHalf": .bool(hasPublicHalf), "unlocked": .bool(isUnlocked),
    ]
  }
}

extension ItemSummary {
  var json: JSONValue {
    [
      "id": .string(id), "keyID": .string(keyID), "key": .string(key), "name": JSONValue(name),
      "kind": JSONValue(kind), "mediaType": JSONValue(mediaType), "bytes": byteCount.map { JSONValue($0) } ?? .null,
      "itemBytes": JSONValue(itemByteCount), "hasPassword": hasPassword.map { .bool($0) } ?? .null,
      "description": JSONValue(description), "state": .string(state.rawValue), "origin": .string(origin.rawValue),
      "sender": JSONValue(sender), "sealedToPublicHalf": .bool(isSealedToPublicHalf),
      "receivedAt": .string(Timestamp.exact(receivedAt)),
    ]
  }
}

extension ItemArrival {
  var json: JSONValue { ["item": item.json, "known": .bool(isKnown)] }
}

extension ItemDelivery {
  var json: JSONValue {
    ["item": item.json, "peer": .string(peer), "known": .bool(isKnown), "onItsWay": .bool(isOnItsWay)]
  }
}

extension ItemReport {
  var json: JSONValue {
    [
      "item": item.map(\.json) ?? .null, "key": .string(key), "path": JSONValue(path),
      "suggestedName": .string(suggestedName), "bytes": JSONValue(byteCount), "originalName": JSONValue(originalName),
    ]
  }
}
