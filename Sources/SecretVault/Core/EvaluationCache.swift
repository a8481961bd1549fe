import ShamirKit
import Sodium
import Synchronization
import VaultProtocol

/// Remembers commitments to shares: they are public, and each costs up to 255 multiplications.
final class EvaluationCache: Sendable {
  private struct Key: Hashable {
    let header: Digest
    let index: UInt8
  }
  private static let limit = 4096
  private let points = Mutex<[Key: RistrettoPoint]>([:])

  func evaluation(_ header: SecretHeader, _ index: UInt8) throws(ProtocolError) -> RistrettoPoint {
    let key = Key(header: header.digest, index: index)
    if let known = points.withLock({ $0[key] }) { return known }
    let point: RistrettoPoint
    do { point = try header.commitments.evaluation(at: index) } catch { throw .rejected(error) }
    points.withLock {
      if $0.count >= Self.limit { $0.removeAll() }
      $0[key] = point
    }
    return point
  }
}
