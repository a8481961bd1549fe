import VaultStore

extension VaultCore {
  /// All settings in a fixed order.
  package func settings() throws -> [Setting] {
    let values = try settingsFile.load()
    return SettingKey.allCases.map { key in
      Setting(
        key: key.rawValue, value: values[key.rawValue] ?? key.defaultValue, defaultValue: key.defaultValue,
        explanation: key.explanation)
    }
  }

  /// Changes a setting; an empty value restores the default.
  package func set(_ key: String, to value: String) throws -> Setting {
    let key = try Self.settingKey(key)
    try change([(key, value)])
    return Self.setting(key, value)
  }

  /// Changes several settings, or none if one of them isn't right.
  package func set(_ changes: [(key: String, value: String)]) throws -> [Setting] {
    var known: [(key: SettingKey, value: String)] = []
    for change in changes { known.append((try Self.settingKey(change.key), change.value)) }
    try change(known)
    return known.map { Self.setting($0.key, $0.value) }
  }

  /// Puts every setting back to its default, also where their file is lost or damaged.
  package func resetSettings() throws -> [Setting] {
    try settingsFile.save([:])
    return try settings()
  }

  private static func settingKey(_ name: String) throws -> SettingKey {
    guard let key = SettingKey(rawValue: name) else {
      throw VaultError(
        .usage, "there is no setting named \(name)",
        hint: "the settings are: \(SettingKey.allCases.map(\.rawValue).joined(separator: ", "))")
    }
    return key
  }

  private func change(_ changes: [(key: SettingKey, value: String)]) throws {
    for change in changes where !change.value.isEmpty { try change.key.validate(change.value) }
    guard !changes.isEmpty else { return }
    _ = try settingsFile.update { settings throws(StoreError) in
      for change in changes { settings[change.key.rawValue] = change.value.isEmpty ? nil : change.value }
    }
  }

  private static func setting(_ key: SettingKey, _ value: String) -> Setting {
    Setting(
      key: key.rawValue, value: value.isEmpty ? key.defaultValue : value, defaultValue: key.defaultValue,
      explanation: key.explanation)
  }

  /// A setting's value now, or nil if the settings can't be read, for what must not become longer or weaker by that.
  package func verifiedSetting(_ key: SettingKey) -> String? {
    do {
      return try settingsFile.load()[key.rawValue] ?? key.defaultValue
    } catch {
      environment.log.error("the settings can't be read: \(error)")
      return nil
    }
  }

  /// A setting's value now. A settings file that is lost or doesn't verify counts as untouched, and the log says so: `vault
  /// settings list` shows the error. For what nobody loses anything by.
  package func settingValue(_ key: String) -> String {
    guard let key = SettingKey(rawValue: key) else { return "" }
    return verifiedSetting(key) ?? key.defaultValue
  }

  /// Most bytes, and most shares, kept for one peer; nil if the settings can't be trusted, and then nothing is taken.
  var quota: (bytes: UInt64, shares: Int)? {
    guard let values = try? settingsFile.load() else { return nil }
    func value(_ key: SettingKey) -> String { values[key.rawValue] ?? key.defaultValue }
    guard let bytes = SettingKey.byteCount(value(.quotaBytes)), let shares = Int(value(.quotaShares)) else {
      return nil
    }
    return (bytes, shares)
  }

  /// How Bluetooth is to be used, as the settings say now.
  package struct NearbySettings: Hashable, Sendable {
    /// Whether it is used at all.
    package let isOn: Bool
    /// The adapters: `all`, a name or an address.
    package let adapters: String
    /// Most bytes that go to one peer at once.
    package let byteLimit: UInt64
  }

  /// How Bluetooth is to be used. Settings that can't be read, or were damaged, leave it alone.
  package func nearbySettings() -> NearbySettings {
    let values = try? settingsFile.load()
    func value(_ key: SettingKey) -> String { values?[key.rawValue] ?? key.defaultValue }
    let isOn = values != nil && value(.ble) == SettingKey.on
    return NearbySettings(
      isOn: isOn, adapters: value(.bleAdapter), byteLimit: SettingKey.byteCount(value(.bleLimit)) ?? 0)
  }
}
