import Grouper
import HTTPRequests
import Sodium

extension AuthorizationLine {
  /// From a key, whose text begins with its kind.
  convenience init(_ key: ServerKey) throws(SodiumError) {
    try self.init(prefix: key.kind.textPrefix, Self.digits(of: key.secret))
  }

  private static func digits(of secret: borrowing SecretBytes) throws(SodiumError) -> SecretBytes {
    try HexText.encode(secret.bytes)
  }

  /// From what a server's operator has given out.
  convenience init(_ token: CreationToken) throws(SodiumError) { try self.init(token.secret) }
}
