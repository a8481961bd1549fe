package import Gathering
package import LocalNames
package import PeerAuth

/// What came of a run with somebody who may be the opener.
package struct RoomAttempt: Sendable {
  package let result: Result<[PeerCard], GatheringFailure>
  /// Whether the code was right.
  package let hasJoined: Bool
  /// What the other side has named its opening; empty if it didn't greet.
  package let opening: [UInt8]
  /// Whether the other side has had its guess at the code.
  package let hasGuessed: Bool
  /// Ends when all that was still to be said is out: what counts is done before.
  package var farewell = Task {}
}

/// A guest's search for the opener among all who say that they are it. Whoever answers may guess at the code once, so that
/// only ``guessLimit`` are let guess, whatever the user types and however many offers there are.
package struct RoomSearch {
  package static let guessLimit = 3
  /// A place that hangs up at once may have too many at its door.
  private static let knocks = 3
  private static let pause = Duration.seconds(1)

  /// How many more may guess.
  package private(set) var guesses = guessLimit
  private let clock: RoomClock

  package init(clock: RoomClock) { self.clock = clock }

  /// Speaks with one place after the other until one lets this device in, nobody more may guess, or there are no more places;
  /// nil if nobody has greeted. `speak` gets a connection and the openings that it is to leave before it says anything.
  package mutating func enter(
    _ places: AsyncStream<LocalSighting>,
    dial: (LocalSighting) async throws(TransportError) -> any PeerTransport,
    speak: (any PeerTransport, Set<[UInt8]>) async throws -> RoomAttempt
  ) async throws -> RoomAttempt? {
    var tried: Set<[UInt8]> = []
    var best: RoomAttempt?
    for await place in places {
      let attempt = try await knock(
        dial: { () async throws(TransportError) in try await dial(place) }, leaving: tried, speak: speak)
      guard let attempt else { continue }
      if attempt.hasJoined { return attempt }
      tried.insert(attempt.opening)
      // What is more than another number, or one that was tried.
      if best?.hasGuessed != true { best = attempt }
      if guesses == 0 { break }
    }
    return best
  }

  /// Speaks with one place; nil if nobody greets there.
  package mutating func knock(
    dial: () async throws(TransportError) -> any PeerTransport, leaving tried: Set<[UInt8]> = [],
    speak: (any PeerTransport, Set<[UInt8]>) async throws -> RoomAttempt
  ) async throws -> RoomAttempt? {
    for number in 0..<Self.knocks {
      if number > 0 { try await clock.sleep(Self.pause) }
      let connection: any PeerTransport
      do throws(TransportError) { connection = try await dial() } catch { return nil }
      let began = clock.now()
      let attempt = try await speak(connection, tried)
      // Who said no is heard to have said so.
      if case .failure = attempt.result { await attempt.farewell.value }
      if attempt.hasGuessed { guesses -= 1 }
      if !attempt.opening.isEmpty { return attempt }
      guard clock.now() - began < Self.pause else { return nil }
    }
    return nil
  }
}
