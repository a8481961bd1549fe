/// A database that was put back from a copy: its numbers have been used since, so that this device counts anew, and asks the others for what it
/// had sent and received in between.
extension Grouper {
  /// Since when it is open what this device misses: nobody has told it yet.
  static let unansweredKey = "unanswered-since"
  /// When the database was put back last.
  static let putBackKey = "put-back"

  /// The store has noticed it by itself. A device that is in no group yet has nothing to count.
  func begin() throws(GroupError) {
    guard state != nil else { return try store.write { try store.settlePutBack($0) } }
    try change { transaction, state in
      try store.settlePutBack(transaction)
      try begin(transaction, &state)
    }
  }

  /// What is here may be any time old: says so, and that it isn't known what is missing until somebody has answered.
  private func begin(_ transaction: GroupTransaction, _ state: inout GroupState) throws {
    let now = environment.now()
    state.machine.countAnew(as: state.stream, at: now)
    try notePutBack(transaction, at: now)
  }

  private func notePutBack(_ transaction: GroupTransaction, at now: UInt64) throws {
    try transaction.set(Self.putBackKey, to: now)
    try transaction.set(Self.unansweredKey, to: now)
    environment.tell(.putBack)
  }

  /// The others have more of this device than it knows. `proof` is a message that it has sent and doesn't know.
  func countAnew(
    _ proof: SignedMessage?, _ transaction: GroupTransaction, _ state: inout GroupState
  ) throws {
    let now = environment.now()
    let old = state.stream
    let incarnation = try transaction.store.newIncarnation(transaction)
    state.machine.countAnew(as: StreamID(node: state.own, incarnation: incarnation), at: now)
    try notePutBack(transaction, at: now)
    guard let proof else { return }
    try sendAnew(old, since: proof.message.sentTime, transaction, &state)
    try perform(state.machine.receive(proof, at: now), transaction, &state)
  }

  /// What was changed here since the copy was put back has numbers by which the others have something else: it goes once more. What names
  /// chunks under such numbers stays here only.
  private func sendAnew(
    _ old: StreamID, since time: UInt64, _ transaction: GroupTransaction, _ state: inout GroupState
  ) throws {
    let last = state.machine.contiguous(of: old)
    guard last > 0 else { return }
    var first: UInt64?
    for sequence in try transaction.logged(old, in: 1...last).reversed() {
      guard let message = try transaction.logged(old, sequence)?.message, message.sentTime > time else { break }
      first = sequence
      guard message.type != .chunk else { continue }
      let content = try? UpdateContent.decode(message.content, limit: GrouperMessage.contentByteLimit)
      if message.type == .update {
        guard let content, content.files.isEmpty, case .inline = content.body else { continue }
      }
      let name = ObjectName(className: message.className, objectID: message.objectID)
      // A newer one has taken its place here already.
      let counts = try transaction.object(name.className, name.objectID)?.newest.map {
        $0.stream == old && $0.sequence == sequence
      }
      if counts == true { try make(message.type, name, message.content, isApplied: true, transaction, &state) }
    }
    if let first { state.machine.forget(old, from: first, at: environment.now()) }
    try transaction.put(state.machine.kept(of: old), of: old)
  }

  /// A message by a number that stands for another one here. If it is this device's own, its database was put back; if it is another member's, his
  /// was, and he is shown what he had sent by that number.
  func noteConflict(
    _ signed: SignedMessage, _ transaction: GroupTransaction, _ state: inout GroupState
  ) throws {
    let message = signed.message
    guard message.type.isNormal, message.sequence <= state.machine.contiguous(of: message.stream),
      let known = try transaction.logged(message.stream, message.sequence), known.signed.bytes != signed.bytes
    else { return }
    if message.stream == state.stream {
      try countAnew(signed, transaction, &state)
    } else if message.sender != state.own, state.roster.member(message.sender)?.isActive == true {
      try transaction.enqueue(known.signed, kind: .other, to: [message.sender], at: environment.now())
    }
  }

  /// Somebody has told how far he is, after this device had asked.
  func noteAnswer(_ message: GrouperMessage, _ transaction: GroupTransaction, _ state: GroupState) throws {
    guard let since = try transaction.number(Self.unansweredKey), since > 0, message.sender != state.own,
      message.sentTime >= since || environment.now() >= since + state.ttl
    else { return }
    try transaction.set(Self.unansweredKey, to: 0)
  }

  /// The device has been away, or is new here: until somebody answers it isn't known what is missing.
  func beginAsking(_ transaction: GroupTransaction, _ state: GroupState) throws {
    guard try transaction.number(Self.unansweredKey) ?? 0 == 0 else { return }
    let now = environment.now()
    if heardUntil(state) <= now { try transaction.set(Self.unansweredKey, to: now) }
  }

  /// One time to live after another member was heard last: who hears nobody for longer may miss what servers have forgotten. 0 if nobody was.
  func heardUntil(_ state: GroupState) -> UInt64 {
    let others = state.roster.activeNodes.filter { $0 != state.own }
    return others.compactMap { state.machine.lastHeard[$0] }.max().map { $0 + state.ttl } ?? 0
  }

  /// Everything is here again that came between a copy and its being put back.
  func noteCaughtUp(_ transaction: GroupTransaction, _ state: GroupState) throws {
    guard try transaction.number(Self.putBackKey) ?? 0 > 0, state.machine.missingCount == 0,
      try transaction.number(Self.unansweredKey) ?? 0 == 0
    else { return }
    try transaction.set(Self.putBackKey, to: 0)
  }
}
