import Glibc
package import Sodium

/// Small files that are either the old or the new one, whenever the machine stops.
package enum AtomicFile {
  /// Writes `bytes` to a temporary file of mode 0600 beside `path`, makes it durable, renames it and makes the name durable.
  /// Throws ``StoreError/alreadyExists(_:)`` if something has the name and `replacing` is false; then after any error the
  /// name is as free, or as taken, as it was before.
  package static func write(_ bytes: RawSpan, to path: String, replacing: Bool) throws(StoreError) {
    let folder = try SplitPath(path).folder
    let temporary = try folder + "/" + FileNames.temporary()
    do throws(StoreError) {
      let file = try OpenFile(temporary, O_WRONLY | O_CREAT | O_EXCL)
      try file.write(bytes)
      try file.synchronize()
      try FileNames.rename(temporary, to: path, replacing: replacing)
    } catch {
      unlink(temporary)
      throw error.renamed(from: temporary, to: path)
    }
    do throws(StoreError) { try FileNames.synchronizeFolder(folder) } catch {
      if !replacing { unlink(path) }
      throw error
    }
  }

  /// The bytes of a file that belongs to this user alone. Larger ones than `limit` are reported as damaged.
  package static func read(_ path: String, limit: Int) throws(StoreError) -> [UInt8] {
    try OpenFile.privateFile(path, O_RDONLY).readAll(limit: limit, what: path)
  }

  /// A secret file of exactly `count` bytes, read straight into secret memory.
  package static func readSecret(_ path: String, count: Int) throws(StoreError) -> SecretBytes {
    let file = try OpenFile.privateFile(path, O_RDONLY)
    guard try file.byteCount() == Int64(count) else { throw .damaged(path) }
    var secret = try withSodium(try SecretBytes(zeros: count))
    let read = try secret.withUnsafeMutableBytes { (buffer) throws(StoreError) in
      try file.read(into: buffer, at: 0)
    }
    guard read == count else { throw .damaged(path) }
    return secret
  }
}

extension StoreError {
  /// The same failure, told about the file that the user knows.
  func renamed(from temporary: String, to path: String) -> StoreError {
    switch self {
    case .diskFull(temporary): .diskFull(path: path)
    case .permissions(temporary): .permissions(path: path)
    case .readOnly(temporary): .readOnly(path: path)
    case .notFound(temporary): .notFound(path)
    case .inputOutput(temporary, let reason): .inputOutput(path: path, reason: reason)
    default: self
    }
  }
}
