import ShamirKit
import Sodium
import Synchronization
import VaultProtocol

/// Remembers commitments to shares: they are public, and each costs up to 255 multiplications.
final class EvaluationCache: Sendable {
  private struct Key: Hashable {
    let epoch: Digest
    let index: UInt8
  }
  private static let limit = 4096
  private let points = Mutex<[Key: RistrettoPoint]>([:])

  func evaluation(_ epoch: Epoch, _ index: UInt8) throws(ProtocolError) -> RistrettoPoint {
    let key = Key(epoch: epoch.digest, index: index)
    if let known = points.withLock({ $0[key] }) { return known }
    let point: RistrettoPoint
    do { point = try epoch.commitments.evaluation(at: index) } catch { throw .rejected(error) }
    points.withLock {
      if $0.count >= Self.limit { $0.removeAll() }
      $0[key] = point
    }
    return point
  }
}
