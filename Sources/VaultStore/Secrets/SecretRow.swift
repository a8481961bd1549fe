import GRDB
import Sodium

/// What the MAC of a row of `secrets` covers: everything that a list shows, and the digest that the header must have.
struct SecretRow {
  static let macLabel: StaticString = "vault/secret-row/v1"

  let kind: UInt8
  let threshold: UInt8
  let shareCount: UInt8
  /// 0 for none.
  let ownIndex: UInt8
  let origin: SecretRecord.Origin
  let state: SecretRecord.State
  let createdAt: Int64
  let receivedAt: Int64

  func append(
    to parts: inout HashParts, id: UnsafeRawBufferPointer, headerDigest: UnsafeRawBufferPointer,
    dealer: UnsafeRawBufferPointer, description: UnsafeRawBufferPointer?
  ) {
    parts.append(id)
    parts.append(headerDigest)
    parts.append(dealer)
    parts.append(description ?? UnsafeRawBufferPointer(start: nil, count: 0))
    withUnsafeTemporaryAllocation(byteCount: 23, alignment: 8) { numbers in
      numbers[0] = description == nil ? 0 : 1
      numbers[1] = kind
      numbers[2] = threshold
      numbers[3] = shareCount
      numbers[4] = ownIndex
      numbers[5] = origin == .dealt ? 1 : 2
      numbers[6] = state == .active ? 1 : 2
      numbers.storeBytes(of: UInt64(bitPattern: createdAt).bigEndian, toByteOffset: 7, as: UInt64.self)
      numbers.storeBytes(of: UInt64(bitPattern: receivedAt).bigEndian, toByteOffset: 15, as: UInt64.self)
      parts.append(UnsafeRawBufferPointer(numbers))
    }
  }
}

extension SecretRecord {
  func rowMAC(_ keys: VaultKeys) throws(StoreError) -> [UInt8] {
    guard let threshold = UInt8(exactly: threshold), let shareCount = UInt8(exactly: shareCount),
      let ownIndex = UInt8(exactly: ownIndex ?? 0)
    else { throw .invalid("the secret's numbers") }
    let row = SecretRow(
      kind: kind, threshold: threshold, shareCount: shareCount, ownIndex: ownIndex, origin: origin, state: state,
      createdAt: createdAt, receivedAt: receivedAt)
    var parts = HashParts()
    let text = description.map { Array($0.utf8) }
    id.withUnsafeBytes { id in
      headerDigest.bytes.withUnsafeBytes { digest in
        dealer.bytes.withUnsafeBytes { dealer in
          if let text {
            text.withUnsafeBytes {
              row.append(to: &parts, id: id, headerDigest: digest, dealer: dealer, description: $0)
            }
          } else {
            row.append(to: &parts, id: id, headerDigest: digest, dealer: dealer, description: nil)
          }
        }
      }
    }
    return try keys.mac(SecretRow.macLabel) { $0.append(parts) }
  }
}
