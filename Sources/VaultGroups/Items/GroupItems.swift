import Grouper
import SecretVault
import Sodium
import WireCodec

/// The items that a group keeps in step: the class `item`. An object's id is its place in the group, 16 random bytes as
/// hexadecimal digits, which stays the same when the item is changed; a change is a new item in the same place.
struct GroupItems: GroupClass {
  static let className = "item"

  /// Items that are asked for in vain each time that the group is opened.
  private static let inVainLimit = 16

  let items: Items

  func update(_ content: [UInt8], _ change: RemoteChange, in group: GroupContext) async throws(GroupError) {
    let place = try await place(of: change, in: group)
    let object: ItemObject
    do { object = try ItemObject.decode(content, limit: ItemObject.byteLimit) } catch { throw .malformed(error) }
    do {
      _ = try items.keepGroupItem(place, header: object.header) { write in
        switch object.body {
        case .inline(let bytes): try write(bytes)
        case .file(let file): try Self.read(file, of: group.grouper, write)
        }
      }
    } catch { throw GroupError(taking: error) }
  }

  func delete(_ change: RemoteChange, in group: GroupContext) async throws(GroupError) {
    let place = try await place(of: change, in: group)
    do { try items.dropGroupItem(place) } catch { throw GroupError(taking: error) }
  }

  /// The items stay: they are this vault's.
  func forget(_ group: String) async throws { try items.forgetGroup(Self.bytes(of: group)) }

  /// Asks for the items that couldn't be kept when they came, because this device held no share of their keys then.
  func catchUp(in group: GroupContext) async throws(GroupError) {
    let missing: [[UInt8]]
    let own = await group.grouper.ownCard?.node.bytes
    do {
      if let own { try items.settleGroupItems(of: Self.bytes(of: group.id), own: own) }
      missing = try items.missingGroupItems(of: Self.bytes(of: group.id))
    } catch { throw GroupError(taking: error) }
    var inVain = 0
    for slot in missing {
      // Somebody waits for the group, or what doesn't fit would be looked at again and again.
      guard !Task.isCancelled, inVain < Self.inVainLimit else { return }
      try await group.grouper.offerAgain(Self.name(slot))
      do {
        if try !items.hasGroupItem(Self.bytes(of: group.id), slot: slot) { inVain += 1 }
      } catch { throw GroupError(taking: error) }
    }
  }

  func beforeRound(in group: GroupContext) async throws(GroupError) { _ = try await putAside(in: group) }

  func afterRound(in group: GroupContext) async throws(GroupError) -> Bool { try await putAside(in: group) }

  /// Puts versions that were pushed aside where all members see them: this device's own, and those whose makers aren't
  /// in the group any more. Whether there were any.
  private func putAside(in group: GroupContext) async throws(GroupError) -> Bool {
    guard let roster = await group.grouper.roster, let own = await group.grouper.ownCard?.node,
      roster.member(own)?.isActive == true
    else { return false }
    var hasPut = false
    do {
      for version in try items.asideGroupItems(of: Self.bytes(of: group.id)) where !Task.isCancelled {
        guard let author = StreamID(version.author) else { continue }
        let name = Self.name(version.slot)
        do {
          if let newest = try await group.grouper.newest(name) {
            // It was brought, or taken away, before it was pushed aside here.
            let isNoted = newest.stream == author && newest.sequence == version.sequence
            if !isNoted { try await group.grouper.offerAgain(name) }
            continue
          }
        } catch { throw VaultError(error) }
        guard author.node == own || roster.member(author.node)?.isActive != true else { continue }
        let source: GroupItemSource
        do { source = try items.itemForGroup(hexadecimal(version.itemID)) } catch { continue }
        try await Self.put(source, at: version.slot, group.grouper)
        hasPut = true
      }
    } catch { throw GroupError(taking: error) }
    return hasPut
  }

  static func put(_ source: GroupItemSource, at slot: [UInt8], _ grouper: Grouper) async throws {
    do {
      let body: ItemObject.Body
      if source.byteCount <= UInt64(ItemObject.inlineByteLimit) {
        body = .inline(try source.read(at: 0, count: Int(source.byteCount)))
      } else {
        body = .file(
          try await grouper.addFile(byteCount: source.byteCount) { (offset, count) throws(GroupError) in
            do { return try source.read(at: offset, count: count) } catch {
              throw GroupError.plugin("\(VaultError(error))")
            }
          })
      }
      let object = ItemObject(header: source.header, body: body)
      let marshalled = MarshalledObject(name: name(slot), content: try object.encoded(), files: object.files)
      try await grouper.sender.update(marshalled)
    } catch {
      throw VaultError(known: error) ?? VaultError(.other, "an item can't be put into a group: \(error)")
    }
  }

  /// The object at a place.
  static func name(_ slot: [UInt8]) -> ObjectName { ObjectName(className: className, objectID: hexadecimal(slot)) }

  /// A group's id as the vault notes it: 8 bytes.
  static func bytes(of group: String) throws -> [UInt8] {
    guard group.utf8.count == 16, let number = UInt64(group, radix: 16) else {
      throw VaultError(.damaged, "\(group) is no id of a group")
    }
    return (0..<8).map { UInt8(truncatingIfNeeded: number >> (56 - 8 * $0)) }
  }

  /// Hands on a file's bytes. Damage is told from what may pass: a full disk, a chunk that hasn't come.
  private static func read(_ file: FileReference, of grouper: Grouper, _ write: ([UInt8]) throws -> Void) throws {
    var failure: (any Error)?
    do {
      try grouper.readFile(file) { (bytes) throws(GroupError) in
        do { try write(bytes) } catch {
          failure = error
          throw .plugin("\(VaultError(error))")
        }
      }
    } catch {
      if let failure { throw failure }
      if case .forged = error { throw VaultError(.damaged, "the chunks of a group's item are not what they were") }
      throw error
    }
  }

  private func place(of change: RemoteChange, in group: GroupContext) async throws(GroupError) -> GroupPlace {
    guard let slot = GroupSlot(hexadecimal: change.name.objectID) else {
      throw .malformed(.invalidValue(field: "place of an item"))
    }
    let own: [UInt8]
    do { own = try Self.bytes(of: group.id) } catch { throw GroupError(taking: error) }
    guard let node = await group.grouper.ownCard?.node else { throw .noGroup }
    let version = change.version
    return GroupPlace(
      group: own, slot: slot.bytes, author: version.stream.bytes, sequence: version.sequence, own: node.bytes
    ) { author, sequence in
      guard let stream = StreamID(author) else { return false }
      return version.version[stream] >= sequence
    }
  }
}

/// An item's place in a group.
typealias GroupSlot = Identifier<GroupSlotKind>
/// Tells ``GroupSlot`` from other identifiers.
enum GroupSlotKind {}

extension GroupError {
  /// What keeps a vault from taking an object: damage is never tried again, everything else is.
  init(taking error: any Error) {
    switch error {
    case let error as GroupError: self = error
    case _ where VaultError(error).code == .damaged: self = .malformed(.invalidValue(field: "item"))
    default: self = .plugin("\(VaultError(error))")
    }
  }
}
