import Sodium
import Testing

@testable import Grouper

/// Invitations, removal, keys.
@Suite struct MembershipTests {
  @Test func aRemovedMemberReadsNothingNewAndIsUnknownToTheServers() async throws {
    let world = try World()
    let devices = try await world.group(3, ttl: 600)
    try await devices[1].write("a", "of the one who goes")
    try await world.settle(devices)
    let gone = try #require(await devices[1].grouper.ownCard).node
    try await devices[0].grouper.remove(gone)
    #expect(world.servers.allSatisfy { $0.userCount == 2 })
    try await world.settle([devices[0], devices[2]])
    #expect(try await devices[2].grouper.status().epoch == 2)
    try await devices[2].write("b", "not for everybody any more")
    try await world.settle([devices[0], devices[2]])
    #expect(try devices[0].text("b") == "not for everybody any more")
    let report = try await devices[1].grouper.sync()
    #expect(!report.success)
    #expect(try devices[1].text("b") == nil)
    // What he had sent stays, and comes to whoever joins later.
    let late = try await world.device("late")
    try await world.join(late, devices[0])
    try await world.settle([devices[0], devices[2], late], rounds: 8)
    #expect(try late.texts() == ["a": "of the one who goes", "b": "not for everybody any more"])
    #expect(world.refused.isEmpty)
  }

  @Test func oneWhoWasAwayForLongFollowsToTheNewKey() async throws {
    let world = try World()
    let devices = try await world.group(3, ttl: 600)
    try await world.settle(devices)
    let gone = try #require(await devices[1].grouper.ownCard).node
    try await devices[0].grouper.remove(gone)
    try await devices[0].write("a", "under the new key")
    try await world.settle([devices[0]])
    world.clock.advance(seconds: 50_000)
    try await devices[2].write("b", "written under the old one")
    for _ in 0..<5 { try await world.settle([devices[0], devices[2]], rounds: 2) }
    #expect(try await devices[2].grouper.status().epoch == 2)
    for device in [devices[0], devices[2]] {
      #expect(try device.texts() == ["a": "under the new key", "b": "written under the old one"])
    }
  }

  @Test func serversThatWereAwayAreToldOfARemovalLater() async throws {
    let world = try World()
    let devices = try await world.group(3, ttl: 600)
    try await world.settle(devices)
    world.servers[2].set(.down)
    try await devices[0].grouper.remove(try #require(await devices[1].grouper.ownCard).node)
    #expect(try await devices[0].grouper.status().unfinishedTasks > 0)
    world.servers[2].set()
    #expect(world.servers[2].userCount == 3)
    try await world.settle([devices[0], devices[2]])
    #expect(world.servers[2].userCount == 2)
    #expect(try await devices[0].grouper.status().unfinishedTasks == 0)
    // The others' keys there were changed, and have come to them.
    try await devices[2].write("a", "still here")
    world.servers[0].set(.down)
    try await world.settle([devices[0], devices[2]], rounds: 6)
    #expect(try devices[0].text("a") == "still here")
  }

  @Test func aGroupIsMadeOnAllServersOrOnNone() async throws {
    let world = try World()
    world.servers[2].set(.down)
    let owner = try await world.device("owner")
    await #expect(throws: GroupError.server(address: "memory:2", .unreachable(reason: "connection refused"))) {
      try await owner.grouper.createGroup(
        name: "Family", servers: world.choices, threshold: 2, sufficient: 2, ttl: 600, email: "", userName: "owner")
    }
    #expect(world.servers.allSatisfy { $0.userCount == 0 })
    #expect(await owner.grouper.roster == nil)
  }

  @Test func anInvitationIsOnlyForWhoAskedForIt() async throws {
    let world = try World()
    let owner = try await world.group(1)[0]
    let (invited, other) = (try await world.device("invited"), try await world.device("other"))
    _ = try await other.grouper.joinRequest(email: "", name: "other")
    let request = try await invited.grouper.joinRequest(email: "i@example.org", name: "invited")
    let invitation = try await owner.grouper.invite(request)
    await #expect(throws: GroupError.forged("a box that isn't sealed to this device")) {
      try await other.grouper.accept(invitation)
    }
    for place in stride(from: 1, to: invitation.bytes.count, by: 7) {
      var damaged = invitation.bytes
      damaged[place] ^= 4
      let broken = try Invitation(damaged)
      await #expect(throws: GroupError.forged("a box that isn't sealed to this device")) {
        try await invited.grouper.accept(broken)
      }
    }
    try await invited.grouper.accept(invitation)
    #expect(await invited.grouper.roster?.name == "Family")
    // The same request again is answered the same way: the first answer may have been lost.
    let again = try await owner.grouper.invite(request)
    try await invited.grouper.accept(again)
    #expect(world.servers[0].userCount == 2)
    // Only the owner invites.
    let third = try await world.device("third")
    let another = try await third.grouper.joinRequest(email: "", name: "third")
    await #expect(throws: GroupError.notOwner) { try await invited.grouper.invite(another) }
    // A damaged request is none.
    var damaged = another.bytes
    damaged[20] ^= 1
    #expect(groupError { _ = try JoinRequest(damaged) } != nil)
  }

  @Test func oldKeysAreForgotten() async throws {
    let world = try World()
    let devices = try await world.group(3, ttl: 600)
    try await world.settle(devices)
    try await devices[0].grouper.remove(try #require(await devices[1].grouper.ownCard).node)
    try await world.settle([devices[0], devices[2]], rounds: 6)
    world.clock.advance(seconds: 700)
    try await world.settle([devices[0], devices[2]])
    for device in [devices[0], devices[2]] { #expect(await device.grouper.state?.epochs.count == 1) }
  }

  @Test func twoRemovalsWhileSomebodyIsAwayDontLockHimOut() async throws {
    let world = try World()
    let devices = try await world.group(4, ttl: 600)
    try await world.settle(devices)
    for number in [1, 2] {
      try await devices[0].grouper.remove(try #require(await devices[number].grouper.ownCard).node)
      try await world.settle([devices[0]])
    }
    try await devices[0].write("a", "for those who stay")
    try await world.settle([devices[0], devices[3]], rounds: 8)
    #expect(try await devices[3].grouper.status().epoch == 3)
    #expect(try devices[3].text("a") == "for those who stay")
    // The keys that he uses now are the last ones: the ones before are ended.
    #expect(await devices[3].grouper.state?.links.allSatisfy { $0.nextAccessKey == nil } == true)
  }

  @Test func messagesOfANewcomerWaitForTheRoster() async throws {
    let world = try World()
    let devices = try await world.group(2, ttl: 600)
    try await world.settle(devices)
    let late = try await world.device("late")
    try await world.join(late, devices[0])
    // The owner has told nobody yet.
    try await late.write("a", "from the newcomer")
    _ = try await late.grouper.sync()
    _ = try await devices[1].grouper.sync()
    #expect(try devices[1].text("a") == nil)
    _ = try await devices[0].grouper.sync()
    let puts = world.servers[0].puts
    _ = try await devices[1].grouper.sync()
    #expect(try devices[1].text("a") == "from the newcomer")
    #expect(world.servers[0].puts - puts <= 1)
    #expect(world.refused.isEmpty)
  }

  @Test func aMissedRosterComesFromOthersWhenTheOwnerIsAway() async throws {
    let world = try World()
    let devices = try await world.group(4, ttl: 600)
    try await world.settle(devices)
    let late = try await world.device("late")
    try await world.join(late, devices[0])
    _ = try await devices[0].grouper.sync()
    _ = try await devices[1].grouper.sync()
    world.clock.advance(seconds: 700)
    try await late.write("a", "from the newcomer")
    for _ in 0..<4 {
      try await world.settle([devices[1], devices[2], late], rounds: 2)
      world.clock.advance(seconds: 300)
    }
    #expect(try await devices[2].grouper.status().members.count == 5)
    #expect(try devices[2].text("a") == "from the newcomer")
  }

  @Test(arguments: [false, true])
  func anOwnerPutBackFromACopyTakesHisOwnRosterBack(_ removes: Bool) async throws {
    let world = try World()
    var owner: Device? = try await world.group(1, ttl: 600)[0]
    var members: [Device] = []
    for name in ["one", "two", "three"] {
      let member = try await world.device(name)
      if let owner { try await world.join(member, owner) }
      members.append(member)
    }
    try await world.settle(members + [owner].compactMap { $0 })
    owner = nil
    try world.copy("owner.db", to: "owner.old")
    owner = try await world.device("owner")
    if removes {
      try await owner?.grouper.remove(try #require(await members[2].grouper.ownCard).node)
      members.removeLast()
    } else {
      let late = try await world.device("late")
      if let owner { try await world.join(late, owner) }
      members.append(late)
    }
    try await world.settle(members + [owner].compactMap { $0 })
    let expected = try await members[0].grouper.status()
    owner = nil
    try world.copy("owner.old", to: "owner.db")
    let restored = try await world.device("owner")
    #expect(try await restored.grouper.status().serial < expected.serial)
    try await world.settle(members + [restored], rounds: 6)
    let status = try await restored.grouper.status()
    #expect(status.serial == expected.serial && status.epoch == expected.epoch)
    #expect(status.members == expected.members)
    try await restored.write("a", "back again")
    try await world.settle(members + [restored])
    #expect(try members[0].text("a") == "back again")
  }
}
