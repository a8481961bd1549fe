import Testing

@testable import SecretVault

@Suite struct SettingKeyTests {
  @Test(arguments: [("0", 0), ("512", 512), ("1k", 1 << 10), ("2M", 2 << 20), ("64G", 64 << 30), ("3t", 3 << 40)])
  func `a number of bytes may have a unit`(text: String, count: UInt64) {
    #expect(SettingKey.byteCount(text) == count)
  }

  // Found by the fuzzer: a kelvin sign, a ligature of s and t, and a K with a dot below.
  @Test(arguments: ["1\u{212A}", "1\u{FB05}", "1K\u{323}", "1\u{DF}"])
  func `a letter that only resembles a unit is none`(text: String) throws {
    #expect(SettingKey.byteCount(text) == nil)
    #expect(throws: VaultError.self) { try SettingKey.quotaBytes.validate(text) }
  }

  @Test(arguments: ["", "K", "-1", "1.5G", "1 G", "99999999999T", "18446744073709551616"])
  func `what is no number of bytes is refused`(text: String) {
    #expect(SettingKey.byteCount(text) == nil)
  }

  @Test(arguments: [
    ("0", 0), ("0s", 0), ("2s", 2000), ("90s", 90_000), ("10", 600_000), ("10m", 600_000), ("2h", 7_200_000),
    ("720h", 2_592_000_000),
  ])
  func `a time may have a unit and is minutes without`(text: String, milliseconds: Int64) throws {
    #expect(SettingKey.milliseconds(text) == milliseconds)
    try SettingKey.agentTimeout.validate(text)
  }

  @Test(arguments: [
    "", "s", "-1", "+1m", "1.5m", "1 m", "721h", "99999999999999999999", "9223372036854775807h", "1M", "١m",
  ])
  func `what is no time is refused`(text: String) {
    #expect(SettingKey.milliseconds(text) == nil)
    #expect(throws: VaultError.self) { try SettingKey.agentTimeout.validate(text) }
  }

  @Test(arguments: ["all", "hci0", "hci9999", "00:AA:01:00:00:2f"])
  func `Bluetooth adapters have a name or an address`(text: String) throws { try SettingKey.bleAdapter.validate(text) }

  @Test(arguments: ["hci", "hci12345", "eth0", "00:AA:01:00:00", "00:AA:01:00:00:2g", "+0:AA:01:00:00:00", "All"])
  func `what names no adapter is refused`(text: String) {
    #expect(throws: VaultError.self) { try SettingKey.bleAdapter.validate(text) }
  }

  @Test(arguments: ["::1:4799", "2001:db8::7:4721", "::", "[::1]", "::1]:4799", "a:b:4721"])
  func `an address of IPv6 stands in brackets`(text: String) {
    #expect(throws: VaultError.self) { try SettingKey.listen.validate(text) }
  }

  @Test(arguments: ["[::1]:4799", "127.0.0.1:0", "localhost:4721", "[::]:4721", "off"])
  func `a place to listen at has a host and a port`(text: String) throws { try SettingKey.listen.validate(text) }

  @Test func `Bluetooth is off unless somebody switches it on, and its limit is 100 kB`() throws {
    #expect(SettingKey.ble.defaultValue == "off")
    #expect(SettingKey.byteCount(SettingKey.bleLimit.defaultValue) == 100_000)
    try SettingKey.ble.validate("on")
    #expect(throws: VaultError.self) { try SettingKey.ble.validate("yes") }
  }

  @Test func `several settings are changed together, or none`() throws {
    let world = try TestWorld(1)
    let vault = world[0].vault
    let changed = try vault.core.set([("carry-bytes", "32M"), ("carry-battery", "50")])
    #expect(changed.map(\.value) == ["32M", "50"])
    #expect(throws: VaultError.self) { try vault.core.set([("carry-bytes", "1M"), ("carry-battery", "101")]) }
    #expect(throws: VaultError.self) { try vault.core.set([("carry-bytes", "1M"), ("carry-colour", "red")]) }
    #expect(vault.core.settingValue("carry-bytes") == "32M" && vault.core.settingValue("carry-battery") == "50")
    #expect(try vault.core.set([("carry-bytes", ""), ("carry-battery", "")]).map(\.value) == ["64M", "20"])
  }
}
