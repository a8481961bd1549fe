package import Sodium
package import VaultStore

/// What commands need that show, edit or copy something in the clear.
extension VaultCore {
  /// A folder in memory for what an editor must have as a file. It is noted in this vault, so that whoever opens the vault
  /// next removes it if this process is killed.
  package func makeClearFolder(in bases: [String]) throws -> ClearFolder {
    try ClearFolder(in: bases, notes: OutputNotes(folders))
  }

  /// Writes something to a file, which gets its name only when all is on the disk. Returns the path.
  package func write(_ content: borrowing SecretBytes, to path: String, overwrites: Bool) throws -> String {
    do {
      var file = try OutputFile(path: path, overwrites: overwrites, notes: OutputNotes(folders))
      try file.write(content.bytes)
      try file.commit()
    } catch {
      throw RecoveredOutput.error(error, path)
    }
    return path
  }

  /// Where what is on the clipboard is noted.
  package var clipboardFolder: String { folders.clipboardPath }

  /// A hash by which this vault alone recognises a secret.
  package func recognition(of secret: borrowing SecretBytes, salt: [UInt8]) throws -> [UInt8] {
    try keys.recognition(of: secret, salt: salt)
  }
}
