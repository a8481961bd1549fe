import CShims
import Glibc

/// Bytes as a file that lies in memory alone: for libraries that read from a path, in a process that may open no file.
final class MemoryFile: Sendable {
  private let descriptor: Int32
  var path: String { "/proc/self/fd/\(descriptor)" }

  init?(_ bytes: [UInt8]) {
    descriptor = vault_memory_file()
    guard descriptor >= 0 else { return nil }
    var done = 0
    while done < bytes.count {
      let count = bytes[done...].withUnsafeBytes { write(descriptor, $0.baseAddress, $0.count) }
      guard count > 0 else { return nil }
      done += count
    }
  }

  deinit { close(descriptor) }
}
