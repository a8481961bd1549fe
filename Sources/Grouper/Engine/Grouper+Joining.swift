/// Becoming a member, and following the group's keys, members and servers.
extension Grouper {

  /// What a member shows the owner who has lost touch with the group, because all servers that it knew are gone for example: the answer to it is
  /// an ``Invitation`` with what there is now.
  package func memberRequest() throws(GroupError) -> JoinRequest {
    try JoinRequest(application: applicationID, by: require().keys)
  }

  /// The card that this device has shown, or would show again; nil if none was made yet.
  package func preparedCard() throws(GroupError) -> MemberCard? {
    try store.read { transaction in try GroupState.memberKeys(transaction)?.card }
  }

  /// Takes the owner's invitation: joins the group, or follows it to a newer key or other servers.
  ///
  /// With `group` it joins that one and no other. Throws ``GroupError/outdated`` if it is older than what is here.
  package func accept(_ invitation: Invitation, to group: GroupID?) async throws(GroupError) {
    if state != nil {
      try change { transaction, state in
        try accept(invitation, transaction, &state)
        try handleWaiting(transaction, &state)
      }
    } else {
      state = try store.write { transaction in
        guard let keys = try GroupState.memberKeys(transaction) else { throw GroupError.noGroup }
        let content = try invitation.opened(by: keys, group: group)
        guard content.roster.roster.application == applicationID else {
          throw GroupError.invalid("the group belongs to the application \(content.roster.roster.application)")
        }
        guard !content.accessKeys.contains(where: { $0 == nil }) else {
          throw GroupError.invalid("the invitation lacks keys of servers")
        }
        try put(content, transaction)
        var state = try GroupState.load(transaction, graceLimit: Self.graceLimit)
        state?.machine.confirmSoon(at: environment.now())
        try transaction.set(Self.unansweredKey, to: environment.now())
        return state
      }
      groupChanges.signal()
    }
    uploads.signal()
  }

  private func put(_ content: Invitation.Content, _ transaction: GroupTransaction) throws {
    try transaction.put(content.key, content.roster, at: environment.now())
    for (server, key) in zip(content.roster.roster.servers, content.accessKeys) {
      if let key { try transaction.put(server, access: key) }
    }
  }

  private func accept(
    _ invitation: Invitation, _ transaction: GroupTransaction, _ state: inout GroupState
  ) throws {
    let content = try invitation.opened(by: state.keys, group: state.roster.group)
    let newer = content.roster.roster
    guard newer.serial >= state.roster.serial, newer.epoch >= state.roster.epoch else { throw GroupError.outdated }
    if newer.epoch == state.roster.epoch {
      guard content.key.secret.matches(state.current.key.secret) else { throw GroupError.outdated }
    }
    for (server, key) in zip(newer.servers, content.accessKeys) where key == nil && state.link(server) == nil {
      throw GroupError.invalid("the invitation lacks keys of servers")
    }
    let isNewEpoch = newer.epoch > state.roster.epoch
    if newer.serial > state.roster.serial { state.hasNewRoster = true }
    try put(content, transaction)
    try state.reload(transaction)
    // So that the owner learns who is there, and everybody what he has missed.
    if isNewEpoch { state.machine.confirmSoon(at: environment.now()) }
  }

  /// A roster of the owner's has come. An old one, or one for somebody else, is no news.
  func handleRoster(
    _ message: GrouperMessage, _ transaction: GroupTransaction, _ state: inout GroupState
  ) throws {
    guard message.sender != state.own else { return }
    do throws(GroupError) {
      switch try RosterContent(message.content, group: state.roster.group) {
      case .invitation(let invitation):
        do { try accept(invitation, transaction, &state) } catch { throw GroupError(database: error) }
      case .roster(let signed):
        let newer = signed.roster
        guard newer.serial > state.roster.serial, newer.epoch == state.roster.epoch,
          newer.servers == state.roster.servers
        else { return }
        do {
          try transaction.put(state.current.key, signed, at: environment.now())
          try state.reload(transaction)
          state.hasNewRoster = true
        } catch { throw GroupError(database: error) }
      }
    } catch .outdated { return } catch .store(let reason) { throw GroupError.store(reason) } catch {
      environment.tell(.refusedMessage(reason: "\(error)"))
    }
  }
}
