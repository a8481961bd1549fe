import SealedPayload
import Testing

@Suite("Padded lengths")
struct PaddedLengthTests {
  /// The paper's algorithm 1, written down independently with bit counts found by division.
  private func padme(_ length: UInt64) -> UInt64 {
    func floorLog2(_ value: UInt64) -> UInt64 { value < 2 ? 0 : 1 + floorLog2(value / 2) }
    let exponent = floorLog2(length)
    let kept = floorLog2(exponent) + 1
    let step = (0..<(exponent - kept)).reduce(UInt64(1)) { step, _ in step * 2 }
    return (length + step - 1) / step * step
  }

  @Test("are 1024 up to 1024 bytes")
  func minimum() {
    for length: UInt64 in [0, 1, 9, 64, 1023, 1024] { #expect(PaddedLength.of(length) == 1024) }
  }

  @Test("have known values")
  func values() {
    let known: [UInt64: UInt64] = [
      1025: 1088, 1088: 1088, 1089: 1152, 2047: 2048, 2049: 2176, 65_536: 65_536, 65_537: 67_584,
      1_000_000: 1_015_808, 1 << 30: 1 << 30, (1 << 30) + 1: (1 << 30) + (1 << 25),
    ]
    for (length, padded) in known { #expect(PaddedLength.of(length) == padded) }
  }

  @Test("agree with the paper's formula, add at most 12 per cent, and are padded already")
  func formula() {
    var lengths = Array(UInt64(1025)...5000)
    for bits in 11..<60 {
      let power = UInt64(1) << UInt64(bits)
      lengths += [power - 1, power, power + 1, power + UInt64.random(in: 0..<power)]
    }
    for length in lengths {
      let padded = PaddedLength.of(length)
      #expect(padded == padme(length))
      guard let padded else { continue }
      #expect(padded >= length && padded - length <= length / 8)
      #expect(PaddedLength.of(padded) == padded)
    }
  }

  @Test("never overflow: over 2^60 there is none")
  func overflow() {
    let limit = PaddedLength.limit
    #expect(PaddedLength.of(limit) == limit)
    #expect(PaddedLength.compact(limit) == limit)
    for length in [limit + 1, 1 << 63, UInt64.max - 1, .max] {
      #expect(PaddedLength.of(length) == nil)
      #expect(PaddedLength.compact(length) == nil)
    }
  }

  @Test("for QR codes are the next multiple of 64")
  func compact() {
    for length: UInt64 in 0...300 {
      let padded = PaddedLength.compact(length) ?? 0
      #expect(padded.isMultiple(of: 64) && padded >= max(length, 1) && padded < max(length, 1) + 64)
    }
  }
}
