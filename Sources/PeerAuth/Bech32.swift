/// Bech32 (BIP 173) without its length limit, as age writes its keys: ``Bech32m`` with the older checksum.
package enum Bech32 {
  private static let constant: UInt32 = 1

  /// Lower-case text of `bytes` behind the lower-case ASCII `prefix`.
  package static func encode(prefix: String, _ bytes: [UInt8]) -> String {
    Bech32m.encode(prefix: prefix, bytes, constant)
  }

  /// The bytes behind `prefix`. The caller has limited the length of `text`.
  package static func decode(prefix: String, _ text: [UInt8]) throws(CardError) -> [UInt8] {
    try Bech32m.decode(prefix: prefix, text, constant)
  }
}
