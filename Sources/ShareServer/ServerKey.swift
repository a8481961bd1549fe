import Sodium

/// What gives somebody access: 32 random bytes that the service draws, shows once, and keeps only as a hash.
///
/// A key has 256 bits from the system's generator, so a plain hash of it can't be searched, and needs no salt or cost.
/// The hash binds it to its group and user: a row copied elsewhere in the database opens nothing.
struct ServerKey: ~Copyable {
  enum Kind: String, Sendable {
    /// The group as a whole: users, keys, its end.
    case master = "vgm_"
    case access = "vga_"
  }

  let kind: Kind
  private let secret: SecretBytes

  private static let byteCount = 32
  private static let prefixCount = 4
  private static let scheme: StaticString = "bearer "

  init(drawing kind: Kind) throws(SodiumError) {
    self.kind = kind
    secret = try SecretBytes(random: Self.byteCount)
  }

  private init(_ kind: Kind, _ secret: consuming SecretBytes) {
    self.kind = kind
    self.secret = secret
  }

  /// The key in the value of an Authorization field: `Bearer vga_` or `Bearer vgm_`, then 64 lower-case digits. Nil if
  /// it is anything else.
  static func parse(authorization value: UnsafeRawBufferPointer) throws(SodiumError) -> ServerKey? {
    guard let token = bearerToken(value), token.count == prefixCount + 2 * byteCount,
      let kind = Kind(rawValue: String(decoding: token.prefix(prefixCount), as: UTF8.self))
    else { return nil }
    let digits = UnsafeRawBufferPointer(rebasing: token[prefixCount...])
    guard let secret = try HexText.decode(digits.bytes) else { return nil }
    return ServerKey(kind, secret)
  }

  /// What stands behind the word `Bearer`, which may be written in any case (RFC 9110, section 11.1).
  static func bearerToken(_ value: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer? {
    let count = scheme.utf8CodeUnitCount
    guard value.count > count else { return nil }
    let isBearer = scheme.withUTF8Buffer { scheme in
      zip(value, scheme).allSatisfy { byte, expected in
        (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte) ? byte | 0x20 == expected : byte == expected
      }
    }
    guard isBearer else { return nil }
    return UnsafeRawBufferPointer(rebasing: value[count...])
  }

  func text() throws(SodiumError) -> SecretBytes {
    let digits = try HexText.encode(secret.bytes)
    var text = try SecretBytes(zeros: Self.prefixCount + digits.count)
    text.withUnsafeMutableBytes { target in
      target.copyBytes(from: kind.rawValue.utf8)
      digits.withUnsafeBytes { digits in
        UnsafeMutableRawBufferPointer(rebasing: target[Self.prefixCount...]).copyMemory(from: digits)
      }
    }
    return text
  }

  /// What is stored and compared. A master key has no user.
  func digest(group: Identifier, user: Identifier?) throws(SodiumError) -> Digest {
    var hash = try DomainHash("vault/server-key/v1")
    hash.append(group.bytes)
    hash.append(user?.bytes ?? [])
    hash.append(secret.bytes)
    return hash.digest()
  }

  /// What a key is looked up by, since who presents it doesn't say whose it is: half of another hash. Looking up may
  /// take longer for some tags than for others, but nobody can choose a tag without knowing a key that has it.
  func tag(group: Identifier) throws(SodiumError) -> [UInt8] {
    var hash = try DomainHash("vault/server-key-tag/v1")
    hash.append(group.bytes)
    hash.append(secret.bytes)
    return Array(hash.digest().bytes.prefix(16))
  }
}

extension Digest {
  /// Compares in constant time.
  func matches(_ other: [UInt8]) -> Bool { constantTimeEqual(bytes.span.bytes, other.span.bytes) }
}
