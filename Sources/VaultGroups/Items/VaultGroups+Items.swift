public import Grouper
public import SecretVault
import Sodium
import Synchronization
import WireCodec

/// What became of an item in a group: the item, and how far what there is to say of it has gone.
public struct GroupItemReport: Sendable {
  /// The group.
  public let group: GroupFacts
  /// Messages that still have to reach servers; none if all of them have everything.
  public let unsent: Int
}

/// Items that groups keep in step. What is done here is durable when it returns; servers get it at once if they are there, else by
/// the daemon.
extension VaultGroups {
  /// How long a command tries to hand a change to the servers before it leaves that to the daemon.
  static let handingLimit = Duration.seconds(15)

  /// The items of a group, those that changed last first.
  public func items(of group: GroupFacts) throws(VaultError) -> [GroupItem] {
    try vault.groupItems(of: GroupItems.bytes(of: group.id))
  }

  /// The groups that keep an item in step.
  public func groups(ofItem reference: String) async throws(VaultError) -> [GroupFacts] {
    let ids = try vault.groups(ofItem: reference).map { hexadecimal($0.group) }
    guard !ids.isEmpty else { return [] }
    return try await list().filter { ids.contains($0.id) }
  }

  /// Puts an item into a group: it comes to all members, as it is, and who holds a share of its key can open it.
  public func add(_ reference: String, to group: GroupFacts) async throws(VaultError) -> GroupItemReport {
    let source = try vault.itemForGroup(reference)
    let own = try GroupItems.bytes(of: group.id)
    guard try !vault.groups(ofItem: hexadecimal(source.id)).contains(where: { $0.group == own }) else {
      throw VaultError(.usage, "\(source.name) is in the group \(group.name) already")
    }
    let slot: [UInt8]
    do { slot = try Randomness.bytes(16) } catch { throw VaultError(.other, "no randomness is to be had") }
    return try await change(group, "vault group add") { open in try await self.put(source, at: slot, open.grouper) }
  }

  /// Puts a changed item into its old one's place, in every group that has that. A group where somebody else has put something
  /// there meanwhile is left as it is, and is returned: then the changed item is one of its own.
  public func replace(_ change: ItemChange) async throws(VaultError) -> (
    reports: [GroupItemReport], overtaken: [GroupFacts]
  ) {
    guard !change.groups.isEmpty else { return ([], []) }
    let all = try await list()
    var (reports, overtaken): ([GroupItemReport], [GroupFacts]) = ([], [])
    for (own, slot) in change.groups {
      guard let group = all.first(where: { $0.id == hexadecimal(own) }) else { continue }
      let source = try vault.itemForGroup(change.new.id)
      let old = change.old.id
      let isOvertaken = Flag()
      let report = try await self.change(group, "vault item edit") { open in
        // Nobody else has the group now: what is there stays there until this is done.
        guard try self.vault.groupItems(of: own).contains(where: { $0.slot == hexadecimal(slot) && $0.id == old })
        else {
          return isOvertaken.raise()
        }
        try await self.put(source, at: slot, open.grouper)
      }
      if isOvertaken.isRaised { overtaken.append(group) } else { reports.append(report) }
    }
    return (reports, overtaken)
  }

  /// An item of a group, named like any other one, or by its id if it isn't here.
  public func item(_ reference: String, of group: GroupFacts) throws(VaultError) -> GroupItem {
    let all = try items(of: group)
    let missing: VaultError
    do throws(VaultError) {
      let id = try vault.item(reference).id
      if let item = all.first(where: { $0.id == id }) { return item }
      missing = Self.noItem(reference, group)
    } catch  where error.code == .notFound { missing = error }
    let id = reference.lowercased()
    let named = all.filter { $0.item == nil && id.utf8.count >= 4 && $0.id.hasPrefix(id) }
    guard let first = named.first else { throw missing }
    guard named.allSatisfy({ $0.id == first.id }) else {
      throw VaultError(
        .ambiguous, "\(named.count) items of the group \(group.name) fit \(reference)",
        hint: "name one by more of its id")
    }
    return first
  }

  /// Takes an item out of a group: it goes from the other members' devices, and stays on this one.
  public func drop(_ item: GroupItem, from group: GroupFacts) async throws(VaultError) -> GroupItemReport {
    let own = try GroupItems.bytes(of: group.id)
    let slots = try vault.groupItems(of: own).filter { $0.id == item.id }.map { $0.slot }
    return try await change(group, "vault group drop") { open in
      for slot in slots {
        try self.check(item.id, at: slot, of: own, group)
        guard let place = GroupSlot(hexadecimal: slot) else { throw Self.noItem(slot, group) }
        try await open.grouper.sender.delete(GroupItems.name(place.bytes))
      }
    }
  }

  /// Deletes an item, here and on the devices of all groups that keep it in step. Interrupted, it can be repeated.
  public func delete(_ reference: String) async throws(VaultError) -> [GroupItemReport] {
    let id = try vault.item(reference).id
    let places = try vault.groups(ofItem: id)
    let all = places.isEmpty ? [] : try await list()
    var reports: [GroupItemReport] = []
    for (own, slot) in places {
      guard let group = all.first(where: { $0.id == hexadecimal(own) }) else { continue }
      let report = try await change(group, "vault item delete") { open in
        try self.check(id, at: hexadecimal(slot), of: own, group)
        try await open.grouper.sender.delete(GroupItems.name(slot))
      }
      reports.append(report)
    }
    // Last: what this device takes out of a group stays here by itself.
    _ = try vault.deleteItem(id)
    return reports
  }

  // MARK: - Parts

  /// Changes a group, then hands the change to the servers if they are there.
  private func change(
    _ group: GroupFacts, _ what: String, _ body: (VaultGroup) async throws -> Void
  ) async throws(VaultError) -> GroupItemReport {
    let sleep = vault.surroundings.sleep
    return try await use(group.id, for: what) { open in
      try await body(open)
      await withTaskGroup(of: Void.self) { tasks in
        // What fails here is tried again by the daemon, and shows in the status.
        tasks.addTask { _ = try? await self.exchange(open, isFirst: false) }
        tasks.addTask { try? await sleep(Self.handingLimit) }
        await tasks.next()
        tasks.cancelAll()
      }
      let outbox = try await open.grouper.status().outbox
      return GroupItemReport(group: group, unsent: outbox.unsent)
    }
  }

  /// Throws unless a place still has the item that the user has named: somebody else's change may have come while the group was waited for.
  private func check(_ id: String, at slot: String, of own: [UInt8], _ group: GroupFacts) throws(VaultError) {
    guard try vault.groupItems(of: own).contains(where: { $0.slot == slot && $0.id == id }) else {
      throw VaultError(
        .refused, "somebody has changed or taken away \(id.prefix(12)) in the group \(group.name) just now",
        hint: "look at what is there with `vault group items`, and try again")
    }
  }

  private func put(_ source: GroupItemSource, at slot: [UInt8], _ grouper: Grouper) async throws {
    let body: ItemObject.Body
    if source.byteCount <= UInt64(ItemObject.inlineByteLimit) {
      body = .inline(try source.read(at: 0, count: Int(source.byteCount)))
    } else {
      body = .file(
        try await grouper.addFile(byteCount: source.byteCount) { (offset, count) throws(GroupError) in
          do throws(VaultError) { return try source.read(at: offset, count: count) } catch {
            throw GroupError.plugin("\(error)")
          }
        })
    }
    let object = ItemObject(header: source.header, body: body)
    let marshalled = MarshalledObject(
      name: GroupItems.name(slot), content: try object.encoded(), files: object.files)
    try await grouper.sender.update(marshalled)
  }

  private static func noItem(_ reference: String, _ group: GroupFacts) -> VaultError {
    VaultError(
      .notFound, "the group \(group.name) has no item \(reference)",
      hint: "see what it has with `vault group items`")
  }
}

/// Whether something was seen.
private final class Flag: Sendable {
  private let value = Mutex(false)
  var isRaised: Bool { value.withLock { $0 } }
  func raise() { value.withLock { $0 = true } }
}
