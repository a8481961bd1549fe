package import Sodium

/// What can go wrong with what is kept on disk. Never carries secret bytes; paths, local names and ids are public here.
package enum StoreError: Error, Hashable, Sendable {
  /// Stored bytes don't verify, don't parse or don't fit together. The text names what: "peer alice", "master.key".
  case damaged(String)
  /// The settings file was damaged, or changed by something else than this program.
  case damagedSettings(path: String)
  /// There were settings, and their file is gone.
  case lostSettings(path: String)
  /// There is no such thing. The text names it.
  case notFound(String)
  /// Something with this name, key or path is there already. The text names it.
  case alreadyExists(String)
  /// Something was to be kept for a recipient, by its card digest, that is no peer, or no longer one.
  case unknownRecipient(Digest)
  /// A value handed in by the caller can't be stored (too long, wrong length, a NUL character). The text names it.
  case invalid(String)
  /// The vault is protected by a passphrase and none was given.
  case passphraseRequired
  case wrongPassphrase
  /// The device key is missing or another one: it was lost or damaged, or the data folder was made on another device.
  case wrongDevice
  /// A file or folder of the vault may be read or changed by others: it is refused. `advice` is a command to run.
  case tooOpen(path: String, advice: String)
  case notOwned(path: String)
  case permissions(path: String)
  case readOnly(path: String)
  /// No room: the disk is full, or a quota or file size limit is reached.
  case diskFull(path: String)
  /// Something in the clear must lie in memory, and none of these folders does, or takes it.
  case notInMemory([String])
  /// Another process has held the store, or this file, for too long.
  case busy(path: String)
  case tooNew(String)
  /// Any other failure of the operating system or of SQLite.
  case inputOutput(path: String, reason: String)
  /// The cryptographic library refused: no memory for secrets, for example.
  case sodium(SodiumError)
}

extension StoreError: CustomStringConvertible {
  /// One plain sentence, and what to do where that is known.
  package var description: String {
    switch self {
    case .damaged(let what): "\(what) is damaged"
    case .damagedSettings(let path): "\(path) is damaged or was changed by another program"
    case .lostSettings(let path): "\(path) is missing, though this vault has had settings"
    case .notFound(let what): "\(what) was not found"
    case .alreadyExists(let what): "\(what) exists already"
    case .unknownRecipient(let digest): "the recipient \(digest) is not among the peers"
    case .invalid(let what): "\(what) can't be stored"
    case .passphraseRequired: "the vault needs its passphrase"
    case .wrongPassphrase: "the passphrase is wrong"
    case .wrongDevice:
      "the device key of this data folder is not here: it was lost or damaged, or the folder belongs to another device"
    case .tooOpen(let path, let advice): "\(path) is open to other users; run: \(advice)"
    case .notOwned(let path):
      "\(path) belongs to another user; run: sudo chown \"$USER\" '\(path)' && chmod go= '\(path)'"
    case .permissions(let path): "no permission for \(path)"
    case .readOnly(let path): "\(path) is on a read-only file system"
    case .diskFull(let path): "no room left for \(path)"
    case .notInMemory(let folders):
      "what is in the clear may not lie on a disk, and no folder in memory takes it (tried \(folders.joined(separator: ", ")))"
    case .busy(let path): "\(path) is in use by another process"
    case .tooNew(let what): "\(what) was written by a newer version of this program"
    case .inputOutput(let path, let reason): "\(path): \(reason)"
    case .sodium(let error): "cryptographic library: \(error)"
    }
  }
}

/// Runs `body` and reports libsodium's errors as ``StoreError/sodium(_:)``.
func withSodium<Result: ~Copyable>(_ body: () throws(SodiumError) -> Result) throws(StoreError) -> Result {
  do throws(SodiumError) { return try body() } catch { throw .sodium(error) }
}

func withSodium<Result: ~Copyable>(
  _ value: @autoclosure () throws(SodiumError) -> Result
) throws(StoreError) -> Result {
  do throws(SodiumError) { return try value() } catch { throw .sodium(error) }
}
