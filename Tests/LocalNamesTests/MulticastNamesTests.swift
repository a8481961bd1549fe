import Concurrency
import Synchronization
import Testing

@testable import LocalNames

/// A way on a thread of its own, and what it hears.
final class RunningNames: Sendable {
  let events: AsyncStream<LocalEvent>
  let begun: AsyncStream<Void>
  private let stop: StopSignal
  private let outcome: AsyncStream<LocalNamesError?>

  init(_ names: any LocalNames, _ offer: LocalOffer?, type: LocalServiceType = LocalServiceType("vault-test")) throws {
    stop = try #require(StopSignal())
    let (events, heard) = AsyncStream.makeStream(of: LocalEvent.self)
    let (begun, ready) = AsyncStream.makeStream(of: Void.self)
    let (outcome, ended) = AsyncStream.makeStream(of: LocalNamesError?.self)
    self.events = events
    self.begun = begun
    self.outcome = outcome
    let hasBegun = BackgroundThread.start { [stop] in
      do throws(LocalNamesError) {
        try names.run(offer, type: type, until: stop, ready: { ready.yield() }, heard: { heard.yield($0) })
        ended.yield(nil)
      } catch { ended.yield(error) }
      ready.finish()
      heard.finish()
      ended.finish()
    }
    try #require(hasBegun)
  }

  /// Returns once it has begun.
  func begin() async { for await _ in begun { break } }

  /// The first event that fits.
  func first(where fits: (LocalEvent) -> Bool) async -> LocalEvent? {
    for await event in events where fits(event) { return event }
    return nil
  }

  /// Why it has ended by itself, or nil.
  func failure() async -> LocalNamesError? {
    for await end in outcome { return end }
    return nil
  }

  func end() async -> LocalNamesError? {
    stop.raise()
    return await failure()
  }

  deinit { stop.raise() }
}

// On loopback, at a port that nobody else has: this machine's networks hear nothing of it.
@Suite("Multicast DNS over sockets", .timeLimit(.minutes(2)))
struct MulticastNamesTests {
  /// A port for each test: others are passed over, but would be read.
  private static func port() -> UInt16 { UInt16.random(in: 20_000...30_000) }

  private static var hasLoopback: Bool {
    LocalInterface.all(onlyLoopback: true).contains { !$0.isSix && $0.reaches([127, 0, 0, 1]) }
  }

  @Test("one hears of another's offer, and of its end", .enabled(if: hasLoopback, "lo has no 127.0.0.1 here"))
  func meeting() async throws {
    let port = Self.port()
    let offer = LocalOffer(port: 4721, texts: [[7, 0, 255]])
    let looking = try RunningNames(MulticastNames(onLoopbackAt: port), nil)
    await looking.begin()
    let offering = try RunningNames(MulticastNames(onLoopbackAt: port), offer)
    let event = await looking.first { if case .heard = $0 { true } else { false } }
    guard case .heard(let sighting)? = event else {
      Issue.record("nothing was heard")
      return
    }
    #expect(sighting.key.label == offer.label)
    #expect(sighting.key.address.bytes == [127, 0, 0, 1])
    #expect(sighting.port == 4721)
    #expect(sighting.texts == offer.texts)
    #expect(await offering.end() == nil)
    #expect(await looking.first { $0 == .gone(sighting.key) } != nil)
    #expect(await looking.end() == nil)
  }

  @Test(
    "who begins to look later asks, and hears of what is offered", .enabled(if: hasLoopback, "lo has no 127.0.0.1 here")
  )
  func later() async throws {
    let port = Self.port()
    let offer = LocalOffer(port: 1, texts: [[1]])
    let watching = try RunningNames(MulticastNames(onLoopbackAt: port), nil)
    await watching.begin()
    let offering = try RunningNames(MulticastNames(onLoopbackAt: port), offer)
    for _ in 0..<2 { _ = await watching.first { if case .heard = $0 { true } else { false } } }
    let looking = try RunningNames(MulticastNames(onLoopbackAt: port), nil)
    let event = await looking.first { if case .heard = $0 { true } else { false } }
    guard case .heard(let sighting)? = event else {
      Issue.record("nothing was heard")
      return
    }
    #expect(sighting.key.label == offer.label)
    for party in [looking, watching, offering] { #expect(await party.end() == nil) }
  }

  @Test("other services are none of its business", .enabled(if: hasLoopback, "lo has no 127.0.0.1 here"))
  func others() async throws {
    let port = Self.port()
    let looking = try RunningNames(MulticastNames(onLoopbackAt: port), nil)
    await looking.begin()
    let otherType = LocalServiceType("other-test")
    let watching = try RunningNames(MulticastNames(onLoopbackAt: port), nil, type: otherType)
    await watching.begin()
    let other = try RunningNames(
      MulticastNames(onLoopbackAt: port), LocalOffer(port: 1, texts: [[1]]), type: otherType)
    #expect(await watching.first { if case .heard = $0 { true } else { false } } != nil)
    let offer = LocalOffer(port: 2, texts: [[2]])
    let offering = try RunningNames(MulticastNames(onLoopbackAt: port), offer)
    guard case .heard(let sighting)? = await looking.first(where: { _ in true }) else {
      Issue.record("nothing was heard")
      return
    }
    #expect(sighting.key.label == offer.label)
    for party in [other, watching, offering, looking] { #expect(await party.end() == nil) }
  }

  @Test("an address is on a network by the bits of its mask")
  func reach() {
    let network = LocalInterface(
      index: 3, isSix: false,
      addresses: [LocalInterface.Address(bytes: [192, 0, 2, 130], mask: [255, 255, 255, 128])])
    #expect(network.reaches([192, 0, 2, 200]))
    #expect(!network.reaches([192, 0, 2, 100]))
    #expect(!network.reaches([10, 0, 2, 130]))
    #expect(!network.reaches([UInt8](repeating: 0, count: 16)))
    #expect(network.isOwn([192, 0, 2, 130]))
    #expect(!network.isOwn([192, 0, 2, 131]))
  }
}
