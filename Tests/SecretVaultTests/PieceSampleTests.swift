import Testing

@testable import SecretVault

@Suite("Pieces drawn for a drill")
struct PieceSampleTests {
  @Test("are as many as were asked for, different, in order, and exist", arguments: [1, 2, 5, 64, 100, 4096])
  func draw(count: Int) throws {
    for total in [1, 2, 3, 64, 65, 100, 5000, 1 << 40] as [UInt64] {
      let numbers = try PieceSample.draw(count, of: total)
      #expect(numbers.count == min(count, Int(clamping: total)))
      #expect(zip(numbers, numbers.dropFirst()).allSatisfy { $0 < $1 })
      #expect(numbers.allSatisfy { $0 < total })
    }
  }

  @Test("are each as likely as any other")
  func even() throws {
    var hits = [Int](repeating: 0, count: 10)
    for _ in 0..<4000 { for number in try PieceSample.draw(3, of: 10) { hits[Int(number)] += 1 } }
    // 1200 each, with a standard deviation of 29: seven of those are exceeded once in a hundred thousand million runs.
    #expect(hits.allSatisfy { abs($0 - 1200) < 203 }, "\(hits)")
  }

  @Test("none of nothing")
  func none() throws {
    #expect(try PieceSample.draw(0, of: 10).isEmpty)
    #expect(try PieceSample.draw(3, of: 0).isEmpty)
  }

  @Test("find damage as often as the count of choices says")
  func chance() {
    #expect(abs(PieceSample.chance(ofNoticing: 1, of: 100, seeing: 1) - 0.01) < 1e-9)
    #expect(abs(PieceSample.chance(ofNoticing: 1, of: 100, seeing: 64) - 0.64) < 1e-9)
    // Two of four are damaged and two are seen: both sound in one choice of six.
    #expect(abs(PieceSample.chance(ofNoticing: 2, of: 4, seeing: 2) - 5.0 / 6) < 1e-9)
    #expect(PieceSample.chance(ofNoticing: 1, of: 64, seeing: 64) == 1)
    #expect(PieceSample.chance(ofNoticing: 100, of: 100, seeing: 1) == 1)
    #expect(PieceSample.chance(ofNoticing: 3, of: 4, seeing: 2) == 1)
    #expect(PieceSample.chance(ofNoticing: 1, of: 100, seeing: 0) == 0)
    #expect(PieceSample.chance(ofNoticing: 0, of: 100, seeing: 50) == 0)
    #expect(PieceSample.chance(ofNoticing: 5, of: 0, seeing: 5) == 1)
  }
}
