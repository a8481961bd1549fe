package import Sodium
package import WireCodec

/// The device key, encrypted under a passphrase of its own, to be printed. With it a backup opens on another device, and a data
/// folder that has lost its state folder opens again.
///
/// Everything in it is public or ciphertext. The byte-exact format is in `docs/formats/backup.md`.
package struct RecoveryKit: WireValue, Hashable, Sendable {
  static let version: UInt8 = 1
  package static let byteLimit = 98
  /// log2 of scrypt's N of those that are made: the highest that there is, as whoever finds one can guess for ever.
  package static let defaultCostLogarithm = 20
  static let deviceByteCount = 8
  private static let sealedByteCount = 32 + SecretBox.overhead

  package let costLogarithm: Int
  /// When it was made, in milliseconds since 1970.
  package let createdAt: Int64
  /// The first bytes of the device's id, by which a kit and what it is for find each other.
  package let device: [UInt8]
  let salt: [UInt8]
  let sealed: [UInt8]

  /// Encrypts the device key of the vault in `folders`. Throws ``StoreError/wrongDevice`` if it isn't there.
  package init(
    of folders: VaultFolders, passphrase: borrowing SecretBytes, at time: Int64,
    costLogarithm: Int = RecoveryKit.defaultCostLogarithm
  ) throws(StoreError) {
    let key = try VaultKeys.deviceKey(of: MasterKeyFile.read(folders.masterKeyPath), folders)
    let salt = try withSodium(try Randomness.bytes(Scrypt.saltByteCount))
    try self.init(of: key, passphrase: passphrase, at: time, costLogarithm: costLogarithm, salt: salt)
  }

  init(
    of key: borrowing SecretBytes, passphrase: borrowing SecretBytes, at time: Int64, costLogarithm: Int, salt: [UInt8]
  ) throws(StoreError) {
    self.costLogarithm = costLogarithm
    self.salt = salt
    createdAt = time
    do throws(SodiumError) {
      guard MasterKeyFile.acceptedLogarithms.contains(costLogarithm) else { throw .parametersRefused }
      device = Array(try VaultKeys.deviceID(key).bytes.prefix(Self.deviceByteCount))
      let wrapping = try Self.key(passphrase, costLogarithm, time, device, salt)
      sealed = try SecretBox.seal(key.bytes, key: wrapping, nonce: Self.nonce)
    } catch { throw .sodium(error) }
  }

  /// The device key. Throws ``StoreError/wrongPassphrase`` also for a kit that somebody has written who hasn't the passphrase.
  package func open(_ passphrase: borrowing SecretBytes) throws(StoreError) -> SecretBytes {
    do throws(SodiumError) {
      let wrapping = try Self.key(passphrase, costLogarithm, createdAt, device, salt)
      return try SecretBox.open(sealed.span.bytes, key: wrapping, nonce: Self.nonce)
    } catch .verificationFailed { throw .wrongPassphrase } catch { throw .sodium(error) }
  }

  /// Whether it says that it is of the device that made the vault in `folders`.
  package func isOf(_ folders: VaultFolders) throws(StoreError) -> Bool {
    try isOf(MasterKeyFile.read(folders.masterKeyPath).deviceID)
  }

  /// The device key, if it is that of the vault in `folders`. Throws ``StoreError/wrongDevice`` if it isn't, whatever the kit says.
  package func open(_ passphrase: borrowing SecretBytes, for folders: VaultFolders) throws(StoreError) -> SecretBytes {
    let key = try open(passphrase)
    guard try withSodium(try VaultKeys.deviceID(key)) == MasterKeyFile.read(folders.masterKeyPath).deviceID else {
      throw .wrongDevice
    }
    return key
  }

  /// Whether it says that it is of the device that made a backup.
  package func isOf(_ archive: BackupArchive) -> Bool { isOf(archive.device) }

  private func isOf(_ id: Digest) -> Bool { id.bytes.starts(with: device) }

  /// Zeros: the salt makes each key one of its own, for this one message.
  private static let nonce = [UInt8](repeating: 0, count: SecretBox.nonceByteCount)

  /// What stands openly in the kit goes into the key: changed, it opens no more.
  private static func key(
    _ passphrase: borrowing SecretBytes, _ costLogarithm: Int, _ time: Int64, _ device: [UInt8], _ salt: [UInt8]
  ) throws(SodiumError) -> SecretBytes {
    let stretched = try Scrypt.deriveKey(password: passphrase.bytes, salt: salt, logarithm: costLogarithm)
    var hash = try DomainHash("vault/recovery-kit/v1", key: stretched.bytes)
    hash.append(UInt64(bitPattern: time))
    hash.append(device)
    return try hash.secret()
  }

  package func encode(into writer: inout Writer) throws(WireError) {
    try writer.u8(Self.version)
    try writer.u8(UInt8(truncatingIfNeeded: costLogarithm))
    try writer.signed(createdAt)
    try writer.bytes(device)
    try writer.bytes(salt)
    try writer.bytes(sealed)
  }

  package init(from reader: inout Reader) throws(WireError) {
    let version = try reader.u8("version")
    guard version == Self.version else { throw .unsupported(field: "version", value: UInt64(version)) }
    costLogarithm = Int(try reader.u8("cost"))
    // Before anything is derived: a page must not say how much memory is taken.
    guard MasterKeyFile.acceptedLogarithms.contains(costLogarithm) else { throw .invalidValue(field: "cost") }
    createdAt = try reader.signed("created")
    device = try reader.bytes(Self.deviceByteCount, "device")
    salt = try reader.bytes(Scrypt.saltByteCount, "salt")
    sealed = try reader.bytes(Self.sealedByteCount, "sealed key")
  }
}

/// What lies where a device key is to be put.
package enum DeviceKeyPlace: Hashable, Sendable {
  case free, same, other

  package init(_ folders: VaultFolders, for key: borrowing SecretBytes) throws(StoreError) {
    do throws(StoreError) {
      let present = try VaultKeys.existingDeviceKey(folders)
      self = present.matches(key) ? .same : .other
    } catch {
      switch error {
      case .wrongDevice: self = .free
      case .damaged: self = .other
      default: throw error
      }
    }
  }

  /// Takes back what ``put(_:in:)`` has put where nothing was.
  package func takeBack(in folders: VaultFolders) throws(StoreError) {
    if self == .free { try FileNames.remove(folders.deviceKeyPath) }
  }

  /// Puts the key there, durably. The folders are there.
  package func put(_ key: borrowing SecretBytes, in folders: VaultFolders) throws(StoreError) {
    guard self != .same else { return }
    try AtomicFile.write(key.bytes, to: folders.deviceKeyPath, replacing: self == .other)
  }
}
