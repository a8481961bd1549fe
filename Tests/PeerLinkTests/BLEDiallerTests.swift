import PeerAuth
import Sodium
import Synchronization
import Testing

@testable import PeerLink

/// A radio in memory: it hears what the test says, and knows when somebody listens.
private final class TestRadio: BLERadio {
  private struct State {
    var listeners: [UUIDNumber: @Sendable (BLESighting) -> Void] = [:]
    var scans = 0
    var failure: BLEError?
  }
  private typealias UUIDNumber = Int

  let name = "test"
  private let state = Mutex(State())
  private let heard = Mutex<[BLESighting]>([])

  var isListening: Bool { state.withLock { !$0.listeners.isEmpty } }
  var scanCount: Int { state.withLock { $0.scans } }

  func hear(_ sighting: BLESighting) { heard.withLock { $0.append(sighting) } }
  func fail(_ error: BLEError) { state.withLock { $0.failure = error } }

  func advertise(
    _ tag: BeaconTag, on adapters: [BLEAdapter], until stop: StopSignal, ready: () -> Void
  ) throws(BLEError) {
    ready()
    while !stop.isRaised(within: 5) {}
  }

  func scan(on adapters: [BLEAdapter], until stop: StopSignal, found: (BLESighting) -> Void) throws(BLEError) {
    let number = state.withLock { state in
      state.scans += 1
      state.listeners[state.scans] = { _ in }
      return state.scans
    }
    defer { state.withLock { $0.listeners[number] = nil } }
    while !stop.isRaised(within: 5) {
      if let failure = state.withLock({ $0.failure }) { throw failure }
      for sighting in heard.withLock({ $0 }) { found(sighting) }
    }
  }
}

@Suite("Finding and dialling over Bluetooth LE", .timeLimit(.minutes(1)))
struct BLEDiallerTests {
  private static let time: Int64 = 1_800_000_000_000
  private let radio = TestRadio()
  private let adapter: BLEAdapter

  init() throws {
    adapter = BLEAdapter(
      index: 0, address: try #require(BLEAddress("00:AA:01:00:00:00", .public)), isOn: true, knowsLE: true, hasLE: true,
      isPrivate: false)
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
    searchTime: Duration = .seconds(20), failure: BLEError? = nil,
    dial: @escaping @Sendable (BLESighting) async throws(TransportError) -> any PeerTransport
  ) -> BLEDialler {
    let radio = radio
    let adapter = adapter
    return BLEDialler(
      searchTime: searchTime, now: { Self.time },
      equipment: { () throws(BLEError) in
        if let failure { throw failure }
        return BLEEquipment(radio: radio, adapters: [adapter])
      }, dial: dial)
  }

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
    _ = try await dialler.connect(key)
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
      try? await Task.sleep(for: .milliseconds(20))
      dialling.withLock { $0.now -= 1 }
      return InMemoryTransport.pair().first
    }
    try await withThrowingTaskGroup(of: Void.self) { group in
      for key in keys { group.addTask { _ = try await dialler.connect(key) } }
      try await group.waitForAll()
    }
    #expect(dialling.withLock { $0.most } == 1)
    #expect(radio.scanCount <= 6)
    #expect(!radio.isListening)
  }

  @Test("a peer that is not there is given up after a while, and nobody looks any more")
  func absent() async throws {
    let dialler = dialler(searchTime: .milliseconds(100)) { (_) async throws(TransportError) in
      InMemoryTransport.pair().first
    }
    let key = try beacon()
    await #expect(throws: TransportError.unreachable("not heard over Bluetooth")) { _ = try await dialler.connect(key) }
    for _ in 0..<200 where radio.isListening { try await Task.sleep(for: .milliseconds(10)) }
    #expect(!radio.isListening)
  }

  @Test("where a peer was heard last is tried first, and then it is looked for anew")
  func memory() async throws {
    let key = try beacon()
    radio.hear(try sighting(of: key, at: "00:00:00:00:00:02"))
    let calls = Mutex(0)
    let dialler = dialler { (_) async throws(TransportError) in
      let call = calls.withLock { calls in
        calls += 1
        return calls
      }
      guard call != 2 else { throw .unreachable("gone") }
      return InMemoryTransport.pair().first
    }
    _ = try await dialler.connect(key)
    #expect(radio.scanCount == 1)
    _ = try await dialler.connect(key)
    #expect(radio.scanCount == 2)
    #expect(calls.withLock { $0 } == 3)
    _ = try await dialler.connect(key)
    #expect(radio.scanCount == 2)
  }

  @Test("a collision of two who dial at once is tried again")
  func collision() async throws {
    let key = try beacon()
    radio.hear(try sighting(of: key, at: "00:00:00:00:00:02"))
    let calls = Mutex(0)
    let dialler = dialler { (_) async throws(TransportError) in
      let isFirst = calls.withLock { calls in
        calls += 1
        return calls == 1
      }
      guard !isFirst else { throw .unreachable(BLEReason.text(16)) }
      return InMemoryTransport.pair().first
    }
    _ = try await dialler.connect(key)
    #expect(calls.withLock { $0 } == 2)
  }

  @Test(
    "without a radio everybody is told why",
    arguments: [BLEError.noAdapter, .off(["hci0"]), .notPermitted, .notSupported])
  func noRadio(error: BLEError) async throws {
    let dialler = dialler(failure: error) { (_) async throws(TransportError) in InMemoryTransport.pair().first }
    let key = try beacon()
    await #expect(throws: TransportError.unreachable(error.description)) { _ = try await dialler.connect(key) }
  }

  @Test("an adapter that goes while it looks is told of")
  func unplugged() async throws {
    let dialler = dialler { (_) async throws(TransportError) in InMemoryTransport.pair().first }
    let key = try beacon()
    let connecting = Task { _ = try await dialler.connect(key) }
    for _ in 0..<500 where !radio.isListening { try await Task.sleep(for: .milliseconds(10)) }
    radio.fail(.gone)
    await #expect(throws: TransportError.unreachable(BLEError.gone.description)) { try await connecting.value }
  }

  @Test("whoever gives up ends the search, and a beacon ends when it is told to")
  func cancelled() async throws {
    let dialler = dialler { (_) async throws(TransportError) in InMemoryTransport.pair().first }
    let key = try beacon()
    let connecting = Task { _ = try await dialler.connect(key) }
    for _ in 0..<500 where !radio.isListening { try await Task.sleep(for: .milliseconds(10)) }
    connecting.cancel()
    await #expect(throws: TransportError.self) { try await connecting.value }
    for _ in 0..<500 where radio.isListening { try await Task.sleep(for: .milliseconds(10)) }
    #expect(!radio.isListening)

    let shown = try #require(
      BLEBeacon(try key.tag(at: Self.time), BLEEquipment(radio: radio, adapters: [adapter])))
    await shown.begun()
    #expect(shown.state == .shown)
    await shown.end()
    #expect(shown.state == .ended(nil))
  }

  @Test("a list of who is near has each address once")
  func collected() async throws {
    let key = try beacon()
    radio.hear(try sighting(of: key, at: "00:00:00:00:00:02"))
    radio.hear(try sighting(of: try beacon(), at: "00:00:00:00:00:03"))
    let equipment = BLEEquipment(radio: radio, adapters: [adapter])
    let heard = try await BLEScan.collect(equipment, for: .milliseconds(200))
    #expect(heard.count == 2)
    radio.fail(.gone)
    await #expect(throws: BLEError.gone) { _ = try await BLEScan.collect(equipment, for: .seconds(20)) }
  }
}
