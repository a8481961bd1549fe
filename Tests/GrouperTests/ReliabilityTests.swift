import Testing

@testable import Grouper

/// Members that were away, messages that are gone, servers that change: over whole devices.
@Suite struct ReliabilityTests {
  @Test func figureFourTwo() async throws {
    // Five updates; 1 and 2 come, 3 to 5 expire while the receiver is offline; confirm(5); resend 3 to 5.
    let world = try World()
    let devices = try await world.group(2, ttl: 600)
    let (sender, receiver) = (devices[0], devices[1])
    try await world.settle(devices)
    for number in 1...2 { try await sender.write("n\(number)", "update \(number)") }
    _ = try await sender.grouper.sync()
    _ = try await receiver.grouper.sync()
    #expect(try receiver.texts().count == 2)
    for number in 3...5 { try await sender.write("n\(number)", "update \(number)") }
    _ = try await sender.grouper.sync()
    world.clock.advance(seconds: 601)
    #expect(try await receiver.grouper.sync().changes.isEmpty)
    #expect(try receiver.texts().count == 2)
    try await sender.grouper.sender.confirm()
    try await world.settle(devices)
    #expect(try receiver.texts().count == 5)
    #expect(try receiver.text("n5") == "update 5")
  }

  @Test func aLongerTimeToLiveCostsFewerMessagesAndIsThereForLonger() async throws {
    var puts: [Int: Int] = [:]
    for ttl in [600, 3600] {
      let world = try World()
      let devices = try await world.group(2, ttl: ttl)
      try await world.settle(devices)
      for number in 1...5 { try await devices[0].write("n\(number)", "update \(number)") }
      _ = try await devices[0].grouper.sync()
      world.clock.advance(seconds: 1200)
      let before = world.servers[0].puts
      // What lay there all the time could be read all the time.
      let atOnce = try await devices[1].grouper.sync().changes.count
      #expect(atOnce == (ttl > 1200 ? 5 : 0))
      try await devices[0].grouper.sender.confirm()
      try await world.settle(devices)
      #expect(try devices[1].texts().count == 5)
      puts[ttl] = world.servers[0].puts - before
    }
    #expect(try #require(puts[3600]) < #require(puts[600]))
  }

  @Test func whatIsObsoleteIsSkippedNotSentAgain() async throws {
    let world = try World()
    let devices = try await world.group(2, ttl: 600)
    try await world.settle(devices)
    for number in 1...20 { try await devices[0].write("same", "version \(number)") }
    _ = try await devices[0].grouper.sync()
    world.clock.advance(seconds: 700)
    let before = world.servers[0].puts
    try await world.settle(devices)
    #expect(try devices[1].text("same") == "version 20")
    #expect(try await devices[1].grouper.status().missing == 0)
    // A question, an answer with one message and one skip, and some confirms: not twenty messages.
    #expect(world.servers[0].puts - before < 12)
  }

  @Test func theMessagesOfOneWhoIsGoneComeFromOthers() async throws {
    let world = try World()
    let devices = try await world.group(3, ttl: 600)
    try await world.settle(devices)
    try await devices[1].write("last words", "of one who never comes back")
    _ = try await devices[1].grouper.sync()
    _ = try await devices[2].grouper.sync()
    world.clock.advance(seconds: 700)
    for _ in 0..<6 {
      try await world.settle([devices[0], devices[2]], rounds: 1)
      world.clock.advance(seconds: 300)
    }
    #expect(try devices[0].text("last words") == "of one who never comes back")
  }

  @Test func oneWhoJoinsLateGetsEverything() async throws {
    let world = try World()
    let devices = try await world.group(2, ttl: 600)
    for number in 0..<30 { try await devices[number % 2].write("n\(number)", "text \(number)") }
    try await world.settle(devices)
    world.clock.advance(seconds: 5000)
    let late = try await world.device("late")
    try await world.join(late, devices[0])
    try await world.settle(devices + [late], rounds: 6)
    #expect(try late.texts() == devices[0].texts())
    #expect(try late.texts().count == 30)
    try await late.write("from late", "hello")
    try await world.settle(devices + [late])
    #expect(try devices[1].text("from late") == "hello")
  }

  @Test(arguments: [1, 2, 3])
  func whateverIsLostAllEndAlike(_ seed: UInt64) async throws {
    let world = try World()
    let devices = try await world.group(4, ttl: 600)
    try await world.settle(devices)
    for server in world.servers { server.lose(permille: 250) }
    var random = FixedRandom(seed)
    for step in 0..<40 {
      let device = try #require(devices.randomElement(using: &random))
      let id = "n\(Int.random(in: 0..<12, using: &random))"
      if Int.random(in: 0..<6, using: &random) == 0 {
        try await device.grouper.sender.delete(Note(objectID: id, text: ""))
      } else {
        try await device.write(id, "step \(step)")
      }
      if Int.random(in: 0..<3, using: &random) == 0 { _ = try await device.grouper.sync() }
      world.clock.advance(seconds: UInt64.random(in: 0..<120, using: &random))
    }
    for server in world.servers { server.lose(permille: 0) }
    for _ in 0..<8 {
      try await world.settle(devices, rounds: 2)
      world.clock.advance(seconds: 400)
    }
    let expected = try devices[0].texts()
    for device in devices { #expect(try device.texts() == expected) }
    for device in devices { #expect(try await device.grouper.status().missing == 0) }
    #expect(world.refused.isEmpty)
  }

  @Test func losingAllServersLosesNothing() async throws {
    let world = try World()
    let devices = try await world.group(3, ttl: 600)
    try await devices[1].write("a", "before")
    try await world.settle(devices)
    for server in world.servers { server.wipe() }
    try await devices[2].write("b", "meanwhile")
    let fresh = ["x", "y", "z"].map { ("memory:\($0)", world.addServer("memory:\($0)")) }
    try await devices[0].grouper.changeServers(
      fresh.map { ServerChoice(address: $0.0) }, threshold: 2, sufficient: 3)
    for device in devices.dropFirst() {
      let node = try #require(await device.grouper.ownCard).node
      let invitation = try await devices[0].grouper.invitation(for: node)
      try await device.grouper.accept(invitation)
    }
    let late = try await world.device("late")
    try await world.join(late, devices[0])
    try await world.settle(devices + [late], rounds: 8)
    for device in devices + [late] { #expect(try device.texts() == ["a": "before", "b": "meanwhile"]) }
  }

  @Test func serversAreChangedOverTheOldOnes() async throws {
    let world = try World()
    let devices = try await world.group(3, ttl: 600)
    try await devices[1].write("a", "before")
    try await world.settle(devices)
    for name in ["x", "y", "z", "w"] { _ = world.addServer("memory:\(name)") }
    try await devices[0].grouper.changeServers(
      ["x", "y", "z", "w"].map { ServerChoice(address: "memory:\($0)") }, threshold: 3, sufficient: 4)
    try await world.settle(devices)
    for device in devices { #expect(try await device.grouper.status().servers.filter(\.isCurrent).count == 4) }
    try await devices[2].write("b", "after")
    for server in world.servers { server.set(.down) }
    try await world.settle(devices)
    for device in devices { #expect(try device.text("b") == "after") }
  }

  @Test func aDatabasePutBackFromACopyCountsAnew() async throws {
    let world = try World()
    let owner = try await world.group(1, ttl: 600)[0]
    var member: Device? = try await world.device("member")
    if let member { try await world.join(member, owner) }
    try await member?.write("n0", "before")
    member = nil
    try world.copy("member.db", to: "member.old")
    member = try await world.device("member")
    let before = await member?.grouper.state?.stream
    for number in 1...3 { try await member?.write("n\(number)", "first \(number)") }
    _ = try await member?.grouper.sync()
    _ = try await owner.grouper.sync()
    member = nil
    try world.copy("member.old", to: "member.db")
    let restored = try await world.device("member")
    #expect(await restored.grouper.state?.stream.node == before?.node)
    #expect(await restored.grouper.state?.stream != before)
    world.clock.advance(seconds: 5)
    // Before it has heard of anything: no number is used twice, so nothing of either is taken for the other.
    try await restored.write("n1", "second")
    world.clock.advance(seconds: 700)
    try await world.settle([owner, restored], rounds: 8)
    #expect(try owner.texts() == restored.texts())
    #expect(try owner.texts() == ["n0": "before", "n1": "second", "n2": "first 2", "n3": "first 3"])
    #expect(world.refused.isEmpty)
  }

  @Test func aServerPutBackFromACopyIsHeardAgain() async throws {
    let world = try World()
    let devices = try await world.group(2, ttl: 600)
    for number in 0..<5 { try await devices[0].write("n\(number)", "text") }
    try await world.settle(devices)
    for server in world.servers { server.forgetShares() }
    try await devices[0].write("a", "after")
    try await world.settle(devices)
    #expect(try devices[1].text("a") == "after")
  }
}
