import Foundation
@testable import VaultStore

/// A vault in a folder of its own, removed when the process ends in good order.
final class ScratchHome: Sendable {
  let folders: VaultFolders
  let keys: VaultKeys
  let database: VaultDatabase

  init() throws {
    let base = getenv("TMPDIR").map { String(cString: $0) } ?? "/tmp"
    var template = Array("\(base)/vault-fuzz-XXXXXX".utf8CString)
    guard mkdtemp(&template) != nil else { throw StoreError.notFound(base) }
    let path = String(decoding: template.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    ScratchFolders.remove(atExit: path)
    folders = VaultFolders(home: path)
    let creation = try VaultCreation(in: folders, passphrase: nil)
    keys = creation.keys
    database = try creation.makeDatabase()
    try creation.commit()
  }

  /// Puts a file there as a careless or hostile hand would, without any of the care of the program itself.
  func write(_ bytes: [UInt8], to path: String) {
    let descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
    defer { close(descriptor) }
    let written = bytes.withUnsafeBytes { Foundation.write(descriptor, $0.baseAddress, $0.count) }
    guard descriptor >= 0, written == bytes.count else { violated("a file can be written: \(path)") }
  }
}

/// The folders to be removed when the process ends.
private enum ScratchFolders {
  nonisolated(unsafe) private static var paths: [String] = []

  static func remove(atExit path: String) {
    if paths.isEmpty { atexit { ScratchFolders.removeAll() } }
    paths.append(path)
  }

  private static func removeAll() {
    for path in paths { try? FileManager.default.removeItem(atPath: path) }
  }
}
