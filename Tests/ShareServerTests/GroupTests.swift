import Foundation
import TestTime
import Testing

@testable import ShareServer

@Suite struct GroupTests {
  private struct Info: Decodable {
    struct Quota: Decodable {
      let bytes: Int
      let shares: Int
    }
    let group: String
    let ttl: Int
    let users: Int?
    let shares: Int
    let bytes: Int
    let quota: Quota
    let newest: Int
    let time: Int64
  }

  @Test(arguments: Keeping.allCases) func `who makes a group gets its keys and is its first user`(_ keeping: Keeping)
    async throws
  {
    try await Service.run(keeping) { service, _ in
      let group = try await service.makeGroup(ttl: 3600)
      #expect(group.ttl == 3600)
      #expect(group.masterKey.wholeMatch(of: /vgm_[0-9a-f]{64}/) != nil)
      #expect(group.accessKey.wholeMatch(of: /vga_[0-9a-f]{64}/) != nil)
      let info: Info = try await service.ask("GET", group.path, key: group.masterKey).json()
      #expect(info.users == 1 && info.shares == 0 && info.newest == 0 && info.ttl == 3600 && info.group == group.group)
    }
  }

  @Test(arguments: Keeping.allCases) func `a user learns the group's counts, but not how many users there are`(
    _ keeping: Keeping
  ) async throws {
    let clock = TestClock()
    try await Service.run(keeping, clock: clock) { service, _ in
      let group = try await service.makeGroup()
      _ = try await group.put([1, 2, 3], as: group.ownUser, at: service.place)
      let info: Info = try await service.ask("GET", group.path, key: group.accessKey).json()
      #expect(info.users == nil && info.shares == 1 && info.bytes == 3 + 256 && info.newest == 1)
      #expect(info.time == clock.now)
      #expect(
        info.quota.shares == Int(ServerLimits().groupShares) && info.quota.bytes == Int(ServerLimits().groupBytes))
    }
  }

  @Test(arguments: [
    "{}", "", "{\"ttl\": 59}", "{\"ttl\": 2592001}", "{\"ttl\": \"60\"}", "{\"ttl\": 60, \"x\": 1}", "[60]",
  ])
  func `a group needs a time to live within the limits`(_ body: String) async throws {
    try await Service.run { service, _ in
      let answer = try await service.ask(
        "POST", "/v1/groups", headers: ["Content-Type": "application/json"], body: Array(body.utf8))
      #expect(answer.status == 400 && answer.code == "malformed")
    }
  }

  @Test(arguments: Keeping.allCases)
  func `an unknown group, a wrong key and another group's key get one and the same answer`(_ keeping: Keeping)
    async throws
  {
    try await Service.run(keeping) { service, _ in
      let group = try await service.makeGroup()
      let other = try await service.makeGroup()
      let wrong = "vga_" + String(repeating: "5", count: 64)
      let answers = [
        try await service.ask("GET", "/v1/groups/\(freshID())/shares", key: group.accessKey),
        try await service.ask("GET", "/v1/groups/nothing/shares", key: group.accessKey),
        try await service.ask("GET", group.path + "/shares", key: wrong),
        try await service.ask("GET", group.path + "/shares", key: other.accessKey),
        try await service.ask("GET", group.path + "/shares", key: "vgm_" + group.accessKey.dropFirst(4)),
        try await service.ask("GET", group.path + "/shares"),
      ]
      for answer in answers {
        #expect(answer.status == 401 && answer.body == answers[0].body)
        #expect(answer.headers.filter { $0.key != "date" } == answers[0].headers.filter { $0.key != "date" })
        #expect(answer.headers["www-authenticate"] == "Bearer")
      }
    }
  }

  @Test(arguments: Keeping.allCases) func `each kind of key does only its own work`(_ keeping: Keeping) async throws {
    try await Service.run(keeping) { service, _ in
      let group = try await service.makeGroup()
      let needMaster = [
        ("DELETE", ""), ("POST", "/users"), ("POST", "/master"), ("DELETE", "/users/\(group.owner)"),
        ("POST", "/users/\(group.owner)/key"),
      ]
      for (method, path) in needMaster {
        let answer = try await service.ask(method, group.path + path, key: group.accessKey)
        #expect(answer.status == 403, "\(method) \(path)")
      }
      for (method, path) in [("GET", "/shares"), ("GET", "/shares/\(freshID())"), ("DELETE", "/shares/\(freshID())")] {
        let answer = try await service.ask(method, group.path + path, key: group.masterKey)
        #expect(answer.status == 403, "\(method) \(path)")
      }
    }
  }

  @Test(arguments: Keeping.allCases) func `a user's old key works until the new one is used`(_ keeping: Keeping)
    async throws
  {
    try await Service.run(keeping) { service, _ in
      let group = try await service.makeGroup()
      let user = try await group.addUser(at: service.place)
      let path = group.path + "/shares"
      let renewed: User = try await service.ask("POST", "\(group.path)/users/\(user.user)/key", key: group.masterKey)
        .json()
      #expect(try await service.ask("GET", path, key: user.accessKey).status == 200)
      #expect(try await service.ask("GET", path, key: renewed.accessKey).status == 200)
      #expect(try await service.ask("GET", path, key: user.accessKey).status == 401)
      #expect(try await service.ask("GET", path, key: renewed.accessKey).status == 200)
    }
  }

  @Test(arguments: Keeping.allCases) func `at most one new key waits for its first use`(_ keeping: Keeping) async throws
  {
    try await Service.run(keeping) { service, _ in
      let group = try await service.makeGroup()
      let user = try await group.addUser(at: service.place)
      let path = "\(group.path)/users/\(user.user)/key"
      let first: User = try await service.ask("POST", path, key: group.masterKey).json()
      let second: User = try await service.ask("POST", path, key: group.masterKey).json()
      #expect(try await service.ask("GET", group.path, key: first.accessKey).status == 401)
      #expect(try await service.ask("GET", group.path, key: user.accessKey).status == 200)
      #expect(try await service.ask("GET", group.path, key: second.accessKey).status == 200)
    }
  }

  @Test(arguments: Keeping.allCases) func `the master key is renewed in the same way`(_ keeping: Keeping) async throws {
    struct Renewed: Decodable { let masterKey: String }
    try await Service.run(keeping) { service, _ in
      let group = try await service.makeGroup()
      let renewed: Renewed = try await service.ask("POST", group.path + "/master", key: group.masterKey).json()
      #expect(try await service.ask("GET", group.path, key: group.masterKey).status == 200)
      #expect(try await service.ask("GET", group.path, key: renewed.masterKey).status == 200)
      #expect(try await service.ask("GET", group.path, key: group.masterKey).status == 401)
      #expect(try await service.ask("GET", group.path, key: group.accessKey).status == 200)
    }
  }

  @Test(arguments: Keeping.allCases) func `a removed user's keys end, and what he sent stays`(_ keeping: Keeping)
    async throws
  {
    try await Service.run(keeping) { service, _ in
      let group = try await service.makeGroup()
      let user = try await group.addUser(at: service.place)
      let renewed: User = try await service.ask("POST", "\(group.path)/users/\(user.user)/key", key: group.masterKey)
        .json()
      _ = try await group.put(Array("stays".utf8), as: user, at: service.place)
      let removal = try await service.ask("DELETE", "\(group.path)/users/\(user.user)", key: group.masterKey)
      #expect(removal.status == 204 && removal.body.isEmpty)
      for key in [user.accessKey, renewed.accessKey] {
        #expect(try await service.ask("GET", group.path + "/shares", key: key).status == 401)
      }
      let listing = try await group.list(as: group.ownUser, at: service.place)
      #expect(listing.texts == ["stays"] && listing.shares[0].sender == user.user)
      #expect(try await service.ask("DELETE", "\(group.path)/users/\(user.user)", key: group.masterKey).status == 404)
    }
  }

  @Test(arguments: Keeping.allCases) func `the owner can't be removed`(_ keeping: Keeping) async throws {
    try await Service.run(keeping) { service, _ in
      let group = try await service.makeGroup()
      let answer = try await service.ask("DELETE", "\(group.path)/users/\(group.owner)", key: group.masterKey)
      #expect(answer.status == 409 && answer.code == "owner")
    }
  }

  @Test(arguments: Keeping.allCases) func `an erased group is gone with all its keys`(_ keeping: Keeping) async throws {
    try await Service.run(keeping) { service, _ in
      let group = try await service.makeGroup()
      let user = try await group.addUser(at: service.place)
      _ = try await group.put([1], as: user, at: service.place)
      #expect(try await service.ask("DELETE", group.path, key: group.masterKey).status == 204)
      for key in [group.masterKey, group.accessKey, user.accessKey] {
        #expect(try await service.ask("GET", group.path, key: key).status == 401)
      }
      try await eventually("nothing is counted") {
        let totals = service.store.totals
        return totals.groups == 0 && totals.shares == 0 && totals.bytes == 0
      }
    }
  }

  @Test(arguments: Keeping.allCases) func `a group has only so many users, and a removed one makes room`(
    _ keeping: Keeping
  ) async throws {
    try await Service.run(keeping) { options in
      options.limits.groupUsers = 2
    } _: { service, _ in
      let group = try await service.makeGroup()
      let user = try await group.addUser(at: service.place)
      let refused = try await service.ask("POST", group.path + "/users", key: group.masterKey)
      #expect(refused.status == 507 && refused.code == "quota")
      _ = try await service.ask("DELETE", "\(group.path)/users/\(user.user)", key: group.masterKey)
      _ = try await group.addUser(at: service.place)
    }
  }

  @Test(arguments: Keeping.allCases) func `the service takes only so many groups, and one address only so many a day`(
    _ keeping: Keeping
  ) async throws {
    let clock = TestClock()
    try await Service.run(keeping, clock: clock) { options in
      options.limits.groups = 3
      options.limits.groupsPerDay = 2
    } _: { service, _ in
      let json = ["Content-Type": "application/json"]
      let order = Array("{\"ttl\":60}".utf8)
      _ = try await service.makeGroup()
      _ = try await service.makeGroup()
      let refused = try await service.ask("POST", "/v1/groups", headers: json, body: order)
      #expect(refused.status == 429 && refused.code == "rate")
      #expect(Int(refused.headers["retry-after"] ?? "") == 43_200)
      clock.advance(milliseconds: 86_400_000)
      _ = try await service.makeGroup()
      #expect(try await service.ask("POST", "/v1/groups", headers: json, body: order).code == "quota")
    }
  }

  @Test(arguments: Keeping.allCases) func `where a creation token is demanded, only who has it makes groups`(
    _ keeping: Keeping
  ) async throws {
    let folder = try Folder()
    try "a-long-enough-creation-token\n".write(toFile: folder.path + "/token", atomically: true, encoding: .utf8)
    try await Service.run(keeping) { options in
      options.creationTokenFile = folder.path + "/token"
    } _: { service, _ in
      let json = ["Content-Type": "application/json"]
      let order = Array("{\"ttl\":60}".utf8)
      let without = try await service.ask("POST", "/v1/groups", headers: json, body: order)
      #expect(without.status == 401)
      for (token, status) in [("a-long-enough-creation-tokem", 401), ("a-long-enough-creation-token", 201)] {
        let answer = try await service.ask("POST", "/v1/groups", key: token, headers: json, body: order)
        #expect(answer.status == status)
      }
    }
  }

  @Test(arguments: Keeping.allCases) func `who asks too often is told when to come again`(_ keeping: Keeping)
    async throws
  {
    let clock = TestClock()
    try await Service.run(keeping, clock: clock) { options in
      options.limits.keyRate = 2
    } _: { service, _ in
      let group = try await service.makeGroup()
      for _ in 0..<4 { #expect(try await service.ask("GET", group.path, key: group.accessKey).status == 200) }
      let refused = try await service.ask("GET", group.path, key: group.accessKey)
      #expect(refused.status == 429 && refused.headers["retry-after"] == "1")
      #expect(try await service.ask("GET", group.path, key: group.masterKey).status == 200)
      clock.advance(milliseconds: 1000)
      #expect(try await service.ask("GET", group.path, key: group.accessKey).status == 200)
    }
  }

  @Test(arguments: Keeping.allCases)
  func `one address may ask only so often, and a proxy's clients count by themselves`(_ keeping: Keeping) async throws {
    let clock = TestClock()
    try await Service.run(keeping, clock: clock) { options in
      options.limits.addressRate = 1
      options.proxies = ["127.0.0.1"]
    } _: { service, _ in
      func ask(_ client: String) async throws -> Int {
        let path = "/v1/groups/\(freshID())"
        return try await service.ask("GET", path, headers: ["X-Forwarded-For": "203.0.113.7, \(client)"]).status
      }
      let statuses = [
        try await ask("192.0.2.1"), try await ask("192.0.2.1"), try await ask("192.0.2.1"), try await ask("192.0.2.2"),
      ]
      #expect(statuses == [401, 401, 429, 401])
    }
  }
}
