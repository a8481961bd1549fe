import Glibc
package import Sodium
import WireCodec

/// A vault in the making: keys in memory, files that count for nothing yet. ``commit()`` turns them into a vault in one
/// step, by giving `master.key` its name; before that nobody takes the folders for a vault.
///
/// Order of use: make it, ``makeDatabase()``, fill the database, ``commit()``. A value that ends without a commit removes
/// what it made. A process that is killed leaves a mark beside its files, and the next creation clears them away.
/// While the value lives, no other process creates a vault in the same folders.
package struct VaultCreation: ~Copyable {
  package let keys: VaultKeys

  private let folders: VaultFolders
  private let masterKeyFile: [UInt8]
  private let lock: OpenFile

  /// Makes folders and keys. Throws ``StoreError/alreadyExists(_:)`` if there is a vault, also one that another process
  /// has just finished, and ``StoreError/damaged(_:)`` if there are parts of a vault that has lost its master key.
  ///
  /// A passphrase counts byte for byte; nil leaves the vault protected by the device key alone.
  /// `costLogarithm` is log2 of scrypt's N, from 17 to 20.
  package init(
    in folders: VaultFolders, passphrase: borrowing SecretBytes?,
    costLogarithm: Int = VaultKeys.defaultCostLogarithm
  ) throws(StoreError) {
    guard try !folders.holdsVault() else { throw Self.exists(folders) }
    try folders.create()
    // Nobody stages or sweeps where there is no vault: the lock of those who do is free for this.
    let lock = try OpenFile.patientlyLocked(folders.filesLockPath)
    guard try !folders.holdsVault() else { throw Self.exists(folders) }
    try Self.begin(folders)
    let made: (keys: VaultKeys, file: [UInt8])
    do throws(StoreError) {
      made = try Self.makeKeys(Self.deviceKey(folders), passphrase, costLogarithm)
    } catch {
      Self.clear(folders)
      throw error
    }
    keys = made.keys
    masterKeyFile = made.file
    self.folders = folders
    self.lock = lock
  }

  deinit { Self.clear(folders) }

  /// The empty database of the new vault.
  package func makeDatabase() throws(StoreError) -> VaultDatabase {
    try VaultDatabase(folders, keys: keys, creating: true)
  }

  /// Makes the vault exist, durably, with all that was stored so far.
  package consuming func commit() throws(StoreError) {
    // The names of the database must not come to the disk after that of the key.
    try FileNames.synchronizeFolder(folders.data)
    do throws(StoreError) {
      try AtomicFile.write(masterKeyFile.span.bytes, to: folders.masterKeyPath, replacing: false)
    } catch .alreadyExists {
      throw Self.exists(folders)
    }
    unlink(folders.incompletePath)
  }

  private static func exists(_ folders: VaultFolders) -> StoreError { .alreadyExists("a vault in \(folders.data)") }

  /// Clears what an interrupted creation has left, and marks what comes now as incomplete.
  private static func begin(_ folders: VaultFolders) throws(StoreError) {
    if access(folders.incompletePath, F_OK) == 0 {
      clear(folders)
    } else if access(folders.databasePath, F_OK) == 0 {
      // Not of an interrupted creation: somebody may still have the key in a backup.
      throw .damaged("\(folders.databasePath) is there without its master.key: the vault")
    } else if try folders.holdsRemains() {
      throw folders.lostMasterKey
    }
    do throws(StoreError) {
      _ = try OpenFile(folders.incompletePath, O_WRONLY | O_CREAT)
      try FileNames.synchronizeFolder(folders.data)
    } catch {
      unlink(folders.incompletePath)
      throw error
    }
  }

  /// Removes everything but the folders and the device key, unless there is a vault. The mark goes last.
  private static func clear(_ folders: VaultFolders) {
    guard let isVault = try? folders.holdsVault(), !isVault else { return }
    for suffix in VaultDatabase.fileSuffixes { unlink(folders.databasePath + suffix) }
    unlink(folders.cardPath)
    for name in (try? FileNames.list(folders.data)) ?? [] where name.hasPrefix(FileNames.temporaryPrefix) {
      unlink(folders.data + "/" + name)
    }
    unlink(folders.companionsPath + "/" + CompanionName.trust.fileName)
    unlink(folders.companionsPath + "/" + CompanionName.trust.fileName + ".new")
    unlink(folders.companionsLockPath)
    unlink(folders.incompletePath)
  }

  /// The device key, made if this folder has none yet: that of an interrupted creation is as good.
  private static func deviceKey(_ folders: VaultFolders) throws(StoreError) -> SecretBytes {
    let fresh = try withSodium(try SecretBytes(random: 32))
    do throws(StoreError) {
      try AtomicFile.write(fresh.bytes, to: folders.deviceKeyPath, replacing: false)
    } catch .alreadyExists {
      // The one that is there is read below.
    }
    return try AtomicFile.readSecret(folders.deviceKeyPath, count: 32)
  }

  private static func makeKeys(
    _ device: borrowing SecretBytes, _ passphrase: borrowing SecretBytes?, _ costLogarithm: Int
  ) throws(StoreError) -> (VaultKeys, [UInt8]) {
    let file: MasterKeyFile
    let keys: VaultKeys
    do throws(SodiumError) {
      let master = try SecretBytes(random: 32)
      file = try VaultKeys.seal(
        master, device: device, passphrase: passphrase, costLogarithm: costLogarithm,
        salt: Randomness.bytes(Scrypt.saltByteCount), nonce: Randomness.bytes(SecretBox.nonceByteCount))
      keys = try VaultKeys(master: master)
    } catch { throw .sodium(error) }
    do throws(WireError) { return (keys, try file.encoded()) } catch { throw .invalid("master.key") }
  }
}
