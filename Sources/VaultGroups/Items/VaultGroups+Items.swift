import Grouper
package import SecretVault
import Sodium

/// How far what was changed in a group has gone.
package struct GroupItemReport: Sendable {
  package let group: GroupFacts
  /// Messages that still have to reach servers; none if all of them have everything.
  package let unsent: Int
  /// Why servers haven't taken them, each with its address.
  package let faults: [String]
}

/// Items that groups keep in step. What is done here is durable when it returns; servers get it at once if they are
/// there, else by the daemon.
extension VaultGroups {
  /// How long a command tries to hand a change to the servers before it leaves that to the daemon.
  static let handingLimit = Duration.seconds(15)

  /// The items of a group, those that changed last first.
  package func items(of group: GroupFacts) throws -> [GroupItem] {
    try items.groupItems(of: GroupItems.bytes(of: group.id))
  }

  /// The groups that keep an item in step.
  package func groups(ofItem reference: String) async throws -> [GroupFacts] {
    var ids: [String] = []
    for (own, slot) in try items.groups(ofItem: reference)
    where try items.groupItems(of: own).contains(where: { $0.slot == hexadecimal(slot) && $0.isShared }) {
      ids.append(hexadecimal(own))
    }
    guard !ids.isEmpty else { return [] }
    return try await list().filter { ids.contains($0.id) }
  }

  /// Puts an item into a group: it comes to all members, as it is, and who holds a share of its key can open it.
  /// - Parameter noting: is told when that is durable, before servers are.
  package func add(
    _ reference: String, to group: GroupFacts, noting: @escaping @Sendable (GroupFacts) -> Void = { _ in }
  ) async throws -> GroupItemReport {
    let source = try items.itemForGroup(reference)
    let own = try GroupItems.bytes(of: group.id)
    let there = try items.groupItems(of: own).filter { $0.id == hexadecimal(source.id) && $0.item != nil }
    guard !there.contains(where: \.isShared) else {
      throw VaultError(.usage, "\(source.name) is in the group \(group.name) already")
    }
    // Where somebody else has put it already: one place is enough, once it is there by the user's own word.
    let slot: [UInt8]
    if let place = there.first.flatMap({ GroupSlot(hexadecimal: $0.slot) }) {
      slot = place.bytes
    } else {
      do { slot = try Randomness.bytes(16) } catch { throw VaultError(.other, "no randomness is to be had") }
    }
    return try await change(group, "vault group add") { open in
      try await GroupItems.put(source, at: slot, open.grouper)
      noting(group)
    }
  }

  /// Puts a changed item into its old one's place, in every group that has that. Where somebody else has put something
  /// there meanwhile, or has taken the old one away, that stays, and the changed item stands beside it (`overtaken`). A
  /// group where somebody else has put the old item is left as it is (`foreign`): only the user's word spreads what was
  /// on this device before.
  /// - Parameter noting: is told of each group when it has the changed item, before servers are.
  package func replace(
    _ change: ItemChange, noting: @escaping @Sendable (GroupFacts) -> Void = { _ in }
  ) async throws -> (reports: [GroupItemReport], overtaken: [GroupItemReport], foreign: [GroupFacts]) {
    guard !change.groups.isEmpty else { return ([], [], []) }
    let all = try await list()
    var (reports, overtaken): ([GroupItemReport], [GroupItemReport]) = ([], [])
    var foreign: [GroupFacts] = []
    for (own, slot) in change.groups {
      guard let group = all.first(where: { $0.id == hexadecimal(own) }) else { continue }
      let source = try items.itemForGroup(change.new.id)
      let old = change.old.id
      var (isOvertaken, isLeft, isForeign) = (false, false, false)
      let report = try await self.change(group, "vault item edit") { open in
        // Nobody else has the group now: what is there stays there until this is done.
        if let there = try self.items.groupItems(of: own).first(where: {
          $0.slot == hexadecimal(slot) && $0.id == old
        }) {
          guard there.isShared else { return isForeign = true }
          try await GroupItems.put(source, at: slot, open.grouper)
          return noting(group)
        }
        // What this device's user has taken out of the group stays out of it.
        let newest = try await open.grouper.newest(GroupItems.name(slot))
        if let newest, newest.isDeletion, await newest.sender == open.grouper.ownCard?.node { return isLeft = true }
        isOvertaken = true
        try await GroupItems.put(source, at: try Items.asideSlot(of: slot, item: source.id), open.grouper)
        noting(group)
      }
      if isForeign {
        foreign.append(group)
      } else if isOvertaken {
        overtaken.append(report)
      } else if !isLeft {
        reports.append(report)
      }
    }
    return (reports, overtaken, foreign)
  }

  /// An item of a group, named like any other one, or by its id if it isn't here.
  package func item(_ reference: String, of group: GroupFacts) throws -> GroupItem {
    let all = try items(of: group)
    let missing: VaultError
    do {
      let id = try items.item(reference).id
      if let item = all.first(where: { $0.id == id && $0.item != nil }) { return item }
      missing = Self.noItem(reference, group)
    } catch  where VaultError(error).code == .notFound { missing = VaultError(error) }
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
  /// - Parameter noting: is told when that is durable, before servers are.
  package func drop(
    _ item: GroupItem, from group: GroupFacts, noting: @escaping @Sendable (GroupFacts) -> Void = { _ in }
  ) async throws -> GroupItemReport {
    let own = try GroupItems.bytes(of: group.id)
    let slots = try items.groupItems(of: own).filter { $0.id == item.id && $0.keyID == item.keyID }.map(\.slot)
    return try await change(group, "vault group drop") { open in
      for slot in slots {
        try self.check(item.id, at: slot, of: own, group)
        guard let place = GroupSlot(hexadecimal: slot) else { throw Self.noItem(slot, group) }
        try await open.grouper.sender.delete(GroupItems.name(place.bytes))
      }
      noting(group)
    }
  }

  /// Deletes an item, here and on the devices of all groups that keep it in step. Where somebody else has put it, it
  /// stays, and comes here again as the group's (`foreign`). What a peer has sent, and waits, is deleted alone.
  /// Interrupted, it can be repeated.
  @discardableResult
  package func delete(_ item: ItemSummary) async throws -> (reports: [GroupItemReport], foreign: [GroupFacts]) {
    guard item.state != .waiting else {
      try items.deleteItem(item)
      return ([], [])
    }
    let places = try items.groups(ofItem: item.id)
    let all = places.isEmpty ? [] : try await list()
    var (reports, foreign): ([GroupItemReport], [GroupFacts]) = ([], [])
    for (own, slot) in places {
      guard let group = all.first(where: { $0.id == hexadecimal(own) }) else { continue }
      var isForeign = false
      let report = try await change(group, "vault item delete") { open in
        guard try self.check(item.id, at: hexadecimal(slot), of: own, group).isShared else { return isForeign = true }
        try await open.grouper.sender.delete(GroupItems.name(slot))
      }
      if isForeign { foreign.append(group) } else { reports.append(report) }
    }
    // Last: what this device takes out of a group stays here by itself.
    try items.deleteItem(item)
    return (reports, foreign)
  }

  // MARK: - Parts

  /// Changes a group, then hands the change to the servers if they are there.
  private func change(
    _ group: GroupFacts, _ what: String, _ body: (VaultGroup) async throws -> Void
  ) async throws -> GroupItemReport {
    try await use(group.id, for: what) { open in
      try await body(open)
      return try await hand(open, of: group)
    }
  }

  /// Hands what waits in a group to its servers, for as long as a command waits for that. What fails is tried again by
  /// the daemon, and shows in the report.
  func hand(_ open: VaultGroup, of group: GroupFacts, isForced: Bool = false) async throws -> GroupItemReport {
    let sleep = core.surroundings.sleep
    await withTaskGroup(of: Void.self) { tasks in
      tasks.addTask { _ = try? await self.exchange(open, isFirst: false, isForced: isForced) }
      tasks.addTask { try? await sleep(Self.handingLimit) }
      await tasks.next()
      tasks.cancelAll()
    }
    let status = try await open.grouper.status()
    return GroupItemReport(group: group, unsent: status.outbox.unsent, faults: status.serverFaults)
  }

  /// What a place has. Throws unless that is still the item that the user has named: somebody else's change may have
  /// come while the group was waited for.
  @discardableResult
  private func check(_ id: String, at slot: String, of own: [UInt8], _ group: GroupFacts) throws -> GroupItem {
    guard let item = try items.groupItems(of: own).first(where: { $0.slot == slot && $0.id == id }) else {
      throw VaultError(
        .refused, "somebody has changed or taken away \(id.prefix(12)) in the group \(group.name) just now",
        hint: "look at what is there with `vault group items`, and try again")
    }
    return item
  }

  private static func noItem(_ reference: String, _ group: GroupFacts) -> VaultError {
    VaultError(
      .notFound, "the group \(group.name) has no item \(reference)",
      hint: "see what it has with `vault group items`")
  }
}
