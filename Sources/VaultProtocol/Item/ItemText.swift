import PeerAuth
import WireCodec

/// The text form of a small item, for QR codes and messages: bech32m behind `vaultitem1`, as cards have it.
package enum ItemText {
  /// What every text begins with, in either case, before the separator `1`.
  package static let prefix = "vaultitem"
  /// Most bytes of an item that is written as text: 4296 characters fit into the largest QR code.
  package static let itemByteLimit = 2048
  /// Longest text that ``parse(_:)`` looks at.
  package static let textLimit = 4096

  /// Whether a text claims to be an item, in either case.
  package static func isItem(_ text: String) -> Bool {
    text.utf8.prefix(prefix.utf8.count + 1).elementsEqual("vaultitem1".utf8) { ($0 | 0x20) == ($1 | 0x20) }
  }

  /// The text of an item's bytes, in upper case, so that it packs in a QR code's alphanumeric mode.
  package static func text(of item: [UInt8]) -> String {
    Bech32m.encode(prefix: prefix, item).uppercased()
  }

  /// The bytes of an item in either case, with white space around it. Whole header and ciphertext are there.
  package static func parse(_ text: String) throws(ProtocolError) -> [UInt8] {
    guard text.utf8.count <= textLimit else { throw .malformed(.limitExceeded(field: "item text", limit: textLimit)) }
    let isSpace: (UInt8) -> Bool = { $0 == 32 || 9...13 ~= $0 }
    let trimmed = Array(text.utf8.drop(while: isSpace).reversed().drop(while: isSpace).reversed())
    let bytes: [UInt8]
    do throws(CardError) { bytes = try Bech32m.decode(prefix: prefix, trimmed) } catch {
      throw .malformed(.invalidValue(field: "item text"))
    }
    do throws(WireError) {
      let header = try ItemHeader.parse(beginningOf: bytes)
      guard header.itemByteCount <= UInt64(bytes.count) else { throw .truncated(field: "item") }
      guard header.itemByteCount == UInt64(bytes.count) else {
        throw .trailingBytes(count: bytes.count - Int(clamping: header.itemByteCount))
      }
    } catch {
      throw .malformed(error)
    }
    return bytes
  }
}
