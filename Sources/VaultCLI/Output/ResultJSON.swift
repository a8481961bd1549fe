import PeerAuth
import SecretVault
import VaultStore

// The JSON form of every result. Keys and their order are a contract: docs/COMMANDS.md lists them.

extension OwnIdentity {
  var json: JSONValue {
    [
      "label": .string(card.label), "fingerprint": .string(fingerprint), "addresses": PeerText.json(card.addresses),
      "text": .string(text), "qrText": .string(qrText),
    ]
  }
}

extension PeerSummary {
  var json: JSONValue {
    [
      "name": .string(name), "label": .string(label), "state": .string(state.rawValue),
      "fingerprint": .string(fingerprint), "cardDigest": .string(cardDigest), "addresses": PeerText.json(addresses),
      "card": .string(cardText), "addedAt": .string(Timestamp.exact(addedAt)),
      "lastSeenAt": JSONValue(lastSeenAt.map { Timestamp.exact($0) }), "deviceOf": JSONValue(deviceOf),
    ]
  }
}

extension IntroducedHolder {
  var json: JSONValue {
    [
      "label": .string(label), "introducedBy": JSONValue(introducedBy), "secrets": JSONValue(secrets.map(\.id)),
      "fingerprint": .string(fingerprint), "cardDigest": .string(cardDigest), "addresses": PeerText.json(addresses),
      "card": .string(cardText), "introducedAt": .string(Timestamp.exact(introducedAt)),
    ]
  }
}

extension PeerAddition {
  var json: JSONValue { ["change": .string(change.rawValue), "peer": peer.json] }
}

extension PeerRemoval {
  var json: JSONValue {
    [
      "peer": peer.json, "destroyedDeliveries": JSONValue(destroyedDeliveries.map(\.id)),
      "stillHolds": JSONValue(stillHolds.map(\.id)),
    ]
  }
}

extension PingReport {
  var json: JSONValue {
    [
      "peer": peer.json, "address": .string(address), "handshakeMilliseconds": .decimal(handshakeMilliseconds),
      "roundTripMilliseconds": .decimal(roundTripMilliseconds),
    ]
  }
}

extension SecretSummary {
  var json: JSONValue {
    [
      "id": .string(id), "description": JSONValue(description), "kind": .string(kind),
      "origin": .string(origin.rawValue), "dealer": .string(dealer), "threshold": .integer(Int64(threshold)),
      "shareCount": .integer(Int64(shareCount)), "ownIndex": JSONValue(ownIndex),
      "createdAt": .string(Timestamp.exact(createdAt)), "delivered": JSONValue(delivered),
      "waiting": JSONValue(waiting), "unlocked": .bool(isUnlocked),
    ]
  }
}

extension SecretDetails {
  func json(_ parcels: ParcelText, _ change: ChangeStatus? = nil) -> JSONValue {
    [
      "secret": summary.json, "ciphertextBytes": JSONValue(ciphertextByteCount),
      "fragmentBytes": JSONValue(fragmentByteCount), "labels": labels.map { JSONValue($0) } ?? .null,
      "deliveries": .array(deliveries.map(parcels.json)), "headerDigest": .string(headerDigest),
      "conflictingHeadersFrom": JSONValue(conflictingHeadersFrom), "listensNowhere": JSONValue(listensNowhere),
      "lastCheck": lastCheck?.json ?? .null, "change": change?.json ?? .null,
    ]
  }
}

extension ShareReport {
  func json(_ parcels: ParcelText) -> JSONValue {
    [
      "id": .string(id), "description": JSONValue(description), "threshold": .integer(Int64(threshold)),
      "shareCount": .integer(Int64(shareCount)), "placed": .integer(Int64(placed)),
      "recoverable": .bool(isRecoverable), "finished": .bool(isFinished), "keepsOwnShare": .bool(keepsOwnShare),
      "deliveries": .array(deliveries.map(parcels.json)), "leftOut": JSONValue(leftOut),
      "sourceRemoved": .bool(sourceRemoved), "listensNowhere": JSONValue(listensNowhere),
      "introduced": .bool(areHoldersIntroduced),
    ]
  }
}

extension HolderOutcome {
  var json: JSONValue {
    ["peer": .string(peer), "state": .string(state.rawValue), "reason": JSONValue(reason)]
  }
}

extension RecoveryReport {
  var json: JSONValue {
    [
      "secret": secret.json, "path": JSONValue(path), "suggestedName": .string(suggestedName),
      "bytes": JSONValue(byteCount), "originalName": JSONValue(originalName), "holders": .array(holders.map(\.json)),
    ]
  }
}

extension DeletionConsequence {
  var json: JSONValue {
    [
      "secret": secret.json, "makesUnrecoverable": .bool(makesUnrecoverable), "explanation": .string(explanation),
      "waitingDeliveries": JSONValue(waitingDeliveries), "items": .array(items.map(\.json)),
    ]
  }
}

extension LogEntry {
  var json: JSONValue {
    [
      "at": .string(Timestamp.exact(at)), "event": .string(event), "peer": JSONValue(peer), "secret": JSONValue(secret),
      "detail": JSONValue(detail),
    ]
  }
}

extension Setting {
  var json: JSONValue {
    [
      "key": .string(key), "value": .string(value), "default": .string(defaultValue),
      "explanation": .string(explanation),
    ]
  }
}

extension VaultEnvironment.Notification {
  var json: JSONValue {
    [
      "event": .string(event), "peer": JSONValue(peer), "secret": JSONValue(secret),
      "description": JSONValue(description), "detail": JSONValue(detail), "at": .string(Timestamp.exact(at)),
    ]
  }
}

extension VaultError {
  var json: JSONValue {
    [
      "error": [
        "code": .string(code.rawValue), "exit": .integer(Int64(ExitCodes.code(of: code))), "reason": .string(reason),
        "hint": JSONValue(hint),
      ]
    ]
  }
}

extension DrillRecord {
  var json: JSONValue {
    [
      "at": .string(Timestamp.exact(checkedAt)), "answered": .integer(Int64(answered)),
      "needed": .integer(Int64(needed)),
      "recoverable": .bool(isRecoverable), "withoutThisDevice": isRecoverableElsewhere.map { .bool($0) } ?? .null,
    ]
  }
}
