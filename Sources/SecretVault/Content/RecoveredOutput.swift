import SealedPayload
import Sodium
import VaultStore

/// Where verified plaintext goes: a file that gets its name only at the end, a descriptor, or secret memory.
struct RecoveredOutput: ~Copyable {
  /// What becomes of the plaintext.
  enum Destination: Sendable {
    case outside(RecoveryDestination)
    /// It stays in secret memory, unless it is longer than this.
    case memory(limit: Int)
    /// It waits, encrypted, to be shared again.
    case spool(RecoveredSpool)
  }

  private let destination: Destination
  private let notes: OutputNotes?
  /// What the secret's public header says that it is; nil takes it for whatever it turns out to be.
  private let kind: UInt8?
  private var header: PayloadHeader?
  private var body: SecretBytes?
  private var file: OutputFile?
  private var isOpen = false
  private var path = ""
  private var name = SuggestedName.fallback
  /// The name inside, where the file in a folder got another one.
  private var originalName: String?
  private var waiting: SecretBytes?
  private var byteCount: UInt64 = 0

  init(_ destination: Destination, kind: UInt8? = nil, _ notes: OutputNotes? = nil) {
    self.destination = destination
    self.kind = kind
    self.notes = notes
  }

  /// Whether bytes have gone where they can't be taken back: to a pipe, for example.
  var hasLeaked: Bool {
    if case .outside(.descriptor) = destination { isOpen && byteCount > 0 } else { false }
  }

  /// Takes bytes that have verified. Until the file's name is known they wait in secret memory.
  mutating func take(_ bytes: UnsafeRawBufferPointer) throws {
    let position = Int(clamping: byteCount)
    byteCount += UInt64(bytes.count)
    if isOpen { return try pass(bytes, at: position) }
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

  /// Begins the file as soon as `opener` knows what it is and its name, and writes what has waited.
  mutating func settle(_ opener: borrowing PayloadOpener) throws {
    guard !isOpen, let facts = opener.withHeader({ Facts($0) }), let length = opener.bodyByteCount else { return }
    if let kind, kind != facts.kind.rawValue {
      throw VaultError(
        .damaged, "the dealer of this secret calls it something else outside than inside; nothing was written",
        hint: "every share and piece is exactly as the dealer signed it; ask for it again")
    }
    name = facts.name
    switch destination {
    case .outside(let outside):
      guard let place = outside.place(of: name) else { break }
      if case .folder = outside { originalName = facts.original }
      try open(place.path, overwrites: place.overwrites)
    case .memory(let limit): try prepare(opener, length, limit)
    case .spool(let spool): try spool.begin(opener)
    }
    isOpen = true
    guard let held = waiting.take() else { return }
    try held.withUnsafeBytes { bytes in try pass(bytes, at: 0) }
  }

  private struct Facts {
    let kind: PayloadKind
    let name: String
    let original: String?

    init(_ header: borrowing PayloadHeader) {
      kind = header.kind
      original = SuggestedName.original(header.fileName)
      name = SuggestedName.sanitised(header.fileName)
    }
  }

  private mutating func open(_ path: String, overwrites: Bool) throws {
    self.path = path
    do { file = try OutputFile(path: path, overwrites: overwrites, notes: notes) } catch {
      throw Self.error(error, path)
    }
  }

  /// Takes memory for the whole body, of which the length is known now, and keeps the header.
  private mutating func prepare(_ opener: borrowing PayloadOpener, _ length: UInt64, _ limit: Int) throws {
    guard length <= UInt64(clamping: limit), let count = Int(exactly: length) else {
      throw VaultError(
        .usage, "this secret has \(length) bytes, more than fit into memory here", hint: "write it to a file with -o")
    }
    do {
      body = try SecretBytes(zeros: count)
      header = try opener.withHeader { (header) throws(PayloadError) in try header.duplicate() }
    } catch {
      throw VaultError(.other, "no memory is left for the recovered secret")
    }
  }

  private mutating func pass(_ bytes: UnsafeRawBufferPointer, at position: Int) throws {
    switch destination {
    case .outside(.descriptor(let descriptor)): try writeOutput(bytes, to: descriptor)
    case .outside: try write(bytes)
    case .memory: try keep(bytes, at: position)
    case .spool(let spool): try spool.append(bytes)
    }
  }

  private mutating func keep(_ bytes: UnsafeRawBufferPointer, at position: Int) throws {
    guard var memory = body.take() else { return }
    guard position <= memory.count, bytes.count <= memory.count - position else {
      throw VaultError(.damaged, "this secret is longer than it says; nothing was written")
    }
    memory.withUnsafeMutableBytes {
      UnsafeMutableRawBufferPointer(rebasing: $0[position..<position + bytes.count]).copyMemory(from: bytes)
    }
    body = consume memory
  }

  private mutating func write(_ bytes: UnsafeRawBufferPointer) throws {
    // Taken out while it is written: after a failure it is gone, and with it everything written.
    guard var open = file.take() else { return }
    do { try open.write(RawSpan(_unsafeBytes: bytes)) } catch { throw Self.error(error, path) }
    file = consume open
  }

  /// Gives the file its name. Only for a payload that has verified to its last byte.
  mutating func commit() throws -> Written {
    guard let file = file.take() else { return Written(path: nil, name: name, originalName: nil, byteCount: byteCount) }
    do { try file.commit() } catch { throw Self.error(error, path) }
    return Written(path: path, name: name, originalName: originalName, byteCount: byteCount)
  }

  struct Written: Sendable {
    /// Nil for a descriptor, or memory.
    let path: String?
    let name: String
    /// The name inside, where the file in a folder got another one.
    let originalName: String?
    let byteCount: UInt64
  }

  /// Header and body of a payload that stayed in memory, once it has verified to its last byte.
  mutating func takeContent() -> RecoveredContent? {
    guard let header = header.take(), let body = body.take() else { return nil }
    return RecoveredContent(header: header, body: body)
  }

  /// A name like that of a file that is there, as it can be typed.
  static func example(_ path: String) -> String { shellQuoted(RecoveryDestination.freePath(path)) }

  /// What a failed output means to the user.
  static func error(_ error: StoreError, _ path: String) -> VaultError {
    switch error {
    case .alreadyExists:
      VaultError(
        .outputExists, "\(path) exists already",
        hint: "choose another name with -o, such as \(example(path)), or overwrite it with --force")
    case .diskFull: VaultError(.inputOutput, "no room is left for \(path); nothing was written")
    case .notFound: VaultError(.inputOutput, "the folder of \(path) does not exist")
    default: VaultError(error)
    }
  }
}
