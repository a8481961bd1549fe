package import Sodium

/// The line of a request's head that has the key, ready for libcurl, in secret memory.
///
/// libcurl copies it into the buffer of the request and, with TLS, the TLS library encrypts it from there: these
/// copies, for the moment of a request, are out of our hands.
package final class AuthorizationLine: Sendable {
  /// Longest line: a token of a server's operator may be long.
  package static let limit = 8 << 10

  private let text: SecretBytes

  /// From a key or a token, behind a word that says of which kind it is.
  package init(prefix: [UInt8] = [], _ secret: borrowing SecretBytes) throws(SodiumError) {
    let beginning = Array("Authorization: Bearer ".utf8) + prefix
    var line = try SecretBytes(zeros: beginning.count + secret.count + 1)
    line.withUnsafeMutableBytes { target in
      target.copyBytes(from: beginning)
      secret.withUnsafeBytes {
        UnsafeMutableRawBufferPointer(rebasing: target[beginning.count...]).copyMemory(from: $0)
      }
    }
    text = line
  }

  /// From the whole line, ended by a NUL. Nil if it isn't one.
  package init?(line: consuming SecretBytes) {
    let isLine = line.withUnsafeBytes { bytes in
      (1...Self.limit).contains(bytes.count) && bytes.last == 0 && bytes.dropLast().allSatisfy { $0 >= 0x20 }
    }
    guard isLine else { return nil }
    text = line
  }

  /// A copy of the whole line, ended by a NUL.
  package func duplicate() throws(SodiumError) -> SecretBytes { try text.duplicate() }

  /// Lends the text, ended by a NUL.
  package var pointer: UnsafePointer<CChar>? {
    text.withUnsafeBytes { $0.baseAddress?.assumingMemoryBound(to: CChar.self) }
  }
}
