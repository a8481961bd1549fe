import ShamirKit
import Sodium

/// Sharing a key among many and bringing it back.
enum KeyParts {
  static func measure(_ threshold: Int, _ count: Int, _ timer: PartTimer) throws {
    let scheme = try ThresholdScheme(threshold: threshold, shareCount: count)
    let words = "\(threshold) of \(count)"
    try timer.measure("split \(words)") {
      let dealing = try Dealing.fresh(scheme)
      for index in 1...count { _ = try dealing.share(UInt8(index)) }
    }
    let id = try SecretID(Randomness.bytes(16))
    let dealing = try Dealing.fresh(scheme)
    let share = try dealing.share(1)
    try timer.measure("verify one share, \(words)") { try share.verify(against: dealing.commitments) }
    // The last t of them: nothing is easier than another choice.
    var shares: [SharedShare] = []
    for index in (count - threshold + 1)...count { shares.append(SharedShare(try dealing.share(UInt8(index)))) }
    try timer.measure("verify and combine, \(words)") {
      var collector = try ShareCollector(scheme: scheme, commitments: dealing.commitments)
      for share in shares { try collector.add(share.copy()) }
      try collector.verify()
      _ = try collector.fileKey(for: id)
    }
  }

  /// A share in an array.
  private final class SharedShare {
    private let share: KeyShare

    init(_ share: consuming KeyShare) { self.share = share }

    func copy() throws -> KeyShare { try KeyShare(index: share.index, bytes: share.bytes.duplicate()) }
  }
}
