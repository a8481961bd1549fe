import Sodium
package import WireCodec

/// The binary form of a card; `docs/formats/peerauth.md` names every byte.
extension PeerCard {
  private static let beaconFlag: UInt8 = 1
  private static let signatureFlag: UInt8 = 2

  package var encodedByteCount: Int { encoding.count }

  /// The canonical encoding. It can't fail: the initialisers have checked every limit.
  package var encoding: [UInt8] {
    var bytes: [UInt8] = []
    bytes.append(version)
    bytes.append((beaconKey == nil ? 0 : Self.beaconFlag) | (signature == nil ? 0 : Self.signatureFlag))
    bytes += keys.signing + keys.noise + keys.box
    bytes.append(UInt8(truncatingIfNeeded: label.utf8.count))
    bytes += label.utf8
    bytes += encodedAddresses
    withUnsafeBytes(of: serial.bigEndian) { bytes += $0 }
    bytes += beaconKey ?? []
    bytes += encodedExtensions
    bytes += signature ?? []
    return bytes
  }

  /// Number of addresses, then each.
  var encodedAddresses: [UInt8] {
    [UInt8(truncatingIfNeeded: addresses.count)] + addresses.flatMap(\.encoding)
  }

  /// The extension section as ``Extensions`` encodes it; no longer than ``byteLimit``, so every length fits.
  var encodedExtensions: [UInt8] {
    func number(_ value: Int) -> [UInt8] { [UInt8(truncatingIfNeeded: value >> 8), UInt8(truncatingIfNeeded: value)] }
    return number(extensions.encodedByteCount - 2)
      + extensions.entries.flatMap { number(Int($0.type)) + number($0.bytes.count) + $0.bytes }
  }

  package func encode(into writer: inout Writer) throws(WireError) { try writer.bytes(encoding) }

  /// Reads a card of version 1 and checks all but its signature. A must-understand extension is refused.
  package init(from reader: inout Reader) throws(WireError) {
    let start = reader.remaining
    try reader.version(CardKeys.version, "card version")
    let flags = try reader.u8("card flags")
    guard flags & ~(Self.beaconFlag | Self.signatureFlag) == 0 else { throw .invalidValue(field: "card flags") }
    let keys = try CardKeys(from: &reader)
    let labelCount = try reader.count8(limit: CardLabel.byteLimit, "label")
    guard let label = String(validating: try reader.bytes(labelCount, "label"), as: UTF8.self),
      CardLabel.isAcceptable(label)
    else { throw .invalidValue(field: "label") }
    let addresses: [PeerAddress] = try reader.list(reader.count8(limit: Self.addressLimit, "addresses"))
    let serial = try reader.u64("serial")
    let beaconKey =
      flags & Self.beaconFlag == 0 ? nil : try reader.bytes(Self.beaconKeyByteCount, "beacon key")
    let extensions = try Extensions(from: &reader)
    try extensions.require()
    let signature =
      flags & Self.signatureFlag == 0 ? nil : try reader.bytes(Ed25519.signatureByteCount, "signature")
    guard start - reader.remaining <= Self.byteLimit else { throw .limitExceeded(field: "card", limit: Self.byteLimit) }
    do throws(CardError) {
      self = try PeerCard(
        keys: keys, label: label, addresses: addresses, serial: serial, beaconKey: beaconKey, signature: signature,
        extensions: extensions)
    } catch {
      throw .invalidValue(field: "card")
    }
  }
}
