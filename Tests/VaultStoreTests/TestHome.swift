import Glibc
import ShamirKit
import Sodium
import Testing
import VaultProtocol

@testable import VaultStore

/// A vault in a folder of its own, removed when the test ends.
final class TestHome {
  let path: String
  let folders: VaultFolders

  init() throws {
    var template = Array("/tmp/vault-store-XXXXXX".utf8CString)
    path = try #require(mkdtemp(&template).map { String(cString: $0) })
    folders = VaultFolders(home: path)
  }

  deinit { removeTree(path) }

  /// A new vault without a passphrase, opened.
  func makeDatabase() throws -> VaultDatabase {
    let creation = try VaultCreation(in: folders, passphrase: nil)
    let database = try creation.makeDatabase()
    try creation.commit()
    return database
  }

  /// The same vault, opened anew.
  func reopen() throws -> VaultDatabase {
    try VaultDatabase(folders, keys: VaultKeys.unlock(folders, passphrase: nil))
  }

  /// All regular files, by path.
  func files() -> [String] { VaultStoreTests.files(below: path) }

  /// The files that contain `pattern`.
  func files(containing pattern: [UInt8]) -> [String] {
    files().filter { path in contents(path).firstRange(of: pattern) != nil }
  }
}

extension VaultKeys {
  /// The keys of a new vault, whose database is there and empty.
  static func create(
    in folders: VaultFolders, passphrase: borrowing SecretBytes?, costLogarithm: Int = defaultCostLogarithm
  ) throws -> VaultKeys {
    let creation = try VaultCreation(in: folders, passphrase: passphrase, costLogarithm: costLogarithm)
    let keys = creation.keys
    _ = try creation.makeDatabase()
    try creation.commit()
    return keys
  }
}

func removeTree(_ path: String) {
  for file in files(below: path, folders: true) { if unlink(file) != 0 { rmdir(file) } }
  rmdir(path)
}

/// Files below a folder; with `folders`, folders too, each behind what it contains.
func files(below path: String, folders: Bool = false) -> [String] {
  var found: [String] = []
  for name in (try? FileNames.list(path)) ?? [] {
    let entry = path + "/" + name
    var status = stat()
    guard lstat(entry, &status) == 0 else { continue }
    if status.st_mode & S_IFMT == S_IFDIR {
      found += files(below: entry, folders: folders)
      if folders { found.append(entry) }
    } else {
      found.append(entry)
    }
  }
  return found
}

func contents(_ path: String) -> [UInt8] {
  guard let file = try? OpenFile(path, O_RDONLY), let size = try? file.byteCount() else { return [] }
  return (try? file.read(count: Int(size), at: 0)) ?? []
}

func write(_ bytes: [UInt8], to path: String, mode: mode_t = 0o600) throws {
  let file = try OpenFile(path, O_WRONLY | O_CREAT | O_TRUNC, mode: mode)
  try file.write(bytes.span.bytes)
}

func mode(_ path: String) -> mode_t {
  var status = stat()
  return lstat(path, &status) == 0 ? status.st_mode & 0o7777 : 0
}

func exists(_ path: String) -> Bool {
  var status = stat()
  return lstat(path, &status) == 0
}

func digest(_ text: String) throws -> Digest {
  var hash = try DomainHash("vault/test/v1")
  hash.append(text)
  return hash.digest()
}

func secret(_ bytes: [UInt8]) throws -> SecretBytes { try SecretBytes(copying: bytes.span.bytes) }

func text(_ text: String) throws -> SecretBytes { try secret(Array(text.utf8)) }

func publicCopy(_ secret: borrowing SecretBytes) -> [UInt8] { secret.withUnsafeBytes { Array($0) } }

func samplePeer(_ name: String, state: PeerRecord.State = .scanned) throws -> PeerRecord {
  PeerRecord(
    digest: try digest(name), signingKey: try digest(name + " signs").bytes,
    noiseKey: try digest(name + " speaks").bytes, boxKey: try digest(name + " receives").bytes, name: name,
    card: Array("card of \(name)".utf8), addresses: ["192.0.2.1:4721"], state: state, addedAt: 1000)
}

func sampleID(_ number: UInt8) -> SecretID {
  let half = UInt64(number) &* 0x0101_0101_0101_0101
  return SecretID(high: half, low: half)
}

/// A parcel's. Zeros are none.
@_disfavoredOverload func sampleID(_ number: UInt8) -> ParcelID {
  guard let id = ParcelID([UInt8](repeating: number, count: ParcelID.byteCount)) else { preconditionFailure() }
  return id
}

/// The same for what else has 16 bytes for a name.
@_disfavoredOverload func sampleID(_ number: UInt8) -> [UInt8] { [UInt8](repeating: number, count: 16) }

func sampleSecret(
  _ number: UInt8, origin: SecretRecord.Origin = .held, header: String = "header", ownIndex: Int? = 2
) throws -> SecretRecord {
  SecretRecord(
    id: sampleID(number), askTag: try digest("ask \(number)"), headerDigest: try digest(header),
    header: Array(header.utf8), origin: origin, dealer: try digest("dealer"), description: "letters ✉️",
    kind: 1, threshold: 2, shareCount: 3, ownIndex: ownIndex, createdAt: 10, receivedAt: 20)
}

/// Writes a fragment of `byteCount` bytes under its final name, the way a deposit arrives.
func placeFragment(
  _ database: VaultDatabase, _ number: UInt8, index: Int, header: String = "header", byteCount: Int = 100
) throws -> FragmentRecord {
  let partial = try database.openPartial(
    FragmentRecord(
      partialOf: sampleID(number), index: index, byteCount: Int64(byteCount), trailerByteCount: 4, expiresAt: 1_000_000,
      headerDigest: digest(header), source: digest("dealer")),
    pieceByteCount: 64)
  let data = [UInt8](repeating: 7, count: byteCount)
  for start in stride(from: 0, to: byteCount, by: 64) where start / 64 >= partial.piecesPresent {
    try partial.append(data.span.bytes.extracting(start..<min(byteCount, start + 64)))
  }
  try partial.finish(trailer: ([1, 2, 3, 4] as [UInt8]).span.bytes)
  return FragmentRecord(
    completeOf: sampleID(number), index: index, byteCount: Int64(byteCount), trailerByteCount: 4,
    pieces: partial.pieceCount, headerDigest: try digest(header), source: try digest("dealer"))
}

/// Places fragments the way a dealer makes them, and returns their records while the staging is still open.
func stageFragments(
  _ database: VaultDatabase, _ number: UInt8, count: Int
) throws -> (staging: FragmentStaging, records: [FragmentRecord]) {
  let staging = try database.fragments.stage(count: count)
  for index in 1...count {
    try staging.write([UInt8](repeating: UInt8(index), count: 50).span.bytes, index: index, at: 0)
    try staging.write(([9, 9] as [UInt8]).span.bytes, index: index, at: 50)
  }
  try staging.publish(as: sampleID(number))
  let records = try (1...count).map {
    FragmentRecord(
      completeOf: sampleID(number), index: $0, byteCount: 50, trailerByteCount: 2, pieces: 1,
      headerDigest: try digest("header"), source: nil)
  }
  return (staging, records)
}

/// The number of the share that is stored and opens, or nil.
func shareIndex(_ database: VaultDatabase, _ number: UInt8) throws -> Int? {
  guard let share = try database.share(ofSecret: sampleID(number)) else { return nil }
  return share.index
}
