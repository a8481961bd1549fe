import Sodium

/// Other servers for a group, and none any more.
extension Grouper {
  func move(
    to choices: [ServerChoice], threshold: Int, sufficient: Int
  ) async throws(GroupError) {
    let state = try owned()
    let made = try await makeGroups(choices, ttl: Int(state.roster.ttl))
    do throws(GroupError) {
      let servers = try Self.places(choices, made)
      let others = state.roster.members.dropFirst().filter(\.isActive)
      var users: [NodeID: [AddedUser]] = [:]
      for member in others {
        for (server, group) in zip(servers, made) {
          let user = try await called(server.address) { server throws(GroupServerError) in
            try await server.addUser(GroupAccess(group: group.group, key: group.masterKey))
          }
          users[member.card.node, default: []].append(user)
        }
      }
      let added = users
      try change { transaction, state in
        guard state.roster.members.dropFirst().filter(\.isActive) == others else { throw GroupError.outdated }
        var roster = state.roster
        roster.servers = servers
        roster.threshold = threshold
        roster.sufficient = sufficient
        for place in roster.members.indices {
          let node = roster.members[place].card.node
          if node == state.own {
            roster.members[place].users = made.map(\.owner)
          } else if let users = added[node] {
            roster.members[place].users = users.map(\.user)
          } else {
            // One who was removed is no user of the new servers: names that nobody has.
            roster.members[place].users = try servers.map { _ in try ServerUserID.random() }
          }
        }
        try roster.check()
        for (server, group) in zip(servers, made) {
          try transaction.put(server, access: group.accessKey, master: group.masterKey)
        }
        for (node, users) in added {
          for (server, user) in zip(servers, users) { try transaction.put(user.accessKey, of: node, on: server) }
        }
        let key = try EpochKey.random(group: roster.group, epoch: state.current.key.epoch + 1)
        try renew(&roster, key, transaction, &state)
        state.machine.confirmSoon(at: environment.now())
        for member in others { try tellRoster(member.card.node, transaction, state) }
      }
    } catch {
      await unmake(Array(zip(choices.map(\.address), made)))
      throw error
    }
    uploads.signal()
  }

  func erase() async throws(GroupError) -> [String] {
    var left: [String] = []
    for link in try owned().links {
      guard let access = link.ownerAccess else { continue }
      do throws(GroupError) {
        try await called(link.server.address) { server throws(GroupServerError) in
          try await server.deleteGroup(access)
        }
      } catch { left.append(link.server.address) }
    }
    return left
  }
}
