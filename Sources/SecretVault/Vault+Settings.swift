import VaultStore

extension Vault {
  /// All settings in a fixed order.
  public func settings() throws(VaultError) -> [Setting] {
    let values = try stored { () throws(StoreError) in try settingsFile.load() }
    return SettingKey.allCases.map { key in
      Setting(
        key: key.rawValue, value: values[key.rawValue] ?? key.defaultValue, defaultValue: key.defaultValue,
        explanation: key.explanation)
    }
  }

  /// Changes a setting; an empty value restores the default.
  public func set(_ key: String, to value: String) throws(VaultError) -> Setting {
    guard let key = SettingKey(rawValue: key) else {
      throw VaultError(
        .usage, "there is no setting named \(key)",
        hint: "the settings are: \(SettingKey.allCases.map(\.rawValue).joined(separator: ", "))")
    }
    if !value.isEmpty { try key.validate(value) }
    _ = try stored { () throws(StoreError) in
      try settingsFile.update { $0[key.rawValue] = value.isEmpty ? nil : value }
    }
    return Setting(
      key: key.rawValue, value: value.isEmpty ? key.defaultValue : value, defaultValue: key.defaultValue,
      explanation: key.explanation)
  }

  /// A setting's value now, or nil if the settings can't be read, for what must not become longer or weaker by that.
  public func verifiedSetting(_ key: SettingKey) -> String? {
    do throws(StoreError) {
      return try settingsFile.load()[key.rawValue] ?? key.defaultValue
    } catch {
      environment.log.error("the settings can't be read: \(error)")
      return nil
    }
  }

  /// A setting's value now. A settings file that doesn't verify counts as untouched, and the log says so: `vault
  /// settings list` shows the error.
  public func settingValue(_ key: String) -> String {
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
}
