import Sodium
import WireCodec

/// What a file in the folder of companions says, of a secret or of whom this device trusts.
enum Companion {
  /// What its rows say.
  case secret(SecretCompanion)
  /// That the user has deleted it.
  case deleted(DeletedCompanion)
  /// Who this device is, and its peers.
  case trust(TrustCompanion)

  /// The bytes of the file: the value, and its MAC.
  func file(_ keys: VaultKeys) throws(StoreError) -> [UInt8] {
    let body: [UInt8]
    do throws(WireError) {
      switch self {
      case .secret(let companion): body = try companion.encoded()
      case .deleted(let companion): body = try companion.encoded()
      case .trust(let companion): body = try companion.encoded()
      }
    } catch { throw .invalid("a secret") }
    guard body.count <= SecretCompanion.byteLimit - Digest.byteCount else { throw .invalid("a secret") }
    return body + (try Self.mac(body, keys))
  }

  /// What the file of secret `id` says. Throws ``StoreError/damaged(_:)`` if anything in it isn't as it was written.
  static func read(_ path: String, of id: [UInt8], _ keys: VaultKeys) throws(StoreError) -> Companion {
    let bytes = try AtomicFile.read(path, limit: SecretCompanion.byteLimit)
    let body = Array(bytes.dropLast(Digest.byteCount))
    guard bytes.count > Digest.byteCount, macsMatch(Array(bytes.suffix(Digest.byteCount)), try mac(body, keys)) else {
      throw .damaged(path)
    }
    do throws(WireError) {
      if id == TrustCompanion.id { return .trust(try TrustCompanion.decode(body, limit: SecretCompanion.byteLimit)) }
      if body.starts(with: DeletedCompanion.magic) {
        let deleted = try DeletedCompanion.decode(body, limit: SecretCompanion.byteLimit)
        guard deleted.secretID == id else { throw WireError.invalidValue(field: "id") }
        return .deleted(deleted)
      }
      let companion = try SecretCompanion.decode(body, limit: SecretCompanion.byteLimit)
      guard companion.secret.id == id else { throw WireError.invalidValue(field: "id") }
      return .secret(companion)
    } catch .unsupported { throw .tooNew(path) } catch { throw .damaged(path) }
  }

  private static func mac(_ body: [UInt8], _ keys: VaultKeys) throws(StoreError) -> [UInt8] {
    try keys.mac("vault/secret-companion/v1") { $0.append(body) }
  }
}

/// That a secret was deleted: so that it stays deleted, also if the database is put back to an earlier state or made anew.
struct DeletedCompanion: WireValue, Hashable {
  static let magic = Array("VAULTDEL".utf8)
  static let version: UInt8 = 1

  let secretID: [UInt8]
  /// When, in milliseconds since 1970.
  let deletedAt: Int64
  /// What a later version has added, as it was read.
  private(set) var extensions = Extensions()

  init(secretID: [UInt8], deletedAt: Int64) {
    self.secretID = secretID
    self.deletedAt = deletedAt
  }

  func encode(into writer: inout Writer) throws(WireError) {
    try writer.bytes(Self.magic)
    try writer.u8(Self.version)
    try writer.bytes(secretID)
    try writer.u64(UInt64(bitPattern: deletedAt))
    try extensions.encode(into: &writer)
  }

  init(from reader: inout Reader) throws(WireError) {
    guard try reader.bytes(8, "magic") == Self.magic else { throw .invalidValue(field: "magic") }
    let version = try reader.u8("version")
    guard version == Self.version else { throw .unsupported(field: "version", value: UInt64(version)) }
    secretID = try reader.bytes(SecretRecord.idByteCount, "id")
    deletedAt = Int64(bitPattern: try reader.u64("deleted"))
    let extensions = try Extensions(from: &reader)
    try extensions.require()
    self.extensions = extensions
  }
}
