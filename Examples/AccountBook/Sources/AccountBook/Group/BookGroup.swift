import Foundation
import GrouperHTTP
import HTTPLink
import Grouper

/// The book's group, if it has one: a household's devices.
extension Book {
  /// Begins with the group, for one command at a time.
  func grouper() async throws -> Grouper {
    try await Grouper.setup(
      applicationID: "account-book", entities: Self.entities.map { $0.table },
      store: GroupStore(
        path: folder.appendingPathComponent("group.sqlite").path,
        sealer: KeyFileSealer(path: folder.appendingPathComponent("group.key").path)),
      plugin: BookPlugin(book: self))
  }

  /// Saves an entity that is new or has changed, and sends it if there is a group.
  func keep(_ entity: some Entity) async throws {
    try save(entity)
    try await groupIfAny()?.sender.update(entity)
  }

  /// Deletes an entity, and says so if there is a group.
  func drop(_ entity: some Entity) async throws {
    try delete(entity)
    try await groupIfAny()?.sender.delete(entity)
  }

  private func groupIfAny() async throws -> Grouper? {
    guard FileManager.default.fileExists(atPath: folder.appendingPathComponent("group.sqlite").path) else { return nil }
    let grouper = try await grouper()
    return await grouper.isInGroup ? grouper : nil
  }
}
