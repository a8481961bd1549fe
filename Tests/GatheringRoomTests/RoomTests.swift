import Concurrency
import Gathering
import PeerAuth
import PeerLink
import Sodium
import TestTime
import Testing

@testable import GatheringRoom

/// Somebody with a card, and a beacon key of its own.
private struct Person {
  let identity: Identity
  let card: PeerCard

  init(_ label: String) throws {
    identity = try .generate()
    card = try identity.card(label: label, serial: 1, beaconKey: (0..<16).map { _ in .random(in: 0...255) })
  }
}

private func next<Found>(_ events: AsyncStream<RoomEvent>, _ pick: (RoomEvent) -> Found?) async throws -> Found {
  for await event in events { if let found = pick(event) { return found } }
  throw Missing()
}

private struct Missing: Error {}

private func compared(_ event: RoomEvent) -> GatheringList? { if case .compare(let list) = event { list } else { nil } }
private func cards(_ event: RoomEvent) -> [PeerCard]? { if case .finished(let cards) = event { cards } else { nil } }
private func failure(_ event: RoomEvent) -> GatheringFailure? {
  if case .failed(let failure) = event { failure } else { nil }
}

@Suite("A gathering over connections") struct RoomTests {
  private let time = TestClock()

  private var clock: RoomClock {
    RoomClock(
      now: { [time] in .milliseconds(Int64(time.monotonic)) }, sleep: { [time] in try await time.sleep(for: $0) })
  }

  /// A connection into a room.
  private func door() -> (stream: AsyncStream<any PeerTransport>, AsyncStream<any PeerTransport>.Continuation) {
    AsyncStream.makeStream()
  }

  private func entered(
    _ person: Person, _ room: OpenedRoom, by door: AsyncStream<any PeerTransport>.Continuation, code: String? = nil
  ) throws -> (EnteredRoom, Task<Void, Never>) {
    let (near, far) = InMemoryTransport.pair()
    door.yield(far)
    let guest = try EnteredRoom(
      near, code: GatheringCode(reading: code ?? room.code), card: person.card, identity: person.identity, clock: clock)
    return (guest, Task { await guest.run() })
  }

  @Test("gives everybody everybody's card with its beacon key, once all have said yes, and ends") func agreed()
    async throws
  {
    let people = try ["Alice", "Bob", "Carol"].map { try Person($0) }
    let room = try OpenedRoom(card: people[0].card, identity: people[0].identity, clock: clock)
    let (stream, way) = door()
    let running = Task { await room.run([stream]) }
    let guests = try people.dropFirst().map { try entered($0, room, by: way) }
    try await next(room.events) { if case .guests(2) = $0 { true } else { nil } }
    #expect(await room.close())
    let list = try await next(room.events, compared)
    for (guest, _) in guests {
      let shown = try await next(guest.events, compared)
      #expect(shown.check == list.check && shown.cards == list.cards)
      await guest.say(true)
    }
    await room.say(true)
    #expect(Set(try await next(room.events, cards)) == Set(people.dropFirst().map(\.card)))
    for (place, (guest, task)) in guests.enumerated() {
      let others = try await next(guest.events, cards)
      #expect(Set(others) == Set(people.map(\.card)).subtracting([people[place + 1].card]))
      await task.value
    }
    await running.value
  }

  @Test("tells a guest with a wrong code that it isn't let in, and goes on with the others") func wrongCode()
    async throws
  {
    let (alice, bob) = (try Person("Alice"), try Person("Bob"))
    let room = try OpenedRoom(card: alice.card, identity: alice.identity, clock: clock)
    let (stream, way) = door()
    let running = Task { await room.run([stream]) }
    let wrong = room.code.hasSuffix("maple-maple") ? "harbor-harbor" : "maple-maple"
    let (guest, task) = try entered(bob, room, by: way, code: "\(room.number)-\(wrong)")
    #expect(try await next(guest.events, failure) == .notLetIn)
    await task.value
    let (again, other) = try entered(bob, room, by: way)
    try await next(again.events) { if case .joined = $0 { true } else { nil } }
    #expect(await room.close())
    _ = try await next(again.events, compared)
    await again.say(false)
    guard case .saidNo(let who) = try await next(room.events, failure) else { throw Missing() }
    #expect(who.label == "Bob")
    await other.value
    await running.value
  }

  @Test("dies with its code after five minutes, whoever has come") func time() async throws {
    let (alice, bob) = (try Person("Alice"), try Person("Bob"))
    let room = try OpenedRoom(card: alice.card, identity: alice.identity, clock: clock)
    let (stream, way) = door()
    let running = Task { await room.run([stream]) }
    let (guest, task) = try entered(bob, room, by: way)
    try await next(guest.events) { if case .joined = $0 { true } else { nil } }
    for wait in 1...5 { time.pass(.seconds(wait)) }
    #expect(try await next(room.events, failure) == .timeIsUp)
    #expect(try await next(guest.events, failure) == .timeIsUp)
    await task.value
    await running.value
  }

  @Test("over TCP takes guests while others connect and say nothing, and those are hung up on") func strangers()
    async throws
  {
    let (alice, bob) = (try Person("Alice"), try Person("Bob"))
    let room = try OpenedRoom(card: alice.card, identity: alice.identity, clock: clock)
    let listener = try await TCPListener.bind(host: "127.0.0.1", port: 0)
    let running = Task { await room.run([listener.incoming]) }
    var strangers: [any PeerTransport] = []
    for _ in 0..<7 { strangers.append(try await TCPConnector().connect(listener.address)) }
    for stranger in strangers { #expect(try await stranger.read(atMost: 1).count == 1) }
    let guest = try EnteredRoom(
      try await TCPConnector().connect(listener.address), code: GatheringCode(reading: room.code), card: bob.card,
      identity: bob.identity, clock: clock)
    let task = Task { await guest.run() }
    try await next(room.events) { if case .guests(1) = $0 { true } else { nil } }
    #expect(await room.close())
    _ = try await next(guest.events, compared)
    for stranger in strangers { while try await !stranger.read(atMost: 4096).isEmpty {} }
    await guest.say(true)
    await room.say(true)
    #expect(try await next(guest.events, cards) == [alice.card])
    #expect(try await next(room.events, cards) == [bob.card])
    await task.value
    await running.value
    await listener.close()
  }

  @Test(
    "a guest leaves after three seconds where nobody greets, after ten where its code isn't found right, and a tried opening at once"
  )
  func slow() async throws {
    let bob = try Person("Bob")
    let (near, far) = InMemoryTransport.pair()
    let guest = try EnteredRoom(
      near, code: GatheringCode(reading: "7-maple-harbor"), card: bob.card, identity: bob.identity, clock: clock)
    let task = Task { await guest.run() }
    try await far.write([0, 68])
    await time.isAwaited(.seconds(3))
    time.advance(by: .seconds(3))
    #expect(try await next(guest.events, failure) == .openerGone)
    await task.value
    let alice = try Person("Alice")
    let room = try OpenedRoom(card: alice.card, identity: alice.identity, clock: clock)
    let (stream, way) = door()
    let running = Task { await room.run([stream]) }
    let (wrong, first) = try entered(
      bob, room, by: way, code: "\(room.number)-\(room.code.hasSuffix("maple-maple") ? "harbor-harbor" : "maple-maple")"
    )
    #expect(try await next(wrong.events, failure) == .notLetIn)
    await first.value
    let attempt = await wrong.attempt(.failure(.notLetIn), farewell: first)
    #expect(attempt.hasGuessed && !attempt.hasJoined && attempt.opening.count == 32)
    let (inner, outer) = InMemoryTransport.pair()
    way.yield(outer)
    let again = try EnteredRoom(
      inner, code: GatheringCode(reading: room.code), card: bob.card, identity: bob.identity, clock: clock,
      avoiding: [attempt.opening])
    let second = Task { await again.run() }
    #expect(try await next(again.events, failure) == .otherOpening)
    await second.value
    let none = await again.attempt(.failure(.otherOpening), farewell: second)
    #expect(!none.hasGuessed)
    running.cancel()
    await running.value
    let dumb = try GatheringOpener(card: alice.card, identity: alice.identity, at: .zero)
    let (here, there) = InMemoryTransport.pair()
    for case .send(let bytes, _) in dumb.connected(at: .zero).actions { try await there.write(bytes) }
    let patient = try EnteredRoom(
      here, code: GatheringCode(reading: dumb.code.text), card: bob.card, identity: bob.identity, clock: clock)
    let waiting = Task { await patient.run() }
    // It has said hello by then.
    _ = try await there.read(atMost: 4096)
    for wait in 1...5 { time.pass(.seconds(wait)) }
    #expect(try await next(patient.events, failure) == .openerGone)
    await waiting.value
  }

  @Test("a guest whose connection ends hears that the opener is gone, and the others go on") func gone() async throws {
    let (alice, bob) = (try Person("Alice"), try Person("Bob"))
    let room = try OpenedRoom(card: alice.card, identity: alice.identity, clock: clock)
    let (stream, way) = door()
    let running = Task { await room.run([stream]) }
    let (near, far) = InMemoryTransport.pair()
    way.yield(far)
    let guest = try EnteredRoom(
      near, code: GatheringCode(reading: room.code), card: bob.card, identity: bob.identity, clock: clock)
    let task = Task { await guest.run() }
    try await next(guest.events) { if case .joined = $0 { true } else { nil } }
    await near.close()
    #expect(try await next(guest.events, failure) == .openerGone)
    try await next(room.events) { if case .guests(0) = $0 { true } else { nil } }
    await task.value
    running.cancel()
    await running.value
  }

  @Test("an opener that leaves when all compare is who has left, to everybody") func openerLeaves() async throws {
    let (alice, bob, carol) = (try Person("Alice"), try Person("Bob"), try Person("Carol"))
    let room = try OpenedRoom(card: alice.card, identity: alice.identity, clock: clock)
    let (stream, way) = door()
    let running = Task { await room.run([stream]) }
    let guests = try [bob, carol].map { try entered($0, room, by: way) }
    try await next(room.events) { if case .guests(2) = $0 { true } else { nil } }
    #expect(await room.close())
    for (guest, _) in guests { _ = try await next(guest.events, compared) }
    running.cancel()
    await running.value
    for (guest, task) in guests {
      guard case .left(let who) = try await next(guest.events, failure) else { throw Missing() }
      #expect(who.label == "Alice" && who.position == 0)
      await task.value
    }
  }

  @Test("an offer with another number, or anything behind it, isn't meant") func numbers() {
    #expect(RoomPlaces.isMeant(7, in: RoomPlaces.texts(7)))
    for texts in [
      RoomPlaces.texts(70), [], [[]], [Array("n=7 ".utf8)], [Array("t=7".utf8)], RoomPlaces.texts(7) + [[]],
    ] as [[[UInt8]]] {
      #expect(!RoomPlaces.isMeant(7, in: texts))
    }
  }
}
