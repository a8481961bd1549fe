import Sodium
import WireCodec

/// A text that one person writes to another.
package struct MessageText: Sendable {
  /// Most bytes of a text.
  package static let byteLimit = 65_536

  /// 16 random bytes that name the message.
  package let message: [UInt8]
  /// Under which address of a chat server its sender takes answers, if under any.
  package let address: String?
  /// 1 … ``byteLimit`` bytes of UTF-8 without NUL.
  package let text: HeldSecret

  /// A text. Throws what its reader would throw.
  package init(message: [UInt8], address: String?, text: HeldSecret) throws(ProtocolError) {
    do throws(WireError) {
      guard message.count == MessageContent.idByteCount else { throw .invalidValue(field: "message id") }
      try requireAddress(address)
      guard text.count <= Self.byteLimit else { throw .limitExceeded(field: "message text", limit: Self.byteLimit) }
      guard text.count > 0, isText(text.bytes) else { throw .invalidValue(field: "message text") }
    } catch { throw .malformed(error) }
    self.message = message
    self.address = address
    self.text = text
  }

  func encode(into writer: inout Writer) throws(WireError) {
    try writer.bytes(message)
    try write(address: address, into: &writer)
    try write(text.bytes, into: &writer)
  }

  init(from reader: inout Reader) throws {
    message = try reader.bytes(MessageContent.idByteCount, "message id")
    address = try VaultProtocol.address(from: &reader)
    let bytes = try reader.span32(limit: Self.byteLimit, "message text")
    guard bytes.byteCount > 0, isText(bytes) else { throw WireError.invalidValue(field: "message text") }
    text = try held(bytes)
  }
}
