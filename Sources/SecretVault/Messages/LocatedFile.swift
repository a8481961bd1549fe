import Glibc
import Sodium
import VaultProtocol

/// A regular file that is read at any place.
final class LocatedFile: Sendable {
  let byteCount: UInt64
  private let descriptor: Int32
  private let path: String

  init(path: String) throws(VaultError) {
    // Without O_NONBLOCK a named pipe would hang here instead of being refused below.
    descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)
    guard descriptor >= 0 else { throw FileSource.failure("read", path, errno) }
    var status = stat()
    guard fstat(descriptor, &status) == 0 else {
      let code = errno
      Glibc.close(descriptor)
      throw FileSource.failure("read", path, code)
    }
    guard status.st_mode & S_IFMT == S_IFREG else {
      Glibc.close(descriptor)
      throw VaultError(.inputOutput, "\(path) is not a regular file", hint: "pack a folder first, for example with tar")
    }
    byteCount = UInt64(max(0, status.st_size))
    self.path = path
  }

  deinit { Glibc.close(descriptor) }

  /// Exactly so many bytes.
  func read(at offset: UInt64, count: Int) throws(VaultError) -> HeldSecret {
    guard let start = Int64(exactly: offset), count >= 0 else { throw shortened }
    var bytes: SecretBytes
    do throws(SodiumError) { bytes = try SecretBytes(zeros: count) } catch {
      throw VaultError(.other, "\(path) can't be read: \(error)")
    }
    try bytes.withUnsafeMutableBytes { (buffer) throws(VaultError) in
      var done = 0
      while done < buffer.count {
        let rest = UnsafeMutableRawBufferPointer(rebasing: buffer[done...])
        let got = pread(descriptor, rest.baseAddress, rest.count, off_t(start) + off_t(done))
        if got < 0 {
          guard errno == EINTR else { throw FileSource.failure("read", path, errno) }
          continue
        }
        guard got > 0 else { throw shortened }
        done += got
      }
    }
    return HeldSecret(bytes)
  }

  private var shortened: VaultError { VaultError(.inputOutput, "\(path) became shorter while it was read") }
}
