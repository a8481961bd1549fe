import Grouper
import PeerAuth
import SecretVault
import Sodium
import Testing
import VaultProtocol
import WireCodec

@testable import VaultGroups

@Suite(.timeLimit(.minutes(5))) struct InvitationTests {
  /// A group of Ann's to which Ben is invited.
  private func invited() async throws -> (House, GroupFacts) {
    let house = try House("ann", "ben", "cleo")
    let made = try await house[0].groups.create(house.plan("Family"))
    let report = try await house[0].groups.invite("ben", to: made)
    #expect(report.isDelivered && report.problem == nil)
    return (house, made)
  }

  private func letter(_ purpose: GroupLetter.Purpose, _ content: some WireValue) throws -> GroupLetter {
    GroupLetter(request: 1, purpose: purpose, content: try content.encoded())
  }

  @Test func `a peer that is invited joins, and both see both`() async throws {
    let (house, made) = try await invited()
    let waiting = try house[1].groups.invitations()
    #expect(waiting.map(\.name) == ["Family"] && waiting.map(\.peer) == ["ann"] && waiting.first?.group == made.group)
    let states = try await house[0].groups.members(of: made).map(\.state)
    #expect(states == [.owner, .invited])

    let joined = try await house[1].groups.join("Family", email: "ben@example.org", userName: "Benjamin")
    #expect(joined.state == .member && joined.group == made.group && !joined.isOwner && joined.memberCount == 2)
    #expect(try house[1].groups.invitations().isEmpty)
    let members = try await house[0].groups.members(of: made)
    #expect(members.map(\.name) == ["ann", "Benjamin"] && members.map(\.peer) == [nil, "ben"])
    #expect(members[1].email == "ben@example.org" && members[1].state == .member)
    let seen = try await house[1].groups.members(of: joined)
    #expect(seen.map(\.isSelf) == [false, true] && seen.map(\.state) == [.owner, .member])
  }

  @Test func `a daemon that asks at the same time as the user takes no success from him`() async throws {
    let (house, made) = try await invited()
    house.set(house[0], isAway: true)
    _ = await vaultError { _ = try await house[1].groups.join("Family", email: "", userName: nil) }
    let letter = try #require(try house[1].vault.letters.groupLetters().first)
    house.set(house[0], isAway: false)
    house.clock.pass(.milliseconds(50))
    let bell = house.bell(of: house[0])
    async let joining = house[1].groups.join("Family", email: "", userName: nil)
    // Once the user's attempt has begun: who comes when the daemon is through is told that he is in already.
    for await _ in bell { break }
    // Which of the two is first, is left to chance.
    _ = try? await house[1].groups.ask(letter.id, isForced: true)
    let joined = try await joining
    #expect(joined.state == .member && joined.group == made.group)
    #expect(try await house[1].groups.list().map(\.id) == [joined.id])
    #expect(try await house[0].groups.status(of: made).members.count == 2)
  }

  @Test func `the user's attempt is made at once while the daemon's has the invitation for itself`() async throws {
    let (house, _) = try await invited()
    house.set(house[0], isAway: true)
    _ = await vaultError { _ = try await house[1].groups.join(nil, email: "", userName: nil) }
    let letter = try #require(try house[1].vault.letters.groupLetters().first)
    #expect(try house[1].groups.claim(letter.id) == nil)
    house.set(house[0], isAway: false)
    #expect(try await house[1].groups.join(nil, email: "", userName: nil).state == .member)
  }

  @Test func `who wasn't invited isn't let in`() async throws {
    let (house, made) = try await invited()
    let group = try #require(made.group)
    let request = try await house[2].groups.makeRequest("Family", group, email: "", userName: nil).request
    let asked = try letter(.joining, JoiningLetter(group: group, request: request.bytes))
    #expect(await house[0].groups.takeJoining(asked, from: try house[2].peer) == .refused(.notInvited))
    // The same over a session, by Cleo's own program.
    let forged = InvitationLetter(group: group, name: "Family")
    let fromAnn = try letter(.invitation, forged)
    #expect(await house[2].groups.takeInvitation(fromAnn, from: try house[0].peer) == .taken([]))
    let error = await vaultError { _ = try await house[2].groups.join("Family", email: "", userName: nil) }
    #expect(error?.code == .refused && error?.reason.contains("has not invited you") == true)
    #expect(try await house[0].groups.status(of: made).members.count == 1)
    #expect(try await house[2].groups.list().allSatisfy { $0.state == .joining && $0.group == group })
  }

  @Test func `a letter that comes again changes nothing, and a second device isn't let in by it`() async throws {
    let (house, made) = try await invited()
    let group = try #require(made.group)
    let first = try await house[1].groups.makeRequest("Family", group, email: "", userName: nil).request
    let asked = try letter(.joining, JoiningLetter(group: group, request: first.bytes))
    guard case .taken(let answer) = await house[0].groups.takeJoining(asked, from: try house[1].peer) else {
      Issue.record("not let in")
      return
    }
    #expect(!answer.isEmpty)
    guard case .taken = await house[0].groups.takeJoining(asked, from: try house[1].peer) else {
      Issue.record("an answer that was lost must come again")
      return
    }
    let second = try await house[1].groups.makeRequest("Family", group, email: "", userName: nil).request
    let other = try letter(.joining, JoiningLetter(group: group, request: second.bytes))
    #expect(await house[0].groups.takeJoining(other, from: try house[1].peer) == .refused(.notInvited))
    #expect(try await house[0].groups.status(of: made).members.count == 2)
  }

  @Test func `an invitation that was taken back, and a member that was removed, are worth nothing`() async throws {
    let (house, made) = try await invited()
    #expect(try await house[0].groups.remove("ben", from: made).wasInvited)
    #expect(await vaultError { _ = try await house[1].groups.join(nil, email: "", userName: nil) }?.code == .refused)
    #expect(try await house[1].groups.list().isEmpty)

    _ = try await house[0].groups.invite("ben", to: made)
    let joined = try await house[1].groups.join(nil, email: "", userName: nil)
    let removal = try await house[0].groups.remove("ben", from: made)
    #expect(!removal.wasInvited && removal.status?.epoch == 2 && removal.status?.unfinishedTasks == 0)
    let report = try await house[1].groups.sync(joined).report
    #expect(!report.success && report.answered == 0)
    let members = try await house[0].groups.members(of: made)
    #expect(members.map(\.state) == [.owner, .removed])
    #expect(await vaultError { _ = try await house[0].groups.remove("ben", from: made) }?.code == .notFound)
  }

  @Test func `a member that was removed and invited again is told how to come in, and comes in so`() async throws {
    let (house, made) = try await invited()
    let groups = house[1].groups
    let joined = try await groups.join(nil, email: "", userName: nil)
    _ = try await house[0].groups.remove("ben", from: made)
    _ = try await house[0].groups.invite("ben", to: made)
    // What the daemon does.
    let letter = try #require(try house[1].vault.letters.groupLetters().first)
    #expect(letter.state == .taken && letter.folder == joined.id)
    #expect(try await groups.ask(letter.id, isForced: true)?.code == .refused)
    let waiting = try groups.invitations()
    #expect(waiting.map(\.isTaken) == [false] && waiting.first?.problem?.contains("has removed this device") == true)
    for _ in 0..<2 {
      let error = await vaultError { _ = try await groups.join("Family", email: "", userName: nil) }
      #expect(error?.hint == "you were removed: `vault group leave Family`, then `vault group join Family`")
    }
    #expect(try await groups.list().map(\.id) == [joined.id])
    _ = try await groups.leave(groups.find("Family"), erases: false)
    let again = try await groups.join("Family", email: "", userName: nil)
    #expect(again.state == .member && again.memberCount == 2)
    #expect(try await groups.sync(again).report.success)
    #expect(try groups.invitations().isEmpty)
    #expect(try await house[0].groups.members(of: made).map(\.state) == [.owner, .removed, .member])
  }

  @Test func `who is removed, invited again and leaves before anybody was asked keeps the invitation`() async throws {
    let (house, made) = try await invited()
    let groups = house[1].groups
    let joined = try await groups.join(nil, email: "", userName: nil)
    _ = try await house[0].groups.remove("ben", from: made)
    _ = try await house[0].groups.invite("ben", to: made)
    _ = try await groups.leave(joined, erases: false)
    #expect(try await groups.join("Family", email: "", userName: nil).state == .member)
  }

  @Test func `a peer who isn't in the group has a member called by nobody but his user`() async throws {
    let (house, made) = try await invited()
    let groups = house[1].groups
    let joined = try await groups.join(nil, email: "", userName: nil)
    let group = try #require(made.group)
    let news = try letter(.invitation, InvitationLetter(group: group, name: "Family"))
    #expect(await groups.takeInvitation(news, from: try house[2].peer) == .taken([]))
    let waiting = try #require(try house[1].vault.letters.groupLetters().first)
    #expect(waiting.state == .waiting && waiting.folder.isEmpty)
    // Asked by the user's word, he has nothing to say, and is no reason to leave.
    let error = await vaultError { _ = try await groups.join("Family", email: "", userName: nil) }
    #expect(error?.reason.contains("has not invited you") == true && error?.hint?.contains("leave") == false)
    #expect(try house[1].vault.letters.groupLetters().isEmpty)
    #expect(try await groups.list().map(\.id) == [joined.id])
    #expect(await groups.takeInvitation(news, from: try house[0].peer) == .taken([]))
    #expect(try house[1].vault.letters.groupLetters().map(\.state) == [.taken])
  }

  @Test func `a list says nothing of what is missing once nobody was heard for the time to live`() async throws {
    let (house, made) = try await invited()
    let joined = try await house[1].groups.join(nil, email: "", userName: nil)
    for _ in 0..<2 {
      _ = try await house[0].groups.sync(made)
      _ = try await house[1].groups.sync(joined)
      house.clock.advance(seconds: 60)
    }
    let groups = house[1].groups
    #expect(try await groups.list().map(\.isMissingKnown) == [true])
    _ = try house[1].vault.core.set("keep-free", to: "100000T")
    #expect(try await groups.list().map(\.isMissingKnown) == [false])
    _ = try house[1].vault.core.set("keep-free", to: "0")
    #expect(try await groups.list().map(\.isMissingKnown) == [true])
    house.clock.advance(seconds: UInt64(try await groups.status(of: joined).ttl))
    #expect(try await groups.list().map(\.isMissingKnown) == [false])
    #expect(try await !groups.status(of: joined).isMissingKnown)
  }

  @Test func `a removal with a server away is finished when it is back`() async throws {
    let (house, made) = try await invited()
    _ = try await house[1].groups.join(nil, email: "", userName: nil)
    let server = try #require(house.servers["https://s2.example.org"])
    server.set(.down)
    let removal = try await house[0].groups.remove("ben", from: made)
    #expect(removal.status?.unfinishedTasks == 2)
    #expect(removal.status?.servers.compactMap(\.lastError).count == 1)
    #expect(server.userCount == 2)
    server.set()
    let rounds = GroupRounds(house[0].groups)
    let work = Task { await rounds.run() }
    house.clock.advance(seconds: 600)
    // A group that the daemon has just then is waited for.
    house.clock.pass(.milliseconds(50))
    while try await house[0].groups.status(of: made).unfinishedTasks > 0 { await house.clock.passOnce(.seconds(1)) }
    work.cancel()
    #expect(server.userCount == 1)
  }

  @Test func `an owner who is away is asked again by the daemon`() async throws {
    let (house, made) = try await invited()
    house.set(house[0], isAway: true)
    let error = await vaultError { _ = try await house[1].groups.join(nil, email: "", userName: nil) }
    #expect(error?.code == .unreachable && error?.hint?.contains("daemon") == true)
    #expect(try await house[1].groups.list().map(\.state) == [.joining])
    house.set(house[0], isAway: false)
    house.clock.advance(seconds: 3600)
    let rounds = GroupRounds(house[1].groups)
    let work = Task { await rounds.run() }
    while try await house[1].groups.list().first?.state != .member { await house.clock.passOnce(.seconds(1)) }
    work.cancel()
    #expect(try await house[0].groups.status(of: made).members.count == 2)
  }

  @Test func `a peer that is away hears of its invitation later`() async throws {
    let house = try House("ann", "ben")
    let made = try await house[0].groups.create(house.plan("Family"))
    house.set(house[1], isAway: true)
    let report = try await house[0].groups.invite("ben", to: made)
    #expect(!report.isDelivered && report.problem?.code == .unreachable)
    #expect(try await house[0].groups.members(of: made).last?.problem?.isEmpty == false)
    house.set(house[1], isAway: false)
    house.clock.advance(seconds: 60)
    let rounds = GroupRounds(house[0].groups)
    let work = Task { await rounds.run() }
    while try house[1].groups.invitations().isEmpty { await house.clock.passOnce(.seconds(1)) }
    work.cancel()
  }

  @Test func `with a peer its invitations go`() async throws {
    let (house, made) = try await invited()
    _ = try house[1].vault.trust.removePeer("ann")
    #expect(try house[1].vault.letters.groupLetters().isEmpty)
    _ = try house[0].vault.trust.removePeer("ben")
    #expect(try await house[0].groups.members(of: made).map(\.state) == [.owner])
    #expect(try house[0].vault.letters.groupLetters().isEmpty)
  }

  @Test func `a member who was invited again keeps its name here when its peer goes and comes back`() async throws {
    let (house, made) = try await invited()
    _ = try await house[1].groups.join("Family", email: "", userName: nil)
    for isAway in [true, false] {
      house.set(house[1], isAway: isAway)
      let report = try await house[0].groups.invite("ben", to: made)
      #expect(report.isMember && report.isDelivered != isAway)
      _ = try house[0].vault.trust.removePeer("ben")
      // The daemon comes to it meanwhile.
      house.clock.advance(seconds: 3600)
      for letter in try house[0].vault.letters.groupLetters() { _ = try await house[0].groups.deliver(letter.id) }
      #expect(try house[0].vault.letters.groupLetters().map(\.state) == [.taken])
      _ = try house[0].vault.trust.addPeer(
        try PeerCard.parse(text: house[1].vault.core.ownIdentity().qrText), name: nil)
      #expect(try await house[0].groups.members(of: made).map(\.peer) == [nil, "ben"])
    }
  }

  // MARK: - Hostile peers

  @Test func `a member that says again and again that there is news isn't asked for it more than once a minute`()
    async throws
  {
    let (house, made) = try await invited()
    _ = try await house[1].groups.join("Family", email: "", userName: nil)
    let content = try letter(.invitation, InvitationLetter(group: try #require(made.group), name: "Family"))
    var asked = 0
    for _ in 0..<180 {
      #expect(await house[1].groups.takeInvitation(content, from: try house[0].peer) == .taken([]))
      let now = house.clock.now
      try house[1].vault.letters.changeGroupLetters { letters in
        asked += letters.count { $0.isDue(at: Int64(now)) }
        letters.removeAll { $0.isDue(at: Int64(now)) }
      }
      house.clock.advance(seconds: 1)
    }
    #expect(asked == 3)
  }

  @Test func `of a flood of invitations few are kept, and other peers keep their room`() async throws {
    let house = try House("ann", "ben", "cleo")
    let groups = house[0].groups
    var taken = 0
    for number in 0..<10_000 {
      let content = InvitationLetter(group: try GroupID.random(), name: "Group \(number)")
      if case .taken = await groups.takeInvitation(try letter(.invitation, content), from: try house[1].peer) {
        taken += 1
      }
    }
    #expect(taken == VaultGroups.receivedLimits.peer)
    #expect(try groups.invitations().count == VaultGroups.receivedLimits.peer)
    let content = InvitationLetter(group: try GroupID.random(), name: "Family")
    #expect(await groups.takeInvitation(try letter(.invitation, content), from: try house[2].peer) == .taken([]))
  }

  @Test(arguments: ["", " ", "a\u{1b}[31mb", "a\nb", "a\u{202e}b", "a\u{0}", String(repeating: "x", count: 65)])
  func `a letter with a name that could fool somebody is refused`(name: String) async throws {
    let house = try House("ann", "ben")
    var bytes = [UInt8](repeating: 1, count: 17) + [0, UInt8(name.utf8.count)]
    bytes += Array(name.utf8)
    let letter = GroupLetter(request: 1, purpose: .invitation, content: bytes)
    #expect(await house[0].groups.takeInvitation(letter, from: try house[1].peer) == .refused(.notAccepted))
    #expect(try house[0].groups.invitations().isEmpty)
  }

  @Test func `an invitation by the name of another group is told apart by its id`() async throws {
    let (house, made) = try await invited()
    let twin = InvitationLetter(group: try GroupID.random(), name: "Family")
    _ = await house[1].groups.takeInvitation(try letter(.invitation, twin), from: try house[2].peer)
    let error = await vaultError { _ = try await house[1].groups.join("Family", email: "", userName: nil) }
    #expect(error?.code == .ambiguous)
    let id = String(try #require(made.group).description.prefix(8))
    #expect(try await house[1].groups.join(id, email: "", userName: nil).group == made.group)
  }

  @Test func `an inviter who hands out another group than it said is refused`() async throws {
    let (house, _) = try await invited()
    let other = try await house[0].groups.create(house.plan("Trap"))
    let begun = try await house[1].groups.makeRequest("Family", nil, email: "", userName: nil)
    let answer = try await house[0].groups.use(other.id, for: "test") { open in
      try await open.grouper.invite(begun.request).bytes
    }
    let right = try GroupID.random()
    #expect(await vaultError { try await house[1].groups.accept(answer, in: begun.id, right) } != nil)
    #expect(try await house[1].groups.list().map(\.state) == [.joining])
  }
}
