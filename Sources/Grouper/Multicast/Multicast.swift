/// The reliable multicast of one member: Algorithm 1 of the thesis with its four faults mended (`docs/GROUPS.md` tells them).
///
/// A state machine without input and output: what has happened goes in with its time, what is to be done comes out. Every
/// normal message of every member is delivered once and in its sender's order, as long as somebody who has it comes online
/// at times, whatever is lost, delayed, doubled or overtaken on the way.
///
/// Normal messages of a stream (a member's counting) are numbered from 1. `contiguous` is the newest up to which all are here;
/// later ones wait. What is missing below the newest number that somebody speaks of is asked for: it is learned from messages
/// that have come, and from confirm messages, which carry the `contiguous` of their sender for every stream, so that the
/// messages of one who is gone are found with the others. What confirms say is hearsay: it leads to questions, within a window,
/// and to nothing else. Control messages have no number, are told apart by their ids, and never ask to be sent again: the next
/// confirm does their work.
package struct Multicast: Sendable {
  package private(set) var own: StreamID
  package var settings: MulticastSettings
  /// When the last confirm was sent.
  package private(set) var lastConfirm: UInt64?

  /// Members, and those who were: whether they are.
  var members: [NodeID: Bool] = [:]
  var progress: [StreamID: StreamProgress] = [:]
  /// When something new came from a member itself.
  var lastHeard: [NodeID: UInt64] = [:]
  /// Which stream a member counts now, by its last control message.
  private var counting: [NodeID: UInt64] = [:]
  private var nextConfirm: UInt64?
  /// When somebody who has been away is to be told how far this member is; kept from one start to the next.
  var promisedConfirm: UInt64?
  /// Ids of control messages, and until when they might come again.
  private var controls: [MessageID: UInt64] = [:]

  /// Most ranges of one stream's messages that are asked for at once.
  static let rangeLimit = 64
  /// Most streams of one member that another may speak of of which nothing else is known: he counts anew only when his database is put
  /// back from a copy.
  static let hearsayLimit = 8
  /// How often one member may have begun to count anew.
  static let countingLimit = 128
  /// In how many countings of its own this member still believes a mere word that it counts twice.
  static let beliefLimit = 16
  /// Milliseconds after a confirm before another one tells somebody who has come back.
  static let promiseLimit: UInt64 = 60_000
  static let controlLimit = 65_536

  /// What is kept of one stream from one start of a program to the next.
  package struct Kept: Hashable, Sendable {
    /// All up to here have been delivered.
    package var contiguous: UInt64 = 0
    /// Later ones that are kept.
    package var held = SequenceSet()
    /// The newest that a message has shown.
    package var known: UInt64 = 0
  }

  package init(
    own: StreamID, settings: MulticastSettings, kept: [StreamID: Kept] = [:], lastConfirm: UInt64? = nil
  ) {
    self.own = own
    self.settings = settings
    self.lastConfirm = lastConfirm
    for (stream, kept) in kept {
      var row = StreamProgress()
      row.contiguous = kept.contiguous
      row.held = kept.held
      row.known = max(kept.known, kept.held.last ?? 0)
      if row.known > row.contiguous { row.gapSince = 0 }
      progress[stream] = row
    }
  }

  package mutating func setMembers(_ roster: Roster) {
    members = Dictionary(uniqueKeysWithValues: roster.members.map { ($0.card.node, $0.isActive) })
  }

  // MARK: - What is known

  /// The newest of a stream's messages up to which all are here.
  package func contiguous(of stream: StreamID) -> UInt64 { progress[stream]?.contiguous ?? 0 }

  /// The newest number of any stream of a member up to which all are here.
  func newest(of node: NodeID) -> UInt64 {
    progress.filter { $0.key.node == node }.map(\.value.contiguous).max() ?? 0
  }

  /// What is to be kept of a stream from one start of a program to the next.
  package func kept(of stream: StreamID) -> Kept {
    let row = progress[stream] ?? StreamProgress()
    return Kept(contiguous: row.contiguous, held: row.held, known: row.known)
  }

  /// The number of this member's next message. No word of others changes it.
  package var nextSequence: UInt64 { contiguous(of: own) + 1 }

  /// Messages that somebody speaks of and that aren't here, as far as they would be asked for.
  package var missingCount: UInt64 {
    progress.values.reduce(0) { $0 + $1.missing(window: settings.window).count }
  }

  /// What a confirm says now. Of very many streams, those of members, and the others as far as there is room.
  package var confirmation: VersionVector {
    let known = progress.filter { members.keys.contains($0.key.node) && $0.value.contiguous > 0 }
    let chosen = known.sorted { left, right in
      (members[left.key.node] == true ? 0 : 1, left.key) < (members[right.key.node] == true ? 0 : 1, right.key)
    }.prefix(VersionVector.entryLimit)
    return VersionVector(Dictionary(uniqueKeysWithValues: chosen.map { ($0.key, $0.value.contiguous) }))
  }

  // MARK: - What happens

  /// This member has made a normal message with ``nextSequence``.
  package mutating func made(_ sequence: UInt64) {
    var row = progress[own] ?? StreamProgress()
    row.known = max(row.known, sequence)
    _ = row.take(SequenceSet(sequence...sequence))
    progress[own] = row
  }

  /// The device has come online. Confirms, unless it has done so a moment ago.
  package mutating func cameOnline(at now: UInt64) {
    guard let lastConfirm, now >= lastConfirm, now - lastConfirm < settings.ttl / 20 else {
      nextConfirm = now
      return
    }
  }

  /// Confirms as soon as possible, whenever the last time was.
  package mutating func confirmSoon(at now: UInt64) { nextConfirm = now }

  /// The database was put back from a copy: numbers that it doesn't know have been used. This member counts anew, and what it has sent in
  /// its last counting comes back from the others like anybody's messages.
  mutating func countAnew(as stream: StreamID, at now: UInt64) {
    own = stream
    // Who was heard of then says nothing of now.
    lastHeard = [:]
    confirmSoon(at: now)
    promisedConfirm = now
  }

  /// Gives up this member's messages from `first` on: somebody has others by these numbers.
  mutating func forget(_ stream: StreamID, from first: UInt64, at now: UInt64) {
    guard var row = progress[stream], first > 0, first <= row.contiguous else { return }
    row.known = max(row.known, row.contiguous)
    row.contiguous = first - 1
    row.gapSince = row.gapSince ?? now
    progress[stream] = row
  }

  /// A message has come whose signature holds. Duplicates and what isn't for this member have no effects.
  package mutating func receive(_ signed: SignedMessage, at now: UInt64) -> [MulticastEffect] {
    let message = signed.message
    guard members.keys.contains(message.sender) else { return [] }
    guard message.receivers.isEmpty || message.receivers.contains(own.node) else { return [] }
    if message.type.isNormal { return receiveNormal(signed, at: now) }
    guard message.stream != own, members[message.sender] == true, remember(message.id, at: now) else { return [] }
    let heardBefore = lastHeard[message.sender]
    lastHeard[message.sender] = now
    counting[message.sender] = message.stream.incarnation
    let limit = GrouperMessage.contentByteLimit
    switch message.type {
    case .confirm:
      guard let content = try? ConfirmContent.decode(message.content, limit: limit) else { return [] }
      if isBack(message.stream, heardBefore, at: now) { promiseConfirm(at: now) }
      confirmed(content.vector, by: message.sender, at: now)
      return endedStreams(of: message.sender) + proof(message.stream, content.vector[message.stream])
    case .resend:
      guard let table = try? SequenceTable.decode(message.content, limit: limit) else { return [] }
      return answer(table, to: message.sender)
    case .skip:
      guard let content = try? SkipContent.decode(message.content, limit: limit) else { return [] }
      confirmed(content.vector, by: message.sender, at: now)
      return skip(content.table, by: message.sender)
    case .roster, .update, .delete, .chunk: return []
    }
  }

  /// What is due now: confirm messages and questions. `jitter` is between 0 and 1.
  package mutating func due(at now: UInt64, jitter: Double) -> [MulticastEffect] {
    var effects: [MulticastEffect] = []
    if let promised = promisedConfirm, now >= promised || promised - now > settings.ttl { nextConfirm = now }
    if let next = nextConfirm {
      // A time further off than any that is set here comes from a clock that was wrong then.
      if now >= next || next - now > settings.ttl {
        effects.append(.confirm(confirmation))
        lastConfirm = now
        promisedConfirm = nil
        nextConfirm = confirmTime(after: now, jitter)
      }
    } else {
      nextConfirm = confirmTime(after: min(lastConfirm ?? now, now), jitter)
    }
    for (target, table) in questions(at: now).sorted(by: { $0.key < $1.key }) {
      effects.append(.request(table, from: target))
    }
    return effects
  }

  /// Once per TTL, half of it early at most.
  private func confirmTime(after last: UInt64, _ jitter: Double) -> UInt64 {
    last + settings.ttl / 2 + UInt64(Double(settings.ttl / 2) * min(max(jitter, 0), 1))
  }

  // MARK: - Messages

  private mutating func receiveNormal(_ signed: SignedMessage, at now: UInt64) -> [MulticastEffect] {
    let message = signed.message
    let stream = message.stream
    // Signed by this member, and not known to it: by a program that had the database after the copy was made that is here now.
    if stream == own { return message.sequence > contiguous(of: own) ? [.countAnew(proof: signed)] : [] }
    guard makeRoom(for: stream) else { return [] }
    if countsAnew(stream) { promiseConfirm(at: now) }
    var row = progress[stream] ?? StreamProgress()
    defer { progress[stream] = row }
    guard message.sequence > row.contiguous, !row.held.contains(message.sequence) else { return [] }
    if message.sequence > row.known {
      row.known = message.sequence
      lastHeard[stream.node] = now
    }
    // Too far ahead to be kept: it will be asked for when those before it are here.
    guard message.sequence - row.contiguous <= settings.window else {
      row.gapSince = row.gapSince ?? now
      return []
    }
    var effects: [MulticastEffect] = [.keep(signed)]
    if let next = row.take(SequenceSet(message.sequence...message.sequence)) {
      effects.append(.deliver(stream, next))
    } else if let current = counting[stream.node], current != stream.incarnation {
      effects.append(.deliver(stream, message.sequence...message.sequence))
    }
    if row.contiguous < row.rumoured { row.gapSince = row.gapSince ?? now }
    return effects
  }

  /// A member counts anew, because his database was put back from a copy. What he had sent in between may be lost with its numbers; what
  /// waits for those isn't held back any longer. Versions have their own order.
  private func endedStreams(of node: NodeID) -> [MulticastEffect] {
    progress.filter { $0.key.node == node && $0.key.incarnation != counting[node] }
      .sorted { $0.key < $1.key }
      .flatMap { stream, row in row.held.ranges.map { .deliver(stream, $0) } }
  }

  /// Whether a member was away, or counts anew: he misses what was said meanwhile, and doesn't know of it.
  private func isBack(_ stream: StreamID, _ heardBefore: UInt64?, at now: UInt64) -> Bool {
    guard let heardBefore, now < heardBefore + settings.ttl else { return true }
    return countsAnew(stream)
  }

  /// Whether nothing is known of this counting of a member, but of another one.
  private func countsAnew(_ stream: StreamID) -> Bool {
    progress[stream] == nil && progress.keys.contains { $0.node == stream.node }
  }

  /// Confirms soon, so that somebody who is back learns what he misses.
  private mutating func promiseConfirm(at now: UInt64) {
    promisedConfirm = max(now, (lastConfirm ?? 0) + min(settings.ttl / 20, Self.promiseLimit))
  }

  /// False if this control message has come before.
  private mutating func remember(_ id: MessageID, at now: UInt64) -> Bool {
    guard controls[id] == nil else { return false }
    if controls.count >= Self.controlLimit { controls = controls.filter { $0.value > now } }
    if controls.count >= Self.controlLimit, let oldest = controls.min(by: { $0.value < $1.value }) {
      controls[oldest.key] = nil
    }
    controls[id] = now + 2 * settings.ttl
    return true
  }
}
