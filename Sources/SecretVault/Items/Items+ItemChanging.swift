package import SealedPayload
import Sodium

/// A changed item is another one in the old one's place.
package struct ItemChange: Sendable {
  package let old: ItemSummary
  package let new: ItemSummary
  /// Groups that have the old one, or had it when the change began, and its place in each.
  package let groups: [(group: [UInt8], slot: [UInt8])]
}

/// What an item is to hold from now on.
package enum ItemEdit: Sendable {
  /// What the user makes of its contents, which must fit into memory. The item's own password stays.
  case contents(@Sendable (consuming RecoveredContent) async throws -> SecretContent)
  /// The item's own password stays.
  case source(ItemRequest)
  /// What comes by a descriptor. The item's name, kind and own password stay. What isn't a file has a text form, which `text` reads, given
  /// the item's header.
  case contentsFrom(Int32, text: @Sendable (borrowing PayloadHeader) throws -> SecretContent)
}

/// An item's id stands for its bytes, so a changed item is a new one under the same key, which takes the old one's place.
extension Items {
  /// Encrypts the new contents under the same key. The old item is still there afterwards: the caller puts the new one into its place in
  /// groups, which removes it, or deletes it.
  package func changeItem(
    _ reference: String, _ edit: ItemEdit, access: ItemAccess = ItemAccess()
  ) async throws -> ItemChange {
    let item = try openableItem(reference)
    let old = try summary(item.record)
    var places = try groups(of: item.record)
    // Once, and before anything is typed: otherwise a key that can't be recovered again would cost the user what he wrote.
    let key = try await itemKey(item.key, access)
    var request: ItemRequest
    switch edit {
    case .source(let given):
      request = given
      let opening = item.opening(access)
      var reader = try itemReader(item, opening, key)
      request.password = try await opening.unlock(&reader)?.again()
    case .contentsFrom(let descriptor, let text):
      let plaintext = try await plaintext(replacing: item, key, descriptor, text, access)
      let new = try addItem(
        plaintext, under: item.record.keyID.description, sealedBy: key, description: item.header.description, access)
      return ItemChange(old: old, new: new, groups: try groups(of: item.record))
    case .contents(let change):
      let kept = KeptPassword()
      var asking = access
      asking.passwords = { (attempt) async throws in
        try kept.keep(try await access.passwords(attempt), attempt)
      }
      let content = try await itemContent(item, key, access: asking)
      request = ItemRequest(source: .memory(try await change(content)), password: try kept.again())
    }
    if request.description == nil, !item.header.description.isEmpty { request.description = item.header.description }
    let new = try addItem(request, under: item.record.keyID.description, sealedBy: key, access)
    // Groups may have changed meanwhile.
    for place in try groups(of: item.record) where !places.contains(where: { $0 == place }) { places.append(place) }
    return ItemChange(old: old, new: new, groups: places)
  }

  private func plaintext(
    replacing item: OpenableItem, _ key: borrowing SecretBytes, _ descriptor: Int32,
    _ text: (borrowing PayloadHeader) throws -> SecretContent, _ access: ItemAccess
  ) async throws -> ItemPlaintext {
    let opening = item.opening(access)
    var reader = try itemReader(item, opening, key)
    let password = try await opening.unlock(&reader)?.again()
    let header = try itemContentHeader(&reader, opening)
    guard header.kind != .file else {
      let body = try SpooledSource(descriptor: descriptor, name: "standard input", stagingFolder: folders.stagingPath)
      return ItemPlaintext(header: header, body: body, password: password)
    }
    let parts = try text(header).take()
    return ItemPlaintext(header: parts.header, body: MemorySource(parts.body), password: password)
  }
}
