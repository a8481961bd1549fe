import Glibc
import Testing

@testable import LocalNames
@testable import SystemBus

@Suite("Offers by avahi-daemon", .timeLimit(.minutes(2)))
struct AvahiNamesTests {
  private static let loopback = Int32(bitPattern: if_nametoindex("lo"))
  private static let browsing = "org.freedesktop.Avahi.ServiceBrowser"
  private static let resolving = "org.freedesktop.Avahi.ServiceResolver"

  private static func item(_ name: String, type: String = "_vault-test._tcp", family: Int32 = 0) -> [BusValue] {
    [.int32(loopback), .int32(family), .text(name), .text(type), .text("local"), .number(0)]
  }

  private static func found(_ name: String, address: String = "127.0.0.1", port: UInt16 = 4721) -> [BusValue] {
    [
      .int32(loopback), .int32(0), .text(name), .text("_vault-test._tcp"), .text("local"), .text("host.local"),
      .int32(0), .text(address), .uint16(port), .array(of: "ay", [.bytes([1, 2, 3]), .bytes([])]), .number(0),
    ]
  }

  @Test("Avahi is taken where it is on the bus, and port 5353 left to it")
  func choice() throws {
    let bus = try AvahiBus()
    defer { bus.stop() }
    #expect(LocalWay.find(bus: [bus.path]) is AvahiNames)
    bus.leave()
    #expect(LocalWay.find(bus: [bus.path]) is MulticastNames)
    #expect(LocalWay.find(bus: ["/nowhere"]) is MulticastNames)
  }

  @Test("an offer is made with its texts, and is taken back")
  func offering() async throws {
    let bus = try AvahiBus()
    defer { bus.stop() }
    let offer = LocalOffer(port: 4711, texts: [[9, 0, 255]])
    let running = try RunningNames(AvahiNames(bus: [bus.path]), offer)
    let call = try #require(await bus.call(of: "AddService"))
    #expect(call.path == AvahiBus.group)
    #expect(
      call.body == [
        .int32(-1), .int32(-1), .number(0), .text(String(decoding: offer.label, as: UTF8.self)),
        .text("_vault-test._tcp"), .text("local"), .text(""), .uint16(4711), .array(of: "ay", [.bytes([9, 0, 255])]),
      ])
    #expect(await bus.call(of: "Commit")?.path == AvahiBus.group)
    await running.begin()
    #expect(await running.end() == nil)
    #expect(await bus.call(of: "Free")?.path == AvahiBus.group)
  }

  @Test("who is heard is asked about, and said to have gone when it has")
  func hearing() async throws {
    let bus = try AvahiBus()
    defer { bus.stop() }
    let running = try RunningNames(AvahiNames(bus: [bus.path]), nil)
    await running.begin()
    bus.emit("ItemNew", of: Self.browsing, at: AvahiBus.browser, Self.item("one"))
    let call = try #require(await bus.call(of: "ServiceResolverNew"))
    #expect(call.body.prefix(3) == [.int32(Self.loopback), .int32(0), .text("one")])
    let resolver = "/Client1/ServiceResolver1"
    // Somebody else on the bus says something else.
    bus.emit("Found", of: Self.resolving, at: resolver, from: ":1.66", Self.found("one", port: 1))
    bus.emit("Found", of: Self.resolving, at: resolver, Self.found("one"))
    let key = LocalSighting.Key(
      label: Array("one".utf8),
      address: LocalAddress(bytes: [127, 0, 0, 1], interface: UInt32(bitPattern: Self.loopback)))
    let expected = LocalEvent.heard(LocalSighting(key: key, port: 4721, texts: [[1, 2, 3], []]))
    #expect(await running.first { _ in true } == expected)
    #expect(await bus.call(of: "Free")?.path == resolver)
    bus.emit("ItemRemove", of: Self.browsing, at: AvahiBus.browser, Self.item("one"))
    #expect(await running.first { _ in true } == .gone(key))
    #expect(await running.end() == nil)
  }

  @Test("an address that isn't on the network where the offer was heard is nobody's")
  func elsewhere() async throws {
    let bus = try AvahiBus()
    defer { bus.stop() }
    let running = try RunningNames(AvahiNames(bus: [bus.path]), nil)
    await running.begin()
    for (number, name) in ["far", "near"].enumerated() {
      bus.emit("ItemNew", of: Self.browsing, at: AvahiBus.browser, Self.item(name))
      _ = await bus.call(of: "ServiceResolverNew")
      let address = name == "far" ? "192.0.2.1" : "127.0.0.1"
      bus.emit(
        "Found", of: Self.resolving, at: "/Client1/ServiceResolver\(number + 1)", Self.found(name, address: address))
    }
    guard case .heard(let sighting)? = await running.first(where: { _ in true }) else {
      Issue.record("nothing was heard")
      return
    }
    #expect(sighting.key.label == Array("near".utf8))
    #expect(await running.end() == nil)
  }

  @Test("when Avahi goes, is new, or drops the offer, that is the end of it")
  func ends() async throws {
    for isGone in [true, false] {
      let bus = try AvahiBus()
      defer { bus.stop() }
      let running = try RunningNames(AvahiNames(bus: [bus.path]), LocalOffer(port: 1, texts: [[1]]))
      await running.begin()
      if isGone {
        bus.emit(
          "NameOwnerChanged", of: "org.freedesktop.DBus", at: "/org/freedesktop/DBus", from: "org.freedesktop.DBus",
          [.text("org.freedesktop.Avahi"), .text(AvahiBus.owner), .text("")])
      } else {
        bus.emit(
          "StateChanged", of: "org.freedesktop.Avahi.EntryGroup", at: AvahiBus.group, [.int32(3), .text("collision")])
      }
      let failure = await running.failure()
      #expect(failure == (isGone ? .serviceGone : .failed("avahi-daemon does not offer this device to others")))
    }
  }

  @Test("a refusal is told")
  func refusal() async throws {
    let bus = try AvahiBus()
    defer { bus.stop() }
    bus.refuse("org.freedesktop.Avahi.NotPermittedError")
    let running = try RunningNames(AvahiNames(bus: [bus.path]), LocalOffer(port: 1, texts: [[1]]))
    #expect(await running.failure() == .failed("avahi-daemon does not let this user offer anything"))
    let nobody = try RunningNames(AvahiNames(bus: ["/nowhere"]), nil)
    #expect(await nobody.failure() == .serviceGone)
  }

  @Test("of a crowd only so many are known, and asked about at a time")
  func crowd() throws {
    var items = AvahiItems(type: LocalServiceType("vault-test"))
    func signal(_ member: String, _ name: String, type: String = "_vault-test._tcp", family: Int32 = 0) -> BusMessage {
      BusMessage(
        kind: .signal, serial: 1, path: AvahiBus.browser, interface: Self.browsing, member: member,
        sender: AvahiBus.owner, body: Self.item(name, type: type, family: family))
    }
    func take(_ signal: BusMessage, at now: Int64 = 0) -> (events: [LocalEvent], over: String?) {
      items.take(signal, browser: AvahiBus.browser, at: now)
    }
    for number in 0..<1000 { _ = take(signal("ItemNew", "\(number)")) }
    #expect(items.count == AvahiItems.limit)
    let asked = items.begin(at: 0)
    #expect(asked.count == AvahiItems.atOnce)
    for (number, item) in asked.enumerated() { items.began(item, at: "/\(number)") }
    #expect(items.begin(at: 0).isEmpty)
    let (events, over) = take(signal("ItemRemove", asked[0].name))
    #expect(events.isEmpty)
    #expect(over == "/0")
    #expect(items.begin(at: 0).count == 1)
    // Who comes later isn't kept out by those who are there, and one that is asked about stays.
    for number in 1000..<2000 { _ = take(signal("ItemNew", "\(number)")) }
    #expect(items.count == AvahiItems.limit)
    #expect(take(signal("ItemRemove", asked[1].name)).over == "/1")
    // Nobody has Avahi asked more than so often, and what it couldn't tell of is asked about again after a minute.
    var questions = 9
    for moment in stride(from: Int64(0), to: 600_000, by: 100) {
      for item in items.begin(at: moment) {
        questions += 1
        items.failed(item, at: moment)
      }
    }
    #expect(questions <= AvahiItems.questionsAtOnce + 10 * AvahiItems.questionsPerMinute)
    #expect(questions > AvahiItems.limit)
    #expect(try #require(items.nextMoment(after: 600_000)) > 600_000)
    // What isn't asked for.
    var others = AvahiItems(type: LocalServiceType("vault-test"))
    _ = others.take(signal("ItemNew", "a", type: "_ssh._tcp"), browser: AvahiBus.browser, at: 0)
    _ = others.take(signal("ItemNew", "a", family: 2), browser: AvahiBus.browser, at: 0)
    _ = others.take(signal("ItemNew", ""), browser: AvahiBus.browser, at: 0)
    _ = others.take(signal("ItemNew", "a"), browser: "/another", at: 0)
    #expect(others.count == 0)
  }
}
