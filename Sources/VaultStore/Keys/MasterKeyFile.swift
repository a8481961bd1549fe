import Sodium
import WireCodec

/// `master.key`: the master key, sealed to this device and, if the user wants it, to a passphrase.
///
/// Everything in it is public or ciphertext. The byte-exact format is in `docs/formats/store.md`.
struct MasterKeyFile: WireValue {
  static let magic = Array("VAULTKEY".utf8)
  static let version: UInt8 = 1
  static let byteLimit = 8192
  /// Costs that are accepted, as log2 of scrypt's N.
  static let acceptedLogarithms = 17...20

  /// log2 of scrypt's N, or nil without a passphrase.
  var costLogarithm: Int?
  /// Tells this device's key from another's.
  var deviceID: Digest
  /// scrypt's salt; zeros without a passphrase.
  var salt: [UInt8]
  var nonce: [UInt8]
  var sealed: [UInt8]
  var extensions = Extensions()

  init(costLogarithm: Int?, deviceID: Digest, salt: [UInt8], nonce: [UInt8], sealed: [UInt8]) {
    self.costLogarithm = costLogarithm
    self.deviceID = deviceID
    self.salt = salt
    self.nonce = nonce
    self.sealed = sealed
  }

  private var bodyByteCount: Int { 8 + 1 + 1 + 32 + 32 + 24 + 48 + extensions.encodedByteCount }

  func encode(into writer: inout Writer) throws(WireError) {
    let body = try publicBytes(count: bodyByteCount) { writer throws(WireError) in try encodeBody(into: &writer) }
    try writer.bytes(body)
    try writer.bytes(Self.checksum(body).bytes)
  }

  private func encodeBody(into writer: inout Writer) throws(WireError) {
    try writer.bytes(Self.magic)
    try writer.u8(Self.version)
    try writer.u8(UInt8(truncatingIfNeeded: costLogarithm ?? 0))
    try writer.bytes(deviceID.bytes)
    try writer.bytes(salt)
    try writer.bytes(nonce)
    try writer.bytes(sealed)
    try extensions.encode(into: &writer)
  }

  init(from reader: inout Reader) throws(WireError) {
    try reader.head(Self.magic, version: Self.version)
    let logarithm = Int(try reader.u8("cost"))
    guard logarithm == 0 || Self.acceptedLogarithms.contains(logarithm) else { throw .invalidValue(field: "cost") }
    costLogarithm = logarithm == 0 ? nil : logarithm
    deviceID = try reader.digest("device id")
    salt = try reader.bytes(Scrypt.saltByteCount, "salt")
    guard logarithm != 0 || salt.allSatisfy({ $0 == 0 }) else { throw .invalidValue(field: "salt") }
    nonce = try reader.bytes(SecretBox.nonceByteCount, "nonce")
    sealed = try reader.bytes(48, "sealed key")
    extensions = try reader.extensions()
    // Canonical: encoding what was read gives the bytes that were read.
    let body = try publicBytes(count: bodyByteCount) { writer throws(WireError) in try encodeBody(into: &writer) }
    guard try reader.bytes(32, "checksum") == Self.checksum(body).bytes else {
      throw .invalidValue(field: "checksum")
    }
  }

  /// Tells damage from a wrong passphrase. Not a protection against somebody who can write the file.
  private static func checksum(_ body: [UInt8]) throws(WireError) -> Digest {
    do throws(SodiumError) {
      var hash = try DomainHash("vault/master-key-checksum/v1")
      hash.append(body)
      return hash.digest()
    } catch { throw .invalidValue(field: "checksum") }
  }

  static func read(_ path: String) throws(StoreError) -> MasterKeyFile {
    let bytes = try AtomicFile.read(path, limit: byteLimit)
    do throws(WireError) { return try decode(bytes, limit: byteLimit) } catch {
      throw StoreError(reading: path, error)
    }
  }
}
