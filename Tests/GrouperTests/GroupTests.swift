import Foundation
import Sodium
import Testing

@testable import Grouper

/// Groups over servers in memory: what the application sees.
@Suite(.timeLimit(.minutes(5))) struct GroupTests {
  @Test func whatOneWritesAllHave() async throws {
    let world = try World()
    let devices = try await world.group(3)
    try await devices[0].write("a", "one")
    try await devices[1].write("b", "two")
    try await world.settle(devices)
    for device in devices { #expect(try device.texts() == ["a": "one", "b": "two"]) }
    try await devices[2].write("a", "one more")
    try await devices[0].grouper.sender.delete(Note(objectID: "b", text: ""))
    #expect(try devices[0].text("b") == nil)
    try await world.settle(devices)
    for device in devices { #expect(try device.texts() == ["a": "one more"]) }
    #expect(world.refused.isEmpty)
  }

  @Test func updateReturnsWithoutAnyServer() async throws {
    let world = try World()
    let devices = try await world.group(2)
    for server in world.servers { server.set(.down) }
    try await devices[0].write("a", "offline")
    #expect(try devices[0].text("a") == "offline")
    let report = try await devices[0].grouper.sync()
    #expect(!report.success)
    #expect(report.answered == 0 && report.needed == 2)
    for server in world.servers { server.set() }
    try await world.settle(devices)
    #expect(try devices[1].text("a") == "offline")
  }

  @Test func runningKeepsInStepByItself() async throws {
    let world = try World()
    let devices = try await world.group(2)
    let reports = await devices[1].grouper.receiver.reports()
    let running = devices.map { device in Task { try await device.grouper.run() } }
    let changed = Task { () -> ReceiveReport? in
      for await report in reports where !report.changes.isEmpty { return report }
      return nil
    }
    try await devices[0].write("a", "by itself")
    // Servers that have nothing new are asked again a second later.
    world.clock.pass(.seconds(1))
    let report = await changed.value
    #expect(report?.success == true)
    #expect(report?.changes.map { $0.name.objectID } == ["a"])
    #expect(try devices[1].text("a") == "by itself")
    for task in running { task.cancel() }
    for task in running { try? await task.value }
  }

  @Test func figureFourThree() async throws {
    // f(2, 4, 3): four shares, three servers take one, the message is sent; two of them give it back.
    let world = try World(servers: 4)
    let devices = try await world.group(2, threshold: 2, sufficient: 3)
    try await world.settle(devices)
    world.servers[3].set(.down)
    try await devices[0].write("a", "figure")
    _ = try await devices[0].grouper.sync()
    let status = try await devices[0].grouper.status()
    #expect(status.outbox.unsent == 0)
    #expect(status.outbox.parcels > 0)
    world.servers[0].set(.down)
    let report = try await devices[1].grouper.sync()
    #expect(report.success)
    #expect(report.answered == 2)
    #expect(try devices[1].text("a") == "figure")
    // The fourth gets its share when it is back.
    world.servers[3].set()
    let before = world.servers[3].puts
    _ = try await devices[0].grouper.sync()
    #expect(world.servers[3].puts > before)
  }

  @Test func belowSAMessageIsTriedUntilItIsSentAcrossRestarts() async throws {
    let world = try World(servers: 4)
    var owner: Device? = try await world.group(1, threshold: 2, sufficient: 3)[0]
    let member = try await world.device("member")
    if let owner { try await world.join(member, owner) }
    world.servers[2].set(.full)
    world.servers[3].set(.down)
    try await owner?.write("a", "kept")
    _ = try await owner?.grouper.sync()
    #expect(try await owner?.grouper.status().outbox.unsent ?? 0 > 0)
    owner = nil
    // Longer than shares live.
    world.clock.advance(seconds: 10_000)
    let again = try await world.device("owner")
    #expect(try await again.grouper.status().outbox.unsent > 0)
    world.servers[2].set()
    world.servers[3].set()
    try await world.settle([again, member])
    #expect(try member.text("a") == "kept")
    #expect(try await again.grouper.status().outbox.unsent == 0)
  }

  @Test func aDamagingServerIsNamedAndDoneWithout() async throws {
    let world = try World(servers: 3)
    let devices = try await world.group(2)
    world.servers[1].set(.damaging)
    try await devices[0].write("a", "right")
    try await world.settle(devices)
    #expect(try devices[1].text("a") == "right")
    #expect(world.damaged == ["memory:1"])
    let status = try await devices[1].grouper.status()
    #expect(status.servers[1].damagedShares > 0)
    #expect(status.servers[0].damagedShares == 0)
  }

  @Test func aServerThatLosesOrTalksNonsenseIsSurvived() async throws {
    let world = try World(servers: 4)
    let devices = try await world.group(2)
    world.servers[0].set(.losing)
    world.servers[1].set(.confused)
    try await devices[0].write("a", "right")
    try await world.settle(devices)
    #expect(try devices[1].text("a") == "right")
  }

  @Test func pagesInWhichAllIsForOthersArePassedOver() async throws {
    let world = try World(servers: 2)
    let devices = try await world.group(3)
    for server in world.servers { server.set(.shortSighted) }
    for number in 0..<5 { try await devices[0].write("a\(number)", "right") }
    try await world.settle(devices)
    for device in devices { for number in 0..<5 { #expect(try device.text("a\(number)") == "right") } }
  }

  @Test func aServerThatNeverComesToAnEndHoldsNobodyUp() async throws {
    let world = try World(servers: 3)
    let devices = try await world.group(2)
    world.servers[0].set(.endless)
    try await devices[0].write("a", "right")
    try await world.settle(devices)
    #expect(try devices[1].text("a") == "right")
  }

  @Test func noServerSeesAnythingOfTheMessage() async throws {
    let world = try World()
    let devices = try await world.group(2)
    try await devices[0].write("secret-object-id", "the very plaintext of the note, long enough to be found")
    try await world.settle(devices)
    let needles = ["very plaintext", "secret-object-id", "Note", "owner@example.org", "Family"].map { Array($0.utf8) }
    for blob in world.servers.flatMap(\.seen) {
      for needle in needles { #expect(!blob.contains(needle)) }
    }
    let files = try filesOnDisk(world)
    for needle in needles.prefix(4) where needle != Array("Note".utf8) {
      for file in files { #expect(!file.contains(needle)) }
    }
  }

  @Test func aDatabaseOfOtherKeysIsRefused() async throws {
    let world = try World()
    var owner: Device? = try await world.group(1)[0]
    #expect(owner != nil)
    owner = nil
    let sealer = try KeySealer(SecretBytes(random: 32))
    #expect(throws: GroupError.damaged("a sealed record")) {
      try GroupStore(path: world.folder + "/owner.db", sealer: sealer)
    }
  }

  @Test func whatWasDeliveredIsHandedToThePluginAfterACrash() async throws {
    let world = try World()
    let owner = try await world.group(1)[0]
    var member: Device? = try await world.device("member")
    if let member { try await world.join(member, owner) }
    try await owner.write("a", "one")
    try await owner.write("b", "two")
    _ = try await owner.grouper.sync()
    // The messages are taken from the servers, and the device stops before the plugin has them.
    if let member {
      for place in try await member.grouper.status().servers.indices {
        let link = try #require(await member.grouper.state?.links[place])
        #expect(await member.grouper.poll(link.server, wait: 0))
      }
      #expect(try member.texts().isEmpty)
    }
    member = nil
    let again = try await world.device("member")
    #expect(try again.texts() == ["a": "one", "b": "two"])
  }

  private func filesOnDisk(_ world: World) throws -> [[UInt8]] {
    try FileManager.default.contentsOfDirectory(atPath: world.folder).map {
      [UInt8](try Data(contentsOf: URL(fileURLWithPath: world.folder + "/" + $0)))
    }
  }
}

extension [UInt8] {
  func contains(_ needle: [UInt8]) -> Bool {
    guard let first = needle.first, count >= needle.count else { return false }
    return withUnsafeBytes { bytes in
      var start = 0
      while start <= bytes.count - needle.count {
        if bytes[start] == first, bytes[start..<(start + needle.count)].elementsEqual(needle) { return true }
        start += 1
      }
      return false
    }
  }
}
