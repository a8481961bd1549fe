import Sodium
import Testing

@Suite("Secret bytes")
struct SecretBytesTests {
  @Test("start as zeros, random bytes, or a copy", arguments: [0, 1, 32, 4096, 100_000])
  func creation(count: Int) throws {
    let zeros = try SecretBytes(zeros: count)
    #expect(copied(zeros) == [UInt8](repeating: 0, count: count))
    let one = try SecretBytes(random: count)
    let two = try SecretBytes(random: count)
    #expect(one.count == count)
    if count >= 32 { #expect(copied(one) != copied(two)) }
    let copy = try SecretBytes(copying: one.bytes)
    #expect(copied(copy) == copied(one))
  }

  @Test("of a negative or absurd number are refused")
  func impossible() {
    #expect(throws: SodiumError.outOfSecretMemory) { _ = try SecretBytes(zeros: -1).count }
    #expect(throws: SodiumError.outOfSecretMemory) { _ = try SecretBytes(zeros: Int.max).count }
  }

  @Test("are written in place, with room for exactly their number; the rest stays zero")
  func fill() throws {
    var room = 0
    let value = try SecretBytes(count: 5) { output throws(SodiumError) in
      room = output.freeCapacity
      output.append(1 as UInt8)
      output.append(2 as UInt8)
    }
    #expect(room == 5)
    #expect(copied(value) == [1, 2, 0, 0, 0])
  }

  @Test("whose filling fails leave nothing: the error passes through, and later ones are clean")
  func failedFill() throws {
    struct Stop: Error {}
    for _ in 0..<100 {
      #expect(throws: SodiumError.invalidPoint) {
        _ = try SecretBytes(count: 4096) { output throws(SodiumError) in
          for _ in 0..<4096 { output.append(0xa5 as UInt8) }
          throw .invalidPoint
        }.count
      }
      #expect(throws: Stop.self) {
        _ = try SecretBytes(count: 4096, allocation: { _ in Stop() }) { output throws(Stop) in
          output.append(0xa5 as UInt8)
          throw Stop()
        }.count
      }
      let next = try SecretBytes(count: 4096) { output throws(SodiumError) in }
      #expect(copied(next).allSatisfy { $0 == 0 })
    }
  }

  @Test("report a failed allocation as the caller's kind of error")
  func failedAllocation() {
    struct Full: Error {}
    #expect(throws: Full.self) {
      _ = try SecretBytes(count: -1, allocation: { _ in Full() }) { output throws(Full) in }.count
    }
  }

  @Test("match exactly the same bytes of the same length")
  func matching() throws {
    let value = try SecretBytes(random: 33)
    let same = try value.duplicate()
    let matchesSame = value.matches(same)
    #expect(matchesSame)
    for position in 0..<33 {
      var other = try value.duplicate()
      other.withUnsafeMutableBytes { $0[position] ^= 1 }
      let matchesOther = value.matches(other)
      #expect(!matchesOther, "\(position)")
    }
    let shorter = try SecretBytes(copying: value.bytes.extracting(first: 32))
    let matchesShorter = value.matches(shorter)
    #expect(!matchesShorter)
    let empty = try SecretBytes(zeros: 0)
    let nothing = try SecretBytes(zeros: 0)
    let emptyMatches = empty.matches(nothing)
    #expect(emptyMatches)
  }

  @Test("compare in constant time as spans, too")
  func spans() {
    func equal(_ left: [UInt8], _ right: [UInt8]) -> Bool { constantTimeEqual(left.span.bytes, right.span.bytes) }
    #expect(equal([1, 2], [1, 2]))
    #expect(!equal([1, 2], [1, 3]))
    #expect(!equal([1, 2], []))
    #expect(equal([], []))
  }

  @Test("duplicates are independent, and wiping zeroes one of them")
  func wiping() throws {
    var value = try secret([1, 2, 3])
    let duplicate = try value.duplicate()
    value.wipe()
    #expect(copied(value) == [0, 0, 0])
    #expect(copied(duplicate) == [1, 2, 3])
  }

  @Test("can be changed in place")
  func mutation() throws {
    var value = try secret([1, 2, 3])
    value.withUnsafeMutableBytes { $0[1] = 9 }
    #expect(copied(value) == [1, 9, 3])
  }
}

@Suite("Public values")
struct PublicValueTests {
  @Test("hexadecimal text and bytes are each other's reverse")
  func hexadecimalText() throws {
    let all = [UInt8](0...255)
    #expect(bytes(hexadecimal: hexadecimal(all)) == all)
    #expect(bytes(hexadecimal: "aBCdeF09") == [0xab, 0xcd, 0xef, 0x09])
    #expect(bytes(hexadecimal: "") == [])
    for bad in ["0", "0g", "é", " 0", "0x00", "-1"] { #expect(bytes(hexadecimal: bad) == nil) }
  }

  @Test("a digest is 32 bytes")
  func digest() throws {
    #expect(try Digest(Array(0..<32)).description == hexadecimal(Array(0..<32)))
    for count in [0, 31, 33] {
      #expect(throws: SodiumError.invalidLength(expected: 32, actual: count)) {
        try Digest([UInt8](repeating: 0, count: count))
      }
    }
  }

  @Test("public random bytes have the asked length and differ")
  func randomness() throws {
    #expect(try Randomness.bytes(0).isEmpty)
    #expect(try Randomness.bytes(-1).isEmpty)
    let values = try Set((0..<50).map { _ in try Randomness.bytes(16) })
    #expect(values.count == 50 && values.allSatisfy { $0.count == 16 })
  }
}
