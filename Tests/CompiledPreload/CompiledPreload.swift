package import Foundation

/// C that tests load into a program, to play the part of somebody who has taken it over, or of a machine that it doesn't
/// have.
package enum CompiledPreload {
  package struct Failure: Error, CustomStringConvertible {
    package let description: String
  }

  /// The path of the shared library made from `source` by the compiler that comes with Swift, in `folder`.
  package static func library(_ source: URL, in folder: URL) throws -> String {
    let name = source.deletingPathExtension().lastPathComponent
    let library = folder.appendingPathComponent("\(name)-preload.so")
    // Beside it first: another run of the tests may be loading the old one.
    let fresh = library.path + "-\(ProcessInfo.processInfo.processIdentifier)"
    let process = Process()
    process.executableURL = try compiler()
    process.arguments = ["-shared", "-fPIC", "-O1", "-Wall", "-Wextra", "-Werror", "-o", fresh, source.path]
    try process.run()
    process.waitUntilExit()
    guard process.terminationStatus == 0, rename(fresh, library.path) == 0 else {
      throw Failure(description: "clang could not compile \(source.path)")
    }
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
    guard let folder = folders.first(where: { FileManager.default.isExecutableFile(atPath: $0 + "/clang") }) else {
      throw Failure(description: "no clang in \(folders)")
    }
    return URL(fileURLWithPath: folder + "/clang")
  }
}
