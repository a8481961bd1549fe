import Foundation
import GRDB
import Glibc
import Sodium
import TestTime
import Testing

@testable import ShareServer

@Suite struct ErasingTests {
  private func key(_ service: Service, _ group: Group, expires: Int64) throws -> [UInt8] {
    let ring = try #require(service.files.slots.openRing(ttl: Int64(group.ttl)))
    switch try ring.key(of: ring.slot(expires: expires)) {
    case .some(let key): return key.withUnsafeBytes { Array($0) }
    case .none: throw ServerError("no key")
    }
  }

  @Test func `the database and its log never hold a share's bytes, and the key to them ends with its time slot`()
    async throws
  {
    let clock = TestClock()
    try await Service.run(clock: clock) { service, folder in
      let group = try await service.makeGroup(ttl: 60)
      let user = try await group.addUser(at: service.place)
      var random = SystemRandomNumberGenerator()
      let bytes = (0..<5000).map { _ in UInt8.random(in: 0...255, using: &random) }
      let receipt: Receipted = try await group.put(bytes, as: user, at: service.place).json()
      #expect(try await group.list(as: group.ownUser, at: service.place).shares.map(\.data) == [Data(bytes)])
      for part in [bytes.prefix(16), bytes[2500..<2516], bytes.suffix(16)] {
        #expect(try folder.files(with: Array(part)) == [])
      }
      let key = try key(service, group, expires: receipt.expires)
      #expect(try folder.files(with: key) == ["slots-1"])
      // The end of the slot in which it expires, and a second.
      clock.advance(milliseconds: 60_000 + 999)
      try await eventually("the key is nowhere") { try folder.files(with: key) == [] }
      #expect(try service.files.slots.liveCount == 0)
      try await eventually("the row is gone") { service.store.totals.shares == 0 }
    }
  }

  @Test func `with the key gone, nothing that was ever in the files opens`() async throws {
    let clock = TestClock()
    let folder = try Folder()
    var service = try await Service.start(folder, clock: clock)
    let group = try await service.makeGroup(ttl: 60)
    let user = try await group.addUser(at: service.place)
    let bytes = Array("a share that a thief of the whole disk would like to read".utf8)
    _ = try await group.put(bytes, as: user, at: service.place)
    await service.stop()
    let manager = FileManager.default
    try manager.copyItem(atPath: folder.data, toPath: folder.path + "/stolen")
    service = try await Service.start(folder, clock: clock)
    clock.advance(milliseconds: 61_000)
    try await eventually("what expired is erased") { try service.files.slots.liveCount == 0 }
    await service.stop()
    // The database as it was, the keys as they are: what a backup of the database, or its pages on the disk, would give.
    for name in try manager.contentsOfDirectory(atPath: folder.data) where name.hasPrefix("shares") {
      try manager.removeItem(atPath: folder.data + "/" + name)
    }
    for name in try manager.contentsOfDirectory(atPath: folder.path + "/stolen") where name.hasPrefix("shares") {
      try manager.copyItem(atPath: folder.path + "/stolen/" + name, toPath: folder.data + "/" + name)
    }
    let past = TestClock()
    past.turn(by: .milliseconds(1000))
    service = try await Service.start(folder, clock: past)
    #expect(try await group.list(as: group.ownUser, at: service.place).shares.isEmpty)
    #expect(service.store.totals.shares == 1)
    await service.stop()
  }

  @Test func `what expired while the service was down is erased before it answers`() async throws {
    let clock = TestClock()
    let folder = try Folder()
    var service = try await Service.start(folder, clock: clock)
    let group = try await service.makeGroup(ttl: 60)
    let user = try await group.addUser(at: service.place)
    let receipt: Receipted = try await group.put([1, 2, 3], as: user, at: service.place).json()
    let key = try key(service, group, expires: receipt.expires)
    await service.stop()
    #expect(try folder.files(with: key) == ["slots-1"])
    clock.advance(milliseconds: 61_000)
    service = try await Service.start(folder, clock: clock)
    #expect(try folder.files(with: key) == [])
    #expect(try await group.list(as: group.ownUser, at: service.place).shares.isEmpty)
    await service.stop()
  }

  @Test func `what has expired stays so when the clock is set back, also over a restart`() async throws {
    let clock = TestClock()
    let folder = try Folder()
    var service = try await Service.start(folder, clock: clock)
    let group = try await service.makeGroup(ttl: 60)
    let user = try await group.addUser(at: service.place)
    _ = try await group.put([1], as: user, at: service.place)
    clock.advance(milliseconds: 60_000)
    try await eventually("the row is gone") { service.store.totals.shares == 0 }
    clock.turn(by: .milliseconds(-50_000))
    #expect(try await group.list(as: group.ownUser, at: service.place).shares.isEmpty)
    await service.stop()
    service = try await Service.start(folder, clock: clock)
    #expect(service.store.clock.now >= clock.now + 50_000)
    let receipt: Receipted = try await group.put([2], as: user, at: service.place).json()
    #expect(receipt.expires >= clock.now + 110_000)
    #expect(try await group.list(as: group.ownUser, at: service.place).shares.map(\.data) == [Data([2])])
    await service.stop()
  }

  @Test func `an erased group's shares can't be opened any more, and their rows go`() async throws {
    try await Service.run { service, folder in
      let group = try await service.makeGroup(ttl: 86_400)
      let other = try await service.makeGroup(ttl: 86_400)
      let user = try await other.addUser(at: service.place)
      for number in 0..<3 { _ = try await group.put([UInt8(number)], as: group.ownUser, at: service.place) }
      _ = try await other.put([9], as: user, at: service.place)
      let number: Int64 = 1
      let key = try service.files.groupKeys.key(number)
      let bytes =
        switch consume key {
        case .some(let key): key.withUnsafeBytes { Array($0) }
        case .none: [UInt8]()
        }
      #expect(try folder.files(with: bytes) == ["groups"])
      #expect(try await service.ask("DELETE", group.path, key: group.masterKey).status == 204)
      #expect(try folder.files(with: bytes) == [])
      try await eventually("the rows are gone") {
        let (shares, erased) = (try await service.rows("shares"), try await service.rows("erased"))
        return shares == 1 && erased == 0
      }
      #expect(try await other.list(as: other.ownUser, at: service.place).shares.count == 1)
    }
  }

  @Test func `the files hold no key that opens the interface`() async throws {
    try await Service.run { service, folder in
      let group = try await service.makeGroup(ttl: 60)
      let user = try await group.addUser(at: service.place)
      _ = try await group.put([1], as: user, at: service.place)
      for key in [group.masterKey, group.accessKey, user.accessKey] {
        let raw = try #require(bytes(hexadecimal: key.dropFirst(4)))
        #expect(try folder.files(with: raw) == [])
        #expect(try folder.files(with: Array(key.utf8)) == [])
      }
    }
  }

  @Test func `a removed user's name goes when what he sent has expired`() async throws {
    let clock = TestClock()
    try await Service.run(clock: clock) { service, _ in
      let group = try await service.makeGroup(ttl: 60)
      let user = try await group.addUser(at: service.place)
      _ = try await group.put([1], as: user, at: service.place)
      _ = try await service.ask("DELETE", "\(group.path)/users/\(user.user)", key: group.masterKey)
      clock.advance(milliseconds: 61_000)
      try await eventually("only the owner is left") {
        try await service.rows("users") == 1
      }
    }
  }

  @Test func `room that what has expired took is given back to the disk`() async throws {
    let clock = TestClock()
    try await Service.run(clock: clock) { service, _ in
      let group = try await service.makeGroup(ttl: 60)
      let files = try service.files
      func pages() async throws -> Int {
        try await files.pool.read { db in try Int.fetchOne(db, sql: "PRAGMA page_count") ?? 0 }
      }
      let bytes = [UInt8](repeating: 1, count: 1 << 20)
      for _ in 0..<8 { #expect(try await group.put(bytes, as: group.ownUser, at: service.place).status == 201) }
      #expect(try await pages() > 2000)
      clock.advance(milliseconds: 61_000)
      try await eventually("most of it is given back") { try await pages() < 1200 }
    }
  }

  @Test(arguments: ["slots-64", "groups"])
  func `keys that were lost are reported, and the service goes on`(_ file: String) async throws {
    let folder = try Folder()
    var server = try await ServerProcess.start(folder)
    let group = try await Group.make(at: server.place, ttl: 200_000)
    let user = try await group.addUser(at: server.place)
    let id = freshID()
    #expect(try await group.put([1], as: group.ownUser, id: id, at: server.place).status == 201)
    server.signal(SIGTERM)
    #expect(try await server.end() == 0)
    #expect(!server.log.contains("lost"))
    if file == "groups" {
      truncate(folder.data + "/groups", 0)
    } else {
      try FileManager.default.removeItem(atPath: folder.data + "/" + file)
    }
    server = try await ServerProcess.start(folder)
    #expect(server.log.contains("error") && server.log.contains("lost"), "\(server.log)")
    #expect(try await group.list(as: user, at: server.place).shares.isEmpty)
    #expect(try await group.put([1], as: group.ownUser, id: id, at: server.place).status == 201)
    #expect(try await group.list(as: user, at: server.place).shares.map(\.cursor) == [2])
  }
}
