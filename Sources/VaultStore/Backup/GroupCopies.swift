import GRDB
import Glibc

/// Copies of all groups' databases, each of one moment, for a backup. They lie among fragments in the making, and go with them.
struct GroupCopies {
  /// Name in a backup, and where its contents lie.
  let files: [(name: String, path: String)]
  private let staging: FragmentStaging?

  /// Copies what is there. Whoever has a group goes on meanwhile: a copy is made within one read transaction.
  init(_ folders: VaultFolders, _ fragments: FragmentStore) throws(StoreError) {
    let groups = GroupFolders(folders)
    let names = try groups.names()
    guard !names.isEmpty else {
      files = []
      staging = nil
      return
    }
    let staging = try FragmentStaging(fragments, count: names.count)
    var files: [(name: String, path: String)] = []
    groups: for (place, name) in names.enumerated() {
      let folder = groups.path(name)
      let before = files.count
      for file in ["facts", "group.sqlite"] where access(folder + "/" + file, F_OK) == 0 {
        var path = folder + "/" + file
        if file == "group.sqlite" {
          let copy = staging.path(place + 1)
          do { try Self.copy(path, to: copy) } catch {
            // Left meanwhile: then it is no group of this vault any more.
            if access(path, F_OK) != 0 {
              files.removeSubrange(before...)
              continue groups
            }
            throw StoreError(database: error, path: path)
          }
          path = copy
        }
        files.append((BackupFormat.groups + "/" + name + "/" + file, path))
      }
    }
    self.files = files
    self.staging = staging
  }

  private static func copy(_ path: String, to copy: String) throws {
    var configuration = Configuration()
    configuration.label = "backup"
    // Read: a group that was left meanwhile isn't to be begun again as an empty one.
    configuration.readonly = true
    configuration.busyMode = .timeout(VaultDatabase.busySeconds)
    let database = try DatabaseQueue(path: path, configuration: configuration)
    defer { try? database.close() }
    try database.writeWithoutTransaction { db in try db.run("VACUUM INTO ?", [copy]) }
  }

  func close() { staging?.close() }
}
