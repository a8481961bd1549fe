import Sodium
import WireCodec

/// What a ``MessageLetter`` says.
package enum MessageContent: Sendable {
  case text(MessageText)
  /// A part of a file.
  case part(MessagePart)
  /// What has arrived, and what has been read.
  case receipts(MessageReceipts)
  /// Nothing: only its receipt is wanted, which shows that the recipient has the keys of its card.
  case probe

  /// Most bytes of an encoding.
  package static let byteLimit = 1 << 20
  /// Bytes of the number that names a message.
  package static let idByteCount = 16
  package static let addressByteLimit = 512
  private static let version: UInt8 = 1

  private enum Number: UInt8 {
    case text = 1
    case part = 2
    case receipts = 3
    case probe = 4
  }

  private var number: Number {
    switch self {
    case .text: .text
    case .part: .part
    case .receipts: .receipts
    case .probe: .probe
    }
  }

  /// The encoding, which is as secret as what it says.
  func encoded() throws(ProtocolError) -> SecretBytes {
    let count: Int
    do throws(WireError) { count = try byteCount(encode(into:)) } catch { throw .malformed(error) }
    guard count <= Self.byteLimit else {
      throw .malformed(.limitExceeded(field: "message content", limit: Self.byteLimit))
    }
    return try secretBytes(count: count, encode(into:))
  }

  private func encode(into writer: inout Writer) throws(WireError) {
    try writer.u8(Self.version)
    try writer.u8(number.rawValue)
    switch self {
    case .text(let text): try text.encode(into: &writer)
    case .part(let part): try part.encode(into: &writer)
    case .receipts(let receipts): try receipts.encode(into: &writer)
    case .probe: break
    }
  }

  /// Reads an encoding to its last byte.
  static func decode(_ bytes: RawSpan) throws(ProtocolError) -> MessageContent {
    do { return try read(bytes) } catch { throw ProtocolError(error, other: .foreignParcel("content")) }
  }

  private static func read(_ bytes: RawSpan) throws -> MessageContent {
    guard bytes.byteCount <= byteLimit else {
      throw WireError.limitExceeded(field: "message content", limit: byteLimit)
    }
    var reader = Reader(bytes)
    let version = try reader.u8("message version")
    guard version == Self.version else {
      throw WireError.unsupported(field: "message version", value: UInt64(version))
    }
    let content: MessageContent
    switch Number(rawValue: try reader.u8("message content")) {
    case .text: content = .text(try MessageText(from: &reader))
    case .part: content = .part(try MessagePart(from: &reader))
    case .receipts: content = .receipts(try MessageReceipts(from: &reader))
    case .probe: content = .probe
    case nil: throw WireError.invalidValue(field: "message content")
    }
    try reader.finish()
    return content
  }
}

/// Writes an optional address; an empty one stands for none.
func write(address: String?, into writer: inout Writer) throws(WireError) {
  try requireAddress(address)
  try writer.text16(address ?? "")
}

/// Reads an optional address.
func address(from reader: inout Reader) throws(WireError) -> String? {
  let text = try reader.text16(limit: MessageContent.addressByteLimit, "message address")
  guard !text.isEmpty else { return nil }
  try requireAddress(text)
  return text
}

/// Throws unless an address may be sent.
func requireAddress(_ address: String?) throws(WireError) {
  guard let address else { return }
  guard (1...MessageContent.addressByteLimit).contains(address.utf8.count), !hasControls(address) else {
    throw .invalidValue(field: "message address")
  }
}

/// Whether a text has characters that aren't to be shown, such as ends of lines.
func hasControls(_ text: String) -> Bool {
  text.unicodeScalars.contains { $0.value < 0x20 || 0x7f...0x9f ~= $0.value }
}

/// Whether bytes are well-formed UTF-8 without NUL. They are looked at where they are.
func isText(_ bytes: RawSpan) -> Bool {
  bytes.withUnsafeBytes { bytes in
    guard !bytes.contains(0) else { return false }
    do {
      _ = try UTF8Span(validating: Span<UInt8>(_unsafeBytes: bytes))
      return true
    } catch { return false }
  }
}

/// Whether secret bytes are well-formed UTF-8 without NUL.
func isText(_ secret: borrowing SecretBytes) -> Bool { isText(secret.bytes) }

/// Writes secret bytes behind their length.
func write(_ secret: borrowing SecretBytes, into writer: inout Writer) throws(WireError) {
  try writer.bytes32(secret.bytes)
}

/// Copies secret bytes to where they stay.
func held(_ bytes: RawSpan) throws(SodiumError) -> HeldSecret { HeldSecret(try SecretBytes(copying: bytes)) }
