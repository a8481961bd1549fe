import PeerAuth
import ShamirKit
import Sodium
import VaultProtocol
import VaultStore

/// Changes said by parcel, to peers that can't be reached in a session: the same words, and nobody has to be there at the same time.
extension Changing {
  /// Milliseconds after which a peer that has heard all is asked again whether it knows more.
  static let parcelPause: Int64 = 86_400_000
  /// The same for places, of which a peer may be told by its user at any time.
  private static let placesPause: Int64 = 3_600_000

  /// Writes to a peer what it isn't known to know and asks for what it knows, unless that is on its way already.
  func write(_ id: SecretID, to peer: PeerRecord) throws {
    guard let circle = try circles.circle(of: id), try mayWrite(to: peer) else { return }
    let now = environment.now()
    let question = try question(circle, to: peer)
    let listener = PeerKnowledge.Listener(peer: peer.digest, secret: id)
    guard !circles.knowledge.isUpToDate(listener, question.marks, at: now, within: Self.parcelPause) else { return }
    let number = try Self.number("vault/lifecycle-parcel/v1", id, question.marks)
    let rows = try parcels(about: id).filter { $0.peer == peer.digest && !$0.asksForPieces }
    for row in rows where row.request == number {
      // One that is on its way is posted again by itself. Behind what didn't fit into one, the rest follows.
      guard row.state == .answered, question.isRest || !isRecent(row, at: now, Self.parcelPause) else { return }
    }
    guard try endAndCount(rows, to: peer) < Post.parcelsOfPeer else { return }
    if try post(question, number, about: id, to: peer) {
      circles.knowledge.wrote(listener, number, named: question.marks, told: question.toldMarks)
    }
  }

  private func question(_ circle: Circle, to peer: PeerRecord) throws -> ParcelQuestion {
    let id = circle.header.id
    return try ParcelQuestion(
      objects: [invitation(id, peer.digest)].compactMap(\.self) + circles.told(circle),
      known: circles.knowledge.known(
        .init(peer: peer.digest, secret: id), at: environment.now(), within: Self.parcelPause),
      mayHear: circles.mayHear(peer.digest, in: circle))
  }

  /// Asks holders by parcel for pieces of their fragments, as many of them as are missing and one more.
  func writeForPieces(_ circle: Circle, _ index: UInt8, besides reached: Set<Digest>) throws {
    let id = circle.header.id
    guard circle.header.dispersal.fragmentByteCount <= Post.parcelFragmentLimit else { return }
    let now = environment.now()
    let number = try Self.number("vault/lifecycle-pieces/v1", id, [UInt64(index)]) | 1
    let rows = try parcels(about: id).filter(\.asksForPieces)
    // Who doesn't answer for a day is asked no more, but others are.
    let open = rows.filter { !$0.isRead && ($0.state == .answered || isRecent($0, at: now, Self.parcelPause)) }
    var asked = Set(open.map(\.peer)).subtracting(reached)
    // Who holds a share has its fragment.
    let holders = Set(circle.joinings.values.filter { $0.index != 0 }.map(\.keys.digest))
    for peer in try database.peers() where holders.contains(peer.digest) && !reached.contains(peer.digest) {
      guard asked.count + reached.count <= circle.header.dispersal.dataCount else { return }
      let earlier = rows.filter { $0.peer == peer.digest }
      guard !earlier.contains(where: { !$0.isRead || isRecent($0, at: now, Self.parcelPause) }), try mayWrite(to: peer)
      else { continue }
      guard try endAndCount(earlier, to: peer) < Post.parcelsOfPeer else { continue }
      var question = try question(circle, to: peer)
      question.pieceCount = UInt32(clamping: circle.header.dispersal.stripeCount)
      if try post(question, number, about: id, to: peer) { asked.insert(peer.digest) }
    }
  }

  /// Asks by parcel in which secrets a peer has a place for this device.
  func writeForPlaces(to peer: PeerRecord) throws {
    guard try mayWrite(to: peer) else { return }
    let rows = try parcels(about: nil).filter { $0.peer == peer.digest }
    let now = environment.now()
    guard !rows.contains(where: { $0.state != .answered || !$0.isRead || isRecent($0, at: now, Self.placesPause) }),
      try endAndCount(rows, to: peer) < Post.parcelsOfPeer
    else { return }
    _ = try post(nil, 2, about: nil, to: peer)
  }

  /// Ends what is on its way to a peer about a secret: it has heard it in a session.
  func endParcels(to peer: PeerRecord, about id: SecretID) throws {
    for row in try parcels(about: id) where row.peer == peer.digest && !row.asksForPieces { try end(row) }
  }

  /// Ends what is on its way to somebody who was to hold a share and isn't any more.
  func endInvitations(of cards: Set<Digest>, to id: SecretID) throws {
    for row in try parcels(about: id) where cards.contains(row.peer) {
      if try !circles.mayHear(row.peer, of: id) { try end(row) }
    }
  }

  // MARK: - Rows

  /// Questions about a secret, or with nil about places.
  func parcels(about id: SecretID?) throws -> [ParcelRecord] {
    let states: Set<ParcelRecord.State> = [.waiting, .posted, .answered]
    guard try database.hasParcels(states, direction: .change) else { return [] }
    return try database.parcels(.change, states, about: id)
  }

  private func isRecent(_ row: ParcelRecord, at now: Int64, _ pause: Int64) -> Bool {
    (0..<pause).contains(now - row.createdAt)
  }

  /// Ends questions in whose place another one comes, and returns how many are on their way to the peer.
  private func endAndCount(_ rows: [ParcelRecord], to peer: PeerRecord) throws -> Int {
    for row in rows { try end(row) }
    return try post.parcels(.change, [.waiting, .posted]).count { $0.peer == peer.digest }
  }

  /// An answer that has come meanwhile is read first.
  private func end(_ row: ParcelRecord) throws {
    guard let now = try database.parcel(row.id), now.state != .answered || now.isRead else { return }
    try post.end(now)
  }

  /// The number of a question says what it is about: one that would ask and name the same isn't made.
  private static func number(_ domain: StaticString, _ id: SecretID, _ marks: Set<UInt64>) throws -> UInt64 {
    do {
      var hash = try DomainHash(domain)
      hash.append(id.bytes)
      for mark in marks.sorted() { hash.append(mark) }
      return hash.digest().mark & ~1
    } catch { throw VaultError(.other, "hashing failed") }
  }

  /// Whether there is a way for parcels to a peer that has proved its keys. One that hasn't is asked for that.
  private func mayWrite(to peer: PeerRecord) throws -> Bool {
    guard peer.introducer == nil, try post.mayGetParcels(peer) else { return false }
    guard peer.state != .proven else { return true }
    let isAsked = try post.parcels(.request, [.waiting, .posted]).contains { $0.isProbe && $0.peer == peer.digest }
    if !isAsked { try post.probe(peer, []) }
    return false
  }

  /// False if another process has written the same meanwhile.
  private func post(
    _ question: ParcelQuestion?, _ number: UInt64, about id: SecretID?, to peer: PeerRecord
  ) throws -> Bool {
    let envelope = try ParcelEnvelope(lifetime: Post.parcelLifetime, at: environment.now())
    let keys = try directory.storedCard(peer).keys
    var frames = [try Post.frame(Hello(services: introductions.services))]
    if let question, let id {
      let binding = try envelope.binding(from: identity, to: keys)
      frames.append(
        try Post.frame(
          asker(id).question(
            number, question.marks.sorted(), verifier: keys.digest, binding: binding, kind: .parcel)))
      for item in question.told {
        frames.append(try Post.frame(LifecycleItem(request: number, kind: item.kind, bytes: item.bytes)))
      }
    } else {
      frames.append(try Post.frame(LifecycleRequest(request: number, tag: nil, proof: nil, known: [])))
    }
    frames.append(try Post.frame(LifecycleEnd(request: number)))
    if let count = question?.pieceCount {
      frames.append(try Post.frame(PieceRequest(request: number, first: 0, count: count)))
    }
    // Nothing secret comes back that isn't sealed to a receiving key, so the reply key isn't kept.
    let parcel = try envelope.seal(frames, from: identity, to: keys)
    return try database.addParcel(
      envelope.record(.change, to: peer.digest, about: id, request: number, ways: post.usualWays()), content: parcel,
      replySecret: nil)
  }
}

/// What one parcel says about how a secret changes hands.
private struct ParcelQuestion {
  struct Item {
    let mark: ObjectMark
    let kind: LifecycleObject.Kind
    let bytes: [UInt8]
  }

  /// Of all that is known here.
  let marks: Set<ObjectMark>
  /// What the peer isn't known to know, each behind what it follows from; as much of it as goes into one.
  private(set) var told: [Item] = []
  /// Whether it tells more of what has been told before in part.
  let isRest: Bool
  var pieceCount: UInt32?

  init(objects: [LifecycleObject], known: Set<ObjectMark>?, mayHear: Bool) throws {
    marks = Set(try objects.map { try $0.digest().mark })
    let limits = LifecycleAnswerer.parcelLimits
    var room = limits.bytes
    for object in objects where mayHear || object.kind == .header {
      let mark = try object.digest().mark
      guard known?.contains(mark) != true else { continue }
      let bytes = try object.encoded()
      guard bytes.count <= room, told.count < limits.objects else { break }
      room -= bytes.count
      told.append(Item(mark: mark, kind: object.kind, bytes: bytes))
    }
    isRest = known != nil && !told.isEmpty
  }

  var toldMarks: Set<ObjectMark> { Set(told.map(\.mark)) }
}
