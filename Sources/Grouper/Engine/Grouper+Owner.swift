import Sodium
import WireCodec

/// A server on which a group is made, and what its operator demands for it.
public struct ServerChoice: Sendable {
  public let address: String
  /// What its operator demands from whoever makes a group, if he does.
  package let token: CreationToken?

  public init(address: String, token: CreationToken? = nil) {
    self.address = address
    self.token = token
  }
}

/// What only a group's owner does: making it, inviting, removing.
extension Grouper {
  func owned() throws(GroupError) -> GroupState {
    let state = try require()
    guard state.isOwner else { throw .notOwner }
    return state
  }

  func called<Value: Sendable>(
    _ address: String, _ body: (any GroupServer) async throws(GroupServerError) -> Value
  ) async throws(GroupError) -> Value {
    do throws(GroupServerError) { return try await body(server(at: address)) } catch {
      throw .server(address: address, error)
    }
  }

  // MARK: - Making a group

  func makeGroup(
    name: String, servers choices: [ServerChoice], threshold: Int, sufficient: Int, ttl: Int, email: String,
    userName: String
  ) async throws(GroupError) {
    guard state == nil else { throw .alreadyInGroup }
    guard ServerLimits.acceptedTTLs.contains(ttl) else {
      throw .invalid("the time to live is not between 60 and 2592000 seconds")
    }
    guard 2 <= threshold, threshold <= sufficient, sufficient <= choices.count,
      choices.count <= Roster.serverLimit, Set(choices.map(\.address)).count == choices.count
    else { throw .invalid("it takes 2 ≤ k ≤ s ≤ n different servers, at most \(Roster.serverLimit)") }
    let keys = try store.write { transaction in
      try GroupState.memberKeys(transaction, email: email, name: userName)
    }
    let made = try await makeGroups(choices, ttl: ttl)
    do throws(GroupError) {
      let places = try Self.places(choices, made)
      let (roster, key) = try Roster.first(
        application: applicationID, name: name, owner: RosterMember(card: keys.card, users: made.map(\.owner)),
        threshold: threshold, sufficient: sufficient, ttl: UInt32(truncatingIfNeeded: ttl), servers: places,
        issued: environment.now())
      let signed = try SignedRoster(roster, by: keys)
      guard state == nil else { throw .alreadyInGroup }
      state = try store.write { transaction in
        try transaction.put(key, signed, at: environment.now())
        for (place, group) in zip(places, made) {
          try transaction.put(place, access: group.accessKey, master: group.masterKey)
        }
        return try GroupState.load(transaction, graceLimit: Self.graceLimit)
      }
      groupChanges.signal()
    } catch {
      await unmake(Array(zip(choices.map(\.address), made)))
      throw error
    }
  }

  static func places(_ choices: [ServerChoice], _ made: [CreatedGroup]) throws(GroupError) -> [RosterServer] {
    try zip(choices, made).map { (choice, group) throws(GroupError) in
      try RosterServer(address: choice.address, group: group.group)
    }
  }

  /// A group on each of these servers; if one refuses, on none.
  func makeGroups(_ choices: [ServerChoice], ttl: Int) async throws(GroupError) -> [CreatedGroup] {
    var made: [(String, CreatedGroup)] = []
    for choice in choices {
      do throws(GroupError) {
        let group = try await called(choice.address) { server throws(GroupServerError) in
          try await server.createGroup(ttl: ttl, token: choice.token)
        }
        made.append((choice.address, group))
        guard group.ttl == ttl else {
          throw .server(address: choice.address, .malformed(reason: "another time to live than asked for"))
        }
      } catch {
        await unmake(made)
        throw error
      }
    }
    return made.map(\.1)
  }

  /// Also for whoever was called off meanwhile: nobody else could do it later.
  func unmake(_ made: [(String, CreatedGroup)]) async {
    await Task {
      for (address, group) in made {
        _ = try? await called(address) { server throws(GroupServerError) in
          try await server.deleteGroup(GroupAccess(group: group.group, key: group.masterKey))
        }
      }
    }.value
  }

  // MARK: - Members

  func admit(_ request: JoinRequest) async throws(GroupError) -> Invitation {
    let state = try owned()
    guard request.application == applicationID else {
      throw .invalid("the request is for the application \(request.application)")
    }
    if let known = state.roster.member(request.card.node) {
      guard known.isActive, known.card == request.card else {
        throw .invalid("a member of this device was removed, or has other keys; it needs a new identity")
      }
      return try invitation(for: request.card.node)
    }
    guard state.roster.members.count < Roster.memberLimit else { throw .invalid("the group has no more room") }
    let links = state.currentLinks
    var added: [(LinkRecord, AddedUser)] = []
    do throws(GroupError) {
      for link in links { added.append((link, try await addUser(link))) }
      let result = added
      try change { transaction, state in
        guard state.roster.member(request.card.node) == nil, state.roster.servers == links.map(\.server) else {
          throw GroupError.outdated
        }
        var roster = state.roster
        roster.members.append(RosterMember(card: request.card, users: result.map(\.1.user)))
        try renew(&roster, state.current.key, transaction, &state)
        for (link, user) in result { try transaction.put(user.accessKey, of: request.card.node, on: link.server) }
        try transaction.setState(of: request.card.node, epoch: roster.epoch, serial: roster.serial)
        try tellAll(transaction, state)
      }
    } catch {
      let users = added
      await Task { for (link, user) in users { await removeUser(user.user, link) } }.value
      throw error
    }
    uploads.signal()
    return try invitation(for: request.card.node)
  }

  private func addUser(_ link: LinkRecord) async throws(GroupError) -> AddedUser {
    guard let access = link.ownerAccess else { throw .damaged("the master key of \(link.server.address)") }
    return try await called(link.server.address) { server throws(GroupServerError) in
      try await server.addUser(access)
    }
  }

  private func removeUser(_ user: ServerUserID, _ link: LinkRecord) async {
    guard let access = link.ownerAccess else { return }
    _ = try? await called(link.server.address) { server throws(GroupServerError) in
      try await server.removeUser(user, access)
    }
  }

  static func invitation(
    for node: NodeID, _ transaction: GroupTransaction, _ state: GroupState
  ) throws -> Invitation {
    guard let member = state.roster.member(node), member.isActive else { throw GroupError.unknownMember(node) }
    return try Invitation(
      state.current.roster, key: state.current.key, keys: transaction.memberKeys(node, state.roster.servers),
      to: member.card)
  }

  /// Signs and keeps a changed roster, with a key for its epoch.
  func renew(
    _ roster: inout Roster, _ key: EpochKey, _ transaction: GroupTransaction, _ state: inout GroupState
  ) throws {
    roster.serial = state.roster.serial + 1
    roster.epoch = key.epoch
    roster.keyHash = try key.hash()
    roster.previous = try state.current.roster.digest()
    roster.issued = environment.now()
    try transaction.put(key, SignedRoster(roster, by: state.keys), at: environment.now())
    try state.reload(transaction)
  }

  func expel(_ node: NodeID) async throws(GroupError) {
    _ = try owned()
    try change { transaction, state in
      guard node != state.own else { throw GroupError.invalid("the owner can't be removed") }
      guard let place = state.roster.members.firstIndex(where: { $0.card.node == node && $0.isActive }) else {
        throw GroupError.unknownMember(node)
      }
      var roster = state.roster
      roster.members[place].lastSequence = state.machine.newest(of: node)
      let key = try EpochKey.random(group: roster.group, epoch: state.current.key.epoch + 1)
      try renew(&roster, key, transaction, &state)
      try transaction.forgetKeys(of: node)
      for (index, server) in roster.servers.enumerated() {
        try transaction.add(.removeUser, server, roster.members[place].users[index], of: node)
        for member in roster.members where member.isActive {
          try transaction.add(.rotateKey, server, member.users[index], of: member.card.node)
        }
      }
    }
    try await finishTasks(isHurried: true)
    try change { transaction, state in
      state.machine.confirmSoon(at: environment.now())
      for member in state.roster.members.dropFirst() where member.isActive {
        try tellRoster(member.card.node, transaction, state)
      }
    }
    uploads.signal()
  }
}
