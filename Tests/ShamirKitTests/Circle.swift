import Sodium
import Testing

@testable import ShamirKit

/// A sharing with what its holders have.
struct Circle {
  let scheme: ThresholdScheme
  let commitments: Commitments
  /// By index.
  let shares: [UInt8: [UInt8]]

  init(_ threshold: Int, _ count: Int) throws {
    let dealing = try Dealing.fresh(ThresholdScheme(threshold: threshold, shareCount: count))
    var shares: [UInt8: [UInt8]] = [:]
    for index in 1...UInt8(count) { shares[index] = exposed(try dealing.share(index)) }
    (scheme, commitments, self.shares) = (dealing.scheme, dealing.commitments, shares)
  }

  private init(_ redistribution: Redistribution, _ shares: [UInt8: [UInt8]]) {
    (scheme, commitments, self.shares) = (redistribution.scheme, redistribution.commitments, shares)
  }

  func held(_ index: UInt8) throws -> KeyShare { try share(index, #require(shares[index])) }

  /// What the shares of these indices rebuild.
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
