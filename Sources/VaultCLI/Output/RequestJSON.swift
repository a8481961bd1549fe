import SecretVault

extension VaultRequest {
  var json: JSONValue {
    [
      "id": .integer(id), "kind": .string(kind.rawValue), "peer": .string(peer), "fingerprint": .string(fingerprint),
      "secret": .string(secret), "description": JSONValue(description),
      "bytes": byteCount.map { JSONValue($0) } ?? .null, "state": .string(state.rawValue),
      "askedAt": .string(Timestamp.exact(askedAt)), "releasesAt": JSONValue(releasesAt.map { Timestamp.exact($0) }),
      "endsAt": .string(Timestamp.exact(endsAt)), "change": change?.json ?? .null,
    ]
  }
}

extension SecretPolicy {
  var json: JSONValue {
    ["secret": .string(secret.id), "policy": .string(policy.text), "isDefault": .bool(isDefault)]
  }
}
