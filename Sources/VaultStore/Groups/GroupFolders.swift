import Glibc
package import Sodium

/// Where a vault keeps its groups: a folder for each, whose name is 16 random hexadecimal digits.
package struct GroupFolders: Sendable {
  package let path: String

  /// Begins the names of folders that are about to go.
  private static let leaving = ".leaving-"
  static let nameLength = 16

  package init(_ folders: VaultFolders) { path = folders.groupsPath }

  package func path(_ name: String) -> String { path + "/" + name }

  package static func isName(_ name: some StringProtocol) -> Bool {
    isHexadecimal(name.utf8, count: nameLength)
  }

  /// The names of all groups' folders, in order.
  package func names() throws(StoreError) -> [String] {
    let all: [String]
    do throws(StoreError) { all = try FileNames.list(path) } catch .notFound { return [] }
    return all.filter { Self.isName($0) }.sorted()
  }

  static let limit = 200

  package func create() throws(StoreError) -> String {
    guard try names().count < Self.limit else { throw .invalid("more than \(Self.limit) groups") }
    if mkdir(path, 0o700) == 0 {
      try FileNames.synchronizeFolder(SplitPath(path).folder)
    } else if errno != EEXIST {
      throw StoreError(errno: errno, path: path)
    }
    var status = stat()
    guard lstat(path, &status) == 0 else { throw StoreError(errno: errno, path: path) }
    guard status.st_mode & S_IFMT == S_IFDIR else { throw .inputOutput(path: path, reason: "is not a folder") }
    try checkPrivate(status, path: path)
    let name = try hexadecimal(withSodium(try Randomness.bytes(Self.nameLength / 2)))
    try FileNames.makeFolder(self.path(name))
    try FileNames.synchronizeFolder(path)
    return name
  }

  /// Removes a group's folder, which is gone at once: nobody finds half of one. The caller has it for himself.
  package func remove(_ name: String) throws(StoreError) {
    guard Self.isName(name) else { throw .invalid("the name of a group's folder") }
    let away = path(Self.leaving + name)
    guard rename(path(name), away) == 0 else {
      if errno == ENOENT { return }
      throw StoreError(errno: errno, path: path(name))
    }
    try FileNames.synchronizeFolder(path)
    guard FolderRemoval.remove(away) else { throw StoreError(errno: errno, path: away) }
  }

  /// Removes what is left of folders whose removal was interrupted.
  package func sweep() {
    guard let all = try? FileNames.list(path) else { return }
    for name in all where name.hasPrefix(Self.leaving) && Self.isName(name.dropFirst(Self.leaving.count)) {
      FolderRemoval.remove(path(name))
    }
  }
}

extension VaultKeys {
  /// The key under which the group in the folder of this name keeps what it knows.
  package func groupKey(_ name: String) throws(StoreError) -> SecretBytes {
    try withSodium(try subkey("vault/group-store/v1", name))
  }
}
