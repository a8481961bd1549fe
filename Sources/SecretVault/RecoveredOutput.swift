import Glibc
import SealedPayload
import Sodium
import VaultStore

/// Where verified plaintext goes: a file that gets its name only at the end, or a descriptor.
struct RecoveredOutput: ~Copyable {
  private let destination: RecoveryDestination
  private let notes: OutputNotes?
  private var file: OutputFile?
  private var isOpen = false
  private var path = ""
  private var name = SuggestedName.fallback
  private var waiting: SecretBytes?
  private var byteCount: UInt64 = 0

  init(_ destination: RecoveryDestination, _ notes: OutputNotes? = nil) {
    self.destination = destination
    self.notes = notes
  }

  /// Whether bytes have gone where they can't be taken back: to a pipe, for example.
  var hasLeaked: Bool {
    if case .descriptor = destination { byteCount > 0 } else { false }
  }

  /// Takes bytes that have verified. Until the file's name is known they wait in secret memory.
  mutating func take(_ bytes: UnsafeRawBufferPointer) throws(VaultError) {
    byteCount += UInt64(bytes.count)
    if case .descriptor(let descriptor) = destination { return try Self.writeAll(bytes, to: descriptor) }
    if isOpen { return try write(bytes) }
    do {
      let before = try waiting.take() ?? SecretBytes(zeros: 0)
      var grown = try SecretBytes(zeros: before.count + bytes.count)
      grown.withUnsafeMutableBytes { target in
        before.withUnsafeBytes { target.copyMemory(from: $0) }
        UnsafeMutableRawBufferPointer(rebasing: target[before.count...]).copyMemory(from: bytes)
      }
      waiting = consume grown
    } catch {
      throw VaultError(.other, "no memory is left for the recovered file")
    }
  }

  /// Begins the file as soon as `opener` knows its name, and writes what has waited.
  mutating func settle(_ opener: borrowing PayloadOpener) throws(VaultError) {
    guard !isOpen, let name = Self.suggestedName(opener) else { return }
    self.name = name
    let overwrites: Bool
    switch destination {
    case .file(let given, let may): (path, overwrites) = (given, may)
    case .folder(let folder, let may):
      path = folder.hasSuffix("/") ? folder + name : "\(folder)/\(name)"
      overwrites = may
    case .descriptor: return
    }
    do throws(StoreError) {
      file = try OutputFile(path: path, overwrites: overwrites, notes: notes)
    } catch {
      throw Self.error(error, path)
    }
    isOpen = true
    guard let held = waiting.take() else { return }
    try held.withUnsafeBytes { (bytes) throws(VaultError) in try write(bytes) }
  }

  private mutating func write(_ bytes: UnsafeRawBufferPointer) throws(VaultError) {
    // Taken out while it is written: after a failure it is gone, and with it everything written.
    guard var open = file.take() else { return }
    do throws(StoreError) {
      try open.write(RawSpan(_unsafeBytes: bytes))
    } catch {
      throw Self.error(error, path)
    }
    file = consume open
  }

  /// Gives the file its name. Only for a payload that has verified to its last byte.
  mutating func commit() throws(VaultError) -> (path: String?, name: String, byteCount: UInt64) {
    guard let file = file.take() else { return (nil, name, byteCount) }
    do throws(StoreError) { try file.commit() } catch { throw Self.error(error, path) }
    return (path, name, byteCount)
  }

  /// The sanitised original name, once it is known.
  private static func suggestedName(_ opener: borrowing PayloadOpener) -> String? {
    opener.withHeader { header in SuggestedName.sanitised(header.fileName) }
  }

  /// What a failed output means to the user.
  static func error(_ error: StoreError, _ path: String) -> VaultError {
    switch error {
    case .alreadyExists:
      VaultError(
        .outputExists, "\(path) exists already", hint: "choose another name with -o, or overwrite it with --force")
    case .diskFull: VaultError(.inputOutput, "no room is left for \(path); nothing was written")
    case .notFound: VaultError(.inputOutput, "the folder of \(path) does not exist")
    default: VaultError(error)
    }
  }

  private static func writeAll(_ bytes: UnsafeRawBufferPointer, to descriptor: Int32) throws(VaultError) {
    var done = 0
    while done < bytes.count {
      let count = Glibc.write(descriptor, bytes.baseAddress.map { $0 + done }, bytes.count - done)
      if count < 0 {
        if errno == EINTR { continue }
        throw FileSource.failure("write", "the output", errno)
      }
      done += count
    }
  }
}
