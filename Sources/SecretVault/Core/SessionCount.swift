import Sodium
import Synchronization

/// How many sessions each peer has open at this device.
final class SessionCount: Sendable {
  static let limit = 16
  /// Of somebody who was introduced. All whom one dealer has introduced have as many together as a peer.
  static let limitOfIntroduced = 4
  private let counts = Mutex<[Digest: Int]>([:])

  /// Counts one more, unless the peer has as many as it may.
  func begin(_ peer: Digest, limit: Int = limit) -> Bool {
    counts.withLock {
      guard $0[peer, default: 0] < limit else { return false }
      $0[peer, default: 0] += 1
      return true
    }
  }

  func end(_ peer: Digest) {
    counts.withLock {
      let left = $0[peer, default: 1] - 1
      $0[peer] = left > 0 ? left : nil
    }
  }
}
