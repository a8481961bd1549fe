import SecretVault
import Sodium

/// What waits for peers who are away, and goes through groups that they are in.
struct ParcelText {
  /// The names of groups, by their ids in this vault.
  private let names: [String: String]

  /// With these names. Where one is missing its id takes its place.
  init(names: [String: String] = [:]) { self.names = names }

  func name(_ way: ParcelWay) -> String {
    let id = hexadecimal(way.folder)
    return names[id] ?? id
  }

  /// Where a share is that isn't there yet.
  func words(_ way: ParcelWay) -> String {
    "on its way through the group \(name(way)), since \(Timestamp.minute(way.since)) UTC"
  }
}

// MARK: - JSON

extension ParcelText {
  func json(_ delivery: Delivery) -> JSONValue {
    [
      "peer": .string(delivery.peer), "index": .integer(Int64(delivery.index)),
      "state": .string(delivery.state.rawValue), "reason": JSONValue(delivery.reason),
      "onItsWay": delivery.onItsWay.map { json($0) } ?? .null,
    ]
  }

  private func json(_ way: ParcelWay) -> JSONValue {
    [
      "group": .string(name(way)), "groupID": .string(hexadecimal(way.folder)),
      "since": .string(Timestamp.exact(way.since)),
    ]
  }
}
