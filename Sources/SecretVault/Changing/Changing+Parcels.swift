import PeerAuth
import ShamirKit
import Sodium
import VaultProtocol
import VaultStore

/// Changes said by parcel, with peers that can't be reached in a session: the same words, and nobody has to be there at the same time.
extension Changing {
  /// Milliseconds after which a peer that has heard all is asked again whether it knows more.
  private static let parcelPause: Int64 = 86_400_000

  // MARK: - Out

  /// Writes to a peer what it isn't known to know and asks for what it knows, unless that is on its way already.
  func write(_ id: SecretID, to peer: PeerRecord) throws {
    guard let circle = try circles.circle(of: id), try mayWrite(to: peer) else { return }
    let now = environment.now()
    let objects = try [invitation(id, peer.digest)].compactMap(\.self) + circle.objects()
    let marks = Set(try objects.map { try $0.digest().mark })
    let wantsPieces = try wantsPieces(of: peer, circle)
    let listener = PeerKnowledge.Listener(peer: peer.digest, secret: id)
    guard wantsPieces || !circles.knowledge.isUpToDate(listener, marks, at: now, within: Self.parcelPause) else {
      return
    }
    let missing = circles.knowledge.missing(listener, of: marks)
    let told = try told(objects, missing, mayHear: circles.mayHear(peer.digest, of: id))
    let number = try Self.number(marks, Set(told.map(\.mark)), wantsPieces: wantsPieces)
    guard try endOthers(to: peer, about: id, number, at: now) else { return }
    try post(number, about: id, to: peer) { envelope, keys in
      let question = try asker(id).question(
        number, marks.sorted(), verifier: keys.digest, binding: envelope.binding(from: identity, to: keys),
        kind: .parcel)
      var frames = [try Post.frame(question)]
      for object in told {
        frames.append(try Post.frame(LifecycleItem(request: number, kind: object.kind, bytes: object.bytes)))
      }
      frames.append(try Post.frame(LifecycleEnd(request: number)))
      if wantsPieces {
        let count = UInt32(clamping: circle.header.dispersal.stripeCount)
        frames.append(try Post.frame(PieceRequest(request: number, first: 0, count: count)))
      }
      return frames
    }
    circles.knowledge.wrote(listener, named: marks, told: Set(told.map(\.mark)))
  }

  /// Asks by parcel in which secrets a peer has a place for this device.
  func writeForPlaces(to peer: PeerRecord) throws {
    let number: UInt64 = 1
    guard try mayWrite(to: peer), try endOthers(to: peer, about: nil, number, at: environment.now()) else { return }
    try post(number, about: nil, to: peer) { _, _ in
      [
        try Post.frame(LifecycleRequest(request: number, tag: nil, proof: nil, known: [])),
        try Post.frame(LifecycleEnd(request: number)),
      ]
    }
  }

  private struct Told {
    let mark: ObjectMark
    let kind: LifecycleObject.Kind
    let bytes: [UInt8]
  }

  /// What of it goes into one parcel, each behind what it follows from.
  private func told(_ objects: [LifecycleObject], _ missing: Set<ObjectMark>, mayHear: Bool) throws -> [Told] {
    var told: [Told] = []
    let limits = LifecycleAnswerer.parcelLimits
    var room = limits.bytes
    for object in objects where mayHear || object.kind == .header {
      let mark = try object.digest().mark
      guard missing.contains(mark) else { continue }
      let bytes = try object.encoded()
      guard bytes.count <= room, told.count < limits.objects else { break }
      room -= bytes.count
      told.append(Told(mark: mark, kind: object.kind, bytes: bytes))
    }
    return told
  }

  /// The number of a request says what is said in it: one that would say the same isn't made.
  private static func number(
    _ named: Set<ObjectMark>, _ told: Set<ObjectMark>, wantsPieces: Bool
  ) throws -> UInt64 {
    do {
      var hash = try DomainHash("vault/lifecycle-parcel/v1")
      hash.append(UInt64(named.count))
      for mark in named.sorted() + told.sorted() { hash.append(mark) }
      return hash.digest().mark & ~1 | (wantsPieces ? 1 : 0)
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

  /// Ends what was written to a peer about a secret before. False if the same was, or there is no room for another one.
  private func endOthers(to peer: PeerRecord, about id: SecretID?, _ number: UInt64, at now: Int64) throws -> Bool {
    let same = try parcels([.waiting, .posted, .answered], about: id).filter { $0.peer == peer.digest }
    for row in same where row.request == number {
      // One that is on its way is posted again by itself.
      if row.state != .answered || (0..<Self.parcelPause).contains(now - row.createdAt) { return false }
    }
    for row in same where row.isRead || row.state != .answered { try post.end(row) }
    let live = try post.parcels(.change, [.waiting, .posted])
    return live.count { $0.peer == peer.digest } < Post.parcelsOfPeer
  }

  /// Ends what is on its way to a peer about a secret: it has heard it in a session.
  func endParcels(to peer: PeerRecord, about id: SecretID) throws {
    for row in try parcels([.waiting, .posted], about: id) where row.peer == peer.digest {
      try post.end(row)
    }
  }

  private func post(
    _ number: UInt64, about id: SecretID?, to peer: PeerRecord,
    _ frames: (ParcelEnvelope, CardKeys) throws -> [ParcelFrame]
  ) throws {
    let envelope = try ParcelEnvelope(lifetime: Post.parcelLifetime, at: environment.now())
    let keys = try directory.storedCard(peer).keys
    let hello = try Post.frame(Hello(services: introductions.services))
    // Nothing secret comes back that isn't sealed to a receiving key, so the reply key isn't kept.
    let parcel = try envelope.seal([hello] + frames(envelope, keys), from: identity, to: keys)
    _ = try database.addParcel(
      ParcelRecord(
        id: envelope.id, direction: .change, peer: peer.digest, secretID: id, createdAt: envelope.createdAt,
        expiresAt: envelope.expiresAt, request: number, seed: envelope.seed.bytes, ways: post.usualWays()),
      content: parcel, replySecret: nil)
  }

  // MARK: - In

  private func parcels(_ states: Set<ParcelRecord.State>, about id: SecretID?) throws -> [ParcelRecord] {
    guard try database.hasParcels(states, direction: .change) else { return [] }
    return try database.parcels(.change, states, about: id)
  }

  /// Takes what peers have answered by parcel about a secret. Returns whether something was new.
  func readParcels(about id: SecretID) throws -> Bool {
    var isNews = false
    for record in try parcels([.answered], about: id) where !record.isRead {
      guard let letter = try letter(record) else {
        try drop(record)
        continue
      }
      do {
        let answer = try LifecycleAnswer(letter.frames, request: record.request)
        if try take(answer, of: record, id) { isNews = true }
        // A fragment needs pieces of several.
        if record.hasPieces, !answer.pieces.isEmpty, try lacksFragment(id) { continue }
      } catch let failure as LinkFailure {
        if let peer = try database.peer(record.peer) {
          recordUnlessTooMany(
            .refused, peer: peer, detail: "sent an answer by parcel that was dropped: \(failure.reason)")
        }
      }
      try drop(record)
    }
    return isNews
  }

  private func take(_ answer: LifecycleAnswer, of record: ParcelRecord, _ id: SecretID) throws -> Bool {
    guard answer.refusal == nil else { return false }
    do {
      let isNews = try circles.take(answer.objects, of: id)
      let said = Set(try answer.objects.map { try $0.digest().mark })
      circles.knowledge.answered(
        .init(peer: record.peer, secret: id), lacked: Set(answer.wanted), said: said, at: environment.now())
      return isNews
    } catch let error as ProtocolError { throw LinkFailure(error) }
  }

  /// The places that peers have named by parcel.
  func readPlaces() throws -> [PlacesAsker.Place] {
    var places: [PlacesAsker.Place] = []
    for record in try parcels([.answered], about: nil) where !record.isRead {
      guard let letter = try letter(record) else {
        try drop(record)
        continue
      }
      if let answer = try? LifecycleAnswer(letter.frames, request: record.request) { places += answer.objects.places }
      try drop(record)
    }
    return places
  }

  /// That it was asked is known for as long as the parcel could have come.
  private func drop(_ record: ParcelRecord) throws {
    try post.change(record, content: .clear) { $0.nextAttemptAt = max(1, environment.now()) }
  }

  /// The secrets about which something has come by parcel.
  func secretsWithParcels() throws -> [SecretID] {
    try post.parcels(.change, [.answered]).filter { !$0.isRead }.compactMap(\.secretID)
  }

  /// Nil if it was read, or can't be.
  private func letter(_ record: ParcelRecord) throws -> ParcelLetter? {
    guard let content = try post.parcelContent(record.id),
      let parcel = try? Parcel.decode(content, limit: Parcel.byteLimit),
      case .letter(let letter, let sender) = try post.open(parcel), sender.digest == record.peer
    else { return nil }
    return letter
  }

  // MARK: - Pieces

  /// Whether this device is to have a fragment that isn't here.
  private func lacksFragment(_ id: SecretID) throws -> Bool {
    guard let circle = try circles.circle(of: id) else { return false }
    return try lacksFragment(circle)
  }

  private func lacksFragment(_ circle: Circle) throws -> Bool {
    let own = Set(try circles.ownEpochs(circle.header.id))
    for epoch in circle.epochs.values where !own.contains(epoch.number) {
      guard let index = epoch.holders?.first(where: { $0.value == identity.keys.digest })?.key else { continue }
      if try database.fragment(of: circle.header.id, index: Int(index))?.isComplete != true { return true }
    }
    return false
  }

  /// Whether pieces of a peer's fragment are to be asked for by parcel.
  private func wantsPieces(of peer: PeerRecord, _ circle: Circle) throws -> Bool {
    guard circle.header.dispersal.fragmentByteCount <= Post.parcelFragmentLimit, try lacksFragment(circle),
      circle.epochs.values.contains(where: { circle.holders(of: $0).values.contains(peer.digest) })
    else { return false }
    return try !parcels([.answered], about: circle.header.id).contains {
      $0.peer == peer.digest && $0.hasPieces && !$0.isRead
    }
  }

  /// Pieces that a peer has sent by parcel of its fragment, verified.
  func pieces(of peer: PeerRecord, _ index: UInt8, _ header: SecretHeader) throws -> ParcelPieces? {
    for record in try parcels([.answered], about: header.id)
    where record.peer == peer.digest && record.hasPieces && !record.isRead {
      guard let letter = try letter(record),
        let answer = try? LifecycleAnswer(letter.frames, request: record.request),
        let pieces = try? ParcelPieces.read(answer.pieces, request: record.request, header, index), !pieces.isEmpty
      else { continue }
      return ParcelPieces(peer: peer.asked, index: index, pieces: pieces)
    }
    return nil
  }
}

extension ParcelRecord {
  /// Whether all that its answer says was taken.
  fileprivate var isRead: Bool { state == .answered && nextAttemptAt != 0 }
  /// Whether pieces were asked for in it: see `Changing.number`.
  fileprivate var hasPieces: Bool { request & 1 == 1 && secretID != nil }
}

/// What a peer has answered by parcel.
private struct LifecycleAnswer {
  private(set) var objects: [LifecycleObject] = []
  private(set) var wanted: [ObjectMark] = []
  private(set) var refusal: RefusalReason?
  /// What follows behind it.
  let pieces: ArraySlice<ParcelFrame>

  init(_ frames: [ParcelFrame], request: UInt64) throws(LinkFailure) {
    var rest = frames[...]
    if rest.first?.type == Hello.type.rawValue { rest.removeFirst() }
    while rest.first?.type == LifecycleItem.type.rawValue, let frame = rest.popFirst() {
      let item: LifecycleItem = try Post.parse(frame)
      guard item.request == request else { throw .notAsked }
      do { objects.append(try LifecycleObject(item.kind, item.bytes)) } catch { throw LinkFailure(error) }
    }
    if rest.first?.type == LifecycleEnd.type.rawValue, let frame = rest.popFirst() {
      let end: LifecycleEnd = try Post.parse(frame)
      guard end.request == request else { throw .notAsked }
      wanted = end.wanted
    }
    guard let frame = rest.popFirst() else { throw LinkFailure(.misbehaved, "answered nothing") }
    let result: LifecycleResult = try Post.parse(frame)
    guard result.request == request else { throw .notAsked }
    refusal = result.refusal
    pieces = rest
  }
}
