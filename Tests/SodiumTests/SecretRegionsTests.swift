import Testing

@testable import Sodium

/// Sizes here are used by no other test, so that tests that run beside these don't take their regions.
@Suite("Regions of secret memory", .serialized)
struct SecretRegionsTests {
  private static func address(_ value: borrowing SecretBytes) -> UInt {
    value.withUnsafeBytes { UInt(bitPattern: $0.baseAddress) }
  }

  @Test("are used again for values of the same size, and start as zeros")
  func reuse() throws {
    var places: Set<UInt> = []
    for _ in 0..<2000 {
      var value = try SecretBytes(zeros: 3001)
      #expect(copied(value).allSatisfy { $0 == 0 })
      value.withUnsafeMutableBytes { bytes in for position in bytes.indices { bytes[position] = 0xa5 } }
      places.insert(Self.address(value))
    }
    // A few at most: other tests may have emptied the store of regions in between.
    #expect(places.count < 200)
  }

  @Test("end at their guard page whatever their size")
  func placement() throws {
    for size in [1, 31, 32, 3002, 4095, 4096] {
      for _ in 0..<3 {
        let value = try SecretBytes(zeros: size)
        #expect((Self.address(value) + UInt(size)).isMultiple(of: 4096), "\(size)")
      }
    }
  }

  @Test("belong to one value at a time")
  func exclusiveness() throws {
    var first = try SecretBytes(zeros: 3003)
    first.withUnsafeMutableBytes { $0[0] = 7 }
    let second = try SecretBytes(zeros: 3003)
    #expect(Self.address(first) != Self.address(second))
    #expect(copied(first)[0] == 7 && copied(second)[0] == 0)
  }

  @Test("of many sizes don't pile up")
  func bounds() throws {
    for size in 1...2000 { _ = try SecretBytes(zeros: size).count }
    let waiting = (1...SecretRegions.sizeLimit).reduce(0) { $0 + SecretRegions.waitingCount(of: $1) }
    #expect(waiting <= SecretRegions.countLimit)
    for _ in 0..<3 { _ = try SecretBytes(zeros: SecretRegions.sizeLimit + 1).count }
    #expect(SecretRegions.waitingCount(of: SecretRegions.sizeLimit + 1) == 0)
  }
}
