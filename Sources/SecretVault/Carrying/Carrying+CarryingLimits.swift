import Courier

extension Carrying {
  /// The limits in the settings. While these can't be read, nothing is carried.
  func carryingLimits() -> CarryingLimits {
    var limits = CarryingLimits()
    guard let values = try? core.settingsFile.load() else {
      limits.isOn = false
      return limits
    }
    func value(_ key: SettingKey) -> String { values[key.rawValue] ?? key.defaultValue }
    func bytes(_ key: SettingKey) -> Int { SettingKey.byteCount(value(key)).map { Int(clamping: $0) } ?? 0 }
    limits.isOn = value(.carry) == SettingKey.on
    limits.bytes = bytes(.carryBytes)
    limits.bytesADay = bytes(.carryDay)
    limits.bytesPerGiver = bytes(.carryPeer)
    limits.leastBattery = Int(value(.carryBattery)) ?? 100
    limits.fairShare = SettingKey.fairShare(value(.carryFairShare)).map {
      FairShare(allowance: Int(clamping: $0.allowance), percent: $0.percent)
    }
    return limits
  }

  func deviceCondition() -> DeviceCondition { DeviceCondition(battery: environment.battery()) }
}
