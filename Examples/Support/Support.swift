import Glibc
public import Sodium

/// What went wrong, as a sentence for people.
public struct Failure: Error {
  let sentence: String
  public init(_ sentence: String) { self.sentence = sentence }
}

/// Runs an example: whatever goes wrong ends it with a sentence and code 1.
public func run(_ name: String, _ body: @Sendable ([String]) async throws -> Void) async {
  do { try await body(Array(CommandLine.arguments.dropFirst())) } catch {
    let line = Array("\(name): \((error as? Failure)?.sentence ?? "\(error)")\n".utf8)
    _ = write(STDERR_FILENO, line, line.count)
    exit(1)
  }
}

/// A file whose bytes go straight into secret memory and out of it.
public struct SecretFile: ~Copyable {
  private let descriptor: Int32
  private let path: String

  public init(reading path: String) throws { try self.init(path, O_RDONLY) }

  /// A new file that only this user may read.
  public init(creating path: String) throws { try self.init(path, O_WRONLY | O_CREAT | O_EXCL) }

  private init(_ path: String, _ flags: Int32) throws {
    descriptor = Glibc.open(path, flags | O_CLOEXEC, 0o600)
    self.path = path
    guard descriptor >= 0 else { throw Failure("\(path): \(String(cString: strerror(errno)))") }
  }

  deinit { if descriptor >= 0 { close(descriptor) } }

  public func byteCount() throws -> Int {
    var status = stat()
    guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
      throw Failure("\(path) is no ordinary file")
    }
    return Int(status.st_size)
  }

  /// Appends what comes next, as far as there is room; nothing at the end.
  public func read(into output: inout OutputRawSpan) throws {
    try output.withUnsafeMutableBytes { buffer, initialized in
      while initialized < buffer.count {
        let count = Glibc.read(descriptor, buffer.baseAddress.map { $0 + initialized }, buffer.count - initialized)
        guard count >= 0 else { throw Failure("\(path): \(String(cString: strerror(errno)))") }
        if count == 0 { break }
        initialized += count
      }
    }
  }

  /// Fills secret memory with what comes next; returns how many bytes there were, fewer only at the end.
  public func read(into memory: inout SecretBytes) throws -> Int {
    try memory.withUnsafeMutableBytes { memory in
      var span = OutputRawSpan(buffer: memory, initializedCount: 0)
      try read(into: &span)
      return span.finalize(for: memory)
    }
  }

  /// The whole of a small file, of one length.
  public func secret(of count: Int) throws -> SecretBytes {
    guard try byteCount() == count else { throw Failure("\(path) hasn't \(count) bytes") }
    var secret = try SecretBytes(zeros: count)
    guard try read(into: &secret) == count else { throw Failure("\(path) has shrunk") }
    return secret
  }

  public func write(_ bytes: RawSpan) throws {
    try bytes.withUnsafeBytes { bytes in
      var rest = bytes[...]
      while !rest.isEmpty {
        let part = UnsafeRawBufferPointer(rebasing: rest)
        let count = Glibc.write(descriptor, part.baseAddress, part.count)
        guard count > 0 else { throw Failure("\(path): \(String(cString: strerror(errno)))") }
        rest = rest.dropFirst(count)
      }
    }
  }
}
