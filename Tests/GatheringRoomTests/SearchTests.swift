import Gathering
import LocalNames
import PeerAuth
import TestTime
import Testing

@testable import GatheringRoom

@Suite("A guest's search among all who say that they are the opener") struct SearchTests {
  private func place(_ number: UInt8) -> LocalSighting {
    LocalSighting(
      key: LocalSighting.Key(label: [number], address: LocalAddress(bytes: [10, 0, 0, number], interface: 1)), port: 1,
      texts: [])
  }

  private func places(_ numbers: ClosedRange<UInt8>) -> AsyncStream<LocalSighting> {
    AsyncStream { stream in
      for number in numbers { stream.yield(place(number)) }
      stream.finish()
    }
  }

  private let time = TestClock()
  private var clock: RoomClock {
    RoomClock(
      now: { [time] in .milliseconds(Int64(time.monotonic)) }, sleep: { [time] in try await time.sleep(for: $0) })
  }

  /// Runs a search where each place answers as `answers` says; how often each was called.
  private func search(
    _ numbers: ClosedRange<UInt8>, _ search: inout RoomSearch, _ answers: (UInt8, Set<[UInt8]>) -> RoomAttempt?
  ) async throws -> (attempt: RoomAttempt?, calls: [UInt8]) {
    time.skip(.seconds(1))
    var calls: [UInt8] = []
    let attempt = try await search.enter(
      places(numbers),
      dial: { (place) async throws(TransportError) in
        calls.append(place.key.label[0])
        guard answers(place.key.label[0], []) != nil else { throw .unreachable("nobody") }
        return InMemoryTransport.pair().first
      },
      speak: { _, tried in
        answers(calls.last ?? 0, tried)
          ?? RoomAttempt(result: .failure(.openerGone), hasJoined: false, opening: [], hasGuessed: false)
      })
    return (attempt, calls)
  }

  private func refused(_ number: UInt8, hasGuessed: Bool = true) -> RoomAttempt {
    RoomAttempt(result: .failure(.notLetIn), hasJoined: false, opening: [number], hasGuessed: hasGuessed)
  }

  @Test("goes on behind places that don't answer, send nonsense or have another number, until it is let in")
  func goesOn() async throws {
    var search = RoomSearch(clock: clock)
    let (attempt, calls) = try await self.search(1...9, &search) { number, _ in
      switch number {
      case 1: nil
      case 2:
        RoomAttempt(
          result: .failure(.otherOpening), hasJoined: false, opening: [number], hasGuessed: false)
      case 3: RoomAttempt(result: .failure(.timeIsUp), hasJoined: false, opening: [number], hasGuessed: true)
      default: RoomAttempt(result: .success([]), hasJoined: true, opening: [number], hasGuessed: true)
      }
    }
    #expect(attempt?.hasJoined == true)
    #expect(calls == [1, 2, 3, 4])
  }

  @Test("lets three guess at what is typed, whatever is typed how often, and no more") func guesses() async throws {
    var search = RoomSearch(clock: clock)
    let (first, calls) = try await self.search(1...9, &search) { number, _ in refused(number) }
    #expect(calls == [1, 2, 3] && search.guesses == 0)
    guard case .failure(.notLetIn)? = first?.result else {
      Issue.record("\(String(describing: first))")
      return
    }
    var again = RoomSearch(clock: clock)
    _ = try await self.search(1...1, &again) { number, _ in refused(number) }
    _ = try await self.search(1...1, &again) { number, _ in refused(number) }
    #expect(again.guesses == 1)
  }

  @Test("names the openings that were tried, so that one with many addresses guesses once") func openings() async throws
  {
    var search = RoomSearch(clock: clock)
    var known: [Set<[UInt8]>] = []
    _ = try await self.search(1...3, &search) { _, tried in
      known.append(tried)
      return RoomAttempt(
        result: .failure(tried.isEmpty ? .notLetIn : .otherOpening), hasJoined: false, opening: [7],
        hasGuessed: tried.isEmpty)
    }
    #expect(known.contains([[7]]))
    #expect(search.guesses == 2)
  }

  @Test("knocks three times where somebody hangs up before it greets") func crowded() async throws {
    var search = RoomSearch(clock: clock)
    let (attempt, calls) = try await self.search(1...1, &search) { _, _ in
      RoomAttempt(result: .failure(.openerGone), hasJoined: false, opening: [], hasGuessed: false)
    }
    #expect(attempt == nil)
    #expect(calls == [1, 1, 1])
  }
}
