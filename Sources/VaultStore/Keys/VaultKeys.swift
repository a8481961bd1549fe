package import Sodium
import WireCodec

/// The open vault: the master key in secret memory, and what is derived from it.
///
/// Three things must come together to open it: the data folder (`master.key`), the device key in the state folder, and
/// the passphrase if there is one. Nothing here ever leaves secret memory except as ciphertext or a MAC.
package final class VaultKeys: Sendable {
  /// log2 of scrypt's N for new passphrases: 128 MiB of memory.
  package static let defaultCostLogarithm = 17
  /// Bytes that ``seal(_:_:)`` adds to a record.
  package static let sealOverhead = 1 + SecretBox.nonceByteCount + SecretBox.overhead

  private let master: SecretBytes
  private let macKey: SecretBytes

  init(master: consuming SecretBytes) throws(SodiumError) {
    macKey = try DomainHash("vault/store-mac/v1", key: master.bytes).secret()
    self.master = master
  }

  package static func needsPassphrase(in folders: VaultFolders) throws(StoreError) -> Bool {
    try readFile(folders).costLogarithm != nil
  }

  /// Opens the vault. A passphrase that it doesn't need is ignored. Folders that can be done without are made again.
  ///
  /// Throws ``StoreError/passphraseRequired``, ``StoreError/wrongPassphrase``, ``StoreError/wrongDevice`` (the device key
  /// is missing or another one), ``StoreError/damaged(_:)``, or ``StoreError/notFound(_:)`` if there is no vault.
  package static func unlock(
    _ folders: VaultFolders, passphrase: borrowing SecretBytes?
  ) throws(StoreError) -> VaultKeys {
    let file = try readFile(folders)
    try folders.restore()
    return try unlock(file, folders, passphrase: passphrase)
  }

  /// Opens the keys of a `master.key` wherever it lies, with the device key of `folders`.
  static func unlock(
    _ file: MasterKeyFile, _ folders: VaultFolders, passphrase: borrowing SecretBytes?
  ) throws(StoreError) -> VaultKeys {
    let device = try existingDeviceKey(folders)
    return try unlock(file, folders, device: device, passphrase: passphrase)
  }

  /// The same with a device key that isn't in its place, or not yet.
  static func unlock(
    _ file: MasterKeyFile, _ folders: VaultFolders, device: borrowing SecretBytes, passphrase: borrowing SecretBytes?
  ) throws(StoreError) -> VaultKeys {
    guard try withSodium(try deviceID(device)) == file.deviceID else { throw .wrongDevice }
    guard file.costLogarithm != nil else { return try open(file, folders, device, secret: RawSpan()) }
    switch passphrase {
    case .none: throw .passphraseRequired
    case .some(let passphrase):
      let stretched = try stretch(passphrase, file)
      return try open(file, folders, device, secret: stretched.bytes)
    }
  }

  /// What scrypt makes of the passphrase of the vault in `folders`: it opens this vault on this device and nothing else, and
  /// saves the time that scrypt takes. Nil if the vault has no passphrase. Whether it is the right one, ``unlock(_:stretched:)`` tells.
  package static func stretch(
    _ passphrase: borrowing SecretBytes, for folders: VaultFolders
  ) throws(StoreError) -> SecretBytes? {
    let file = try readFile(folders)
    return file.costLogarithm == nil ? nil : try stretch(passphrase, file)
  }

  private static func stretch(
    _ passphrase: borrowing SecretBytes, _ file: MasterKeyFile
  ) throws(StoreError) -> SecretBytes {
    try withSodium(
      try Scrypt.deriveKey(password: passphrase.bytes, salt: file.salt, logarithm: file.costLogarithm ?? 0))
  }

  /// Opens a vault that has a passphrase with what ``stretch(_:for:)`` made of it. Throws what ``unlock(_:passphrase:)`` throws.
  package static func unlock(
    _ folders: VaultFolders, stretched: borrowing SecretBytes
  ) throws(StoreError) -> VaultKeys {
    let file = try readFile(folders)
    try folders.restore()
    let device = try deviceKey(of: file, folders)
    guard file.costLogarithm != nil else { return try open(file, folders, device, secret: RawSpan()) }
    return try open(file, folders, device, secret: stretched.bytes)
  }

  /// This device's key, if the vault was made with it.
  static func deviceKey(of file: MasterKeyFile, _ folders: VaultFolders) throws(StoreError) -> SecretBytes {
    let device = try existingDeviceKey(folders)
    guard try withSodium(try deviceID(device)) == file.deviceID else { throw .wrongDevice }
    return device
  }

  private static func open(
    _ file: MasterKeyFile, _ folders: VaultFolders, _ device: borrowing SecretBytes, secret: RawSpan
  ) throws(StoreError) -> VaultKeys {
    do throws(SodiumError) {
      let key = try keyEncryptionKey(device: device, secret: secret)
      return try VaultKeys(master: SecretBox.open(file.sealed.span.bytes, key: key, nonce: file.nonce))
    } catch .verificationFailed {
      // The checksum held, so with a passphrase the passphrase is the likely culprit.
      throw file.costLogarithm == nil ? .damaged(folders.masterKeyPath) : .wrongPassphrase
    } catch { throw .sodium(error) }
  }

  private static func readFile(_ folders: VaultFolders) throws(StoreError) -> MasterKeyFile {
    do throws(StoreError) {
      return try MasterKeyFile.read(folders.masterKeyPath)
    } catch .notFound {
      guard try !folders.holdsRemains() else { throw folders.lostMasterKey }
      throw .notFound("a vault in \(folders.data)")
    }
  }

  static func existingDeviceKey(_ folders: VaultFolders) throws(StoreError) -> SecretBytes {
    do throws(StoreError) {
      return try AtomicFile.readSecret(folders.deviceKeyPath, count: 32)
    } catch .notFound {
      throw .wrongDevice
    }
  }

  static func seal(
    _ master: borrowing SecretBytes, device: borrowing SecretBytes, passphrase: borrowing SecretBytes?,
    costLogarithm: Int, salt: [UInt8], nonce: [UInt8]
  ) throws(SodiumError) -> MasterKeyFile {
    let hasPassphrase =
      switch passphrase {
      case .none: false
      case .some: true
      }
    guard !hasPassphrase || MasterKeyFile.acceptedLogarithms.contains(costLogarithm) else {
      throw .parametersRefused
    }
    let cost = hasPassphrase ? costLogarithm : nil
    let salt = hasPassphrase ? salt : [UInt8](repeating: 0, count: Scrypt.saltByteCount)
    let key = try keyEncryptionKey(device: device, passphrase: passphrase, costLogarithm: cost, salt: salt)
    return MasterKeyFile(
      costLogarithm: cost, deviceID: try deviceID(device), salt: salt, nonce: nonce,
      sealed: try SecretBox.seal(master.bytes, key: key, nonce: nonce))
  }

  /// Seals the master key anew, to another passphrase or to none, in the place of `master.key`. Whenever the machine stops,
  /// either the passphrase from before opens the vault or this one. Nothing else changes: not the keys, and not what was written
  /// elsewhere before, such as a backup. To be called while the vault is open, so that no other one takes its place meanwhile.
  package func changePassphrase(
    in folders: VaultFolders, to passphrase: borrowing SecretBytes?,
    costLogarithm: Int = VaultKeys.defaultCostLogarithm
  ) throws(StoreError) {
    let old = try Self.readFile(folders)
    let device = try Self.deviceKey(of: old, folders)
    var file: MasterKeyFile
    do throws(SodiumError) {
      file = try Self.seal(
        master, device: device, passphrase: passphrase, costLogarithm: costLogarithm,
        salt: Randomness.bytes(Scrypt.saltByteCount), nonce: Randomness.bytes(SecretBox.nonceByteCount))
    } catch { throw .sodium(error) }
    file.extensions = old.extensions
    let bytes: [UInt8]
    do throws(WireError) { bytes = try file.encoded() } catch { throw .invalid("master.key") }
    try AtomicFile.write(bytes.span.bytes, to: folders.masterKeyPath, replacing: true)
  }

  static func keyEncryptionKey(
    device: borrowing SecretBytes, passphrase: borrowing SecretBytes?, costLogarithm: Int?, salt: [UInt8]
  ) throws(SodiumError) -> SecretBytes {
    guard let costLogarithm else { return try keyEncryptionKey(device: device, secret: RawSpan()) }
    switch passphrase {
    case .some(let passphrase):
      let stretched = try Scrypt.deriveKey(password: passphrase.bytes, salt: salt, logarithm: costLogarithm)
      return try keyEncryptionKey(device: device, secret: stretched.bytes)
    case .none: throw .parametersRefused
    }
  }

  private static func keyEncryptionKey(
    device: borrowing SecretBytes, secret: RawSpan
  ) throws(SodiumError) -> SecretBytes {
    var hash = try DomainHash("vault/storage/v1", key: device.bytes)
    hash.append(secret)
    return try hash.secret()
  }

  /// A public name for the device key: says nothing about it, but tells it from another.
  static func deviceID(_ device: borrowing SecretBytes) throws(SodiumError) -> Digest {
    try DomainHash("vault/device-id/v1", key: device.bytes).digest()
  }

  /// A key for something of its own, whose name is `part`.
  func subkey(_ label: StaticString, _ part: String) throws(SodiumError) -> SecretBytes {
    var hash = try Self.hash(label, key: master)
    hash.append(part)
    return try hash.secret()
  }

  private static func hash(
    _ label: StaticString, key: borrowing SecretBytes
  ) throws(SodiumError) -> DomainHash { try DomainHash(label, key: key.bytes) }

  /// A keyed, salted hash by which something secret is known again later, and not before: without these keys, it can't be told
  /// from what it might be.
  package func recognition(of secret: borrowing SecretBytes, salt: [UInt8]) throws(StoreError) -> [UInt8] {
    try withSodium { () throws(SodiumError) in
      var hash = try Self.hash("vault/recognition/v1", key: macKey)
      hash.append(salt)
      hash.append(secret.bytes)
      return hash.digest().bytes
    }
  }

  /// ``mac(_:_:)`` for what comes piece by piece.
  func beginMAC(_ label: StaticString) throws(SodiumError) -> DomainHash {
    try Self.hash(label, key: macKey)
  }

  /// ``mac(_:_:)`` for very many rows.
  func prepareMAC(_ label: StaticString) throws(SodiumError) -> PreparedDomainHash {
    try PreparedDomainHash(label, key: macKey)
  }

  /// A MAC over a stored row, under a subkey of the master key.
  func mac(
    _ label: StaticString, _ parts: (inout DomainHash) -> Void
  ) throws(StoreError) -> [UInt8] {
    try withSodium { () throws(SodiumError) in
      var hash = try beginMAC(label)
      parts(&hash)
      return hash.digest().bytes
    }
  }
}

// MARK: - Records

/// Which record a sealed blob belongs to: a blob moved to another table, row or epoch doesn't open there.
package struct RecordName: Hashable, Sendable {
  package let table: String
  package let row: [UInt8]
  /// The epoch of the share lifecycle; 0 where there is none.
  package let epoch: UInt64

  package init(table: String, row: [UInt8], epoch: UInt64 = 0) {
    self.table = table
    self.row = row
    self.epoch = epoch
  }
}

extension VaultKeys {
  private static let recordVersion: UInt8 = 1

  /// Seals a record: a version byte 1, a random 24-byte nonce, the tag and the ciphertext.
  package func seal(_ plaintext: borrowing SecretBytes, _ name: RecordName) throws(StoreError) -> [UInt8] {
    let nonce = try withSodium(try Randomness.bytes(SecretBox.nonceByteCount))
    return try seal(plaintext, name, nonce: nonce)
  }

  func seal(_ plaintext: borrowing SecretBytes, _ name: RecordName, nonce: [UInt8]) throws(StoreError) -> [UInt8] {
    try seal(plaintext.bytes, name, nonce: nonce)
  }

  private func seal(_ plaintext: RawSpan, _ name: RecordName, nonce: [UInt8]) throws(StoreError) -> [UInt8] {
    do throws(SodiumError) {
      return try [Self.recordVersion] + nonce + SecretBox.seal(plaintext, key: recordKey(name), nonce: nonce)
    } catch { throw .sodium(error) }
  }

  /// The same for what there may be none of.
  func sealIfAny(_ plaintext: borrowing SecretBytes?, _ name: RecordName) throws(StoreError) -> [UInt8]? {
    switch plaintext {
    case .some(let plaintext): try seal(plaintext, name)
    case .none: nil
    }
  }

  /// Opens a record. Throws ``StoreError/damaged(_:)`` with `what` if a bit is wrong or it belongs elsewhere.
  package func open(_ sealed: [UInt8], _ name: RecordName, what: String) throws(StoreError) -> SecretBytes {
    guard sealed.count >= Self.sealOverhead, sealed[0] == Self.recordVersion else { throw .damaged(what) }
    let nonceEnd = 1 + SecretBox.nonceByteCount
    do throws(SodiumError) {
      return try SecretBox.open(
        sealed.span.bytes.extracting(droppingFirst: nonceEnd), key: recordKey(name),
        nonce: Array(sealed[1..<nonceEnd]))
    } catch .verificationFailed { throw .damaged(what) } catch { throw .sodium(error) }
  }

  /// ``seal(_:_:)`` for what is no secret by itself, and too much for locked memory.
  func sealPlain(_ plaintext: [UInt8], _ name: RecordName) throws(StoreError) -> [UInt8] {
    let nonce = try withSodium(try Randomness.bytes(SecretBox.nonceByteCount))
    return try seal(plaintext.span.bytes, name, nonce: nonce)
  }

  /// ``open(_:_:what:)`` for what is no secret by itself, and too much for locked memory.
  func openPlain(_ sealed: [UInt8], _ name: RecordName, what: String) throws(StoreError) -> [UInt8] {
    guard sealed.count >= Self.sealOverhead, sealed[0] == Self.recordVersion else { throw .damaged(what) }
    let nonceEnd = 1 + SecretBox.nonceByteCount
    let nonce = Array(sealed[1..<nonceEnd])
    let key = try withSodium(try recordKey(name))
    var plaintext = [UInt8](repeating: 0, count: sealed.count - Self.sealOverhead)
    var failure: SodiumError?
    plaintext.withUnsafeMutableBytes { plain in
      sealed.withUnsafeBytes { sealed in
        let cipher = UnsafeRawBufferPointer(rebasing: sealed[nonceEnd...])
        do throws(SodiumError) { try SecretBox.open(cipher, key: key, nonce: nonce, into: plain) } catch {
          failure = error
        }
      }
    }
    switch failure {
    case .none: return plaintext
    case .verificationFailed: throw .damaged(what)
    case .some(let error): throw .sodium(error)
    }
  }

  private func recordKey(_ name: RecordName) throws(SodiumError) -> SecretBytes {
    var hash = try Self.hash("vault/record/v1", key: master)
    hash.append(name.table)
    hash.append(name.row)
    hash.append(name.epoch)
    return try hash.secret()
  }
}
