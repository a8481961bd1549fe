import Foundation
import TestTime
import Testing

@testable import ShareServer

@Suite struct ShareTests {
  @Test(arguments: Keeping.allCases) func `others get a share once, in order, and its sender doesn't`(
    _ keeping: Keeping
  ) async throws {
    try await Service.run(keeping) { service, _ in
      let group = try await service.makeGroup()
      let user = try await group.addUser(at: service.place)
      let id = freshID()
      let answer = try await group.put(Array("one".utf8), as: group.ownUser, id: id, at: service.place)
      #expect(answer.status == 201)
      _ = try await group.put(Array("two".utf8), as: group.ownUser, at: service.place)
      let listing = try await group.list(as: user, at: service.place)
      #expect(listing.texts == ["one", "two"] && !listing.more)
      #expect(listing.shares[0].share == id && listing.shares[0].sender == group.owner)
      #expect(listing.shares.map(\.cursor) == [1, 2])
      #expect(try await group.list("after=\(listing.next)", as: user, at: service.place).texts == [])
      #expect(try await group.list(as: group.ownUser, at: service.place).texts == [])
    }
  }

  @Test(arguments: Keeping.allCases) func `the same again is acknowledged again, and neither kept twice nor prolonged`(
    _ keeping: Keeping
  ) async throws {
    let clock = TestClock()
    try await Service.run(keeping, clock: clock) { service, _ in
      let group = try await service.makeGroup()
      let user = try await group.addUser(at: service.place)
      let id = freshID()
      let first = try await group.put([7], as: group.ownUser, id: id, recipients: user.user, at: service.place)
      clock.advance(milliseconds: 10_000)
      let again = try await group.put([7], as: group.ownUser, id: id, recipients: user.user, at: service.place)
      #expect(first.status == 201 && again.status == 200)
      let (one, two): (Receipted, Receipted) = (try first.json(), try again.json())
      #expect(one.cursor == two.cursor && one.expires == two.expires)
      #expect(try await group.list(as: user, at: service.place).shares.count == 1)
    }
  }

  @Test(arguments: Keeping.allCases) func `another share under the same id is refused`(_ keeping: Keeping) async throws
  {
    try await Service.run(keeping) { service, _ in
      let group = try await service.makeGroup()
      let user = try await group.addUser(at: service.place)
      let id = freshID()
      _ = try await group.put([7], as: group.ownUser, id: id, at: service.place)
      for answer in [
        try await group.put([8], as: group.ownUser, id: id, at: service.place),
        try await group.put([7], as: user, id: id, at: service.place),
        try await group.put([7], as: group.ownUser, id: id, recipients: user.user, at: service.place),
      ] { #expect(answer.status == 409 && answer.code == "conflict") }
      #expect(try await group.list(as: user, at: service.place).shares.map(\.data) == [Data([7])])
    }
  }

  @Test(arguments: Keeping.allCases) func `only its recipients see a share`(_ keeping: Keeping) async throws {
    try await Service.run(keeping) { service, _ in
      let group = try await service.makeGroup()
      let users = [try await group.addUser(at: service.place), try await group.addUser(at: service.place)]
      let third = try await group.addUser(at: service.place)
      let id = freshID()
      let names = users.map(\.user).joined(separator: ", ")
      _ = try await group.put([1], as: group.ownUser, id: id, recipients: names, at: service.place)
      let path = "\(group.path)/shares/\(id)"
      for user in users {
        #expect(try await group.list(as: user, at: service.place).shares.count == 1)
        #expect(try await service.ask("GET", path, key: user.accessKey).body == [1])
      }
      let hidden = try await group.list(as: third, at: service.place)
      #expect(hidden.shares.isEmpty && hidden.next == 1)
      #expect(try await service.ask("GET", path, key: third.accessKey).status == 404)
      #expect(try await service.ask("DELETE", path, key: third.accessKey).status == 404)
    }
  }

  @Test(arguments: Keeping.allCases) func `a share for nobody known, or for a removed user, is refused`(
    _ keeping: Keeping
  ) async throws {
    try await Service.run(keeping) { service, _ in
      let group = try await service.makeGroup()
      let user = try await group.addUser(at: service.place)
      let other = try await service.makeGroup()
      let id = freshID()
      let before = try await group.put([1], as: group.ownUser, id: id, recipients: user.user, at: service.place)
      #expect(before.status == 201)
      _ = try await service.ask("DELETE", "\(group.path)/users/\(user.user)", key: group.masterKey)
      for recipient in [freshID(), other.owner, user.user] {
        let answer = try await group.put([1], as: group.ownUser, recipients: recipient, at: service.place)
        #expect(answer.status == 404 && answer.code == "recipient")
      }
      let again = try await group.put([1], as: group.ownUser, id: id, recipients: user.user, at: service.place)
      #expect(again.status == 200)
    }
  }

  @Test(arguments: Keeping.allCases) func `its sender may read and delete a share, others may only read it`(
    _ keeping: Keeping
  ) async throws {
    try await Service.run(keeping) { service, _ in
      let group = try await service.makeGroup()
      let user = try await group.addUser(at: service.place)
      let id = freshID()
      let path = "\(group.path)/shares/\(id)"
      _ = try await group.put([1, 2], as: user, id: id, at: service.place)
      let read = try await service.ask("GET", path, key: group.accessKey)
      #expect(read.body == [1, 2] && read.headers["content-type"] == "application/octet-stream")
      #expect(read.headers["cache-control"] == "no-store")
      #expect(try await service.ask("DELETE", path, key: group.accessKey).status == 403)
      #expect(try await service.ask("GET", path, key: user.accessKey).body == [1, 2])
      #expect(try await service.ask("DELETE", path, key: user.accessKey).status == 204)
      #expect(try await service.ask("GET", path, key: group.accessKey).status == 404)
      #expect(try await service.ask("DELETE", path, key: user.accessKey).status == 404)
      try await eventually("nothing is counted") { service.store.totals.shares == 0 && service.store.totals.bytes == 0 }
    }
  }

  @Test(arguments: Keeping.allCases) func `no answer contains a share from the millisecond on in which it expires`(
    _ keeping: Keeping
  ) async throws {
    let clock = TestClock()
    try await Service.run(keeping, clock: clock) { service, _ in
      let group = try await service.makeGroup(ttl: 60)
      let user = try await group.addUser(at: service.place)
      let id = freshID()
      let receipt: Receipted = try await group.put([1], as: user, id: id, at: service.place).json()
      #expect(receipt.expires == clock.now + 60_000)
      clock.advance(milliseconds: 59_999)
      #expect(try await group.list(as: group.ownUser, at: service.place).shares.count == 1)
      clock.advance(milliseconds: 1)
      let listing = try await group.list(as: group.ownUser, at: service.place)
      #expect(listing.shares.isEmpty && listing.next == 1)
      #expect(try await service.ask("GET", "\(group.path)/shares/\(id)", key: user.accessKey).status == 404)
      let again: Receipted = try await group.put([1], as: user, id: id, at: service.place).json()
      #expect(again.cursor == 2 && again.expires == clock.now + 60_000)
    }
  }

  @Test func `cursors are never given twice, also after everything was deleted and the service restarted`() async throws
  {
    let folder = try Folder()
    var service = try await Service.start(folder)
    let group = try await service.makeGroup()
    let id = freshID()
    let first: Receipted = try await group.put([1], as: group.ownUser, id: id, at: service.place).json()
    _ = try await service.ask("DELETE", "\(group.path)/shares/\(id)", key: group.accessKey)
    await service.stop()
    service = try await Service.start(folder)
    let second: Receipted = try await group.put([1], as: group.ownUser, id: id, at: service.place).json()
    #expect(first.cursor == 1 && second.cursor == 2)
    await service.stop()
  }

  @Test(arguments: Keeping.allCases) func `pages follow one another without gap or repetition`(_ keeping: Keeping)
    async throws
  {
    try await Service.run(keeping) { service, _ in
      let group = try await service.makeGroup()
      let user = try await group.addUser(at: service.place)
      for number in 0..<7 { _ = try await group.put(Array("\(number)".utf8), as: user, at: service.place) }
      var texts: [String] = []
      var after = 0
      var sizes: [Int] = []
      while true {
        let page = try await group.list("after=\(after)&limit=3", as: group.ownUser, at: service.place)
        texts += page.texts
        sizes.append(page.shares.count)
        after = page.next
        if !page.more { break }
      }
      #expect(texts == (0..<7).map { "\($0)" })
      #expect(sizes == [3, 3, 1])
    }
  }

  @Test(arguments: Keeping.allCases) func `a page holds at most four MiB`(_ keeping: Keeping) async throws {
    try await Service.run(keeping) { service, _ in
      let group = try await service.makeGroup()
      let user = try await group.addUser(at: service.place)
      let bytes = [UInt8](repeating: 3, count: 1 << 20)
      for _ in 0..<5 { #expect(try await group.put(bytes, as: user, at: service.place).status == 201) }
      let page = try await group.list(as: group.ownUser, at: service.place)
      #expect(page.shares.count == 4 && page.more && page.next == 4)
      #expect(page.shares.allSatisfy { $0.data == Data(bytes) })
      let rest = try await group.list("after=4", as: group.ownUser, at: service.place)
      #expect(rest.shares.count == 1 && !rest.more)
    }
  }

  @Test func `a damaged share keeps nobody from the others, and may be put anew`() async throws {
    try await Service.run { service, _ in
      let group = try await service.makeGroup()
      let user = try await group.addUser(at: service.place)
      let ids = [freshID(), freshID(), freshID()]
      for (number, id) in ids.enumerated() {
        _ = try await group.put([UInt8(number)], as: user, id: id, at: service.place)
      }
      let row = ServerSchema.row(group: 1, cursor: 2)
      try await service.damage(row: Int(row % 1000))
      let listing = try await group.list(as: group.ownUser, at: service.place)
      #expect(listing.shares.map(\.cursor) == [1, 3] && listing.next == 3)
      let again = try await group.put([1], as: user, id: ids[1], at: service.place)
      #expect(again.status == 201)
      #expect(try await group.list("after=3", as: group.ownUser, at: service.place).shares.map(\.cursor) == [4])
    }
  }

  @Test(arguments: Keeping.allCases) func `a cursor from the future brings everything from the start`(
    _ keeping: Keeping
  ) async throws {
    try await Service.run(keeping) { service, _ in
      let group = try await service.makeGroup()
      let user = try await group.addUser(at: service.place)
      _ = try await group.put([1], as: user, at: service.place)
      let page = try await group.list("after=99", as: group.ownUser, at: service.place)
      #expect(page.shares.count == 1 && page.next == 1)
    }
  }

  @Test(arguments: Keeping.allCases) func `a share has 1 byte to 1 MiB`(_ keeping: Keeping) async throws {
    try await Service.run(keeping) { service, _ in
      let group = try await service.makeGroup()
      let user = group.ownUser
      #expect(try await group.put([], as: user, at: service.place).status == 400)
      #expect(try await group.put([UInt8](repeating: 1, count: 1 << 20), as: user, at: service.place).status == 201)
      let tooLarge = try await group.put([UInt8](repeating: 1, count: 1 << 20 + 1), as: user, at: service.place)
      #expect(tooLarge.status == 413 && tooLarge.code == "too_large")
    }
  }

  @Test(arguments: Keeping.allCases) func `a body in chunks without a length has the same limit`(_ keeping: Keeping)
    async throws
  {
    try await Service.run(keeping) { service, _ in
      let group = try await service.makeGroup()
      func put(_ chunks: Int) async throws -> Int {
        let head =
          "PUT \(group.path)/shares/\(freshID()) HTTP/1.1\r\nHost: t\r\nAuthorization: Bearer \(group.accessKey)\r\n"
          + "Content-Type: application/octet-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
        let chunk = Array("10000\r\n".utf8) + [UInt8](repeating: 1, count: 65_536) + Array("\r\n".utf8)
        return try await offTheCooperativePool { [place = service.place] in
          let connection = try Connection(place)
          connection.send(Array(head.utf8))
          for _ in 0..<chunks { connection.send(chunk) }
          connection.send(Array("0\r\n\r\n".utf8))
          return try #require(connection.receive()).status
        }
      }
      #expect(try await put(16) == 201)
      #expect(try await put(17) == 413)
    }
  }

  @Test(arguments: Keeping.allCases) func `the quotas of a group and of the service are kept, and expiry makes room`(
    _ keeping: Keeping
  ) async throws {
    let clock = TestClock()
    try await Service.run(keeping, clock: clock) { options in
      options.limits.groupShares = 2
      // Each counts 256 bytes more than it has.
      options.limits.groupBytes = 1000 + 2 * 256
      options.limits.totalBytes = 1500 + 3 * 256
    } _: { service, _ in
      let group = try await service.makeGroup(ttl: 60)
      let other = try await service.makeGroup(ttl: 60)
      func put(_ group: Group, _ count: Int) async throws -> String {
        let answer = try await group.put([UInt8](repeating: 0, count: count), as: group.ownUser, at: service.place)
        return answer.status == 201 ? "kept" : "\(answer.status) \(answer.code)"
      }
      #expect(try await put(group, 900) == "kept")
      #expect(try await put(group, 101) == "507 quota")
      #expect(try await put(group, 1) == "kept")
      #expect(try await put(group, 1) == "507 quota")
      #expect(try await put(other, 600) == "507 full")
      #expect(try await put(other, 599) == "kept")
      clock.advance(milliseconds: 60_000)
      try await eventually("what expired has made room") { try await put(group, 1000) == "kept" }
    }
  }

  @Test(arguments: Keeping.allCases) func `a malformed id, question or list of recipients is refused`(
    _ keeping: Keeping
  ) async throws {
    try await Service.run(keeping) { service, _ in
      let group = try await service.makeGroup()
      for path in ["/shares?after=x", "/shares?limit=501", "/shares?wait=61", "/shares/xyz"] {
        #expect(try await service.ask("GET", group.path + path, key: group.accessKey).status == 400, "\(path)")
      }
      #expect(try await group.put([1], as: group.ownUser, recipients: "x", at: service.place).status == 400)
      #expect(try await group.put([1], as: group.ownUser, id: "x", at: service.place).status == 400)
    }
  }
}
