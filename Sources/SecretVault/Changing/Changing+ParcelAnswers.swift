import PeerAuth
import ShamirKit
import Sodium
import VaultProtocol
import VaultStore

/// What peers answer by parcel about changes.
extension Changing {
  /// Takes what has come about a secret. Returns whether something was new. What stands in the way of one is none for the others.
  func readParcels(about id: SecretID) async -> Bool {
    do {
      return try await offPool { [self] in
        var isNews = false
        for record in try parcels(about: id) {
          if record.isAnswered {
            do { if try read(record, id) { isNews = true } } catch {
              core.logFault("an answer by parcel can't be taken: this device \(VaultCore.words(error))")
            }
          } else if record.hasPieces, try !lacksFragment(id) {
            try post.end(record)
          }
        }
        return isNews
      }
    } catch {
      core.logFault("what has come by parcel about a secret's holders can't be read: \(VaultError(error).reason)")
      return false
    }
  }

  /// Its objects are taken once. Pieces are kept until the fragment is whole.
  private func read(_ record: ParcelRecord, _ id: SecretID) throws -> Bool {
    guard let letter = try letter(record) else {
      try drop(record)
      return false
    }
    do {
      let answer = try LifecycleAnswer(letter.frames, request: record.request)
      guard answer.refusal == nil else {
        try drop(record)
        return false
      }
      let isNews = try take(answer, of: record, id)
      if record.asksForPieces, try lacksFragment(id), try hasAllPieces(answer, record, id) {
        try post.change(record) { $0.nextAttemptAt = ParcelRecord.piecesMark }
        return true
      } else {
        try drop(record)
      }
      return isNews
    } catch let failure as LinkFailure {
      if let peer = try database.peer(record.peer) {
        recordUnlessTooMany(
          .refused, peer: peer, detail: "sent an answer by parcel that was dropped: \(failure.reason)")
      }
      try drop(record)
      return false
    }
  }

  private func take(_ answer: LifecycleAnswer, of record: ParcelRecord, _ id: SecretID) throws -> Bool {
    do {
      let isNews = try circles.take(answer.objects, of: id)
      let said = Set(try answer.objects.map { try $0.digest().mark })
      let listener = PeerKnowledge.Listener(peer: record.peer, secret: id)
      circles.knowledge.answered(
        listener, record.request, lacked: Set(answer.wanted), said: said, saidAll: answer.isWhole,
        at: environment.now())
      noteToldByParcel(listener)
      return isNews
    } catch let error as ProtocolError { throw LinkFailure(error) }
  }

  /// Takes the places that peers have named by parcel.
  func readPlaces(_ take: ([PlacesAsker.Place], Digest) async -> Void) async throws {
    for record in try parcels(about: nil) where record.isAnswered {
      if let letter = try letter(record),
        let answer = try? LifecycleAnswer(letter.frames, request: record.request)
      {
        await take(answer.objects.places, record.peer)
      }
      try drop(record)
    }
  }

  /// The secrets about which something has come by parcel.
  func secretsWithParcels() throws -> [SecretID] {
    try post.parcels(.change, [.answered]).filter(\.isAnswered).compactMap(\.secretID)
  }

  /// That it was asked is known for as long as the parcel could have come.
  private func drop(_ record: ParcelRecord) throws {
    try post.change(record, content: .clear) { $0.nextAttemptAt = ParcelRecord.readMark }
  }

  /// Nil if its sender is no peer any more, or it is damaged.
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
    let own = Set(try circles.ownEpochs(id))
    for epoch in circle.epochs.values where !own.contains(epoch.number) {
      guard let index = epoch.holders?.first(where: { $0.value == identity.keys.digest })?.key else { continue }
      if try database.fragment(of: id, index: Int(index))?.isComplete != true { return true }
    }
    return false
  }

  private func hasAllPieces(_ answer: LifecycleAnswer, _ record: ParcelRecord, _ id: SecretID) throws -> Bool {
    guard let circle = try circles.circle(of: id), let index = circle.index(of: record.peer),
      let pieces = try? ParcelPieces.read(answer.pieces, request: record.request, circle.header, index)
    else { return false }
    return UInt64(pieces.count) == circle.header.dispersal.stripeCount
  }

  /// Fragments that peers have sent by parcel, if there are enough with those that can be had in sessions.
  func parcelSources(_ circle: Circle, besides reached: Set<UInt8>) throws -> [ParcelPieces] {
    let id = circle.header.id
    let kept = try parcels(about: id).filter(\.hasPieces)
    guard !kept.isEmpty, kept.count + reached.count >= circle.header.dispersal.dataCount else { return [] }
    var sources: [ParcelPieces] = []
    for record in kept {
      guard let index = circle.index(of: record.peer), !reached.contains(index),
        let peer = try database.peer(record.peer), let letter = try letter(record),
        let answer = try? LifecycleAnswer(letter.frames, request: record.request),
        let pieces = try? ParcelPieces.read(answer.pieces, request: record.request, circle.header, index)
      else { continue }
      sources.append(ParcelPieces(peer: peer.asked, index: index, pieces: pieces))
    }
    return sources
  }
}

extension ParcelRecord {
  /// All of an answer was taken.
  fileprivate static let readMark: Int64 = 2
  /// Only its pieces are still of use.
  fileprivate static let piecesMark: Int64 = 1

  /// Whether pieces of a fragment are asked for in a question about a secret's holders.
  var asksForPieces: Bool { request & 1 == 1 }
  /// Whether it has an answer that wasn't read.
  var isAnswered: Bool { state == .answered && nextAttemptAt == 0 }
  var isRead: Bool { state == .answered && nextAttemptAt == Self.readMark }
  fileprivate var hasPieces: Bool { state == .answered && nextAttemptAt == Self.piecesMark }
}

/// What a peer has answered by parcel.
private struct LifecycleAnswer {
  private(set) var objects: [LifecycleObject] = []
  private(set) var wanted: [ObjectMark] = []
  let refusal: RefusalReason?
  /// Whether nothing can have been left for another answer.
  let isWhole: Bool
  /// What follows behind it.
  let pieces: ArraySlice<ParcelFrame>

  init(_ frames: [ParcelFrame], request: UInt64) throws(LinkFailure) {
    var rest = frames[...]
    if rest.first?.type == Hello.type.rawValue { rest.removeFirst() }
    let limits = LifecycleAnswerer.parcelLimits
    var room = limits.bytes
    while rest.first?.type == LifecycleItem.type.rawValue, let frame = rest.popFirst() {
      let item: LifecycleItem = try Post.parse(frame)
      room -= item.bytes.count
      guard item.request == request, room >= 0, objects.count < limits.objects else { throw .notAsked }
      do { objects.append(try LifecycleObject(item.kind, item.bytes)) } catch { throw LinkFailure(error) }
    }
    isWhole = objects.count < limits.objects && room >= LifecycleObject.byteLimit
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
