import Glibc

/// The bytes of the picture's file or of standard input.
enum InputFile {
  static let byteLimit = 64 << 20

  /// Reads the whole of `path`; `-` is standard input. The size of a regular file is checked before it is read, and
  /// that of everything else while it is.
  static func read(_ path: String) throws(ScanError) -> [UInt8] {
    let descriptor = path == "-" ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { throw .system(doing: "open", errno: errno) }
    defer { if descriptor != STDIN_FILENO { close(descriptor) } }

    var status = stat()
    guard fstat(descriptor, &status) == 0 else { throw .system(doing: "read", errno: errno) }
    guard status.st_size <= byteLimit else { throw .fileTooLarge }

    var file: [UInt8] = []
    file.reserveCapacity(max(0, Int(status.st_size)))
    var chunk = [UInt8](repeating: 0, count: 64 << 10)
    while true {
      let count = Glibc.read(descriptor, &chunk, chunk.count)
      if count < 0 && errno == EINTR { continue }
      guard count >= 0 else { throw .system(doing: "read", errno: errno) }
      guard count > 0 else { return file }
      guard file.count + count <= byteLimit else { throw .fileTooLarge }
      file += chunk[..<count]
    }
  }
}
