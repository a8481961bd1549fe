import ShamirKit
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

  private static let label: StaticString = "vault/secret-companion/v1"

  /// The bytes of the file: the value, and its MAC.
  func file(_ keys: VaultKeys) throws(StoreError) -> [UInt8] {
    let body =
      switch self {
      case .secret(let companion): try encoded(companion, "a secret")
      case .deleted(let companion): try encoded(companion, "a secret")
      case .trust(let companion): try encoded(companion, "a secret")
      }
    guard body.count <= SecretCompanion.byteLimit - Digest.byteCount else { throw .invalid("a secret") }
    return try keys.authenticated(body, Self.label)
  }

  /// What the file of this name says. Throws ``StoreError/damaged(_:)`` if anything in it isn't as it was written.
  static func read(_ path: String, _ name: CompanionName, _ keys: VaultKeys) throws(StoreError) -> Companion {
    let limit = SecretCompanion.byteLimit
    let body = try keys.readAuthenticated(path, limit: limit, label)
    do throws(WireError) {
      guard case .secret(let id) = name else { return .trust(try TrustCompanion.decode(body, limit: limit)) }
      if body.starts(with: DeletedCompanion.magic) {
        let deleted = try DeletedCompanion.decode(body, limit: limit)
        guard deleted.secretID == id else { throw WireError.invalidValue(field: "id") }
        return .deleted(deleted)
      }
      let companion = try SecretCompanion.decode(body, limit: limit)
      guard companion.secret.id == id else { throw WireError.invalidValue(field: "id") }
      return .secret(companion)
    } catch { throw StoreError(reading: path, error) }
  }
}

/// That a secret was deleted: so that it stays deleted, also if the database is put back to an earlier state or made anew.
struct DeletedCompanion: WireValue, Hashable {
  static let magic = Array("VAULTDEL".utf8)
  static let version: UInt8 = 1

  let secretID: SecretID
  /// When, in milliseconds since 1970.
  let deletedAt: Int64
  /// What a later version has added, as it was read.
  private(set) var extensions = Extensions()

  init(secretID: SecretID, deletedAt: Int64) {
    self.secretID = secretID
    self.deletedAt = deletedAt
  }

  func encode(into writer: inout Writer) throws(WireError) {
    try writer.bytes(Self.magic)
    try writer.u8(Self.version)
    try secretID.encode(into: &writer)
    try writer.signed(deletedAt)
    try extensions.encode(into: &writer)
  }

  init(from reader: inout Reader) throws(WireError) {
    try reader.head(Self.magic, version: Self.version)
    secretID = try SecretID(from: &reader)
    deletedAt = try reader.signed("deleted")
    extensions = try reader.extensions()
  }
}
