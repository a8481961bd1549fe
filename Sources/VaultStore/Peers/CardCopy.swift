import GRDB
import Sodium

/// A copy of this device's card beside the database, for whoever asks for it while the vault is locked.
///
/// What it says is public. That this device has written it is shown by a MAC under the device key: the master key is not to be had
/// then. Byte by byte in `docs/formats/store.md`.
package struct CardCopy {
  /// Largest file that is read: more than a card needs.
  static let byteLimit = 4096

  /// What was found in the place of this device's card.
  package enum Fault: Hashable, Sendable {
    /// Nothing that this device has written.
    case unverified
    /// A card that was written with this device's key.
    case other(card: [UInt8])
  }

  /// The card beside the database in `folders`, which need not be unlocked. Throws ``StoreError/notFound(_:)`` if there is none, and
  /// ``StoreError/damaged(_:)`` if this device has not written it so.
  package static func read(_ folders: VaultFolders) throws(StoreError) -> [UInt8] {
    try folders.check()
    let file = try AtomicFile.read(folders.cardPath, limit: byteLimit)
    guard let card = try card(in: file, device: VaultKeys.existingDeviceKey(folders)) else {
      throw .damaged(folders.cardPath)
    }
    return card
  }

  static func file(_ card: [UInt8], device: borrowing SecretBytes) throws(StoreError) -> [UInt8] {
    try mac(card, device) + card
  }

  static func card(in file: [UInt8], device: borrowing SecretBytes) throws(StoreError) -> [UInt8]? {
    let card = Array(file.dropFirst(Digest.byteCount))
    return macsMatch(Array(file.prefix(Digest.byteCount)), try mac(card, device)) ? card : nil
  }

  private static func mac(_ card: [UInt8], _ device: borrowing SecretBytes) throws(StoreError) -> [UInt8] {
    do throws(SodiumError) {
      var hash = try DomainHash("vault/card-copy/v1", key: device.bytes)
      hash.append(card)
      return hash.digest().bytes
    } catch { throw .sodium(error) }
  }
}

extension VaultDatabase {
  /// Writes the copy of this device's card anew if it isn't the one in the database. Returns what was in its place; nil if that was
  /// the card, or nothing.
  package func keepCardCopy() throws(StoreError) -> CardCopy.Fault? {
    guard let card = try identity()?.card else { return nil }
    let found: [UInt8]
    do throws(StoreError) { found = try CardCopy.read(folders) } catch .notFound {
      try renewCardCopy()
      return nil
    } catch {
      try renewCardCopy()
      return .unverified
    }
    guard found != card else { return nil }
    try renewCardCopy()
    return .other(card: found)
  }

  private func renewCardCopy() throws(StoreError) {
    // In a transaction, in which nobody changes the card.
    try write { db in
      if let card = try self.storedIdentity(db)?.record.card { try self.writeCardCopy(card) }
    }
  }

  func writeCardCopy(_ card: [UInt8]) throws(StoreError) {
    let file = try CardCopy.file(card, device: VaultKeys.existingDeviceKey(folders))
    try AtomicFile.write(file.span.bytes, to: folders.cardPath, replacing: true)
  }
}
