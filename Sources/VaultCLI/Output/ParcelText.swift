import SecretVault
import Sodium

/// What waits for peers who are away, and goes by parcel: through an account, through groups that they are in, or with carriers.
struct ParcelText {
  /// The names of groups, by their ids in this vault. Where one is missing its id takes its place.
  var names: [String: String] = [:]

  func name(_ way: ParcelWay) -> String {
    let id = hexadecimal(way.folder)
    return names[id] ?? id
  }

  /// Where a share is that isn't there yet.
  func words(_ way: ParcelWay) -> String { "\(short(way)), since \(Timestamp.minute(way.since))" }

  /// The same of whoever is asked to prove its keys before it gets a share.
  func probeWords(_ way: ParcelWay) -> String {
    "its keys have to be proved first: a question is \(words(way))"
  }

  /// The same without a time: `on its way through the group Family`. `to` is for whom, if that isn't said otherwise.
  func short(_ way: ParcelWay, to peer: String? = nil) -> String {
    let recipient = peer.map { " to \($0)" } ?? ""
    var through: [String] = []
    if way.routes.contains("account") { through.append("through the XMPP account") }
    if way.routes.contains("group"), !way.folder.isEmpty { through.append("through the group \(name(way))") }
    guard through.isEmpty else { return "on its way\(recipient) \(through.joined(separator: " and "))" }
    return "ready for whoever carries it\(recipient)"
  }
}

// MARK: - JSON

extension ParcelText {
  func json(_ delivery: Delivery) -> JSONValue {
    [
      "peer": .string(delivery.peer), "index": .integer(Int64(delivery.index)),
      "state": .string(delivery.state.rawValue), "reason": JSONValue(delivery.reason),
      "onItsWay": delivery.onItsWay.map { json($0) } ?? .null, "probe": delivery.probe.map { json($0) } ?? .null,
    ]
  }

  private func json(_ way: ParcelWay) -> JSONValue {
    [
      "group": JSONValue(way.folder.isEmpty ? nil : name(way)),
      "groupID": JSONValue(way.folder.isEmpty ? nil : hexadecimal(way.folder)),
      "since": .string(Timestamp.exact(way.since)), "routes": JSONValue(way.routes),
    ]
  }
}
