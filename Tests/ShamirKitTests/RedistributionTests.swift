import Sodium
import Testing

@testable import ShamirKit

/// A sharing with what its holders have.
private struct Circle {
  let scheme: ThresholdScheme
  let commitments: Commitments
  /// By index.
  let shares: [UInt8: [UInt8]]

  init(_ threshold: Int, _ count: Int, id: SecretID) throws {
    let dealing = try Dealing.fresh(ThresholdScheme(threshold: threshold, shareCount: count))
    var shares: [UInt8: [UInt8]] = [:]
    for index in 1...UInt8(count) { shares[index] = exposed(try dealing.share(index)) }
    (scheme, commitments, self.shares) = (dealing.scheme, dealing.commitments, shares)
  }

  private init(_ redistribution: Redistribution, _ shares: [UInt8: [UInt8]]) {
    (scheme, commitments, self.shares) = (redistribution.scheme, redistribution.commitments, shares)
  }

  func held(_ index: UInt8) throws -> KeyShare { try share(index, #require(shares[index])) }

  func key(_ indices: some Sequence<UInt8>, _ id: SecretID) throws -> [UInt8] {
    var collector = try ShareCollector(scheme: scheme, commitments: commitments)
    for index in indices { try collector.add(held(index)) }
    try collector.verify()
    return exposed(try collector.fileKey(for: id))
  }

  /// The same secret for others: `dealers` deal, `recipients` get shares of a new scheme.
  func handedOn(by dealers: [UInt8], to threshold: Int, _ recipients: [UInt8]) throws -> Circle {
    let scheme = try ThresholdScheme(threshold: threshold, shareCount: Int(recipients.max() ?? 2))
    var (points, subshares): ([UInt8: [RistrettoPoint]], [UInt8: [UInt8: [UInt8]]]) = ([:], [:])
    for dealer in dealers {
      let dealing = try Dealing.again(held(dealer), to: scheme)
      points[dealer] = Array(dealing.commitments.points.dropFirst())
      for recipient in recipients { subshares[recipient, default: [:]][dealer] = exposed(try dealing.share(recipient)) }
    }
    let redistribution = try Redistribution(of: commitments, to: scheme, points: points)
    var shares: [UInt8: [UInt8]] = [:]
    for recipient in recipients {
      var takeover = try ShareTakeover(redistribution, index: recipient)
      for (dealer, bytes) in try #require(subshares[recipient]) {
        try takeover.add(share(recipient, bytes), from: dealer)
      }
      shares[recipient] = exposed(try takeover.share())
    }
    return Circle(redistribution, shares)
  }
}

@Suite struct RedistributionTests {
  private let id: SecretID

  /// What ending a takeover says.
  private static func end(_ takeover: consuming ShareTakeover) -> ShamirError? {
    do throws(ShamirError) {
      _ = try takeover.share()
      return nil
    } catch { return error }
  }

  init() throws { id = try randomSecretID() }

  @Test(arguments: 0..<20) func `any t' new shares rebuild the key, through as many hands as it went`(_ run: Int) throws
  {
    var circle = try Circle(.random(in: 2...4), .random(in: 4...6), id: id)
    let key = try circle.key(circle.shares.keys.shuffled().prefix(circle.scheme.threshold), id)
    for _ in 0..<3 {
      let threshold = Int.random(in: 2...5)
      let recipients = Array((UInt8(1)...12).shuffled().prefix(.random(in: threshold...8)))
      circle = try circle.handedOn(
        by: Array(circle.shares.keys.shuffled().prefix(circle.scheme.threshold)), to: threshold, recipients)
      #expect(circle.scheme.threshold == threshold && circle.commitments.points.count == threshold)
      for _ in 0..<3 { #expect(try circle.key(circle.shares.keys.shuffled().prefix(threshold), id) == key) }
    }
  }

  @Test func `shares of before and after don't mix`() throws {
    let before = try Circle(2, 3, id: id)
    let after = try before.handedOn(by: [1, 3], to: 2, [1, 2, 3])
    #expect(before.commitments.points[0] == after.commitments.points[0])
    #expect(before.commitments.points[1] != after.commitments.points[1])
    let error = shamirError { () throws(ShamirError) in
      guard let old = try? before.held(2) else { return }
      try old.verify(against: after.commitments)
    }
    #expect(error == .invalidShares(indices: [2]))
  }

  @Test func `who deals anything but its share is named`() throws {
    let circle = try Circle(2, 3, id: id)
    let scheme = try ThresholdScheme(threshold: 2, shareCount: 3)
    let honest = try Dealing.again(circle.held(1), to: scheme)
    // Another secret than its share.
    let liar = try Dealing.fresh(scheme)
    let redistribution = try Redistribution(
      of: circle.commitments, to: scheme,
      points: [1: Array(honest.commitments.points.dropFirst()), 2: Array(liar.commitments.points.dropFirst())])
    var takeover = try ShareTakeover(redistribution, index: 3)
    try takeover.add(honest.share(3), from: 1)
    #expect(throws: ShamirError.invalidShares(indices: [2])) { try takeover.add(liar.share(3), from: 2) }
    #expect(throws: ShamirError.duplicateShare(index: 1)) { try takeover.add(honest.share(3), from: 1) }
    #expect(throws: ShamirError.foreignShare(index: 3)) { try takeover.add(honest.share(3), from: 3) }
    #expect(throws: ShamirError.invalidShares(indices: [2])) { try takeover.add(honest.share(2), from: 2) }
    #expect(takeover.missing == [2])
    #expect(Self.end(takeover) == .tooFewShares(have: 1, need: 2))
  }

  @Test func `more or fewer dealers or points than needed are refused`() throws {
    let circle = try Circle(2, 3, id: id)
    let scheme = try ThresholdScheme(threshold: 3, shareCount: 4)
    func points(_ count: Int) throws -> [RistrettoPoint] {
      try (0..<count).map { _ in try RistrettoPoint.generator.multiplied(by: RistrettoScalar.random()) }
    }
    for dealers in [[1], [1, 2, 3]] as [[UInt8]] {
      let all = try Dictionary(uniqueKeysWithValues: dealers.map { ($0, try points(2)) })
      #expect(throws: ShamirError.tooFewShares(have: dealers.count, need: 2)) {
        try Redistribution(of: circle.commitments, to: scheme, points: all)
      }
    }
    for count in [0, 1, 3] {
      let all = [1: try points(2), 2: try points(count)] as [UInt8: [RistrettoPoint]]
      #expect(throws: ShamirError.inconsistentCommitments) {
        try Redistribution(of: circle.commitments, to: scheme, points: all)
      }
    }
    #expect(throws: ShamirError.foreignShare(index: 0)) {
      try Redistribution(of: circle.commitments, to: scheme, points: [0: points(2), 1: points(2)])
    }
  }

  @Test func `points that cancel one another out are refused`() throws {
    let circle = try Circle(2, 3, id: id)
    let scheme = try ThresholdScheme(threshold: 2, shareCount: 3)
    // λ_1 = 2, λ_2 = −1.
    let point = try RistrettoPoint.generator.multiplied(by: RistrettoScalar.random())
    #expect(throws: ShamirError.inconsistentCommitments) {
      try Redistribution(of: circle.commitments, to: scheme, points: [1: [point], 2: [point.adding(point)]])
    }
  }
}
