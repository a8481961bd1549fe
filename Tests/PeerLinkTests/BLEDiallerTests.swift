import PeerAuth
import Sodium
import Synchronization
import TestTime
import Testing

@testable import PeerLink

@Suite("Finding and dialling over Bluetooth LE", .timeLimit(.minutes(5)))
struct BLEDiallerTests {
  private static let time: Int64 = 1_800_000_000_000
  private let times = BLEDialler.Times()
  private let clock = TestClock()
  private let radio = TestRadio()
  private let adapter: BLEAdapter

  init() throws {
    adapter = try .test()
  }

  private func beacon() throws -> BeaconKey {
    let key = try SecretBytes(random: 16)
    return try BeaconKey(key)
  }

  private func sighting(of key: BeaconKey, at address: String, hoursAgo: Int64 = 0) throws -> BLESighting {
    BLESighting(
      address: try #require(BLEAddress(address, .random)), tag: try key.tag(at: Self.time - hoursAgo * 3_600_000),
      strength: -50, adapter: adapter)
  }

  private func dialler(
    _ times: BLEDialler.Times = BLEDialler.Times(), failure: BLEError? = nil,
    dial: @escaping @Sendable (BLESighting) async throws(TransportError) -> any PeerTransport = {
      (_) async throws(TransportError) in
      InMemoryTransport.pair().first
    }
  ) -> BLEDialler {
    let radio = radio
    let adapter = adapter
    return BLEDialler(
      times: times, time: BLETime(clock), now: { Self.time },
      equipment: { (choice) throws(BLEError) in
        if let failure { throw failure }
        guard choice.includes(adapter) else { throw .noAdapter }
        return BLEEquipment(radio: radio, adapters: [adapter])
      }, dial: dial)
  }

  /// A line that never leads anywhere until somebody gives up.
  private static func hang(_ clock: TestClock) async throws(TransportError) -> any PeerTransport {
    try? await clock.sleep(for: .seconds(100_000))
    throw .closed
  }

  /// Lets so much time pass while somebody is looked for, who looks at the clock now and then.
  private func pass(_ time: Duration) async {
    await clock.isAwaited(.milliseconds(50))
    clock.advance(by: time)
  }

  /// Lets the time pass for which somebody else is looked for, once the only one that was heard is doubted.
  private func passDoubt(_ dialler: BLEDialler) async {
    await soon { await dialler.isDoubting }
    await pass(times.doubt)
  }

  /// Waits for something inside a dialler.
  private func soon(_ isSo: () async -> Bool) async { while await !isSo() { await Task.yield() } }

  @Test("a peer is found by its tag, also one of the hour before, and dialled when nobody looks any more")
  func finds() async throws {
    let key = try beacon()
    radio.hear(try sighting(of: try beacon(), at: "00:00:00:00:00:01"))
    radio.hear(try sighting(of: key, at: "00:00:00:00:00:02", hoursAgo: 1))
    let radio = radio
    let wasListening = Mutex<Bool?>(nil)
    let dialler = dialler { (sighting) async throws(TransportError) in
      wasListening.withLock { $0 = radio.isListening }
      return InMemoryTransport.pair().first
    }
    _ = try await dialler.connect(key, by: .all)
    #expect(wasListening.withLock { $0 } == false)
    #expect(!radio.isListening)
  }

  @Test("several are looked for at once, and dialled one after the other")
  func several() async throws {
    let keys = try (0..<6).map { _ in try beacon() }
    for (place, key) in keys.enumerated() { radio.hear(try sighting(of: key, at: "00:00:00:00:00:1\(place)")) }
    let dialling = Mutex((now: 0, most: 0))
    let dialler = dialler { (_) async throws(TransportError) in
      dialling.withLock { state in
        state.now += 1
        state.most = max(state.most, state.now)
      }
      // Time for others to begin.
      for _ in 0..<100 { await Task.yield() }
      dialling.withLock { $0.now -= 1 }
      return InMemoryTransport.pair().first
    }
    try await withThrowingTaskGroup(of: Void.self) { group in
      for key in keys { group.addTask { _ = try await dialler.connect(key, by: .all) } }
      try await group.waitForAll()
    }
    #expect(dialling.withLock { $0.most } == 1)
    #expect(radio.scanCount <= 6)
    #expect(!radio.isListening)
  }

  @Test("a peer that is not there is given up after a while, and nobody looks any more")
  func absent() async throws {
    let dialler = dialler()
    let key = try beacon()
    let connecting = Task { _ = try await dialler.connect(key, by: .all) }
    await pass(times.search - .milliseconds(1))
    // The next look at the clock is the last.
    await clock.isAwaited(.milliseconds(50))
    #expect(await dialler.seekers.count == 1)
    await pass(.milliseconds(50))
    await #expect(throws: TransportError.unreachable("not heard over Bluetooth")) { try await connecting.value }
    await radio.isFree()
  }

  @Test("where a peer was heard last is tried first, and then it is looked for anew")
  func memory() async throws {
    let key = try beacon()
    radio.hear(try sighting(of: key, at: "00:00:00:00:00:02"))
    let calls = Counter()
    let dialler = dialler { (_) async throws(TransportError) in
      calls.add()
      guard calls.value != 2 else { throw .unreachable("gone") }
      return InMemoryTransport.pair().first
    }
    let peer = try PeerStanding.peer(Identity.generate().keys)
    try await dialler.connect(key, by: .all).reached(peer)
    #expect(radio.scanCount == 1)
    // There it fails, and nobody else is heard.
    async let second: Void = dialler.connect(key, by: .all).reached(peer)
    await passDoubt(dialler)
    try await second
    #expect(radio.scanCount == 2)
    #expect(calls.value == 3)
    try await dialler.connect(key, by: .all).reached(peer)
    #expect(radio.scanCount == 2)
  }

  @Test("a place that was heard by an adapter that is not used any more is no place")
  func otherAdapter() async throws {
    let key = try beacon()
    radio.hear(try sighting(of: key, at: "00:00:00:00:00:02"))
    let dialler = dialler()
    _ = try await dialler.connect(key, by: .all)
    await #expect(throws: TransportError.unreachable(BLEError.noAdapter.description)) {
      _ = try await dialler.connect(key, by: .name("hci7"))
    }
  }

  @Test("a collision of two who dial at once is tried again")
  func collision() async throws {
    let key = try beacon()
    radio.hear(try sighting(of: key, at: "00:00:00:00:00:02"))
    let calls = Counter()
    let dialler = dialler { (_) async throws(TransportError) in
      calls.add()
      guard calls.value > 1 else { throw .unreachable(BLEReason.text(16)) }
      return InMemoryTransport.pair().first
    }
    clock.pass(.milliseconds(500))
    _ = try await dialler.connect(key, by: .all)
    #expect(calls.value == 2)
    #expect(radio.scanCount == 1)
  }

  @Test("what took long was no collision: before it is dialled again, it is looked for")
  func longCollision() async throws {
    let key = try beacon()
    radio.hear(try sighting(of: key, at: "00:00:00:00:00:02"))
    let calls = Counter()
    let (clock, long) = (clock, times.collision)
    let dialler = dialler { (_) async throws(TransportError) in
      calls.add()
      clock.advance(by: long)
      guard calls.value > 1 else { throw .unreachable(BLEReason.text(16)) }
      return InMemoryTransport.pair().first
    }
    async let found = dialler.connect(key, by: .all)
    await passDoubt(dialler)
    _ = try await found
    #expect(calls.value == 2)
    #expect(radio.scanCount == 2)
  }

  // MARK: - Others

  @Test("whoever gives up waits for nobody: not for one who connects, and not for the end of a search")
  func impatient() async throws {
    let slow = try beacon()
    let other = try beacon()
    for (place, key) in [slow, other].enumerated() {
      radio.hear(try sighting(of: key, at: "00:00:00:00:00:1\(place)"))
    }
    let calls = Counter()
    let dialler = dialler { [clock] (_) async throws(TransportError) in
      calls.add()
      return try await Self.hang(clock)
    }
    let first = Task { _ = try await dialler.connect(slow, by: .all) }
    await calls.reaches(1)
    // Its place is known by now, so that it stands in line.
    let second = Task { _ = try await dialler.connect(other, by: .all) }
    await soon { await dialler.dialling == 2 }
    second.cancel()
    await #expect(throws: TransportError.closed) { try await second.value }
    #expect(calls.value == 1)
    first.cancel()
    await #expect(throws: TransportError.closed) { try await first.value }

    radio.stick(true)
    let third = try beacon()
    let looking = Task { _ = try await dialler.connect(third, by: .all) }
    await radio.isUsed()
    radio.hear(try sighting(of: third, at: "00:00:00:00:00:13"))
    await soon { await dialler.dialling == 1 }
    looking.cancel()
    await #expect(throws: TransportError.closed) { try await looking.value }
    #expect(radio.isListening)
    radio.stick(false)
    await radio.isFree()
  }

  @Test("the time of a search stands still while others connect")
  func searchTime() async throws {
    let slow = try beacon()
    let other = try beacon()
    radio.hear(try sighting(of: slow, at: "00:00:00:00:00:10"))
    let place = try sighting(of: slow, at: "00:00:00:00:00:10")
    let calls = Counter()
    let slowness = times.search * 2
    var times = times
    times.turn = slowness * 2
    let dialler = dialler(times) { [clock] (sighting) async throws(TransportError) in
      guard sighting == place else { return InMemoryTransport.pair().first }
      calls.add()
      try? await clock.sleep(for: slowness)
      return InMemoryTransport.pair().first
    }
    let first = Task { _ = try await dialler.connect(slow, by: .all) }
    await calls.reaches(1)
    radio.hear(try sighting(of: other, at: "00:00:00:00:00:11"))
    let second = Task { _ = try await dialler.connect(other, by: .all) }
    await soon { await !dialler.seekers.isEmpty }
    await clock.passOnce(slowness)
    try await second.value
    try await first.value
  }

  @Test("a device that connects slowly makes room for others, and has another turn after them")
  func slow() async throws {
    let slow = try beacon()
    let other = try beacon()
    let place = try sighting(of: slow, at: "00:00:00:00:00:10")
    radio.hear(place)
    let calls = Watched<[BLESighting]>([])
    let dialler = dialler { [clock] (sighting) async throws(TransportError) in
      calls.change { $0.append(sighting) }
      return calls.value.count == 1 ? try await Self.hang(clock) : InMemoryTransport.pair().first
    }
    let first = Task { _ = try await dialler.connect(slow, by: .all) }
    await calls.until { !$0.isEmpty }
    let second = try sighting(of: other, at: "00:00:00:00:00:11")
    radio.hear(second)
    let waiting = Task { _ = try await dialler.connect(other, by: .all) }
    await soon { await !dialler.seekers.isEmpty }
    await clock.passOnce(times.turn)
    try await waiting.value
    // Of the slow one it is doubted now whether it is the right one.
    await passDoubt(dialler)
    try await first.value
    #expect(calls.value.count == 3)
    #expect(Set(calls.value) == [place, second])
  }

  // MARK: - Impostors

  /// Connects, and tells where, without coming to a session.
  private func fail(_ dialler: BLEDialler, _ key: BeaconKey) async throws -> String {
    let transport = try await dialler.connect(key, by: .all)
    await transport.close()
    return transport.remoteDescription
  }

  /// Lines that end at once, and say where they lead.
  private func telling() -> BLEDialler {
    dialler { (sighting) async throws(TransportError) in Dead(remoteDescription: "\(sighting.address)") }
  }

  @Test("an address that led to no session is passed over for another one with the same tag, but not for nobody")
  func impostor() async throws {
    let key = try beacon()
    let (one, other) = ("00:00:00:00:00:66", "00:00:00:00:00:02")
    radio.hear(try sighting(of: key, at: one))
    let dialler = telling()
    #expect(try await fail(dialler, key) == one)
    async let again = fail(dialler, key)
    await passDoubt(dialler)
    #expect(try await again == one)
    radio.hear(try sighting(of: key, at: other))
    #expect(try await fail(dialler, key) == other)
    // Both have failed now: the one that did longer ago is as good as any.
    #expect(radio.scanCount == 3)
    async let last = dialler.connect(key, by: .all)
    await passDoubt(dialler)
    let peer = try await last
    peer.reached(.peer(try Identity.generate().keys))
    await peer.close()
    #expect(try await fail(dialler, key) == peer.remoteDescription)
    #expect(radio.scanCount == 4)
  }

  @Test("an address that doesn't take the connection is passed over in the same search")
  func deaf() async throws {
    let key = try beacon()
    let deaf = try sighting(of: key, at: "00:00:00:00:00:66")
    radio.hear(deaf)
    let radio = radio
    let other = try sighting(of: key, at: "00:00:00:00:00:02")
    let dialler = dialler { (sighting) async throws(TransportError) in
      radio.hear(other)
      guard sighting == deaf else { return Dead(remoteDescription: "\(sighting.address)") }
      throw .unreachable("refused")
    }
    #expect(try await dialler.connect(key, by: .all).remoteDescription == "\(other.address)")
  }

  @Test("whoever answers a connection and then says nothing is left after a while, and doubted")
  func silent() async throws {
    let key = try beacon()
    radio.hear(try sighting(of: key, at: "00:00:00:00:00:66"))
    let ends = InMemoryTransport.pair()
    let dialler = dialler { (_) async throws(TransportError) in ends.first }
    let transport = try await dialler.connect(key, by: .all)
    await clock.passOnce(times.handshake)
    await #expect(throws: TransportError.timedOut) { _ = try await transport.read(atMost: 1) }
    #expect(try await ends.second.read(atMost: 1).isEmpty)
    async let again = dialler.connect(key, by: .all)
    await passDoubt(dialler)
    _ = try await again
    #expect(radio.scanCount == 2)
  }

  @Test("a connection that was let go says nothing about its place")
  func letGo() async throws {
    let key = try beacon()
    radio.hear(try sighting(of: key, at: "00:00:00:00:00:02"))
    let dialler = dialler()
    let transport = try await dialler.connect(key, by: .all)
    let reading = Task {
      _ = try? await transport.read(atMost: 1)
      await transport.close()
    }
    reading.cancel()
    await reading.value
    _ = try await dialler.connect(key, by: .all)
    #expect(radio.scanCount == 1)
  }

  // MARK: - Without a radio

  @Test(
    "without a radio everybody is told why",
    arguments: [BLEError.noAdapter, .off(["hci0"]), .notPermitted, .notSupported])
  func noRadio(error: BLEError) async throws {
    let dialler = dialler(failure: error)
    let key = try beacon()
    await #expect(throws: TransportError.unreachable(error.description)) {
      _ = try await dialler.connect(key, by: .all)
    }
  }

  @Test("an adapter that goes while it looks is told of")
  func unplugged() async throws {
    let dialler = dialler()
    let key = try beacon()
    let connecting = Task { _ = try await dialler.connect(key, by: .all) }
    await radio.isUsed()
    radio.fail(.gone)
    await #expect(throws: TransportError.unreachable(BLEError.gone.description)) { try await connecting.value }
  }

  @Test("whoever gives up ends the search, and a beacon ends when it is told to")
  func cancelled() async throws {
    let dialler = dialler()
    let key = try beacon()
    let connecting = Task { _ = try await dialler.connect(key, by: .all) }
    await radio.isUsed()
    connecting.cancel()
    await #expect(throws: TransportError.self) { try await connecting.value }
    await radio.isFree()

    let shown = try #require(
      BLEBeacon(try key.tag(at: Self.time), BLEEquipment(radio: radio, adapters: [adapter])))
    await shown.begun()
    #expect(shown.state == .shown)
    await shown.end()
    #expect(shown.state == .ended(nil))
  }

  @Test("a list of who is near has each who is sought once, and has room for them in any crowd")
  func collected() async throws {
    let key = try beacon()
    for number in 0..<2000 {
      let address = "00:00:00:01:\(10 + number / 90):\(10 + number % 90)"
      radio.hear(
        BLESighting(
          address: try #require(BLEAddress(address, .random)),
          tag: try #require(BeaconTag((0..<8).map { UInt8(truncatingIfNeeded: number >> $0) })),
          strength: -40, adapter: adapter))
    }
    radio.hear(try sighting(of: key, at: "00:00:00:00:00:02"))
    radio.hear(try sighting(of: try beacon(), at: "00:00:00:00:00:03"))
    let equipment = BLEEquipment(radio: radio, adapters: [adapter])
    let tag = try key.tag(at: Self.time)
    let time = BLETime(clock)
    async let heard = BLEScan.collect([tag], equipment, for: .seconds(2), time: time)
    await radio.isHeard()
    await pass(.seconds(2))
    #expect(try await heard.map(\.tag) == [tag])
    radio.fail(.gone)
    let nobody = Task { _ = try await BLEScan.collect([], equipment, for: .seconds(20), time: time) }
    await radio.isFree(after: 2)
    clock.pass(.milliseconds(50))
    await #expect(throws: BLEError.gone) { try await nobody.value }
  }
}

extension BLEDialler {
  /// Whether somebody was heard who is taken only if nobody else is.
  fileprivate var isDoubting: Bool { seekers.values.contains { $0.reserve != nil } }
}

extension BLETime {
  init(_ clock: TestClock) {
    self.init(passed: { .milliseconds(clock.monotonic) }, sleep: { try await clock.sleep(for: $0) })
  }
}

/// A connection at whose other end nobody is.
private struct Dead: PeerTransport {
  let remoteDescription: String
  func read(atMost: Int) async throws(TransportError) -> [UInt8] { [] }
  func write(_ bytes: [UInt8]) async throws(TransportError) {}
  func close() async {}
}
