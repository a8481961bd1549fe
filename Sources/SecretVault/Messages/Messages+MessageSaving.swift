import SealedPayload
import VaultProtocol
import VaultStore

package struct SavedMessage: Hashable, Sendable {
  /// Nil for a descriptor.
  package let path: String?
  /// Sanitised.
  package let suggestedName: String
  package let byteCount: UInt64
  /// The sender's name, where the file got another one for safety: to be escaped.
  package var originalName: String?
}

extension Messages {
  /// Writes the text of a message, or its file. A file gets its name only once all of it is there.
  package func saveMessage(_ number: Int64, to destination: RecoveryDestination) throws -> SavedMessage {
    let message = try message(number)
    let name = Self.fileName(of: message)
    if message.kind == .text {
      guard let text = try messageText(number) else {
        throw VaultError(.notFound, "message \(number) has no text here")
      }
      var sink = try ItemSink(destination, name: name, armored: false, OutputNotes(folders))
      try Self.write(text, to: &sink)
      try sink.commit()
      return SavedMessage(path: sink.path, suggestedName: name, byteCount: sink.byteCount)
    }
    var sink = try ItemSink(destination, name: name, armored: false, OutputNotes(folders))
    try messageFile(number) { part in try Self.write(part, to: &sink) }
    try sink.commit()
    var saved = SavedMessage(path: sink.path, suggestedName: name, byteCount: sink.byteCount)
    if case .folder = destination {
      saved.originalName = SuggestedName.original(Array((message.name ?? "").utf8).span.bytes)
    }
    return saved
  }

  private static func write(_ bytes: HeldSecret, to sink: inout ItemSink) throws {
    try bytes.bytes.withUnsafeBytes { try sink.write($0) }
  }

  /// The sender's name, sanitised.
  private static func fileName(of message: MessageSummary) -> String {
    guard message.kind != .text else { return "message-\(message.number).txt" }
    return SuggestedName.sanitised(Array((message.name ?? "").utf8).span.bytes)
  }
}
