import CSodium
import Sodium

/// Base64 of what isn't secret.
package enum Base64Bytes {
  package static func encode(_ bytes: [UInt8]) -> [UInt8] {
    let room = sodium_base64_encoded_len(bytes.count, sodium_base64_VARIANT_ORIGINAL)
    return [UInt8](unsafeUninitializedCapacity: room) { buffer, count in
      buffer.withMemoryRebound(to: CChar.self) { text in
        if let start = text.baseAddress {
          _ = sodium_bin2base64(start, room, bytes, bytes.count, sodium_base64_VARIANT_ORIGINAL)
        }
      }
      // Behind the text is C's NUL.
      count = room - 1
    }
  }

  /// The bytes of `text`, or nil if it isn't the one encoding of anything or has more than `limit` bytes.
  package static func decode(_ text: String, limit: Int) -> [UInt8]? {
    let characters = Array(text.utf8)
    guard characters.count <= (limit + 2) / 3 * 4 else { return nil }
    let bytes = try? Base64Text.decodePublic(characters.span.bytes)
    return bytes.flatMap { $0.count <= limit ? $0 : nil }
  }
}
