import Foundation
import TestTime
import Testing

@testable import ShareServer

@Suite(.timeLimit(.minutes(5))) struct WaitingTests {
  @Test(arguments: Keeping.allCases) func `who waits is answered as soon as there is something`(_ keeping: Keeping)
    async throws
  {
    // No time passes: nobody is answered because it is over.
    let clock = TestClock()
    try await Service.run(keeping, clock: clock) { service, _ in
      let group = try await service.makeGroup()
      let user = try await group.addUser(at: service.place)
      async let listing = group.list("wait=60", as: user, at: service.place)
      await clock.isAwaited(.seconds(60))
      _ = try await group.put(Array("news".utf8), as: group.ownUser, at: service.place)
      #expect(try await listing.texts == ["news"])
    }
  }

  @Test(arguments: Keeping.allCases)
  func `who has something to read doesn't wait, and who has nothing gets an empty page in the end`(_ keeping: Keeping)
    async throws
  {
    let clock = TestClock()
    try await Service.run(keeping, clock: clock) { service, _ in
      let group = try await service.makeGroup()
      let user = try await group.addUser(at: service.place)
      _ = try await group.put([1], as: group.ownUser, at: service.place)
      #expect(try await group.list("wait=60", as: user, at: service.place).shares.count == 1)
      async let answer = group.list("after=1&wait=50", as: user, at: service.place)
      await clock.isAwaited(.seconds(50))
      clock.advance(by: .seconds(50))
      let listing = try await answer
      #expect(listing.shares.isEmpty && listing.next == 1)
    }
  }

  @Test(arguments: Keeping.allCases) func `another's message wakes nobody, and the cursor passes it`(_ keeping: Keeping)
    async throws
  {
    try await Service.run(keeping) { service, _ in
      let group = try await service.makeGroup()
      let user = try await group.addUser(at: service.place)
      let third = try await group.addUser(at: service.place)
      async let listing = group.list("wait=60", as: user, at: service.place)
      try await eventually("somebody waits") { service.store.board.count == 1 }
      _ = try await group.put([1], as: group.ownUser, recipients: third.user, at: service.place)
      _ = try await group.put([9], as: user, at: service.place)
      #expect(service.store.board.count == 1)
      _ = try await group.put([2], as: group.ownUser, recipients: user.user, at: service.place)
      let found = try await listing
      #expect(found.shares.map(\.data) == [Data([2])] && found.next == 3)
    }
  }

  @Test(arguments: Keeping.allCases) func `many who wait are all answered`(_ keeping: Keeping) async throws {
    try await Service.run(keeping) { service, _ in
      let group = try await service.makeGroup()
      let user = try await group.addUser(at: service.place)
      let count = try await withThrowingTaskGroup(of: Int.self) { tasks in
        for _ in 0..<40 { tasks.addTask { try await group.list("wait=60", as: user, at: service.place).shares.count } }
        try await eventually("all wait") { service.store.board.count == 40 }
        _ = try await group.put([1], as: group.ownUser, at: service.place)
        return try await tasks.reduce(0, +)
      }
      #expect(count == 40)
      #expect(service.store.board.count == 0)
    }
  }

  @Test(arguments: ["removal", "erasing", "renewal"], Keeping.allCases)
  func `waiting ends when the key does`(_ how: String, _ keeping: Keeping) async throws {
    try await Service.run(keeping) { service, _ in
      let group = try await service.makeGroup()
      let user = try await group.addUser(at: service.place)
      async let answer = service.ask("GET", group.path + "/shares?wait=60", key: user.accessKey)
      try await eventually("somebody waits") { service.store.board.count == 1 }
      switch how {
      case "removal": _ = try await service.ask("DELETE", "\(group.path)/users/\(user.user)", key: group.masterKey)
      case "erasing": _ = try await service.ask("DELETE", group.path, key: group.masterKey)
      default:
        let new: User = try await service.ask("POST", "\(group.path)/users/\(user.user)/key", key: group.masterKey)
          .json()
        _ = try await service.ask("GET", group.path, key: new.accessKey)
      }
      #expect(try await answer.status == 401)
    }
  }

  @Test(arguments: Keeping.allCases) func `who has gone waits no more`(_ keeping: Keeping) async throws {
    try await Service.run(keeping) { service, _ in
      let group = try await service.makeGroup()
      do {
        let connection = try Connection(service.place)
        let ask = Ask(path: group.path + "/shares?wait=60", headers: ["Authorization": "Bearer " + group.accessKey])
        connection.send(ask.bytes)
        try await eventually("somebody waits") { service.store.board.count == 1 }
      }
      try await eventually("nobody waits") { service.store.board.count == 0 }
    }
  }

  @Test func `when the service stops, who waits is answered at once`() async throws {
    let folder = try Folder()
    let clock = TestClock()
    let service = try await Service.start(folder, clock: clock)
    let group = try await service.makeGroup()
    async let listing = group.list("wait=60", as: group.ownUser, at: service.place)
    await clock.isAwaited(.seconds(60))
    await service.stop()
    #expect(try await listing.shares.isEmpty)
  }

  @Test(arguments: Keeping.allCases) func `a connection serves one request after another, waiting ones too`(
    _ keeping: Keeping
  ) async throws {
    let clock = TestClock()
    clock.pass(.seconds(9))
    try await Service.run(keeping, clock: clock) { service, _ in
      let group = try await service.makeGroup()
      let ask = Ask(path: group.path + "/shares?wait=9", headers: ["Authorization": "Bearer " + group.accessKey])
      let statuses = try await offTheCooperativePool { [place = service.place] in
        let connection = try Connection(place)
        return (0..<2).map { _ in
          connection.send(ask.bytes)
          return connection.receive()?.status
        }
      }
      #expect(statuses == [200, 200])
    }
  }

  @Test(arguments: Keeping.allCases) func `nobody misses a share while many are put and read at once`(
    _ keeping: Keeping
  ) async throws {
    try await Service.run(keeping) { options in
      options.limits.keyRate = 0
      options.limits.addressRate = 0
    } _: { service, _ in
      let group = try await service.makeGroup()
      let reader = try await group.addUser(at: service.place)
      var users: [User] = []
      for _ in 0..<4 { users.append(try await group.addUser(at: service.place)) }
      let cursors = try await withThrowingTaskGroup(of: [Int].self) { tasks in
        for user in users {
          tasks.addTask {
            for number in 0..<25 { _ = try await group.put([UInt8(number)], as: user, at: service.place) }
            return []
          }
        }
        tasks.addTask {
          var cursors: [Int] = []
          var after = 0
          while cursors.count < 100 {
            let page = try await group.list("after=\(after)&wait=20", as: reader, at: service.place)
            cursors += page.shares.map(\.cursor)
            after = page.next
          }
          return cursors
        }
        return try await tasks.reduce([], +)
      }
      #expect(cursors == Array(1...100))
    }
  }
}
