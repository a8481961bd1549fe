package import Grouper
import SecretVault
import Sodium
import VaultProtocol
import VaultStore
import WireCodec

package struct WaitingInvitation: Hashable, Sendable {
  /// What the group is called there.
  package let name: String
  package let group: GroupID
  package let peer: String
  package let receivedAt: Int64
  /// Whether this device has asked to join, and waits for the answer.
  package let isTaken: Bool
  /// Why that hasn't worked yet, if it hasn't.
  package let problem: String?
}

/// The invited one's side of an invitation.
extension VaultGroups {
  /// Most invitations that wait for the user, of one peer and of all.
  static let receivedLimits = (peer: 8, all: 64)

  /// What peers invite this device to, oldest first.
  package func invitations() throws -> [WaitingInvitation] {
    var all: [WaitingInvitation] = []
    for letter in try letters.groupLetters() where letter.kind == .received {
      guard let peer = try letters.groupPeer(letter.peer), let group = GroupID(letter.group) else { continue }
      all.append(
        WaitingInvitation(
          name: letter.name, group: group, peer: peer.name, receivedAt: letter.createdAt,
          isTaken: letter.state == .taken, problem: letter.lastError.isEmpty ? nil : letter.lastError))
    }
    return all
  }

  /// Keeps an invitation for the user. The same one again changes nothing.
  func takeInvitation(_ letter: GroupLetter, from peer: GroupPeer) async -> GroupReply.Outcome {
    guard let content = try? InvitationLetter.decode(letter.content, limit: InvitationLetter.byteLimit) else {
      return .refused(.notAccepted)
    }
    do {
      let new = try GroupLetterRecord(
        kind: .received, peer: peer.digest, group: content.group.bytes, name: content.name, folder: "",
        createdAt: core.surroundings.now())
      if let known = try await list().first(where: { $0.group == content.group && $0.state == .member }),
        try isMember(peer, of: known)
      {
        return try takeNews(new, of: known, from: peer)
      }
      // Looked at before anything is written: a peer may send as many as it likes.
      if let known = try answer(to: new, among: letters.groupLetters()) { return known }
      let refusal = try letters.changeGroupLetters { letters -> GroupReply.Outcome? in
        if let known = answer(to: new, among: letters) { return known }
        letters.append(new)
        return nil
      }
      if let refusal { return refusal }
      letters.note(.invited, peer, "to \(content.name); see `vault group join`")
      return .taken([])
    } catch {
      core.surroundings.log.error("an invitation can't be kept: \(VaultError(error).reason)")
      return .refused(.internalFailure)
    }
  }

  /// Whether a peer is in a group, as far as is known here: this device has joined by it, or has seen its mailbox
  /// there. Whoever isn't is asked for nothing, and told nothing, without the user's word.
  private func isMember(_ peer: GroupPeer, of group: GroupFacts) throws -> Bool {
    if group.joinedBy == peer.digest.bytes { return true }
    guard let id = group.group?.bytes else { return false }
    return try post.hasMailbox(
      Post.mailboxTag(group: id, card: peer.digest), folder: GroupItems.bytes(of: group.id))
  }

  /// An invitation by a member to a group that this device is in: there is something new about it, other servers for
  /// example. The peer is asked for it; what it answers is taken if the group's owner has signed it.
  private func takeNews(
    _ new: GroupLetterRecord, of group: GroupFacts, from peer: GroupPeer
  ) throws -> GroupReply.Outcome {
    try letters.changeGroupLetters { letters in
      var (letter, waiting): (GroupLetterRecord, Int64?) = (new, nil)
      letters.removeAll { known in
        guard known.kind == .received, known.peer == peer.digest, known.group == new.group else { return false }
        (letter, waiting) = (known, known.nextAttemptAt)
        return true
      }
      letter.folder = group.id
      letter.state = .taken
      // A peer can't have itself called without end.
      letter.nextAttemptAt = news.next(from: peer.digest, of: new.group, at: new.createdAt, waiting: waiting)
      letters.append(letter)
    }
    return .taken([])
  }

  private func answer(to new: GroupLetterRecord, among letters: [GroupLetterRecord]) -> GroupReply.Outcome? {
    let received = letters.filter { $0.kind == .received }
    if received.contains(where: { $0.peer == new.peer && $0.group == new.group }) { return .taken([]) }
    let waiting = received.filter { $0.state == .waiting }
    guard waiting.count(where: { $0.peer == new.peer }) < Self.receivedLimits.peer,
      waiting.count < Self.receivedLimits.all
    else { return .refused(.quotaCount) }
    return nil
  }

  // MARK: - Joining

  /// Joins the group of this name to which a peer invites this device, or the only one. If the owner is away, throws
  /// ``VaultError/Code/unreachable``: the daemon goes on trying.
  package func join(_ reference: String?, email: String, userName: String?) async throws -> GroupFacts {
    let letter: GroupLetterRecord
    do { letter = try chosen(reference) } catch {
      guard VaultError(error).code == .notFound, let reference, let known = try? await find(reference),
        known.state == .member
      else { throw error }
      throw VaultError(
        .usage, "this device is in \(known.name) already",
        hint:
          "if its servers are gone, \(known.owner) hands you the new ones with `vault group invite`; see `vault group status`"
      )
    }
    let folder: String
    if !letter.folder.isEmpty {
      folder = letter.folder
    } else if let known = try await list().first(where: { $0.group?.bytes == letter.group && $0.state == .member }) {
      folder = known.id
      try change(letter.id) { letter in
        letter.folder = known.id
        letter.state = .taken
      }
    } else {
      folder = try await begin(letter, email: email, userName: userName)
    }
    let wasMember = try facts.read(folder)?.state == .member
    // Whoever is at it already, the daemon, may be waiting for somebody who is away: the user wants an answer now.
    let failure: VaultError?
    do { failure = try await ask(letter.id, isForced: true) } catch { failure = VaultError(error) }
    // The daemon may have been first by a moment; its success is one.
    if let joined = try facts.read(folder), joined.state == .member, !wasMember || failure == nil { return joined }
    throw failure ?? Self.notWaiting(letter)
  }

  private static func notWaiting(_ letter: GroupLetterRecord) -> VaultError {
    VaultError(.notFound, "the invitation to \(letter.name) is gone", hint: "see `vault group list`")
  }

  private func chosen(_ reference: String?) throws -> GroupLetterRecord {
    var peers: [Digest: String] = [:]
    let letters = try letters.groupLetters().filter { $0.kind == .received }
    for letter in letters { peers[letter.peer] = try self.letters.groupPeer(letter.peer)?.name }
    let trusted = letters.filter { peers[$0.peer] != nil }
    guard let reference else {
      guard let only = trusted.first else {
        throw VaultError(
          .notFound, "nobody has invited this device to a group",
          hint: "the owner does it with `vault group invite`; while `vault daemon` runs here, the invitation arrives")
      }
      guard trusted.count == 1 else {
        throw VaultError(.ambiguous, "\(trusted.count) invitations wait", hint: "name one: see `vault group list`")
      }
      return only
    }
    let meanings: [(GroupLetterRecord) -> Bool] = [
      { $0.name == reference },
      { peers[$0.peer] == reference || Self.isBeginning(reference, of: hexadecimal($0.group)) },
      { NearNames.begins($0.name, with: reference) || NearNames.begins(peers[$0.peer], with: reference) },
    ]
    let found = meanings.lazy.map { trusted.filter($0) }.first { !$0.isEmpty } ?? []
    guard let first = found.first else {
      throw VaultError(.notFound, "nobody has invited this device to \(reference)", hint: "see `vault group list`")
    }
    guard found.count == 1 else {
      throw VaultError(
        .ambiguous, "there are \(found.count) such invitations",
        hint: "name one by its id: \(found.map { String(hexadecimal($0.group).prefix(8)) }.joined(separator: " or "))")
    }
    return first
  }

  /// Makes a folder and keys for a group that this device wants to join.
  private func begin(_ letter: GroupLetterRecord, email: String, userName: String?) async throws -> String {
    let id = try await makeRequest(letter.name, GroupID(letter.group), email: email, userName: userName).id
    let now = core.surroundings.now()
    var folder = ""
    try change(letter.id) { letter in
      if letter.folder.isEmpty {
        letter.folder = id
        letter.state = .taken
        // The daemon leaves it alone until this attempt has ended.
        letter.nextAttemptAt = now + Self.lease
      }
      folder = letter.folder
    }
    if folder != id {
      try await discard(id)
      guard !folder.isEmpty else { throw Self.notWaiting(letter) }
    }
    return folder
  }

  /// One attempt to join. Nil if that has worked, or somebody else is at it and it isn't forced.
  func ask(_ id: [UInt8], isForced: Bool = false) async throws -> VaultError? {
    guard let letter = try claim(id, isForced: isForced) else { return nil }
    guard let peer = try letters.groupPeer(letter.peer), let group = GroupID(letter.group) else {
      try await giveUp(letter)
      return VaultError(.notFound, "the peer who has invited you is none any more")
    }
    // Card and keys were kept before: they are asked for again, not made anew.
    let (request, isMember) = try await use(letter.folder, for: "vault group join") { open in
      if await open.grouper.roster != nil { return (try await open.grouper.memberRequest().bytes, true) }
      guard let card = try await open.grouper.preparedCard() else { throw GroupError.noGroup }
      return (try await open.grouper.joinRequest(email: card.email, name: card.name).bytes, false)
    }
    let content: [UInt8]
    do { content = try JoiningLetter(group: group, request: request).encoded() } catch {
      throw VaultError(.damaged, "the request to join")
    }
    let answer: [UInt8]
    do { answer = try await letters.sendGroupLetter(.joining, content, to: peer) } catch {
      guard error.refusal == .notInvited else {
        postpone(id, error.reason)
        return Self.words(error, peer)
      }
      guard isMember, let known = try facts.read(letter.folder), try self.isMember(peer, of: known) else {
        try await giveUp(letter)
        return Self.words(error, peer)
      }
      // It is of use to this device once that has left.
      try change(id) { letter in
        letter.folder = ""
        letter.state = .waiting
        letter.lastError = "has removed this device from the group"
      }
      let name = shellQuoted(known.name)
      return VaultError(
        .refused, "\(peer.name) has removed this device from \(known.name)",
        hint: "you were removed: `vault group leave \(name)`, then `vault group join \(name)`")
    }
    do { try await accept(answer, in: letter.folder, group, by: isMember ? nil : peer) } catch {
      postpone(id, "gave an answer by which this device can't join: \(VaultError(error).reason)")
      throw error
    }
    try letters.changeGroupLetters { letters in letters.removeAll { $0.id == id } }
    if !isMember { letters.note(.joined, peer, letter.name) }
    return nil
  }

  /// Takes an owner's answer, which a peer has given.
  func accept(_ answer: [UInt8], in folder: String, _ group: GroupID?, by peer: GroupPeer? = nil) async throws {
    try await use(folder, for: "vault group join") { open in
      try await open.grouper.accept(Invitation(answer), to: group)
      if let peer, var known = try facts.read(folder) {
        known.joinedBy = peer.digest.bytes
        try facts.write(known)
      }
      // What the others have comes by and by; what is there already, at once.
      _ = try? await exchange(open, isFirst: true, isForced: true)
    }
  }

  private func giveUp(_ letter: GroupLetterRecord) async throws {
    try letters.changeGroupLetters { letters in letters.removeAll { $0.id == letter.id } }
    if try await isMember(letter.folder) { return }
    try await discard(letter.folder)
  }

  private func isMember(_ folder: String) async throws -> Bool {
    guard GroupFolders.isName(folder) else { return false }
    do {
      return try await use(folder, for: "vault group join") { open in await open.grouper.roster != nil }
    } catch {
      guard VaultError(error).code == .notFound else { throw error }
      return false
    }
  }

  /// Removes the folder of a group that this device hasn't joined.
  func discard(_ folder: String) async throws {
    guard GroupFolders.isName(folder) else { return }
    let lock = try await GroupLock.take(
      core.groupFolders.path(folder), for: "vault group join", waiting: patience, core.surroundings)
    defer { lock.release() }
    try core.groupFolders.remove(folder)
  }

  /// A folder of its own for a group that is to be joined, and what to show its owner.
  func makeRequest(
    _ name: String, _ group: GroupID?, email: String, userName: String?
  ) async throws -> (id: String, request: JoinRequest) {
    let user = try userName ?? core.ownName()
    let id = try core.groupFolders.create()
    do {
      try facts.write(GroupFacts(id: id, state: .joining, name: name, group: group))
      let request = try await use(id, for: "vault group join") { open in
        try await open.grouper.joinRequest(email: email, name: user)
      }
      return (id, request)
    } catch {
      try? core.groupFolders.remove(id)
      throw error
    }
  }
}
