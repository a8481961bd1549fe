import ArgumentParser
import SecretVault
import Sodium
import VaultGroups

struct GroupAddCommand: OpenedCommand {
  static let configuration = CommandConfiguration(
    commandName: "add",
    abstract: "Keep an item in step among the members of a group.",
    discussion: """
      The item comes to all members' devices, and so does whatever 'vault item edit'
      and 'vault item delete' do to it later, on any of them. It travels as it is,
      encrypted: who holds a share of its key can open it, as ever. At most 64 MiB.

      Examples: vault group add Family photo.jpg
                vault item add family letter.txt --group Family
      """)

  @OptionGroup var named: GroupAndItemArgument
  @OptionGroup var global: GlobalOptions
  @OptionGroup var unlock: UnlockOptions

  func run(_ vault: Vault, _ console: Console) async throws {
    let named = try named.words
    let groups = VaultGroups(vault)
    let group = try await groups.findMember(named.group)
    let item = try vault.items.item(named.somebody)
    let watch = GroupWatch(item, into: [group.name])
    defer { watch.end() }
    let report = try await groups.add(item.id, to: group) { watch.note($0) }
    GroupedItems.note("\(item.shortName) is in the group \(group.name)", report, console)
    if console.json { try console.result(report.json(of: item)) }
  }
}

struct GroupDropCommand: OpenedCommand {
  static let configuration = CommandConfiguration(
    commandName: "drop",
    abstract: "Take an item out of a group; it stays on this device.",
    discussion: """
      It goes from the other members' devices, except where somebody has changed it
      meanwhile. To delete it here too, say 'vault item delete'. An item that isn't
      here, because its key isn't, is named by its id: see 'vault group items'.

      Example: vault group drop Family photo.jpg
      """)

  @OptionGroup var named: GroupAndItemArgument
  @OptionGroup var global: GlobalOptions
  @OptionGroup var unlock: UnlockOptions

  func run(_ vault: Vault, _ console: Console) async throws {
    let named = try named.words
    let groups = VaultGroups(vault)
    let group = try await groups.findMember(named.group)
    let place = try groups.item(named.somebody, of: group)
    let watch = GroupWatch(place, outOf: group.name)
    defer { watch.end() }
    let report = try await groups.drop(place, from: group) { watch.note($0) }
    let name = place.item?.shortName ?? String(place.id.prefix(12))
    let stays = place.item == nil ? "" : ", and stays here"
    GroupedItems.note("\(name) is no more in the group \(group.name)\(stays)", report, console)
    if console.json { try console.result(report.json(of: place.item)) }
  }
}

struct GroupAndItemArgument: ParsableArguments {
  @Argument(
    help: ArgumentHelp("The group, unless there is only one, and the item.", valueName: "[group] item"),
    completion: .groupsAndItems)
  var texts: [String] = []

  var words: GroupAndSomebody { get throws { try GroupAndSomebody(texts, "the item") } }

  func validate() throws { _ = try words }
}

struct GroupItemsCommand: OpenedCommand {
  static let configuration = CommandConfiguration(
    commandName: "items",
    abstract: "List the items that a group keeps in step.",
    discussion: """
      Asks nobody. An item whose key this device holds no share of is named by its id
      and isn't kept here; it comes once there is a share. Of two changes that didn't
      know of each other one counts; the other is "pushed aside" by it and stands
      beside it, for all members to see, until somebody changes or deletes it.

      Example: vault group items Family
      """)

  @OptionGroup var reference: GroupArgument
  @OptionGroup var global: GlobalOptions
  @OptionGroup var unlock: UnlockOptions

  func run(_ vault: Vault, _ console: Console) async throws {
    let groups = VaultGroups(vault)
    let items = try groups.items(of: await groups.findMember(reference.group))
    var table = TextTable("ITEM", "ID", "KEY", "SIZE", "STATE", "CHANGED")
    for item in items {
      table.add(
        item.item?.shortName ?? "?", String(item.id.prefix(12)), item.key,
        item.item.map { Measures.size($0.itemByteCount) } ?? "-", GroupedItems.state(of: item),
        Timestamp.minute(item.changedAt))
    }
    if items.isEmpty { console.note("no items yet; put one in with 'vault group add'") }
    try console.result(items.isEmpty ? [] : table.lines, json: .array(items.map(\.json)))
  }
}

/// What commands about items do where groups keep them in step.
enum GroupedItems {
  static func state(of item: GroupItem) -> String {
    let aside =
      !item.isAside ? "" : item.counts.map { ", pushed aside by \($0.prefix(12))" } ?? ", pushed aside by its removal"
    guard let here = item.item else { return (item.isKeyHeld ? "not here yet" : "key not held") + aside }
    return (item.isShared ? here.state.rawValue : "yours, not in step") + aside
  }

  /// Says what was done, and whether servers have it.
  static func note(_ words: String, _ report: GroupItemReport, _ console: Console) {
    console.note(words)
    GroupSync.tellOfUnsent(report.group, report.unsent, report.faults, console)
  }

  /// Puts a changed item into its place in all groups, and takes the old one from this device.
  static func replace(_ change: ItemChange, _ vault: Vault, _ console: Console) async throws {
    let groups = VaultGroups(vault)
    let places = Set(change.groups.map { hexadecimal($0.group) })
    var names: [String] = []
    if !places.isEmpty { names = try await groups.list().filter { places.contains($0.id) }.map(\.name) }
    let watch = GroupWatch(change.new, into: names, before: "the changed item is here, as \(change.new.id.prefix(12))")
    defer { watch.end() }
    let (reports, overtaken, foreign) = try await groups.replace(change) { watch.note($0) }
    for report in reports { note("the group \(report.group.name) has it", report, console) }
    for report in overtaken {
      console.warning(
        "somebody has changed \(change.old.shortName) in the group \(report.group.name) meanwhile, or taken it out: what is there stays, and yours stands beside it, for all members to see, as \(change.new.id.prefix(12))"
      )
      note("the group \(report.group.name) has it", report, console)
    }
    for group in foreign {
      console.warning(
        "somebody else has put \(change.old.shortName) into the group \(group.name): what is there stays as it was, and the change isn't sent there unless you say so: vault group add \(shellQuoted(group.name)) \(change.new.id.prefix(12))"
      )
    }
    // In a group that has the new one the old one went with it.
    let old = try vault.items.items().first {
      $0.id == change.old.id && $0.state != .waiting && $0.keyID == change.old.keyID
    }
    if let old { try vault.items.deleteItem(old) }
  }

  static func delete(_ item: ItemSummary, _ vault: Vault, _ console: Console) async throws {
    let (reports, foreign) = try await VaultGroups(vault).delete(item)
    for report in reports { note("it goes from the devices of the group \(report.group.name)", report, console) }
    for group in foreign {
      console.note(
        "somebody else has put it into the group \(group.name): it stays there, and comes here again as the group's; 'vault group drop' takes it out"
      )
    }
  }
}

extension VaultError {
  /// The same about a group that couldn't be told of an item, which is here nevertheless.
  func whileItemStays(_ item: ItemSummary) -> VaultError {
    VaultError(
      code, "\(reason); the item is kept here nevertheless, as \(item.id.prefix(12))",
      hint: hint ?? "put it into the group with `vault group add` later")
  }
}

extension GroupItem {
  var json: JSONValue {
    [
      "slot": .string(slot), "id": .string(id), "key": .string(key), "keyHeld": .bool(isKeyHeld),
      "item": item?.json ?? .null, "changedAt": .string(Timestamp.exact(changedAt)), "inStep": .bool(isShared),
      "aside": .bool(isAside), "counts": JSONValue(counts),
    ]
  }
}

extension GroupItemReport {
  func json(of item: ItemSummary?) -> JSONValue {
    [
      "group": .string(group.name), "groupID": .string(group.id), "item": item?.json ?? .null,
      "unsent": JSONValue(unsent),
    ]
  }
}
