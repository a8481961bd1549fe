import PeerAuth
import SecretVault
import VaultGroups

/// Whether peers can reach this device, and how.
enum ReachText {
  static func line(_ vault: Vault) async -> String {
    let settings = (try? vault.core.settings()) ?? []
    let listens = settings.first { $0.key == SettingKey.listen.rawValue }?.value != SettingKey.off
    let card = try? vault.core.ownIdentity().card
    let account = try? vault.accounts.currentAccount()?.address
    let groups = (try? await VaultGroups(vault).list())?.map(\.name) ?? []
    return line(
      addresses: listens ? card?.addresses ?? [] : [], isLocal: listens && vault.core.usesLocalNetwork,
      isNearby: vault.core.nearbySettings().isOn, account: account, groups: groups)
  }

  static func line(
    addresses: [PeerAddress], isLocal: Bool, isNearby: Bool, account: String?, groups: [String]
  ) -> String {
    var ways: [String] = []
    if !addresses.isEmpty { ways.append("at \(PeerText.list(addresses))") }
    if isLocal { ways.append("on the same network") }
    if isNearby { ways.append("in the same room, over Bluetooth") }
    if let account { ways.append("by messages to \(account)") }
    if !groups.isEmpty { ways.append("by the group\(groups.count == 1 ? "" : "s") \(groups.joined(separator: ", "))") }
    guard !ways.isEmpty else {
      return
        "no peer can reach this device yet: 'vault settings set lan on' is for the same network, 'vault id --address' for everywhere, 'vault account' for messages"
    }
    return "peers reach this device, while its daemon runs, \(ways.joined(separator: "; "))"
  }
}
