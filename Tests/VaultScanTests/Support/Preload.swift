import Foundation
import Testing

/// Sources in C beside these tests, compiled to be loaded into `vault-scan` before anything else.
enum Preload {
  static let intruder = Result { try compiled("Intruder") }
  static let camera = Result { try compiled("FakeCamera") }

  /// The path of the shared library made from `Preload/name.c` by the compiler that comes with Swift.
  private static func compiled(_ name: String) throws -> String {
    let source = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
      .appendingPathComponent("../Preload/\(name).c")
    let library = try Scan.program().deletingLastPathComponent().appendingPathComponent("\(name)-preload.so")
    // Beside it first: another run of the tests may be loading the old one.
    let fresh = library.path + "-\(getpid())"
    let process = Process()
    process.executableURL = try compiler()
    process.arguments = ["-shared", "-fPIC", "-O1", "-Wall", "-Wextra", "-Werror", "-o", fresh, source.path]
    try process.run()
    process.waitUntilExit()
    try #require(process.terminationStatus == 0, "clang could not compile \(name).c")
    try #require(rename(fresh, library.path) == 0)
    return library.path
  }

  /// clang lies in the toolchain whose runtime these tests run with.
  private static func compiler() throws -> URL {
    let maps = try String(contentsOfFile: "/proc/self/maps", encoding: .utf8)
    let runtimes = maps.split(separator: "\n").compactMap { line in
      line.range(of: "/lib/swift/linux/libswiftCore.so").map { line[..<$0.lowerBound] }
    }
    let folders =
      runtimes.compactMap { line in line.firstIndex(of: "/").map { String(line[$0...]) + "/bin" } }
      + (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":").map(String.init)
    let folder = folders.first { FileManager.default.isExecutableFile(atPath: $0 + "/clang") }
    return URL(fileURLWithPath: try #require(folder, "no clang in \(folders)") + "/clang")
  }
}
