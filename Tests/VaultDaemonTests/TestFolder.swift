import Foundation

/// A new folder of a test, which the test removes.
struct TestFolder {
  let path: String

  init() throws {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("vault-daemon-" + UUID().uuidString)
    // Sockets lie in it, and others see nothing of it.
    try FileManager.default.createDirectory(
      at: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    path = folder.path
  }

  /// Writes a file, and the folder where it lies if that isn't there.
  func write(_ text: String, to name: String) throws {
    let file = URL(fileURLWithPath: "\(path)/\(name)")
    try FileManager.default.createDirectory(at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
    try Data(text.utf8).write(to: file)
  }

  /// What a file holds; nothing if it isn't there.
  func contents(_ name: String) -> String {
    FileManager.default.contents(atPath: "\(path)/\(name)").map { String(decoding: $0, as: UTF8.self) } ?? ""
  }

  func remove() { try? FileManager.default.removeItem(atPath: path) }
}
