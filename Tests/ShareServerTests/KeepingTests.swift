import Foundation
import Sodium
import TestTime
import Testing

@testable import ShareServer

@Suite struct SlotRingTests {
  private func bytes(_ key: consuming SecretBytes?) -> [UInt8]? {
    switch consume key {
    case .some(let key): key.withUnsafeBytes { Array($0) }
    case .none: nil
    }
  }

  private func contents(_ folder: Folder, _ name: String = "slots-1") throws -> Data {
    try Data(contentsOf: URL(fileURLWithPath: folder.path + "/" + name))
  }

  @Test(
    arguments: [
      (60, 1), (4096, 1), (4097, 2), (8192, 2), (8193, 4), (86_400, 32), (2_592_000, 1024),
    ] as [(Int64, Int64)])
  func `a slot is the smallest power of two of seconds that 4096 of span the time to live`(
    _ ttl: Int64, _ seconds: Int64
  ) {
    #expect(SlotRing.slotLength(ttl: ttl) == seconds * 1000)
  }

  @Test func `a slot ends when the last that expires in it does, and not before`() throws {
    let folder = try Folder()
    let ring = try SlotRing(folder: folder.path, length: 1000, now: 0)
    #expect(ring.slot(expires: 1) == 1)
    #expect(ring.slot(expires: 1000) == 1)
    #expect(ring.slot(expires: 1001) == 2)
    _ = try ring.ensureKey(of: 1)
    #expect(try ring.destroy(at: 999) == 0)
    #expect(try ring.destroy(at: 1000) == 1)
  }

  @Test func `a key stays the same until its slot is over, also over a restart`() throws {
    let folder = try Folder()
    var key: [UInt8]?
    do {
      let ring = try SlotRing(folder: folder.path, length: 1000, now: 0)
      key = bytes(try ring.ensureKey(of: 70))
      #expect(bytes(try ring.ensureKey(of: 70)) == key)
      #expect(bytes(try ring.ensureKey(of: 71)) != key)
      try ring.synchronize()
    }
    let ring = try SlotRing(folder: folder.path, length: 1000, now: 69_999)
    #expect(bytes(try ring.key(of: 70)) == key)
    #expect(bytes(try ring.key(of: 72)) == nil)
    #expect(ring.liveCount == 2)
  }

  @Test func `a destroyed key is in the file no more`() throws {
    let folder = try Folder()
    let ring = try SlotRing(folder: folder.path, length: 1000, now: 0)
    let gone = try #require(bytes(try ring.ensureKey(of: 60)))
    let kept = try #require(bytes(try ring.ensureKey(of: 61)))
    try ring.synchronize()
    #expect(try contents(folder).range(of: Data(gone)) != nil)
    #expect(try ring.destroy(at: 60_000) == 1)
    #expect(try contents(folder).range(of: Data(gone)) == nil)
    #expect(try contents(folder).range(of: Data(kept)) != nil)
    #expect(bytes(try ring.key(of: 60)) == nil)
    #expect(bytes(try ring.key(of: 61)) == kept)
  }

  @Test func `what passed while nothing ran is destroyed by opening`() throws {
    let folder = try Folder()
    var gone: [UInt8] = []
    do {
      let ring = try SlotRing(folder: folder.path, length: 1000, now: 0)
      gone = try #require(bytes(try ring.ensureKey(of: 60)))
      try ring.synchronize()
    }
    let ring = try SlotRing(folder: folder.path, length: 1000, now: 60_000)
    #expect(ring.liveCount == 0)
    #expect(try contents(folder).range(of: Data(gone)) == nil)
  }

  @Test func `a torn entry is dropped`() throws {
    let folder = try Folder()
    do {
      let ring = try SlotRing(folder: folder.path, length: 1000, now: 0)
      _ = try ring.ensureKey(of: 60)
      try ring.synchronize()
    }
    var file = try contents(folder)
    for offset in 32..<64 { file[60 * 64 + offset] = 0 }
    try file.write(to: URL(fileURLWithPath: folder.path + "/slots-1"))
    let ring = try SlotRing(folder: folder.path, length: 1000, now: 0)
    #expect(bytes(try ring.key(of: 60)) == nil)
    #expect(ring.damagedCount == 1)
    #expect(try contents(folder) == Data(count: file.count))
  }

  @Test func `the place of a slot serves a later one when its turn comes`() throws {
    let folder = try Folder()
    let ring = try SlotRing(folder: folder.path, length: 1000, now: 0)
    let first = bytes(try ring.ensureKey(of: 5))
    try ring.destroy(at: 5000)
    let later = bytes(try ring.ensureKey(of: 5 + SlotRing.capacity))
    #expect(later != nil && later != first)
    #expect(bytes(try ring.key(of: 5)) == nil)
  }

  @Test func `a clock that jumps by years ends all keys and stops nothing`() throws {
    let folder = try Folder()
    let ring = try SlotRing(folder: folder.path, length: 1000, now: 0)
    _ = try ring.ensureKey(of: 60)
    let later: Int64 = 4_000_000_000
    _ = try ring.ensureKey(of: later)
    #expect(ring.liveCount == 2)
    #expect(try ring.destroy(at: (later - 1) * 1000) == 1)
    #expect(bytes(try ring.key(of: 60)) == nil && ring.liveCount == 1)
  }

  @Test func `a ring that was being made when the power failed is made anew`() throws {
    let folder = try Folder()
    try Data(count: 100).write(to: URL(fileURLWithPath: folder.path + "/slots-1.new"))
    let ring = try SlotRing(folder: folder.path, length: 1000, now: 0)
    #expect(ring.isNew && ring.damagedCount == 0)
    #expect(try contents(folder).count == Int(SlotRing.capacity) * 64)
    #expect(!FileManager.default.fileExists(atPath: folder.path + "/slots-1.new"))
    #expect(try !SlotRing(folder: folder.path, length: 1000, now: 0).isNew)
  }

  @Test func `a name that can't be followed is no reason to make a ring anew`() throws {
    let folder = try Folder()
    try FileManager.default.createSymbolicLink(
      atPath: folder.path + "/slots-1", withDestinationPath: folder.path + "/slots-1")
    #expect(throws: FileFault.self) { try SlotRing(folder: folder.path, length: 1000, now: 0) }
    #expect(try FileManager.default.destinationOfSymbolicLink(atPath: folder.path + "/slots-1").hasSuffix("slots-1"))
  }

  @Test func `a file of another size is refused`() throws {
    let folder = try Folder()
    try Data(count: 100).write(to: URL(fileURLWithPath: folder.path + "/slots-1"))
    #expect(throws: FileFault.self) { try SlotRing(folder: folder.path, length: 1000, now: 0) }
  }
}

@Suite struct ServiceClockTests {
  @Test func `time runs with the machine's clock`() {
    let machine = TestClock()
    let clock = ServiceClock(machine.sources, notBefore: 0)
    #expect(clock.now == machine.now)
    machine.advance(milliseconds: 1234)
    #expect(clock.now == machine.now)
    machine.turn(by: .milliseconds(5000))
    #expect(clock.now == machine.now)
  }

  @Test func `time never goes back, and goes on when the machine's clock is set back`() {
    let machine = TestClock()
    let clock = ServiceClock(machine.sources, notBefore: 0)
    let before = clock.now
    machine.turn(by: .milliseconds(-3_600_000))
    #expect(clock.now == before)
    machine.advance(milliseconds: 700)
    #expect(clock.now == before + 700)
  }

  @Test func `time goes on from where it had come before a restart`() {
    let machine = TestClock()
    let clock = ServiceClock(machine.sources, notBefore: machine.now + 9000)
    #expect(clock.now == machine.now + 9000)
    machine.advance(milliseconds: 5)
    #expect(clock.now == machine.now + 9000)
  }
}

@Suite struct LimitTests {
  @Test func `a bucket lets through its burst and then its rate`() {
    let limiter = RateLimiter<Int>(rate: 10, burst: 3)
    let now: Int64 = 1_000_000
    #expect((0..<3).allSatisfy { _ in limiter.take(1, at: now) == nil })
    #expect(limiter.take(1, at: now) == 0.1)
    #expect(limiter.take(2, at: now) == nil)
    #expect(limiter.take(1, at: now + 100) == nil)
    #expect(limiter.take(1, at: now + 100) != nil)
  }

  @Test func `a rate of zero limits nothing`() {
    let limiter = RateLimiter<Int>(rate: 0, burst: 0)
    #expect((0..<1000).allSatisfy { _ in limiter.take(1, at: 0) == nil })
  }

  @Test func `any number of keys takes bounded memory`() {
    let limiter = RateLimiter<Int>(rate: 1, burst: 1)
    for key in 0..<200_000 { _ = limiter.take(key, at: 0) }
    #expect(limiter.count <= 65_536)
  }

  @Test func `reserved memory is given back`() throws {
    let budget = MemoryBudget(100)
    do {
      let share = try budget.reserve(80)
      #expect(throws: Refusal.busy) { try budget.reserve(21) }
      try share.grow(20)
      #expect(throws: Refusal.busy) { try share.grow(1) }
      withExtendedLifetime(share) {}
    }
    _ = try budget.reserve(100)
  }

  @Test func `one group or address has at most an eighth of the memory, and the others have the rest`() throws {
    let budget = MemoryBudget(800 << 20)
    let groups = [MemoryBudget.Holder.group(try Identifier.fresh()), .group(try Identifier.fresh())]
    let address = MemoryBudget.Holder.address(try #require(ClientAddress(text: "192.0.2.1")))
    do {
      let first = try budget.reserve(60 << 20, for: [groups[0], address])
      try first.grow(40 << 20)
      #expect(throws: Refusal.busy) { try budget.reserve(1, for: [groups[0]]) }
      #expect(throws: Refusal.busy) { try budget.reserve(1, for: [groups[1], address]) }
      #expect(throws: Refusal.busy) { try first.grow(1) }
      _ = try budget.reserve(100 << 20, for: [groups[1]])
      withExtendedLifetime(first) {}
    }
    _ = try budget.reserve(100 << 20, for: [groups[0], address])
  }

  @Test func `a customer's networks of IPv6 make groups together`() throws {
    func site(_ text: String) throws -> ClientAddress { try #require(ClientAddress(text: text)).site }
    #expect(try site("2001:db8:1:1::1") == site("2001:db8:1:ffff::2"))
    #expect(try site("2001:db8:1:1::1") != site("2001:db8:2:1::1"))
    #expect(try site("192.0.2.1") != site("192.0.2.2"))
    #expect(ClientAddress(text: "2001:db8:1:1::1") != ClientAddress(text: "2001:db8:1:2::1"))
  }
}
