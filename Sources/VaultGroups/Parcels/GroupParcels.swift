import Grouper
import SecretVault
import Sodium
import Synchronization
import VaultProtocol
import VaultStore
import WireCodec

/// The parcels that travel through a group: the class `parcel`. An object's id is the parcel's, as hexadecimal digits.
/// All members have it until the one whom it is for has taken it; what is in it only he can read, and the others'
/// vaults keep nothing of it.
final class GroupParcels: GroupClass {
  static let className = "parcel"

  /// Most parcels that are asked for again when there is room.
  private static let leftLimit = 256

  private let core: VaultCore
  private let trust: TrustList
  private let post: Post
  private let intake: Intake
  /// Parcels for this device that couldn't be taken when they came, of each group. Kept nowhere: who has sent one puts
  /// it there again after a day.
  private let left = Mutex<[String: [ObjectName]]>([:])
  /// The same of those whose sender was no peer, and who the peers were then.
  private let strangers = Mutex<[String: Strangers]>([:])

  private struct Strangers {
    var names: [ObjectName] = []
    var peers: Set<String> = []
  }

  /// Groups from which parcels went since their last round.
  private let dropped = Mutex<Set<String>>([])

  init(core: VaultCore, trust: TrustList, post: Post, intake: Intake) {
    self.core = core
    self.trust = trust
    self.post = post
    self.intake = intake
  }

  // MARK: - Taking

  /// Takes a parcel that is for this device. Whatever is wrong with it, its sender's later changes don't wait for it.
  func update(_ content: [UInt8], _ change: RemoteChange, in group: GroupContext) async throws(GroupError) {
    let object: ParcelObject
    let notice: ParcelNotice
    do throws(WireError) {
      object = try ParcelObject.decode(content, limit: ParcelObject.byteLimit)
      notice = try Self.notice(of: object)
    } catch { throw .malformed(error) }
    guard notice.id.description == change.name.objectID else {
      throw .malformed(.invalidValue(field: "id of a parcel"))
    }
    guard post.isOwnParcel(notice.tag, notice.id) else { return }
    guard notice.expiresAt > core.surroundings.now() else { return try await drop(change.name, in: group) }
    let bytes: [UInt8]
    switch object {
    case .inline(let inline): bytes = inline
    case .file(_, let file):
      // Chunks come before what names them, unless somebody makes it up.
      guard try await group.grouper.hasFile(file) else { return }
      bytes = try read(file, of: group.grouper)
      do throws(WireError) {
        guard try Self.notice(of: .inline(bytes)) == notice else { throw .invalidValue(field: "parcel") }
      } catch { throw .malformed(error) }
    }
    try await take(bytes, change.name, in: group)
  }

  /// Whoever took it has it, and whoever sent it keeps what he needs to send it again. Word of an arrival nobody needs
  /// again.
  func delete(_ change: RemoteChange, in group: GroupContext) async throws(GroupError) {
    guard let id = bytes(hexadecimal: change.name.objectID).flatMap({ ParcelID($0) }) else { return }
    do { try post.wasTakenOut(id) } catch { throw .plugin("\(VaultError(error))") }
  }

  private func take(_ bytes: [UInt8], _ name: ObjectName, in group: GroupContext) async throws(GroupError) {
    let log = core.surroundings.log
    do {
      let arrival = try ParcelArrival(way: .group(folder: GroupItems.bytes(of: group.id)))
      switch try intake.takeParcel(bytes, by: arrival) {
      case .taken, .known: break
      case .ignored(let reason): log.info("group \(group.id): a parcel is not taken: \(reason)")
      case .full: return leave(name, in: group)
      case .unknownSender: return try leaveOfStranger(name, in: group)
      }
    } catch  where VaultError(error).code == .damaged {
      // Its sender can't help it, and what he sends besides must not wait for it.
      log.error("group \(group.id): a parcel can't be taken: \(VaultError(error).reason)")
      return leave(name, in: group)
    } catch { throw .plugin("\(VaultError(error))") }
    try await drop(name, in: group)
  }

  /// It has done its work, or never will: it goes from everybody's device.
  private func drop(_ name: ObjectName, in group: GroupContext) async throws(GroupError) {
    try await group.grouper.sender.delete(name)
    dropped.withLock { _ = $0.insert(group.id) }
  }

  private func leave(_ name: ObjectName, in group: GroupContext) {
    left.withLock { left in
      guard left[group.id, default: []].count < Self.leftLimit, left[group.id]?.contains(name) != true else { return }
      left[group.id, default: []].append(name)
    }
  }

  /// Its sender may become a peer before its time is over.
  private func leaveOfStranger(_ name: ObjectName, in group: GroupContext) throws {
    let isFirst = strangers.withLock { $0[group.id] == nil }
    // Whoever is a peer since the first of them came may be the sender of any.
    let known = try isFirst ? peers() : []
    strangers.withLock { strangers in
      let names = strangers[group.id]?.names ?? []
      guard names.count < Self.leftLimit, !names.contains(name) else { return }
      strangers[group.id, default: Strangers(peers: known)].names.append(name)
    }
  }

  private func peers() throws -> Set<String> { Set(try trust.peers().map(\.cardDigest)) }

  /// Asks again for what came from strangers, when there is a new peer.
  private func catchUpWithStrangers(in group: GroupContext) async throws(GroupError) {
    guard let known = strangers.withLock({ $0[group.id] })?.peers else { return }
    let now: Set<String>
    do { now = try peers() } catch { throw .plugin("\(VaultError(error))") }
    guard !now.isSubset(of: known), let ones = strangers.withLock({ $0.removeValue(forKey: group.id) }) else { return }
    for (place, name) in ones.names.enumerated() {
      do throws(GroupError) { try await group.grouper.offerAgain(name) } catch {
        strangers.withLock { strangers in
          // Some may have been left once more meanwhile.
          strangers[group.id, default: Strangers(peers: known)].peers = known
          strangers[group.id]?.names += ones.names[place...]
        }
        throw error
      }
    }
  }

  /// Asks again for what was left, until there is no more room.
  func catchUp(in group: GroupContext) async throws(GroupError) {
    try await catchUpWithStrangers(in: group)
    let names = left.withLock { $0.removeValue(forKey: group.id) } ?? []
    for (place, name) in names.enumerated() {
      let hasRoom = left.withLock { $0[group.id] == nil }
      guard hasRoom, !Task.isCancelled else {
        for name in names[place...] { leave(name, in: group) }
        return
      }
      do throws(GroupError) { try await group.grouper.offerAgain(name) } catch {
        for name in names[place...] { leave(name, in: group) }
        throw error
      }
    }
  }

  /// What stands on a parcel.
  static func notice(of object: ParcelObject) throws(WireError) -> ParcelNotice {
    switch object {
    case .file(let notice, _): return notice
    case .inline(let bytes):
      let parcel = try Parcel.decode(bytes, limit: Parcel.byteLimit)
      return ParcelNotice(tag: parcel.tag, id: parcel.id, expiresAt: parcel.expiresAt)
    }
  }

  private func read(_ file: FileReference, of grouper: Grouper) throws(GroupError) -> [UInt8] {
    var bytes: [UInt8] = []
    do throws(GroupError) { try grouper.readFile(file) { (piece) throws(GroupError) in bytes += piece } } catch {
      if case .forged = error { throw .malformed(.invalidValue(field: "chunks of a parcel")) }
      throw error
    }
    return bytes
  }

  // MARK: - Posting

  /// What was already waiting needs no second round.
  func beforeRound(in group: GroupContext) async throws(GroupError) { _ = try await post(in: group) }

  func afterRound(in group: GroupContext) async throws(GroupError) -> Bool {
    let hasDropped = dropped.withLock { $0.remove(group.id) != nil }
    let hasPosted = try await post(in: group)
    return hasPosted || hasDropped
  }

  /// Puts up what this device has for others, and takes out what nobody needs any more. Whether there was something.
  /// Interrupted between a parcel and the note that it is there, it puts the same one up again.
  private func post(in group: GroupContext) async throws(GroupError) -> Bool {
    guard let roster = await group.grouper.roster else { return false }
    do {
      let folder = try GroupItems.bytes(of: group.id)
      var done: Set<ParcelID> = []
      for id in try post.parcelsToWithdraw(folder: folder) {
        guard !Task.isCancelled else { return !done.isEmpty }
        try await group.grouper.sender.delete(Self.name(id))
        try post.withdrew(id)
        done.insert(id)
      }
      while true {
        let parcels = try post.parcelsToPost(group: roster.group.bytes, folder: folder)
          .filter { !done.contains($0.id) }
        guard !parcels.isEmpty else { return !done.isEmpty }
        for parcel in parcels {
          guard !Task.isCancelled else { return !done.isEmpty }
          try await put(parcel, group.grouper)
          try post.posted(parcel.id)
          core.surroundings.log.info("group \(group.id): a parcel goes out")
          done.insert(parcel.id)
        }
      }
    } catch let error as GroupError { throw error } catch { throw .plugin("\(VaultError(error))") }
  }

  private func put(_ parcel: ParcelPost, _ grouper: Grouper) async throws {
    let object: ParcelObject
    if parcel.bytes.count <= ParcelObject.inlineByteLimit {
      object = .inline(parcel.bytes)
    } else {
      let notice = ParcelNotice(tag: parcel.tag, id: parcel.id, expiresAt: parcel.expiresAt)
      object = .file(
        notice,
        try await grouper.addFile(byteCount: UInt64(parcel.bytes.count)) { (offset, count) throws(GroupError) in
          Array(parcel.bytes[Int(offset)..<Int(offset) + count])
        })
    }
    try await grouper.update(
      MarshalledObject(name: Self.name(parcel.id), content: try object.encoded(), files: object.files))
  }

  private static func name(_ id: ParcelID) -> ObjectName { ObjectName(className: className, objectID: id.description) }
}
