import Sodium
import WireCodec

/// Who has missed a roster is told: by the owner, and by others when the owner is away.
extension Grouper {
  /// Sends everybody the newest roster of this epoch.
  func tellAll(_ transaction: GroupTransaction, _ state: GroupState) throws {
    let now = environment.now()
    let content = RosterContent.roster(state.current.roster).encoded()
    try transaction.enqueue(sign(.roster, to: [], content: content, at: now, state), kind: .roster, to: [], at: now)
  }

  /// Sends a member the newest roster, and if he has old keys the new ones, under the key that he has.
  func tellRoster(_ node: NodeID, _ transaction: GroupTransaction, _ state: GroupState) throws {
    let now = environment.now()
    guard state.roster.member(node)?.isActive == true else { return }
    try transaction.beginState(of: node)
    let known = try transaction.state(of: node)?.epoch ?? 1
    let content: RosterContent
    var epoch: UInt32?
    let hasNewKeys = try transaction.memberKeys(node, state.roster.servers).contains { $0 != nil }
    if known < state.current.key.epoch || hasNewKeys {
      content = .invitation(try Self.invitation(for: node, transaction, state))
      if known < state.current.key.epoch { epoch = state.epoch(known) == nil ? state.epochs.first?.key.epoch : known }
    } else {
      content = .roster(state.current.roster)
    }
    let signed = try sign(.roster, to: [node], content: content.encoded(), at: now, state)
    try transaction.enqueue(signed, kind: .roster, to: [node], epoch: epoch, at: now)
    try transaction.setTold(node, at: now)
  }

  /// A member has confirmed: if he misses a roster, he is told, though not each time. By the owner for certain; by others so
  /// seldom that together they do it once or twice.
  func noteConfirmation(
    _ message: GrouperMessage, _ transaction: GroupTransaction, _ state: GroupState
  ) throws {
    guard let content = try? ConfirmContent.decode(message.content, limit: GrouperMessage.contentByteLimit) else {
      return
    }
    let node = message.sender
    if state.isOwner || node == state.roster.owner.card.node {
      try transaction.setState(of: node, epoch: message.epoch, serial: content.serial)
    }
    let isBehind = message.epoch < state.current.key.epoch || content.serial < state.roster.serial
    guard isBehind else { return try transaction.forgetKeys(of: node) }
    let others = Double(max(1, state.roster.activeNodes.count - 2))
    guard state.isOwner || node == state.roster.owner.card.node || environment.jitter() * others <= 2 else { return }
    try transaction.setState(of: node, epoch: message.epoch, serial: content.serial)
    let told = try transaction.state(of: node)?.told ?? 0
    let now = environment.now()
    guard told > now || now - told >= state.ttl / 20 else { return }
    try tellRoster(node, transaction, state)
  }
}
