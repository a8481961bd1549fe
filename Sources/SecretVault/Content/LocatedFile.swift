import Glibc
import Sodium
import VaultProtocol

/// A regular file that is read at any place.
final class LocatedFile: Sendable {
  private let file: RegularFile

  init(path: String) throws {
    file = try RegularFile(path: path, hint: "pack a folder first, for example with tar")
  }

  var byteCount: UInt64 { file.byteCount }
  var descriptor: Int32 { file.descriptor }

  /// Throws if somebody has written to it since it was opened.
  func checkUnchanged() throws {
    guard file.isUnchanged else { throw VaultError(.inputOutput, "\(file.path) changed while it was read") }
  }

  /// Exactly so many bytes.
  func read(at offset: UInt64, count: Int) throws -> HeldSecret {
    guard let start = Int64(exactly: offset), count >= 0 else { throw shortened }
    var bytes: SecretBytes
    do { bytes = try SecretBytes(zeros: count) } catch {
      throw VaultError(.other, "\(file.path) can't be read: \(error)")
    }
    try bytes.withUnsafeMutableBytes { buffer in
      var done = 0
      while done < buffer.count {
        let rest = UnsafeMutableRawBufferPointer(rebasing: buffer[done...])
        let got = pread(file.descriptor, rest.baseAddress, rest.count, off_t(start) + off_t(done))
        if got < 0 {
          guard errno == EINTR else { throw FileSource.failure("read", file.path, errno) }
          continue
        }
        guard got > 0 else { throw shortened }
        done += got
      }
    }
    return HeldSecret(bytes)
  }

  private var shortened: VaultError { VaultError(.inputOutput, "\(file.path) became shorter while it was read") }
}
