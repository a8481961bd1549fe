import PeerLink
import SecretVault
import VaultDaemon
import VaultStore

/// What Bluetooth does, in words and as JSON.
enum BluetoothText {
  static func words(_ status: VaultStatus) -> String {
    guard status.nearby.isOn else { return SettingKey.off }
    guard status.daemon != nil else { return "on, but nobody finds this device while its daemon does not run" }
    guard let facts = status.daemon?.facts?.bluetooth else { return "on; the daemon is about to use it" }
    var parts: [String] = []
    if !facts.adapters.isEmpty {
      parts.append("answering at \(facts.adapters.joined(separator: ", ")) by \(facts.radio ?? "nobody")")
    }
    parts.append(facts.isShown ? "peers nearby can find this device" : "peers nearby can't find this device")
    if let problem = facts.problem { parts.append(problem) }
    if !facts.exposed.isEmpty {
      parts.append(
        "LE privacy is off at \(facts.exposed.joined(separator: ", ")), so its fixed address can be followed")
    }
    return parts.joined(separator: "; ")
  }

  static func json(_ status: VaultStatus) -> JSONValue {
    let facts = status.daemon?.facts?.bluetooth
    return [
      "on": .bool(status.nearby.isOn), "shown": .bool(facts?.isShown ?? false), "radio": JSONValue(facts?.radio),
      "adapters": JSONValue(facts?.adapters ?? []), "exposed": JSONValue(facts?.exposed ?? []),
      "problem": JSONValue(facts?.problem),
    ]
  }
}

extension NearbyPeople.Heard {
  var words: String { strength.map { "\($0) dBm" } ?? "near" }

  var json: JSONValue {
    [
      "strength": JSONValue(strength), "address": .string(address.description),
      "addressKind": address.kind == .public ? "public" : "random", "adapter": .string(adapter),
    ]
  }
}
