import Foundation
import SecretVault
import Sodium
import Testing

@testable import VaultGroups

/// Ann, ben and cleo in a group; ann and ben hold shares of a key, cleo holds none.
@Suite(.timeLimit(.minutes(5))) struct GroupItemTests {
  private let house: House

  init() async throws {
    house = try House("ann", "ben", "cleo")
    _ = try await house[0].vault.items.createKey(named: "family", threshold: 2, recipients: ["ben"]) { _ in }
    let group = try await house[0].groups.create(house.plan("Family"))
    for person in house.people.dropFirst() {
      _ = try await house[0].groups.invite(person.name, to: group)
      _ = try await person.groups.join("Family", email: "", userName: nil)
    }
    try await meet()
  }

  private func family(_ number: Int) async throws -> GroupFacts { try await house[number].groups.find("Family") }

  /// All sync, one after the other, until everything that was sent can have come.
  private func meet(_ numbers: [Int] = [0, 1, 2, 0, 1, 2]) async throws {
    for number in numbers { _ = try await house[number].groups.sync(family(number)) }
  }

  private func write(_ text: String, _ name: String = "note.txt") throws -> String {
    let path = house.folder + "/" + name
    try Data(text.utf8).write(to: URL(fileURLWithPath: path))
    return path
  }

  private func add(_ text: String, by number: Int = 0) async throws -> ItemSummary {
    let item = try await house[number].vault.items.addItem(
      ItemRequest(source: .file(path: try write(text))), under: "family")
    _ = try await house[number].groups.add(item.id, to: family(number))
    return item
  }

  /// Changes an item, and brings it to the servers.
  private func edit(_ id: String, _ text: String, by number: Int) async throws -> (ItemChange, [GroupFacts]) {
    let person = house[number]
    let change = try await person.vault.items.changeItem(id, .source(ItemRequest(source: .file(path: try write(text)))))
    return (change, try await person.groups.replace(change).overtaken.map(\.group))
  }

  private func ids(_ number: Int) throws -> [String] { try house[number].vault.items.items().map(\.id).sorted() }

  private func text(_ id: String, by number: Int) async throws -> String {
    let content = try await house[number].vault.items.itemContent(id)
    return content.body.withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
  }

  @Test func `an item, its change and its deletion come to everybody who can open it`() async throws {
    let item = try await add("first")
    try await meet()
    #expect(try ids(1) == [item.id])
    #expect(try await text(item.id, by: 1) == "first")
    let (change, overtaken) = try await edit(item.id, "second", by: 1)
    #expect(overtaken.isEmpty)
    try await meet([1, 0, 1])
    for number in 0..<2 { #expect(try ids(number) == [change.new.id]) }
    #expect(try await text(change.new.id, by: 0) == "second")
    _ = try await house[0].groups.delete(house[0].vault.items.deletableItem(change.new.id))
    #expect(try ids(0).isEmpty)
    try await meet([0, 1])
    #expect(try ids(1).isEmpty)
  }

  @Test func `an item comes to who was away for longer than servers keep it`() async throws {
    let item = try await add("first")
    house.clock.advance(seconds: 3 * 86_400)
    for _ in 0..<6 {
      house.clock.advance(seconds: 3600)
      try await meet([1, 0])
    }
    #expect(try ids(1) == [item.id])
  }

  @Test func `an item of many chunks comes whole`() async throws {
    let long = String(repeating: "0123456789abcdef", count: 60_000)
    let item = try await add(long)
    try await meet()
    #expect(try await text(item.id, by: 1) == long)
  }

  @Test func `who holds no share of the key hears of the item, and has it once there is one`() async throws {
    let item = try await add("first")
    try await meet()
    #expect(try ids(2).isEmpty)
    let entry = try #require(try house[2].groups.items(of: await family(2)).first)
    #expect(entry.id == item.id && entry.item == nil && !entry.isKeyHeld)
  }

  @Test func `an item that was lost comes back from the group`() async throws {
    let item = try await add("first")
    try await meet()
    _ = try house[1].vault.items.deleteItem(item.id)
    try await meet([1])
    #expect(try ids(1) == [item.id])
  }

  @Test func `an item that is taken out stays with who took it out, and goes from the others`() async throws {
    let item = try await add("first")
    try await meet()
    let place = try house[1].groups.item(item.id, of: await family(1))
    _ = try await house[1].groups.drop(place, from: family(1))
    try await meet([1, 0])
    #expect(try ids(1) == [item.id])
    #expect(try ids(0).isEmpty)
    let again = await vaultError { _ = try house[1].groups.item(item.id, of: await family(1)) }
    #expect(again?.code == .notFound)
  }

  @Test func `an item that a member can't open is his to take out of the group, by its id`() async throws {
    let item = try await add("first")
    try await meet()
    let place = try house[2].groups.item(String(item.id.prefix(12)).uppercased(), of: await family(2))
    #expect(place.item == nil && place.id == item.id)
    _ = try await house[2].groups.drop(place, from: family(2))
    try await meet([2, 1, 0])
    #expect(try ids(1).isEmpty)
    #expect(try house[2].groups.items(of: await family(2)).isEmpty)
  }

  @Test func `an item is in a group once`() async throws {
    let item = try await add("first")
    let error = await vaultError { _ = try await house[0].groups.add(item.id, to: family(0)) }
    #expect(error?.code == .usage)
    #expect(try await house[0].groups.groups(ofItem: item.id).map(\.name) == ["Family"])
  }

  @Test func `who puts somebody's own item into a group gets no later edit of it, and takes nothing away`() async throws
  {
    let item = try await house[0].vault.items.addItem(
      ItemRequest(source: .file(path: try write("first"))), under: "family")
    _ = try await house[0].vault.items.sendItem(item.id, to: "ben")
    _ = try await house[1].vault.items.acceptItem(item.id)
    _ = try await house[1].groups.add(item.id, to: family(1))
    try await meet()
    let change = try await house[0].vault.items.changeItem(
      item.id, .source(ItemRequest(source: .file(path: try write("second")))))
    let (reports, overtaken, foreign) = try await house[0].groups.replace(change)
    #expect(reports.isEmpty && overtaken.isEmpty && foreign.map(\.name) == ["Family"])
    try await meet()
    #expect(try house[1].groups.items(of: await family(1)).map(\.id) == [item.id])
    #expect(try ids(1) == [item.id])
    let place = try house[1].groups.item(item.id, of: await family(1))
    _ = try await house[1].groups.drop(place, from: family(1))
    try await meet()
    #expect(try ids(0) == [item.id, change.new.id].sorted())
  }

  @Test func `deleting what somebody else has put into a group takes it from nobody else`() async throws {
    let item = try await house[0].vault.items.addItem(
      ItemRequest(source: .file(path: try write("first"))), under: "family")
    _ = try await house[0].vault.items.sendItem(item.id, to: "ben")
    _ = try await house[1].vault.items.acceptItem(item.id)
    _ = try await house[1].groups.add(item.id, to: family(1))
    try await meet()
    #expect(try await house[0].groups.groups(ofItem: item.id).isEmpty)
    let (reports, foreign) = try await house[0].groups.delete(house[0].vault.items.deletableItem(item.id))
    #expect(reports.isEmpty && foreign.map(\.name) == ["Family"])
    try await meet()
    #expect(try ids(1) == [item.id])
  }

  @Test func `refusing what a peer has sent takes nothing from a group that has the same`() async throws {
    let item = try await add("first")
    try await meet()
    _ = try await house[0].vault.items.sendItem(item.id, to: "ben")
    let sent = try house[1].vault.items.deletableItem(item.id, from: "ann")
    #expect(sent.state == .waiting)
    let (reports, foreign) = try await house[1].groups.delete(sent)
    #expect(reports.isEmpty && foreign.isEmpty)
    try await meet()
    for member in 0...1 { #expect(try ids(member) == [item.id]) }
    #expect(try house[1].groups.items(of: await family(1)).map(\.isShared) == [true])
  }

  @Test func `what somebody else has put there is in step once its owner says so`() async throws {
    let item = try await house[0].vault.items.addItem(
      ItemRequest(source: .file(path: try write("first"))), under: "family")
    _ = try await house[0].vault.items.sendItem(item.id, to: "ben")
    _ = try await house[1].vault.items.acceptItem(item.id)
    _ = try await house[1].groups.add(item.id, to: family(1))
    try await meet()
    _ = try await house[0].groups.add(item.id, to: family(0))
    #expect(try house[0].groups.items(of: await family(0)).count == 1)
    let (change, _) = try await edit(item.id, "second", by: 0)
    try await meet()
    #expect(try house[1].groups.items(of: await family(1)).map(\.id) == [change.new.id])
  }

  @Test
  func
    `with too little of the disk free nothing comes from servers, what is made here goes there, and the reason is told`()
    async throws
  {
    let item = try await add("first")
    _ = try house[1].vault.core.set("keep-free", to: "100000T")
    let own = try await add("mine", by: 1)
    let error = await vaultError { try await meet([1]) }
    #expect(error?.code == .inputOutput && error?.reason.contains("too little of the disk") == true)
    #expect(try ids(1) == [own.id])
    try await meet([0])
    #expect(try ids(0) == [item.id, own.id].sorted())
    _ = try house[1].vault.core.set("keep-free", to: "0")
    try await meet([1])
    #expect(try ids(1) == [item.id, own.id].sorted())
  }

  @Test func `who leaves keeps the items`() async throws {
    let item = try await add("first")
    try await meet()
    _ = try await house[1].groups.leave(family(1), erases: false)
    #expect(try ids(1) == [item.id])
    #expect(try house[1].vault.items.groups(ofItem: item.id).isEmpty)
  }
}
