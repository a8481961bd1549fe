import CompiledPreload
import Foundation

/// Libraries that tests load into `vault-scan`.
enum Preload {
  static let intruder = Result { try compiled("Intruder") }
  static let camera = Result { try compiled("FakeCamera") }

  private static func compiled(_ name: String) throws -> String {
    let source = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
      .appendingPathComponent("../Preload/\(name).c")
    return try CompiledPreload.library(source, in: try Scan.program().deletingLastPathComponent())
  }
}
