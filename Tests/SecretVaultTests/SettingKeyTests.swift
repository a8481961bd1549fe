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
}
