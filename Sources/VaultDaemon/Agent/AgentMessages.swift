package import ShamirKit
import Sodium
package import WireCodec

/// What agent and commands say to each other: one request, one answer, each a message of its own on a socket that keeps
/// their bounds. `docs/formats/agent.md` has the bytes.
///
/// A message lies in secret memory from end to end, for some hold a key. It stands at the same place in all of those,
/// and is never part of the values here.
enum AgentMessage {
  static let version: UInt8 = 1
  /// Bytes of a file key, and of a stretched passphrase.
  static let keyByteCount = 32
  /// Where a key lies in a message that has one.
  static let keyRange = 2..<(2 + keyByteCount)
  /// Most secrets that an agent keeps.
  static let secretLimit = 64
  /// Longest request: one to keep a secret.
  static let requestLimit = 2 + keyByteCount + SecretID.byteCount + 8
  /// Longest answer: a status with as many secrets as there may be.
  static let answerLimit = 2 + 8 + 1 + 8 + 2 + secretLimit * (SecretID.byteCount + 8)

  static func key(in message: borrowing SecretBytes) throws(WireError) -> SecretBytes {
    guard message.count >= keyRange.upperBound else { throw .truncated(field: "key") }
    do { return try SecretBytes(copying: message.bytes.extracting(keyRange)) } catch { throw .capacityExceeded }
  }

  /// Begins a message: version, type and, if there is one, the key.
  fileprivate static func encode(
    _ type: UInt8, byteCount: Int, key: borrowing SecretBytes?,
    _ body: (inout Writer) throws(WireError) -> Void
  ) throws(WireError) -> SecretBytes {
    var count = 2 + byteCount
    switch key {
    case .some: count += keyByteCount
    case .none: break
    }
    return try SecretBytes(count: count, allocation: { _ in WireError.capacityExceeded }) {
      (output) throws(WireError) in
      try write(into: &output) { (writer) throws(WireError) in
        try writer.u8(version)
        try writer.u8(type)
        switch key {
        case .some(let key):
          guard key.count == keyByteCount else { throw WireError.invalidValue(field: "key") }
          try writer.bytes(key.bytes)
        case .none: break
        }
        try body(&writer)
      }
    }
  }

  /// Reads version and type, and passes over the key of a type that has one.
  fileprivate static func begin(_ reader: inout Reader, hasKey: (UInt8) -> Bool) throws(WireError) -> UInt8 {
    let version = try reader.u8("version")
    guard version == Self.version else { throw .unsupported(field: "version", value: UInt64(version)) }
    let type = try reader.u8("type")
    if hasKey(type) { _ = try reader.span(keyByteCount, "key") }
    return type
  }
}

enum AgentRequest: Hashable, Sendable {
  case status
  /// Keep the stretched passphrase that the message holds.
  case keepPassphrase
  /// Hand the stretched passphrase out.
  case passphrase
  /// Keep the file key that the message holds, and the ciphertext that comes with it as a descriptor.
  case keepSecret(SecretID, byteCount: UInt64)
  /// Hand a file key out.
  case fileKey(SecretID)
  /// Hand a file key out, and the ciphertext as a descriptor.
  case secret(SecretID)
  case lock(SecretID)
  case lockAll

  private var type: UInt8 {
    switch self {
    case .status: 1
    case .keepPassphrase: 2
    case .passphrase: 3
    case .keepSecret: 4
    case .fileKey: 5
    case .secret: 6
    case .lock: 7
    case .lockAll: 8
    }
  }

  /// Whether the message holds a key.
  var hasKey: Bool { Self.hasKey(type) }

  private static func hasKey(_ type: UInt8) -> Bool { type == 2 || type == 4 }

  /// The message. `key` is there exactly if ``hasKey``.
  func message(key: borrowing SecretBytes? = nil) throws(WireError) -> SecretBytes {
    switch self {
    case .status, .keepPassphrase, .passphrase, .lockAll:
      try AgentMessage.encode(type, byteCount: 0, key: key) { (_) throws(WireError) in }
    case .keepSecret(let id, let byteCount):
      try AgentMessage.encode(type, byteCount: SecretID.byteCount + 8, key: key) { (writer) throws(WireError) in
        try id.encode(into: &writer)
        try writer.u64(byteCount)
      }
    case .fileKey(let id), .secret(let id), .lock(let id):
      try AgentMessage.encode(type, byteCount: SecretID.byteCount, key: key) { (writer) throws(WireError) in
        try id.encode(into: &writer)
      }
    }
  }

  /// Reads a message to its last byte.
  init(message: RawSpan) throws(WireError) {
    let limit = AgentMessage.requestLimit
    guard message.byteCount <= limit else { throw .limitExceeded(field: "request", limit: limit) }
    var reader = Reader(message)
    let type = try AgentMessage.begin(&reader, hasKey: Self.hasKey)
    switch type {
    case 1: self = .status
    case 2: self = .keepPassphrase
    case 3: self = .passphrase
    case 4: self = .keepSecret(try SecretID(from: &reader), byteCount: try reader.u64("byte count"))
    case 5: self = .fileKey(try SecretID(from: &reader))
    case 6: self = .secret(try SecretID(from: &reader))
    case 7: self = .lock(try SecretID(from: &reader))
    case 8: self = .lockAll
    default: throw .unsupported(field: "request", value: UInt64(type))
    }
    try reader.finish()
  }
}

enum AgentAnswer: Hashable, Sendable {
  enum Refusal: UInt8, Sendable {
    case notUnderstood = 1
    /// It keeps as many secrets as it may.
    case full = 2
    /// The file that came with the message isn't what the message says.
    case unfitFile = 3
    /// The machine is about to sleep.
    case sleeping = 4
    /// It can't be said how long anything may stay unlocked.
    case noTimeout = 5
    /// The daemon is locked, and can't open the vault with that.
    case unopened = 6
  }

  case status(AgentStatus)
  case done
  /// The message holds the key that was asked for.
  case key
  /// The message holds the file key; the ciphertext comes with it as a descriptor.
  case secret(byteCount: UInt64)
  /// What was asked for is not unlocked.
  case locked
  case refused(Refusal)

  private var type: UInt8 {
    switch self {
    case .status: 0x81
    case .done: 0x82
    case .key: 0x83
    case .secret: 0x84
    case .locked: 0x85
    case .refused: 0x86
    }
  }

  /// Whether the message holds a key.
  var hasKey: Bool { Self.hasKey(type) }

  private static func hasKey(_ type: UInt8) -> Bool { type == 0x83 || type == 0x84 }

  /// The message. `key` is there exactly if ``hasKey``.
  func message(key: borrowing SecretBytes? = nil) throws(WireError) -> SecretBytes {
    switch self {
    case .done, .key, .locked: try AgentMessage.encode(type, byteCount: 0, key: key) { (_) throws(WireError) in }
    case .status(let status):
      try AgentMessage.encode(type, byteCount: status.encodedByteCount, key: key) { (writer) throws(WireError) in
        try status.encode(into: &writer)
      }
    case .secret(let byteCount):
      try AgentMessage.encode(type, byteCount: 8, key: key) { (writer) throws(WireError) in try writer.u64(byteCount) }
    case .refused(let refusal):
      try AgentMessage.encode(type, byteCount: 1, key: key) { (writer) throws(WireError) in
        try writer.u8(refusal.rawValue)
      }
    }
  }

  /// Reads a message to its last byte.
  init(message: RawSpan) throws(WireError) {
    let limit = AgentMessage.answerLimit
    guard message.byteCount <= limit else { throw .limitExceeded(field: "answer", limit: limit) }
    var reader = Reader(message)
    let type = try AgentMessage.begin(&reader, hasKey: Self.hasKey)
    switch type {
    case 0x81: self = .status(try AgentStatus(from: &reader))
    case 0x82: self = .done
    case 0x83: self = .key
    case 0x84: self = .secret(byteCount: try reader.u64("byte count"))
    case 0x85: self = .locked
    case 0x86:
      guard let refusal = Refusal(rawValue: try reader.u8("refusal")) else { throw .invalidValue(field: "refusal") }
      self = .refused(refusal)
    default: throw .unsupported(field: "answer", value: UInt64(type))
    }
    try reader.finish()
  }
}

/// What is unlocked, and how long it stays so if nobody uses it.
package struct AgentStatus: WireValue, Hashable, Sendable {
  package struct Entry: Hashable, Sendable {
    package let id: SecretID
    /// Milliseconds; 0 if only locking ends it.
    package let remaining: UInt64
  }

  /// Milliseconds from the last use to locking; 0 if only locking ends it.
  package var timeout: UInt64
  /// The same as in an entry, for the vault's passphrase; nil if it isn't kept.
  package var passphrase: UInt64?
  /// In ascending order of ids.
  package var secrets: [Entry]

  init(timeout: UInt64, passphrase: UInt64?, secrets: [Entry]) {
    self.timeout = timeout
    self.passphrase = passphrase
    self.secrets = secrets.sorted { $0.id.bytes.lexicographicallyPrecedes($1.id.bytes) }
  }

  package func encode(into writer: inout Writer) throws(WireError) {
    try writer.u64(timeout)
    try writer.flag(passphrase != nil)
    try writer.u64(passphrase ?? 0)
    try writer.count16(secrets.count)
    for entry in secrets {
      try entry.id.encode(into: &writer)
      try writer.u64(entry.remaining)
    }
  }

  package init(from reader: inout Reader) throws(WireError) {
    timeout = try reader.u64("timeout")
    let isKept = try reader.flag("passphrase")
    let remaining = try reader.u64("remaining")
    guard isKept || remaining == 0 else { throw .invalidValue(field: "remaining") }
    passphrase = isKept ? remaining : nil
    var entries: [Entry] = []
    for _ in 0..<(try reader.count16(limit: AgentMessage.secretLimit, "secrets")) {
      let entry = Entry(id: try SecretID(from: &reader), remaining: try reader.u64("remaining"))
      if let last = entries.last, !last.id.bytes.lexicographicallyPrecedes(entry.id.bytes) {
        throw .invalidValue(field: "order of secrets")
      }
      entries.append(entry)
    }
    secrets = entries
  }
}
