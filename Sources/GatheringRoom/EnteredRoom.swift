package import Gathering
package import PeerAuth

/// A guest's side of a gathering, over one connection to somebody who may be its opener.
package actor EnteredRoom {
  /// What the guest's user hears; ends with the gathering.
  package nonisolated let events: AsyncStream<RoomEvent>
  private let guest: GatheringGuest
  private let clock: RoomClock
  private let line: RoomLine
  private let told: AsyncStream<RoomEvent>.Continuation
  private let began: Duration
  private var hasJoined = false
  /// Until when somebody must have greeted, which takes nobody any time, and until when the code must have been right.
  private static let greeting = Duration.seconds(3)
  private static let patience = Duration.seconds(10)

  /// `card` is this device's own, signed, with its beacon key. Throws a ``GatheringFailure``.
  package init(
    _ connection: any PeerTransport, code: consuming GatheringCode, card: PeerCard, identity: Identity,
    clock: RoomClock, avoiding: Set<[UInt8]> = []
  ) throws(GatheringFailure) {
    guest = try GatheringGuest(code: code, card: card, identity: identity, at: clock.now(), avoiding: avoiding)
    began = clock.now()
    self.clock = clock
    line = RoomLine(connection)
    (events, told) = AsyncStream.makeStream()
  }

  /// Speaks with the opener until the gathering is over, and closes the connection.
  package func run() async {
    let timing = Task { await keepTime() }
    async let carried: Void = line.carry()
    while let bytes = await line.hear() { perform(guest.receive(bytes, at: clock.now())) }
    perform(guest.ended())
    line.hangUp()
    timing.cancel()
    await carried
  }

  /// What has come of it, once the last event was heard; `farewell` is what ``run()`` runs in.
  package func attempt(
    _ result: Result<[PeerCard], GatheringFailure>, farewell: Task<Void, Never>
  ) -> RoomAttempt {
    RoomAttempt(
      result: result, hasJoined: hasJoined, opening: guest.opening, hasGuessed: guest.hasConfirmed, farewell: farewell)
  }

  /// What the user says of the comparison.
  package func say(_ isSame: Bool) { perform(guest.say(isSame, at: clock.now())) }

  private var limit: Duration { began + (guest.opening.isEmpty ? Self.greeting : Self.patience) }

  private func keepTime() async {
    while let deadline = guest.deadline {
      do { try await clock.wait(until: hasJoined ? deadline : min(deadline, limit)) } catch { return }
      // Whoever takes its time with each of its words isn't waited for: another one may be the opener.
      perform(!hasJoined && clock.now() >= limit ? guest.ended() : guest.tick(at: clock.now()))
    }
  }

  private func perform(_ actions: [GatheringGuest.Action]) {
    for action in actions {
      switch action {
      case .send(let bytes): line.say(bytes)
      case .joined:
        hasJoined = true
        told.yield(.joined)
      case .compare(let list): told.yield(.compare(list))
      case .agreed(let participant): told.yield(.agreed(participant))
      case .finished(let cards): end(.finished(cards))
      case .failed(let failure): end(.failed(failure))
      }
    }
  }

  private func end(_ event: RoomEvent) {
    told.yield(event)
    told.finish()
    line.hangUp()
  }
}
