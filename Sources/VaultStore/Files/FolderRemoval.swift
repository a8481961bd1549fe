import Glibc

/// Removes folders that this program has made, whatever somebody may have put into their place: symbolic links are removed,
/// never followed, and nothing is reached by a path that could have changed its meaning meanwhile.
enum FolderRemoval {
  /// Folders inside folders that are looked into.
  private static let depthLimit = 32

  /// Whether a name is `prefix` and the 32 hexadecimal digits of ``FileNames/random()``.
  static func isName(_ name: some StringProtocol, _ prefix: String) -> Bool {
    name.hasPrefix(prefix) && isHexadecimal(name.utf8.dropFirst(prefix.utf8.count), count: 32)
  }

  /// Removes a folder of this user's with everything in it; false if something stays. `wipes` writes zeros over its files
  /// first: for what lies in memory, where they go to the place of the text.
  @discardableResult
  static func remove(_ path: String, wipes: Bool = false) -> Bool {
    let folder = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
    guard folder >= 0 else { return errno == ENOENT }
    var status = stat()
    guard fstat(folder, &status) == 0, status.st_uid == geteuid() else {
      close(folder)
      return false
    }
    empty(folder, depthLimit, wipes)
    return rmdir(path) == 0
  }

  /// Empties an open folder and closes it.
  private static func empty(_ folder: Int32, _ depth: Int, _ wipes: Bool) {
    guard let stream = fdopendir(folder) else {
      close(folder)
      return
    }
    defer { closedir(stream) }
    while let entry = readdir(stream) {
      withUnsafePointer(to: &entry.pointee.d_name) { name in
        name.withMemoryRebound(to: CChar.self, capacity: 256) { remove($0, in: folder, depth, wipes) }
      }
    }
  }

  private static func remove(_ name: UnsafePointer<CChar>, in folder: Int32, _ depth: Int, _ wipes: Bool) {
    guard strcmp(name, ".") != 0, strcmp(name, "..") != 0 else { return }
    var status = stat()
    guard fstatat(folder, name, &status, AT_SYMLINK_NOFOLLOW) == 0 else { return }
    if status.st_mode & S_IFMT == S_IFDIR {
      let inner = openat(folder, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
      if inner >= 0, depth > 0 { empty(inner, depth - 1, wipes) } else if inner >= 0 { close(inner) }
      unlinkat(folder, name, AT_REMOVEDIR)
      return
    }
    if wipes, status.isRegularFile, status.st_nlink == 1 { wipe(name, in: folder, Int(status.st_size)) }
    unlinkat(folder, name, 0)
  }

  private static func wipe(_ name: UnsafePointer<CChar>, in folder: Int32, _ byteCount: Int) {
    let file = openat(folder, name, O_WRONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
    guard file >= 0 else { return }
    defer { close(file) }
    let zeros = [UInt8](repeating: 0, count: 65536)
    var done = 0
    while done < byteCount {
      let count = pwrite(file, zeros, min(zeros.count, byteCount - done), off_t(done))
      guard count > 0 else { return }
      done += count
    }
  }
}
