import Grouper
import Sodium

/// The line of a request's head that has the key, ready for libcurl, in secret memory.
///
/// libcurl copies it into the buffer of the request and, with TLS, the TLS library encrypts it from there: these copies, for the
/// moment of a request, are out of this program's hands.
final class AuthorizationLine: Sendable {
  private let text: SecretBytes

  /// From a key, whose text begins with its kind.
  init(_ key: ServerKey) throws(SodiumError) {
    text = try Self.line(prefix: key.kind.textPrefix, Self.digits(of: key.secret))
  }

  /// From what a server's operator has given out.
  init(_ token: CreationToken) throws(SodiumError) {
    text = try Self.line(prefix: [], token.secret)
  }

  private static func digits(of secret: borrowing SecretBytes) throws(SodiumError) -> SecretBytes {
    try HexText.encode(secret.bytes)
  }

  private static func line(
    prefix: [UInt8], _ secret: borrowing SecretBytes
  ) throws(SodiumError) -> SecretBytes {
    let beginning = Array("Authorization: Bearer ".utf8) + prefix
    var line = try SecretBytes(zeros: beginning.count + secret.count + 1)
    line.withUnsafeMutableBytes { target in
      target.copyBytes(from: beginning)
      secret.withUnsafeBytes {
        UnsafeMutableRawBufferPointer(rebasing: target[beginning.count...]).copyMemory(from: $0)
      }
    }
    return line
  }

  /// Lends the text, ended by a NUL.
  var pointer: UnsafePointer<CChar>? {
    text.withUnsafeBytes { $0.baseAddress?.assumingMemoryBound(to: CChar.self) }
  }
}
