import Sodium

/// Files that have come, for whoever takes them piece by piece: a plugin, in the middle of a change.
extension GroupStore {
  /// Hands on a file's bytes in order. They are right only when this returns: whoever takes them keeps nothing before.
  ///
  /// Throws ``GroupError/invalid(_:)`` if some of it hasn't come yet, ``GroupError/forged(_:)`` if it isn't what it was, and what
  /// `take` throws.
  package func readFile(
    _ file: FileReference, _ take: (_ piece: [UInt8]) throws(GroupError) -> Void
  ) throws(GroupError) {
    var hash = try Self.fileHash()
    for part in 0..<file.chunkCount {
      let bytes = try chunk(part, of: file)
      hash.append(bytes)
      try take(bytes)
    }
    guard hash.digest().bytes == file.digest else { throw .forged("the file") }
  }

  static func fileHash() throws(GroupError) -> DomainHash {
    return try sodium(DomainHash("vault/group-file/v1"))
  }

  private func chunk(_ part: UInt64, of file: FileReference) throws(GroupError) -> [UInt8] {
    guard let bytes = try read({ transaction in try transaction.chunk(file, part: part) }) else {
      throw .invalid("part \(part + 1) of \(file.chunkCount) of the file hasn't come yet")
    }
    let start = part * UInt64(FileReference.chunkByteCount)
    let expected = min(UInt64(FileReference.chunkByteCount), file.byteCount - start)
    guard UInt64(bytes.count) == expected else { throw .forged("a part of the file") }
    return bytes
  }
}
