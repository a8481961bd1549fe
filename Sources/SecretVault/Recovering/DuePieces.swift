import Synchronization

/// Which piece of a holder's fragment is wanted next, as far as that is known before it answers: so it can be asked for with the share.
final class DuePieces: Sendable {
  private struct State {
    var hasBegun = false
    var cuts: [AskedHolder: UInt64] = [:]
  }

  private let state = Mutex(State())

  /// Nil if nobody knows.
  func first(of holder: AskedHolder) -> UInt64? {
    state.withLock { $0.cuts[holder] ?? ($0.hasBegun ? nil : 0) }
  }

  /// From now on first pieces have their sources.
  func begin() { state.withLock { $0.hasBegun = true } }

  /// A holder's connection was cut when this piece was due.
  func cut(_ holder: AskedHolder, at piece: UInt64) { state.withLock { $0.cuts[holder] = piece } }
}
