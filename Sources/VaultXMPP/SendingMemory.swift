import Synchronization
import VaultProtocol

/// What was tried over an account's connections, for as long as the program runs: what has gone wrong once doesn't hold
/// everything up again.
final class SendingMemory: Sendable {
  /// How often one parcel of somebody else's is left at a server, where that doesn't work, and milliseconds between two
  /// times.
  private static let leaving = (times: 3, pause: 3_600_000.0)
  /// Parcels that are remembered. Beyond that all are forgotten, and are as on the first day.
  private static let limit = 4096

  private struct Left {
    let to: String
    var times: Int
    /// When it may be left again; nil while it lies there, as far as is known.
    var next: Double?
  }

  private struct State {
    var attempts: [ParcelID: Int] = [:]
    var left: [[UInt8]: Left] = [:]
  }

  private let state = Mutex(State())

  /// How often own parcels were begun that haven't got through.
  var attempts: [ParcelID: Int] { state.withLock { $0.attempts } }

  /// An own parcel is about to go out. Said before, as whatever happens then may be its doing.
  func begin(_ id: ParcelID) {
    state.withLock { state in
      if state.attempts.count >= Self.limit { state.attempts = [:] }
      state.attempts[id, default: 0] += 1
    }
  }

  /// It has got through.
  func end(_ id: ParcelID) { state.withLock { $0.attempts[id] = nil } }

  /// A copy of somebody else's parcel is about to go to a server for this address.
  func leave(_ id: [UInt8], to address: String) {
    state.withLock { state in
      if state.left.count >= Self.limit { state.left = [:] }
      state.left[id] = Left(to: address, times: (state.left[id]?.times ?? 0) + 1)
    }
  }

  /// One that was left for this address isn't there. Whether it may be left again, some time.
  func cameBack(_ id: [UInt8], from address: String, at now: Double) -> Bool {
    state.withLock { state in
      // In several parts it comes back several times.
      guard let known = state.left[id], known.to == address, known.next == nil else { return false }
      state.left[id]?.next = now + Self.leaving.pause
      return known.times < Self.leaving.times
    }
  }

  /// Copies of others' parcels whose time hasn't come again.
  func resting(at now: Double) -> Set<[UInt8]> {
    state.withLock { state in Set(state.left.filter { ($0.value.next ?? 0) > now }.keys) }
  }
}
