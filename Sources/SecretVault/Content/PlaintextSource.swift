import Glibc
import Sodium

/// Bytes to be shared, of a length known before the first is read, because the encrypted payload begins with it.
protocol PlaintextSource: AnyObject {
  var byteCount: UInt64 { get }
  /// Fills the start of `buffer` and returns how much; 0 at the end.
  func read(into buffer: UnsafeMutableRawBufferPointer) throws -> Int
}

/// A regular file. Its length is taken once; a file that changes meanwhile is an error of the payload's own length check.
final class FileSource: PlaintextSource {
  private let file: RegularFile
  private var done: UInt64 = 0

  init(path: String) throws {
    file = try RegularFile(path: path, hint: "pack a folder first, for example with tar, or pipe it in with -")
    file.willBeReadThrough()
  }

  var byteCount: UInt64 { file.byteCount }

  var fingerprint: FileFingerprint { file.fingerprint }

  /// At its end, looks whether all that was read was of one state: a file that was overwritten in place is as long as before.
  func read(into buffer: UnsafeMutableRawBufferPointer) throws -> Int {
    let count = try readDescriptor(file.descriptor, file.path, into: buffer)
    done += UInt64(count)
    guard done < byteCount || file.isUnchanged else {
      throw VaultError(
        .inputOutput, "\(file.path) was changed while it was read; nothing was done",
        hint: "do it again once nobody writes to it")
    }
    return count
  }

  static func failure(_ verb: String, _ path: String, _ code: Int32) -> VaultError {
    VaultError(.inputOutput, "can't \(verb) \(path): \(String(cString: strerror(code)).lowercased())")
  }
}

/// Tells whether a path still leads to the very file, unchanged, that was read.
struct FileFingerprint: Hashable, Sendable {
  private let numbers: [Int64]

  init(_ status: stat) {
    numbers = [
      Int64(bitPattern: UInt64(status.st_dev)), Int64(bitPattern: UInt64(status.st_ino)), Int64(status.st_size),
      Int64(status.st_mtim.tv_sec), Int64(status.st_mtim.tv_nsec), Int64(status.st_ctim.tv_sec),
      Int64(status.st_ctim.tv_nsec),
    ]
  }

  /// Removes the file at `path` if it is still this one. False if it is another or a changed one: then it stays.
  func remove(_ path: String) throws -> Bool {
    var status = stat()
    guard lstat(path, &status) == 0 else { throw FileSource.failure("remove", path, errno) }
    guard FileFingerprint(status) == self else { return false }
    guard unlink(path) == 0 else { throw FileSource.failure("remove", path, errno) }
    return true
  }
}

/// A stream of unknown length, such as standard input: read to its end into an encrypted, nameless file first.
final class SpooledSource: PlaintextSource {
  private let spool: EncryptedSpool

  init(descriptor: Int32, name: String, stagingFolder: String) throws {
    spool = try EncryptedSpool(name: name, stagingFolder: stagingFolder)
    var buffer: SecretBytes
    do { buffer = try SecretBytes(zeros: EncryptedSpool.chunk) } catch {
      throw VaultError(.other, "no memory is left for \(name)")
    }
    while true {
      let count = try buffer.withUnsafeMutableBytes { bytes in try readDescriptor(descriptor, name, into: bytes) }
      guard count > 0 else { break }
      try buffer.withUnsafeBytes { bytes in try spool.append(UnsafeRawBufferPointer(rebasing: bytes[..<count])) }
    }
    try spool.finish()
  }

  var byteCount: UInt64 { spool.byteCount }

  func read(into buffer: UnsafeMutableRawBufferPointer) throws -> Int { try spool.read(into: buffer) }
}
