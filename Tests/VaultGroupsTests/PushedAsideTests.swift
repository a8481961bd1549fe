import Foundation
import Grouper
import SecretVault
import Sodium
import Synchronization
import Testing

@testable import VaultGroups

/// The place in docs/formats/groups.md, made again from its fixed inputs.
@Suite struct AsidePlaceTests {
  @Test func `the place of a version that was pushed aside is the one of the page`() throws {
    let old = [UInt8](repeating: 0x11, count: 8) + [UInt8](repeating: 0x22, count: 8)
    let place = try Items.asideSlot(of: old, item: [UInt8](repeating: 0x33, count: 32))
    let page = #filePath.replacing("Tests/VaultGroupsTests/PushedAsideTests.swift", with: "docs/formats/groups.md")
    let text = try String(contentsOfFile: page, encoding: .utf8).split(whereSeparator: \.isWhitespace)
      .joined(separator: " ")
    #expect(text.contains("the item id 32 bytes `33` it is `\(hexadecimal(place))`"), "\(hexadecimal(place))")
  }
}

/// Ann, ben and cleo in a group; all hold shares of a key, and change the same item without knowing of each other.
@Suite(.timeLimit(.minutes(5))) struct PushedAsideTests {
  private let house: House
  private let item: ItemSummary

  init() async throws {
    house = try House("ann", "ben", "cleo")
    _ = try await house[0].vault.items.createKey(named: "family", threshold: 2, recipients: ["ben", "cleo"]) { _ in }
    let group = try await house[0].groups.create(house.plan("Family"))
    for person in house.people.dropFirst() {
      _ = try await house[0].groups.invite(person.name, to: group)
      _ = try await person.groups.join("Family", email: "", userName: nil)
    }
    item = try await house[0].vault.items.addItem(
      ItemRequest(source: .file(path: try Self.write("first", in: house))), under: "family")
    _ = try await house[0].groups.add(item.id, to: family(0))
    try await meet()
  }

  private func family(_ number: Int) async throws -> GroupFacts { try await house[number].groups.find("Family") }

  /// All sync, one after the other, until everything that was sent can have come.
  private func meet(_ numbers: [Int] = [0, 1, 2, 0, 1, 2]) async throws {
    for number in numbers { _ = try await house[number].groups.sync(family(number)) }
  }

  private static func write(_ text: String, in house: House) throws -> String {
    let path = house.folder + "/note.txt"
    try Data(text.utf8).write(to: URL(fileURLWithPath: path))
    return path
  }

  /// Changes an item; others hear of it when they meet. Later changes are newer.
  private func edit(_ id: String, _ text: String, by number: Int) async throws -> String {
    let change = try await change(id, text, by: number)
    _ = try await house[number].groups.replace(change)
    return change.new.id
  }

  private func change(_ id: String, _ text: String, by number: Int) async throws -> ItemChange {
    house.clock.advance(seconds: 5)
    return try await house[number].vault.items.changeItem(
      id, .source(ItemRequest(source: .file(path: try Self.write(text, in: house)))))
  }

  private func entries(_ number: Int) async throws -> [GroupItem] {
    try house[number].groups.items(of: await family(number))
  }

  private func text(_ id: String, by number: Int) async throws -> String {
    let content = try await house[number].vault.items.itemContent(id)
    return content.body.withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
  }

  /// That somebody's group has one version that counts, and beside it these.
  private func expect(_ number: Int, _ counting: String?, beside aside: [String]) async throws {
    let entries = try await entries(number)
    #expect(entries.filter { !$0.isAside }.map(\.id) == (counting.map { [$0] } ?? []), "\(number)")
    #expect(entries.filter(\.isAside).map(\.id).sorted() == aside.sorted(), "\(number)")
    #expect(entries.allSatisfy { $0.isShared && $0.counts == ($0.isAside ? counting : nil) }, "\(number)")
    #expect(try house[number].vault.items.items().map(\.id).sorted() == entries.map(\.id).sorted(), "\(number)")
  }

  @Test func `of changes that don't know of each other one counts, and all members see the others`() async throws {
    let one = try await edit(item.id, "by ann", by: 0)
    let (other, last) = (try await edit(item.id, "by ben", by: 1), try await edit(item.id, "by cleo", by: 2))
    try await meet()
    for number in 0..<3 {
      try await expect(number, last, beside: [one, other])
      #expect(try await text(one, by: number) == "by ann")
      #expect(try await text(other, by: number) == "by ben")
    }
  }

  @Test func `who was away when it happened sees them, too`() async throws {
    let one = try await edit(item.id, "by ann", by: 0)
    let last = try await edit(item.id, "by ben", by: 1)
    try await meet([0, 1, 0, 1])
    house.clock.advance(seconds: 3 * 86_400)
    for _ in 0..<6 {
      house.clock.advance(seconds: 3600)
      try await meet([2, 0, 1])
    }
    try await expect(2, last, beside: [one])
    #expect(try await text(one, by: 2) == "by ann")
  }

  @Test func `what is settled goes from everybody`() async throws {
    let one = try await edit(item.id, "by ann", by: 0)
    let last = try await edit(item.id, "by ben", by: 1)
    try await meet()
    let both = try await edit(last, "by both", by: 2)
    _ = try await house[2].groups.delete(house[2].vault.items.deletableItem(one))
    try await meet()
    for number in 0..<3 { try await expect(number, both, beside: []) }
  }

  @Test func `who changes what was pushed aside makes an item like others of it`() async throws {
    let one = try await edit(item.id, "by ann", by: 0)
    let last = try await edit(item.id, "by ben", by: 1)
    try await meet()
    let changed = try await edit(one, "by ann after all", by: 0)
    try await meet()
    for number in 0..<3 {
      let entries = try await entries(number)
      #expect(Set(entries.map(\.id)) == [last, changed] && !entries.contains(where: \.isAside), "\(number)")
    }
  }

  @Test func `what somebody takes out while somebody else changes it stays, for all to see`() async throws {
    let one = try await edit(item.id, "by ann", by: 0)
    house.clock.advance(seconds: 5)
    _ = try await house[1].groups.delete(house[1].vault.items.deletableItem(item.id))
    try await meet()
    for number in 0..<3 { try await expect(number, nil, beside: [one]) }
  }

  @Test func `what is typed while the group brings another change stands beside that`() async throws {
    let (newer, vault) = (Kept(), house[1].vault)
    let change = try await vault.items.changeItem(
      item.id,
      .contents { (content) async throws in
        do {
          newer.id = try await edit(item.id, "by ann", by: 0)
          try await meet([1])
          let header = try content.header.duplicate()
          return SecretContent(header: header, body: try content.body.duplicate())
        } catch { throw VaultError(.other, "\(error)") }
      })
    #expect(try await house[1].groups.replace(change).overtaken.map(\.group.name) == ["Family"])
    try await meet()
    for number in 0..<3 { try await expect(number, newer.id, beside: [change.new.id]) }
  }

  @Test func `what this device's user takes out himself doesn't come back with what he was typing`() async throws {
    let change = try await change(item.id, "by ben", by: 1)
    let place = try house[1].groups.item(item.id, of: await family(1))
    _ = try await house[1].groups.drop(place, from: family(1))
    let (reports, overtaken, foreign) = try await house[1].groups.replace(change)
    #expect(reports.isEmpty && overtaken.isEmpty && foreign.isEmpty)
    try await meet()
    #expect(try await entries(0).isEmpty)
  }

  @Test func `whoever has it puts it there for somebody who isn't in the group any more`() async throws {
    let one = try await edit(item.id, "by ben", by: 1)
    try await meet([2])
    _ = try await house[0].groups.remove("ben", from: family(0))
    try await meet([2])
    // Ann's device hears of it no more than Ben's hears of hers.
    let last = try await edit(item.id, "by ann", by: 0)
    try await meet([0, 2, 0, 2])
    for number in [0, 2] { try await expect(number, last, beside: [one]) }
  }
}

/// What a closure has found out.
private final class Kept: Sendable {
  private let value = Mutex("")
  var id: String {
    get { value.withLock { $0 } }
    set { value.withLock { $0 = newValue } }
  }
}
