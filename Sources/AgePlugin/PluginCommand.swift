package import Sodium

/// What the plugin says in the phase that it controls. The client answers each but the last.
package enum PluginCommand: Sendable {
  case message(String)
  case confirm(String, yes: String, no: String)
  case fileKey(file: Int, FileKey)
  case faultOfIdentity(Int, String)
  case faultOfStanza(file: Int, stanza: Int, String)
  case fault(String)
  case done

  /// As it is sent. It may hold the key of a file.
  package func text() throws(SodiumError) -> SecretBytes {
    guard case .fileKey(let file, let key) = self else { return try SecretBytes(copying: publicStanza.text.span.bytes) }
    let front = Array("-> file-key \(file)\n".utf8)
    let coded = try Self.base64(key.bytes)
    // Without padding. It fits into a line that ends the body.
    let count = (key.bytes.count * 8 + 5) / 6
    var text = try SecretBytes(zeros: front.count + count + 1)
    text.withUnsafeMutableBytes { text in
      coded.withUnsafeBytes { coded in
        text.copyBytes(from: front)
        UnsafeMutableRawBufferPointer(rebasing: text[front.count...]).copyMemory(
          from: UnsafeRawBufferPointer(rebasing: coded[..<count]))
        text[front.count + count] = newline
      }
    }
    return text
  }

  private static func base64(_ key: borrowing SecretBytes) throws(SodiumError) -> SecretBytes {
    try Base64Text.encode(key.bytes)
  }

  /// Without the key of a file.
  private var publicStanza: AgeStanza {
    switch self {
    case .message(let text): AgeStanza("msg", body: Array(text.utf8))
    case .confirm(let text, let yes, let no):
      AgeStanza("confirm", [yes, no].map { Self.argument($0) }, body: Array(text.utf8))
    case .fileKey(let file, _): AgeStanza("file-key", ["\(file)"])
    case .faultOfIdentity(let index, let text): AgeStanza("error", ["identity", "\(index)"], body: Array(text.utf8))
    case .faultOfStanza(let file, let stanza, let text):
      AgeStanza("error", ["stanza", "\(file)", "\(stanza)"], body: Array(text.utf8))
    case .fault(let text): AgeStanza("error", ["internal"], body: Array(text.utf8))
    case .done: AgeStanza("done")
    }
  }

  private static func argument(_ text: String) -> String {
    String(decoding: AgeStanza.base64(Array(text.utf8)), as: UTF8.self)
  }
}
