import Testing

@testable import VaultCLI

@Suite("Sizes, durations and times")
struct MeasuresTests {
  @Test(
    arguments: [
      (UInt64(0), "0 bytes"), (1, "1 byte"), (999, "999 bytes"), (1000, "1.0 kB"), (1234, "1.2 kB"), (9949, "9.9 kB"),
      (9960, "10 kB"), (123_456, "123 kB"), (999_499, "999 kB"), (999_500, "1.0 MB"), (1_500_000_000, "1.5 GB"),
      (UInt64.max, "18 EB"),
    ] as [(UInt64, String)])
  func sizes(bytes: UInt64, text: String) { #expect(Measures.size(bytes) == text) }

  @Test(
    arguments: [
      (0.0, "0:00"), (7.0, "0:07"), (59.6, "1:00"), (750.0, "12:30"), (3723.0, "1:02:03"), (1e9, "-:--"),
      (-1.0, "-:--"), (Double.nan, "-:--"),
    ] as [(Double, String)])
  func clocks(seconds: Double, text: String) { #expect(Measures.clock(seconds) == text) }

  @Test(
    arguments: [(0.418, "0.42 ms"), (12.34, "12.3 ms"), (999.6, "1.00 s"), (1200.0, "1.20 s"), (Double.nan, "-")]
      as [(Double, String)])
  func milliseconds(value: Double, text: String) { #expect(Measures.milliseconds(value) == text) }

  @Test(
    arguments: [
      (Int64(0), "just now"), (59, "just now"), (60, "1 minute ago"), (3599, "59 minutes ago"), (7200, "2 hours ago"),
      (86400, "1 day ago"), (2_505_600, "29 days ago"), (2_592_000, "2026-10-22 UTC"), (-30, "just now"),
      (-86400, "2026-11-22 UTC"),
    ] as [(Int64, String)])
  func howLongAgo(seconds: Int64, text: String) {
    #expect(Measures.ago(Samples.at - seconds * 1000, now: Samples.at) == text)
  }

  @Test(
    arguments: [
      (Int64(0), "1970-01-01T00:00:00.000Z"), (951_782_400_000, "2000-02-29T00:00:00.000Z"),
      (1_795_230_954_120, "2026-11-21T03:15:54.120Z"), (-1, "1969-12-31T23:59:59.999Z"),
      (4_107_542_399_999, "2100-02-28T23:59:59.999Z"), (253_402_300_799_000, "9999-12-31T23:59:59.000Z"),
    ] as [(Int64, String)])
  func timestamps(milliseconds: Int64, text: String) { #expect(Timestamp.exact(milliseconds) == text) }

  @Test func noMomentTraps() {
    for moment in [Int64.min, Int64.min + 1, Int64.max] {
      #expect(Timestamp.exact(moment).hasSuffix("Z"))
      #expect(!Measures.ago(moment, now: 0).isEmpty)
      #expect(!Measures.ago(0, now: moment).isEmpty)
    }
  }

  @Test func progress() {
    #expect(
      ProgressLine.text("encrypting", done: 123_000_000, total: 270_000_000, seconds: 1.5)
        == "encrypting  45%  123 MB of 270 MB  82 MB/s  0:02 left")
    #expect(ProgressLine.text("encrypting", done: 1000, total: nil, seconds: 2) == "encrypting  1.0 kB  500 bytes/s")
    #expect(
      ProgressLine.text("sending", done: 0, total: 10, seconds: 2)
        == "sending  0%  0 bytes of 10 bytes  0 bytes/s  -:-- left")
    #expect(ProgressLine.text("sending", done: 11, total: 10, seconds: 1).contains("100%"))
  }
}
