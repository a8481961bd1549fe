import SecretVault

/// Where the daemon listens.
package enum ListenTarget: Hashable, Sendable {
  /// Nowhere: it answers nobody.
  case off
  case at(host: String, port: Int)

  /// `HOST:PORT` or `off`.
  package init?(_ text: String) {
    if text == SettingKey.off {
      self = .off
      return
    }
    guard let (host, port) = SettingKey.endpoint(text) else { return nil }
    self = .at(host: host, port: port)
  }

  /// What the setting says. Settings that were damaged must not turn into an open port.
  init(_ vault: Vault) throws {
    let text = try vault.core.settings().first { $0.key == SettingKey.listen.rawValue }?.value ?? ""
    guard let target = ListenTarget(text) else {
      throw VaultError(
        .usage, "the setting listen is neither HOST:PORT nor off: '\(text)'",
        hint: "change it: vault settings set listen")
    }
    self = target
  }
}
