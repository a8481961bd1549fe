import WireCodec

extension PeerCard {
  /// What every text begins with, in either case, before the separator `1`.
  package static let textPrefix = "vaultpeer"
  /// Longest text that ``parse(text:)`` looks at.
  package static let textLimit = 4096

  /// The form for a file handed from person to person: lower case, with signature and beacon key.
  package func fileText() -> String { Bech32m.encode(prefix: Self.textPrefix, encoding) }

  /// The form for a QR code: upper case, so that it packs in alphanumeric mode; without the signature (who shows the code
  /// vouches for it), with the beacon key. At most 279 characters, so version 8-L, for a label of 20 bytes and one
  /// IPv4 address.
  package func qrText() -> String { Bech32m.encode(prefix: Self.textPrefix, unsigned.encoding).uppercased() }

  /// Reads any of the forms, in lower or upper case but not mixed; white space around it is ignored. A signature, where
  /// there is one, is verified.
  package static func parse(text: String) throws(CardError) -> PeerCard {
    guard text.utf8.count <= textLimit else { throw .tooLong(limit: textLimit) }
    let isSpace: (UInt8) -> Bool = { $0 == 32 || 9...13 ~= $0 }
    let trimmed = Array(text.utf8.drop(while: isSpace).reversed().drop(while: isSpace).reversed())
    let bytes = try Bech32m.decode(prefix: textPrefix, trimmed)
    let card: PeerCard
    do throws(WireError) { card = try decode(bytes, limit: byteLimit) } catch { throw .malformed(error) }
    if card.signature != nil { try card.verify() }
    return card
  }
}
