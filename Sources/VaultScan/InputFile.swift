import Glibc

/// The picture's file or standard input, opened and not yet read.
struct InputFile: ~Copyable {
  static let byteLimit = 64 << 20

  let descriptor: Int32
  private let size: Int

  /// Opens `path`; `-` is standard input. The size of a regular file is checked here, that of everything else while it
  /// is read.
  init(_ path: String) throws(ScanError) {
    let descriptor = path == "-" ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { throw .system(doing: "open", errno: errno) }
    var status = stat()
    guard fstat(descriptor, &status) == 0 else { throw .system(doing: "read", errno: errno) }
    guard status.st_size <= Self.byteLimit else { throw .fileTooLarge }
    self.descriptor = descriptor
    size = max(0, Int(status.st_size))
  }

  deinit { if descriptor != STDIN_FILENO { close(descriptor) } }

  borrowing func read() throws(ScanError) -> [UInt8] {
    var file: [UInt8] = []
    file.reserveCapacity(size)
    var chunk = [UInt8](repeating: 0, count: 64 << 10)
    while true {
      let count = Glibc.read(descriptor, &chunk, chunk.count)
      if count < 0 && errno == EINTR { continue }
      guard count >= 0 else { throw .system(doing: "read", errno: errno) }
      guard count > 0 else { return file }
      guard file.count + count <= Self.byteLimit else { throw .fileTooLarge }
      file += chunk[..<count]
    }
  }
}
