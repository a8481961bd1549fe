import VaultStore
import VaultXMPP

extension AccountSummary {
  var json: JSONValue {
    [
      "address": .string(address), "state": .string(state.rawValue), "host": JSONValue(host), "port": JSONValue(port),
      "certificates": JSONValue(certificates), "connection": JSONValue(connection?.state.rawValue),
      "connectionSince": JSONValue(connection.map { Timestamp.exact($0.since) }), "traffic": traffic?.json ?? .null,
    ]
  }
}

extension AccountTraffic {
  var json: JSONValue {
    [
      "since": .string(Timestamp.exact(since)), "parcelsSent": .integer(sent.parcels),
      "plainSent": .integer(sent.texts),
      "bytesSent": .integer(sent.bytes), "parcelsTaken": .integer(taken.parcels), "plainTaken": .integer(taken.texts),
      "bytesTaken": .integer(taken.bytes), "passedOver": .integer(passedOver),
    ]
  }
}

extension FriendSummary {
  var json: JSONValue {
    [
      "address": .string(address), "name": JSONValue(name), "peer": JSONValue(peer),
      "subscription": .string(subscription), "asks": .bool(asks), "presence": JSONValue(presence),
    ]
  }
}

extension AccountReport {
  var json: JSONValue {
    [
      "parcelsSent": JSONValue(parcelsSent), "parcelsTaken": JSONValue(parcelsTaken),
      "plainSent": JSONValue(plainSent), "plainTaken": JSONValue(plainTaken), "receipts": JSONValue(receipts),
      "friendRequests": JSONValue(friendRequests), "passedOver": JSONValue(passedOver),
    ]
  }
}
