import CShims
import Glibc
import Sodium

/// Whether a text is so many hexadecimal digits in lower case.
func isHexadecimal(_ text: some Sequence<UInt8>, count: Int) -> Bool {
  var rest = count
  for character in text {
    guard (0x30...0x39).contains(character) || (0x61...0x66).contains(character) else { return false }
    rest -= 1
  }
  return rest == 0
}

/// The folder and the last component of a path.
struct SplitPath {
  let folder: String
  let name: String

  /// Refuses a path that can't name a file.
  init(_ path: String) throws(StoreError) {
    guard !path.utf8.contains(0) else { throw .invalid("a path with a NUL character") }
    // Scalars, not characters: a slash with a combining mark behind it is still one to the file system.
    let scalars = path.unicodeScalars
    if let slash = scalars.lastIndex(of: "/") {
      folder = slash == scalars.startIndex ? "/" : String(scalars[..<slash])
      name = String(scalars[scalars.index(after: slash)...])
    } else {
      folder = "."
      name = path
    }
    guard !name.isEmpty, name != ".", name != ".." else {
      throw .inputOutput(path: path, reason: "is not a file name")
    }
    guard name.utf8.count <= 255 else { throw .inputOutput(path: path, reason: "the file name is too long") }
  }
}

package enum FileNames {
  /// Beginning of the names of all temporary files that this module makes beside others.
  static let temporaryPrefix = ".vault-temporary-"

  /// A name that nobody can foresee.
  static func temporary() throws(StoreError) -> String { try temporaryPrefix + random() }

  /// 128 random bits in hexadecimal.
  static func random() throws(StoreError) -> String {
    try hexadecimal(withSodium(try Randomness.bytes(16)))
  }

  /// Removes a name. That it isn't there is no error.
  static func remove(_ path: String) throws(StoreError) {
    guard unlink(path) != 0, errno != ENOENT else { return }
    throw StoreError(errno: errno, path: path)
  }

  static func makeFolder(_ path: String) throws(StoreError) {
    guard mkdir(path, 0o700) == 0 else { throw StoreError(errno: errno, path: path) }
  }

  /// Gives `source` the name `destination`. Replaces what is there only if `replacing`.
  static func rename(_ source: String, to destination: String, replacing: Bool) throws(StoreError) {
    if replacing {
      _ = try retrying(destination) { Glibc.rename(source, destination) }
    } else {
      try renameExclusively(source, to: destination, in: AT_FDCWD, path: destination)
    }
  }

  /// Ways to give a file a name that must be free, the best first.
  enum ExclusiveWay {
    /// In one step.
    case rename
    /// A hard link refuses an existing name, too; then the old name goes.
    case link
    /// For file systems that can do neither.
    case placeholder
  }

  /// Gives `source` the name `destination`, both in the open folder `folder`, unless something has that name. Ways better
  /// than `best` are not tried.
  static func renameExclusively(
    _ source: String, to destination: String, in folder: Int32, path: String, best: ExclusiveWay = .rename
  ) throws(StoreError) {
    if best == .rename {
      if vault_rename_exclusively(folder, source, destination) == 0 { return }
      guard [EINVAL, ENOSYS].contains(errno) else { throw StoreError(errno: errno, path: path) }
    }
    if best != .placeholder {
      if linkat(folder, source, folder, destination, 0) == 0 {
        unlinkat(folder, source, 0)
        return
      }
      guard [EPERM, EOPNOTSUPP, ENOSYS, EMLINK].contains(errno) else { throw StoreError(errno: errno, path: path) }
    }
    try Placeholder(destination, in: folder, path: path).becomes(source)
  }

  /// Whether there is no room for a small file beside `path`. SQLite reports a full disk as such only where it writes the
  /// database itself; elsewhere (shared memory, growing, syncing) it is an input/output error like any other, and the
  /// system's error number is gone by then. So the disk is asked.
  static func hasNoRoom(beside path: String) -> Bool {
    guard let folder = try? SplitPath(path).folder, let name = try? temporary() else { return false }
    let probe = open(folder + "/" + name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
    guard probe >= 0 else { return isNoRoom(errno) }
    defer {
      close(probe)
      unlink(folder + "/" + name)
    }
    // Twice the step in which SQLite's shared memory grows.
    return isNoRoom(posix_fallocate(probe, 0, 65_536))
  }

  /// Whether a file may be written to, and others made beside it.
  static func isWritable(_ path: String) -> Bool {
    guard access(path, W_OK) == 0, let folder = try? SplitPath(path).folder, let name = try? temporary(),
      (try? OpenFile(folder + "/" + name, O_WRONLY | O_CREAT | O_EXCL)) != nil
    else { return false }
    return unlink(folder + "/" + name) == 0
  }

  private static func isNoRoom(_ code: Int32) -> Bool { [ENOSPC, EDQUOT, EFBIG].contains(code) }

  /// Makes the names in a folder durable.
  static func synchronizeFolder(_ path: String) throws(StoreError) {
    let folder = try OpenFile.folder(path)
    // Some file systems have nothing to do here and say so.
    guard fsync(folder.descriptor) != 0, errno != EINVAL else { return }
    throw StoreError(errno: errno, path: path)
  }

  package static func list(_ path: String) throws(StoreError) -> [String] {
    guard let stream = opendir(path) else { throw StoreError(errno: errno, path: path) }
    defer { closedir(stream) }
    var names: [String] = []
    while let entry = readdir(stream) {
      let name = withUnsafeBytes(of: &entry.pointee.d_name) { bytes in
        String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
      }
      if name != "." && name != ".." { names.append(name) }
    }
    return names
  }
}

/// An empty file that holds a name until a finished file takes its place. If that doesn't come about, or a signal ends
/// the process before (``UnlinkRegistry``), it is removed; only a process that is killed outright leaves it.
struct Placeholder: ~Copyable {
  private let name: String
  private let folder: Int32
  private let path: String
  private let registration: Int?
  private var isTaken = false

  /// Takes `name` in the open folder `folder`. Throws ``StoreError/alreadyExists(_:)`` if something has it.
  init(_ name: String, in folder: Int32, path: String) throws(StoreError) {
    let file = try retrying(path) {
      openat(folder, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
    }
    close(file)
    // Registered only now: before, the name was somebody else's.
    registration = UnlinkRegistry.register(name, in: folder)
    self.name = name
    self.folder = folder
    self.path = path
  }

  deinit {
    if !isTaken { unlinkat(folder, name, 0) }
    if let registration { UnlinkRegistry.release(registration) }
  }

  consuming func becomes(_ source: String) throws(StoreError) {
    guard renameat(folder, source, folder, name) == 0 else { throw StoreError(errno: errno, path: path) }
    isTaken = true
  }
}
