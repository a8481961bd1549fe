import Testing

@testable import VaultXMPP

@Suite struct AccountStampTests {
  @Test(
    arguments: [
      ("1970-01-01T00:00:00Z", 0), ("2000-02-29T23:59:59.5Z", 951_868_799_500),
      ("2026-11-22T23:04:05.678901Z", 1_795_388_645_678), ("2026-11-23T00:04:05+01:00", 1_795_388_645_000),
      ("2026-11-22T22:34:05-00:30", 1_795_388_645_000),
    ] as [(String, Int64)])
  func `a moment is read to the millisecond`(_ text: String, _ expected: Int64) {
    #expect(AccountStamp.milliseconds(text) == expected)
  }

  @Test(arguments: [
    "", "2026-11-22", "2026-11-22T23:04:05", "2026-13-22T23:04:05Z", "2026-11-22T24:04:05Z", "2026-11-22 23:04:05Z",
    "2026-11-22T23:04:05+1:00", "2026-11-22T23:04:05.Zx", "-026-11-22T23:04:05Z",
    "2026-11-22T23:04:05.0000000000000000000000Z",
  ])
  func `what is no moment is none`(_ text: String) {
    #expect(AccountStamp.milliseconds(text) == nil)
  }
}
