package import Gathering
package import PeerAuth

/// What a user hears of a gathering on this device.
package enum RoomEvent: Sendable {
  /// So many guests have come: the opener alone hears it.
  case guests(Int)
  /// The code was right: a guest alone hears it.
  case joined
  /// To be compared with what others see, and answered.
  case compare(GatheringList)
  /// Somebody else has said yes.
  case agreed(GatheringParticipant)
  /// All have said yes: their cards. It is the last event.
  case finished([PeerCard])
  /// It is over, and no card counts. It is the last event.
  case failed(GatheringFailure)
}

/// The time of a room: a clock that never jumps, and how to wait.
package struct RoomClock: Sendable {
  let now: @Sendable () -> Duration
  let sleep: @Sendable (Duration) async throws -> Void

  package init(
    now: @escaping @Sendable () -> Duration, sleep: @escaping @Sendable (Duration) async throws -> Void
  ) {
    self.now = now
    self.sleep = sleep
  }

  /// Longest wait between two looks: shorter than any time that somebody is given, so that no new deadline is missed.
  private static let glance = Duration.seconds(5)

  /// Waits until a deadline, or for a while.
  func wait(until deadline: Duration) async throws {
    let left = deadline - now()
    if left > .zero { try await sleep(min(left, Self.glance)) }
  }
}
