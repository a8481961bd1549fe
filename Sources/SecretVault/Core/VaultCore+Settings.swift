import VaultStore

extension VaultCore {
  /// All settings in a fixed order.
  package func settings() throws -> [Setting] {
    let values = try settingsFile.load()
    return SettingKey.allCases.map { Self.setting($0, values.value(of: $0)) }
  }

  /// Changes a setting; an empty value restores the default.
  package func set(_ key: String, to value: String) throws -> Setting {
    let key = try Self.settingKey(key)
    try change([(key, value)])
    return Self.setting(key, value)
  }

  /// Changes several settings, or none if one of them isn't right.
  package func set(_ changes: [(key: String, value: String)]) throws -> [Setting] {
    let known = try changes.map { (key: try Self.settingKey($0.key), value: $0.value) }
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
        hint: NearNames.question(name, among: SettingKey.allCases.map(\.rawValue))
          ?? "the settings are: \(SettingKey.allCases.map(\.rawValue).joined(separator: ", "))")
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
    do { return try settingsFile.load().value(of: key) } catch {
      environment.log.error("the settings can't be read: \(error)")
      return nil
    }
  }

  /// A setting's value now. A settings file that is lost or doesn't verify counts as untouched, and the log says so: `vault
  /// settings list` shows the error. For what nobody loses anything by.
  func settingValue(_ key: String) -> String {
    guard let key = SettingKey(rawValue: key) else { return "" }
    return verifiedSetting(key) ?? key.defaultValue
  }

  /// Most bytes, and most shares, kept for one peer; nil if the settings can't be trusted, and then nothing is taken.
  var quota: (bytes: UInt64, shares: Int)? {
    guard let values = try? settingsFile.load(), let bytes = SettingKey.byteCount(values.value(of: .quotaBytes)),
      let shares = Int(values.value(of: .quotaShares))
    else { return nil }
    return (bytes, shares)
  }

  /// How Bluetooth is to be used.
  package struct NearbySettings: Hashable, Sendable {
    package let isOn: Bool
    /// The adapters: `all`, a name or an address.
    package let adapters: String
    /// Most bytes that go to one peer at once.
    package let byteLimit: UInt64
  }

  /// Whether peers on the same network are looked for, and find this device. Not by settings that can't be read, or were damaged.
  package var usesLocalNetwork: Bool { (try? settingsFile.load())?.value(of: .lan) == SettingKey.on }

  /// Settings that can't be read, or were damaged, leave Bluetooth alone.
  package func nearbySettings() -> NearbySettings {
    let verified = try? settingsFile.load()
    let values = verified ?? [:]
    return NearbySettings(
      isOn: verified != nil && values.value(of: .ble) == SettingKey.on, adapters: values.value(of: .bleAdapter),
      byteLimit: SettingKey.byteCount(values.value(of: .bleLimit)) ?? 0)
  }
}
