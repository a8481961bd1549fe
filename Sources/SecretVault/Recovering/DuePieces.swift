import Synchronization

/// Which piece of each holder's fragment a recovery wants next, as far as that is known before the holder has answered: so pieces can be asked for
/// together with the share.
final class DuePieces: Sendable {
  private struct State {
    var hasBegun = false
    var cuts: [AskedHolder: UInt64] = [:]
  }

  private let state = Mutex(State())

  /// The first piece that will be wanted of this holder; nil if nobody knows.
  func first(of holder: AskedHolder) -> UInt64? {
    state.withLock { $0.cuts[holder] ?? ($0.hasBegun ? nil : 0) }
  }

  /// The first pieces have their sources.
  func begin() { state.withLock { $0.hasBegun = true } }

  /// The connection of a holder was cut when this piece was due.
  func cut(_ holder: AskedHolder, at piece: UInt64) { state.withLock { $0.cuts[holder] = piece } }
}
