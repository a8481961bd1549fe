import Testing

@testable import Courier

@Suite struct EncountersTests {
  @Test func `nobody is expected who was never met`() throws {
    #expect(Encounters().predictability(of: try device(1), at: start) == 0)
  }

  @Test func `meeting again makes the next meeting likelier`() throws {
    var encounters = Encounters()
    let friend = try device(1)
    encounters.met(friend, isPeer: true, at: start)
    let first = encounters.predictability(of: friend, at: start)
    encounters.met(friend, isPeer: true, at: start + day)
    let second = encounters.predictability(of: friend, at: start + day)
    #expect(first == 0.5)
    #expect(second > first)
    #expect(second < 1)
  }

  @Test func `what is remembered ages by half in less than five days`() throws {
    var encounters = Encounters()
    encounters.met(try device(1), isPeer: true, at: start)
    #expect(abs(encounters.predictability(of: try device(1), at: start + 4 * day + 19 * hour) - 0.25) < 0.005)
  }

  @Test func `a flickering radio counts little`() throws {
    var encounters = Encounters()
    var flickering = Encounters()
    let friend = try device(1)
    encounters.met(friend, isPeer: true, at: start)
    encounters.met(friend, isPeer: true, at: start + hour)
    for second in 0...60 { flickering.met(friend, isPeer: true, at: start + Int64(second) * 1000) }
    #expect(
      flickering.predictability(of: friend, at: start + hour) < encounters.predictability(of: friend, at: start + hour))
  }

  @Test func `a clock that was set back does no harm`() throws {
    var encounters = Encounters()
    encounters.met(try device(1), isPeer: true, at: start)
    encounters.met(try device(1), isPeer: true, at: .min)
    let value = encounters.predictability(of: try device(1), at: .min)
    #expect(value > 0 && value < 1)
  }

  @Test func `a crowd of strangers stays bounded and pushes out no peer`() throws {
    var encounters = Encounters()
    encounters.met(try device(0), isPeer: true, at: start)
    for number in 1...5000 { encounters.met(try device(number), isPeer: false, at: start + 2 * day) }
    #expect(encounters.entries.count <= Encounters.limit)
    #expect(encounters.predictability(of: try device(0), at: start + 2 * day) > 0)
  }

  @Test(arguments: [(0.999, 1000.0), (0.5, 0.25), (0.5, 30), (0.7, 0)]) func `a power is near the true one`(
    base: Double, exponent: Double
  ) {
    // By repeated square roots of the base.
    var (rest, root, result) = (exponent, base, 1.0)
    while rest >= 1 {
      result *= base
      rest -= 1
    }
    for _ in 0..<40 {
      rest *= 2
      root = root.squareRoot()
      if rest >= 1 {
        result *= root
        rest -= 1
      }
    }
    #expect(abs(power(base, exponent) - result) < 0.05)
  }
}
