import Concurrency
import LocalNames
import NIOCore
import PeerAuth
import Sodium
import Synchronization
import TestTime
import Testing

@testable import PeerLink

@Suite("Finding peers on the same network", .timeLimit(.minutes(2)))
struct LocalDiallerTests {
  /// A network on which a test says who is heard.
  private final class TestNames: LocalNames {
    let name = "test"
    let offers = Mutex<[LocalOffer?]>([])
    let failure: LocalNamesError?
    private let said: [LocalEvent]
    let (looks, looking) = AsyncStream.makeStream(of: Void.self)

    init(_ said: [LocalEvent] = [], failure: LocalNamesError? = nil) {
      self.said = said
      self.failure = failure
    }

    func run(
      _ offer: LocalOffer?, type: LocalServiceType, until stop: StopSignal, ready: () -> Void,
      heard: (LocalEvent) -> Void
    ) throws(LocalNamesError) {
      #expect(type.word == "vault-peer")
      offers.withLock { $0.append(offer) }
      if let failure { throw failure }
      ready()
      looking.yield()
      for event in said { heard(event) }
      while !stop.isRaised(within: 1000) {}
    }
  }

  private static let hour: Int64 = 495_000 * 3_600_000

  private static func key(_ byte: UInt8 = 1) throws -> BeaconKey {
    let bytes = [UInt8](repeating: byte, count: PeerCard.beaconKeyByteCount)
    return try BeaconKey(try SecretBytes(copying: bytes.span.bytes))
  }

  private static func sighting(
    _ tag: BeaconTag, _ last: UInt8 = 7, label: String = "x", port: UInt16 = 4721
  ) -> LocalSighting {
    LocalSighting(
      key: LocalSighting.Key(
        label: Array(label.utf8), address: LocalAddress(bytes: [192, 0, 2, last], interface: 3)),
      port: port, texts: LocalTag.texts(tag))
  }

  private static func dialler(
    _ names: TestNames, monotonic: @escaping @Sendable () -> Int64 = { 0 },
    sleep: @escaping @Sendable (Duration) async throws -> Void = { _ in throw CancellationError() },
    dial: @escaping @Sendable (LocalAddress, UInt16) async throws(TransportError) -> any PeerTransport = {
      (_, _) async throws(TransportError) in throw .unreachable("test")
    }
  ) -> LocalDialler {
    LocalDialler(now: { hour }, monotonic: monotonic, sleep: sleep, way: { names }, dial: dial)
  }

  @Test("the tag of this hour, and of the hours beside it, is a peer's; any other is nobody's")
  func tags() throws {
    let key = try Self.key()
    let room = LocalRoom()
    let tags = try key.tags(at: Self.hour)
    for (number, tag) in tags.enumerated() {
      room.note(.heard(Self.sighting(tag, UInt8(number), label: "\(number)")))
    }
    room.note(.heard(Self.sighting(try Self.key(2).tag(at: Self.hour), 9, label: "other")))
    #expect(room.places(of: tags, at: 0).count == 3)
    #expect(room.count == 4)
    let later = try key.tags(at: Self.hour + 5 * 3_600_000)
    #expect(room.places(of: later, at: 0).isEmpty)
  }

  @Test("an offer without a tag, or with half of one, is none")
  func nonsense() throws {
    let tag = try Self.key().tag(at: Self.hour)
    #expect(LocalTag.tag(in: [[1], LocalTag.texts(tag)[0]]) == tag)
    #expect(LocalTag.tag(in: []) == nil)
    #expect(LocalTag.tag(in: [Array("t=1234567".utf8), LocalTag.texts(tag)[0]]) == nil)
    let room = LocalRoom()
    room.note(.heard(Self.sighting(tag, port: 0)))
    #expect(room.count == 0)
  }

  @Test("who has said that it goes isn't called")
  func gone() throws {
    let tag = try Self.key().tag(at: Self.hour)
    let room = LocalRoom()
    room.note(.heard(Self.sighting(tag)))
    room.note(.gone(Self.sighting(tag, 8).key))
    #expect(room.places(of: [tag], at: 0).count == 1)
    room.note(.gone(Self.sighting(tag).key))
    #expect(room.places(of: [tag], at: 0).isEmpty)
  }

  @Test("however many offers somebody makes up, few are kept, and few places called")
  func crowd() throws {
    let tag = try Self.key().tag(at: Self.hour)
    let room = LocalRoom()
    for number in 0..<1000 {
      room.note(.heard(Self.sighting(tag, UInt8(number % 200), label: "\(number)", port: UInt16(1 + number))))
    }
    #expect(room.count == LocalRoom.limit)
    #expect(room.places(of: [tag], at: 0).count == LocalRoom.placeLimit)
    var calls = 0
    for moment in stride(from: Int64(0), to: 600_000, by: 500) {
      for place in room.places(of: [tag], at: moment)
      where room.beginCall(place.key.address, place.port, at: moment) { calls += 1 }
    }
    #expect(calls <= LocalRoom.callsAtOnce + 10 * LocalRoom.callsPerMinute)
    #expect(calls > LocalRoom.callsPerMinute)
  }

  @Test("a place where a call led to no session is left alone for a minute, one that was the peer's isn't")
  func doubt() throws {
    let tag = try Self.key().tag(at: Self.hour)
    let room = LocalRoom()
    let (one, other) = (Self.sighting(tag, 1), Self.sighting(tag, 2))
    for sighting in [one, other] {
      room.note(.heard(sighting))
      #expect(room.beginCall(sighting.key.address, sighting.port, at: 0))
    }
    #expect(room.places(of: [tag], at: 1).isEmpty)
    room.reached(one.key.address, one.port)
    let found = room.places(of: [tag], at: 59_999)
    #expect(found.map(\.key) == [one.key])
    // Of what else was said nothing is kept.
    #expect(found.allSatisfy { $0.texts.isEmpty })
    #expect(room.places(of: [tag], at: 60_000).count == 2)
  }

  @Test("calls that lead to peers aren't counted, and another port of the same address is another place")
  func reached() throws {
    let tag = try Self.key().tag(at: Self.hour)
    let room = LocalRoom()
    let (one, other) = (Self.sighting(tag, 1, port: 1), Self.sighting(tag, 1, label: "other", port: 2))
    for sighting in [one, other] { room.note(.heard(sighting)) }
    for moment in Int64(0)..<100 {
      #expect(room.beginCall(one.key.address, one.port, at: moment))
      #expect(room.places(of: [tag], at: moment).map(\.port) == [2])
      room.reached(one.key.address, one.port)
    }
    for _ in 0..<LocalRoom.callsAtOnce { #expect(room.beginCall(one.key.address, one.port, at: 100)) }
    #expect(!room.beginCall(one.key.address, one.port, at: 100))
  }

  @Test("a program begins to look with the first question, and is led to where the tag was heard")
  func finding() async throws {
    let key = try Self.key()
    let names = TestNames([.heard(Self.sighting(try key.tag(at: Self.hour)))])
    let dialled = Mutex<[LocalSighting.Key]>([])
    let time = Atomic<Int64>(0)
    let dialler = Self.dialler(
      names, monotonic: { time.load(ordering: .relaxed) }, sleep: { try await Task.sleep(for: .seconds(60) + $0) }
    ) { (address, port) async throws(TransportError) in
      dialled.withLock { $0.append(LocalSighting.Key(label: Array("\(port)".utf8), address: address)) }
      throw .unreachable("test")
    }
    let places = await dialler.places(of: key)
    #expect(places.map(\.description) == ["192.0.2.7:4721"])
    await #expect(throws: TransportError.unreachable("test")) { _ = try await places[0].connect() }
    let expected = LocalSighting.Key(
      label: Array("4721".utf8), address: LocalAddress(bytes: [192, 0, 2, 7], interface: 3))
    #expect(dialled.withLock { $0 } == [expected])
    time.add(10_000, ordering: .relaxed)
    #expect(names.offers.withLock { $0 } == [nil])
    #expect(await dialler.places(of: key).isEmpty)
    places[0].reached()
    #expect(await dialler.places(of: key).count == 1)
    #expect(names.offers.withLock { $0.count } == 1)
  }

  @Test("who isn't heard within a while isn't there")
  func patience() async throws {
    let names = TestNames()
    let time = Atomic<Int64>(0)
    let dialler = Self.dialler(names, monotonic: { time.load(ordering: .relaxed) }) { duration in
      time.add(Int64(duration.components.seconds) * 1000 + 600, ordering: .relaxed)
    }
    #expect(await dialler.places(of: try Self.key()).isEmpty)
    #expect(time.load(ordering: .relaxed) >= LocalDialler.patience)
  }

  @Test("where nobody can look, nobody is waited for, and it is tried again after a while")
  func failing() async throws {
    let names = TestNames(failure: .noNetwork)
    let time = Atomic<Int64>(0)
    let dialler = Self.dialler(
      names, monotonic: { time.load(ordering: .relaxed) }, sleep: { try await Task.sleep(for: .seconds(60) + $0) })
    #expect(await dialler.places(of: try Self.key()).isEmpty)
    #expect(await dialler.places(of: try Self.key()).isEmpty)
    #expect(names.offers.withLock { $0.count } == 1)
    time.add(LocalDialler.pause, ordering: .relaxed)
    #expect(await dialler.places(of: try Self.key()).isEmpty)
    #expect(names.offers.withLock { $0.count } == 2)
  }

  @Test("in the daemon a question begins nothing, and knows who is heard")
  func attended() async throws {
    let key = try Self.key()
    let names = TestNames([.heard(Self.sighting(try key.tag(at: Self.hour)))])
    let dialler = Self.dialler(names, sleep: { try await Task.sleep(for: .seconds(60) + $0) })
    dialler.attend()
    #expect(await dialler.places(of: key).isEmpty)
    #expect(names.offers.withLock { $0.count } == 0)
    let stop = try #require(StopSignal())
    let offer = LocalOffer(port: 4721, texts: [[1]])
    async let outcome: Void = WaitingThread.run { () throws(LocalNamesError) in
      try dialler.look(offer: offer, until: stop)
    }
    for await _ in names.looks { break }
    #expect(await dialler.places(of: key).count == 1)
    #expect(names.offers.withLock { $0 } == [offer])
    stop.raise()
    try await outcome
    #expect(dialler.room.tags.isEmpty)
    #expect(await dialler.places(of: key).isEmpty)
  }

  @Test("an address of one network alone is called by its interface")
  func scope() throws {
    let local = LocalAddress(bytes: [0xFE, 0x80] + [UInt8](repeating: 0, count: 13) + [1], interface: 3)
    let address = try local.socketAddress(port: 4721)
    guard case .v6(let inside) = address else {
      Issue.record("no address of IPv6")
      return
    }
    #expect(inside.address.sin6_scope_id == 3)
    let global = LocalAddress(bytes: [0x20, 1] + [UInt8](repeating: 0, count: 13) + [1], interface: 3)
    guard case .v6(let other) = try global.socketAddress(port: 4721) else {
      Issue.record("no address of IPv6")
      return
    }
    #expect(other.address.sin6_scope_id == 0)
    #expect(LocalDialler.text(local, 4721) == "[fe80::1]:4721")
  }

  @Test("a session's bytes go to an address that was heard")
  func connection() async throws {
    let listener = try await TCPListener.bind(host: "127.0.0.1", port: 0)
    let port = try #require(UInt16(exactly: listener.address.port))
    let transport = try await TCPConnector().connect(LocalAddress(bytes: [127, 0, 0, 1], interface: 1), port: port)
    var arrivals = listener.incoming.makeAsyncIterator()
    let next = await arrivals.next()
    let other = try #require(next)
    try await transport.write([1, 2, 3])
    #expect(try await other.read(atMost: 3) == [1, 2, 3])
    await transport.close()
    await other.close()
    await listener.close()
  }
}
