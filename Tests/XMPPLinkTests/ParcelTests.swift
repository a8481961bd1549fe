import TestTime
import Testing

@testable import XMPPLink
@testable import XMPPRequests

@Suite struct ParcelTests {
  private func part(
    _ id: String, _ number: Int, of count: Int, _ bytes: [UInt8], from: String = "ada@localhost/x"
  ) throws -> XMPPParcelPart {
    XMPPParcelPart(id: id, from: try JID(from), number: number, count: count, bytes: bytes, stamp: nil)
  }

  @Test func `parts make a parcel in any order, however often they come`() throws {
    var collector = XMPPParcelCollector()
    #expect(collector.add(try part("a", 2, of: 3, [5])) == nil)
    #expect(collector.add(try part("a", 0, of: 3, [1, 2])) == nil)
    #expect(collector.add(try part("a", 0, of: 3, [1, 2])) == nil)
    #expect(collector.add(try part("a", 1, of: 3, [3, 4], from: "ada@localhost/other"))?.bytes == [1, 2, 3, 4, 5])
    #expect(collector.size == 0)
  }

  @Test func `parcels of two senders don't mix, even under one name`() throws {
    var collector = XMPPParcelCollector()
    #expect(collector.add(try part("a", 0, of: 2, [1])) == nil)
    #expect(collector.add(try part("a", 1, of: 2, [2], from: "eve@localhost/x")) == nil)
    #expect(collector.add(try part("a", 1, of: 2, [3]))?.bytes == [1, 3])
  }

  @Test func `another number of parts begins the parcel anew`() throws {
    var collector = XMPPParcelCollector()
    #expect(collector.add(try part("a", 0, of: 3, [1])) == nil)
    #expect(collector.add(try part("a", 0, of: 2, [7])) == nil)
    #expect(collector.add(try part("a", 1, of: 2, [8]))?.bytes == [7, 8])
  }

  @Test func `one sender can't fill the room of others, nor all together more than there is`() throws {
    var collector = XMPPParcelCollector(limits: .init(bytes: 6000, bytesOfSender: 2000, parcelsOfSender: 4))
    #expect(collector.add(try part("mine", 0, of: 2, [UInt8](repeating: 1, count: 200), from: "bob@localhost")) == nil)
    for number in 0..<100 {
      #expect(collector.add(try part("x\(number)", 0, of: 2, [UInt8](repeating: 0, count: 90))) == nil)
      #expect(collector.size <= 2712)
    }
    #expect(collector.add(try part("mine", 1, of: 2, [2], from: "bob@localhost"))?.bytes.count == 201)
    for number in 0..<100 {
      _ = collector.add(try part("y", 0, of: 2, [UInt8](repeating: 0, count: 290), from: "e\(number)@localhost"))
      #expect(collector.size <= 6000)
    }
  }

  @Test func `however small parts are and however many send them, few parcels wait`() throws {
    var collector = XMPPParcelCollector(limits: .init(parcels: 100))
    #expect(collector.add(try part("empty", 0, of: 2, [])) == nil)
    #expect(collector.size == 0)
    for number in 0..<1000 { _ = collector.add(try part("a", 0, of: 2, [1], from: "e\(number)@localhost")) }
    #expect(collector.size == 100 * (1 + XMPPParcelCollector.partCost))
    // The last ones are there.
    #expect(collector.add(try part("a", 1, of: 2, [2], from: "e999@localhost"))?.bytes == [1, 2])
    #expect(collector.add(try part("a", 1, of: 2, [2], from: "e0@localhost")) == nil)
  }

  @Test func `a parcel that nobody ends is forgotten in time`() throws {
    var collector = XMPPParcelCollector(limits: .init(patience: 1000))
    #expect(collector.add(try part("a", 0, of: 2, [1]), at: 0) == nil)
    #expect(collector.add(try part("b", 0, of: 2, [1]), at: 900) == nil)
    #expect(collector.add(try part("a", 1, of: 2, [2]), at: 1500) == nil)
    #expect(collector.add(try part("b", 1, of: 2, [2]), at: 1600)?.bytes == [1, 2])
  }

  @Test func `what a carrier says has its bounds, and is taken from the part that comes last`() throws {
    let limits = (branch: XMPPCarriage.branchLimit, hops: XMPPCarriage.hopLimit)
    #expect(
      XMPPCarriage(branch: 0, hops: 1) != nil && XMPPCarriage(branch: limits.branch - 1, hops: limits.hops) != nil)
    for (branch, hops) in [(limits.branch, 1), (0, 0), (0, limits.hops + 1)] as [(UInt8, UInt8)] {
      #expect(XMPPCarriage(branch: branch, hops: hops) == nil)
    }
    var collector = XMPPParcelCollector()
    for number in 0..<2 {
      var part = try part("a", number, of: 2, [1])
      part.carriage = XMPPCarriage(branch: 1, hops: UInt8(number + 1))
      let whole = collector.add(part)
      #expect(whole?.carriage == (number == 1 ? part.carriage : nil))
    }
    #expect(collector.add(try part("b", 0, of: 1, [1]))?.carriage == nil)
  }

  @Test(arguments: [(0, 1), (1, 1), (180_000, 1), (180_001, 2), (3_000_000, 17)])
  func `a parcel has as many parts as it needs`(_ size: Int, _ count: Int) {
    #expect(XMPPParcelPart.parts(size) == count)
  }
}

@Suite struct EventQueueTests {
  private func message(_ number: Int, _ size: Int = 1) throws -> XMPPEvent {
    .receipt(id: "\(number)" + String(repeating: "x", count: size), from: try JID("a@b"))
  }

  @Test func `events come in order, and end with the end`() async throws {
    let queue = EventQueue()
    for number in 0..<5 { queue.put(try message(number)) }
    queue.put(.closed(nil))
    queue.put(try message(9))
    var events: [XMPPEvent] = []
    for await event in queue.stream { events.append(event) }
    #expect(events == (try (0..<5).map { try message($0) }) + [.closed(nil)])
  }

  @Test func `what doesn't fit is counted, and the end comes all the same`() async throws {
    let queue = EventQueue(limits: .init(count: 3, bytes: 1 << 20))
    for number in 0..<10 { queue.put(try message(number)) }
    queue.put(.closed(.busy))
    var events: [XMPPEvent] = []
    for await event in queue.stream { events.append(event) }
    #expect(events == (try (0..<3).map { try message($0) }) + [.missed(7), .closed(.busy)])
  }

  @Test func `who waits is woken by an event, and by being cancelled`() async throws {
    let queue = EventQueue()
    let stage = Stage()
    let task = Task(executorPreference: stage) { () -> XMPPEvent? in
      for await event in queue.stream { return event }
      return nil
    }
    await stage.rests()
    queue.put(try message(1))
    #expect(await task.value == (try message(1)))
    let other = Task(executorPreference: stage) { () -> XMPPEvent? in
      for await event in queue.stream { return event }
      return nil
    }
    await stage.rests()
    other.cancel()
    #expect(await other.value == nil)
  }
}
