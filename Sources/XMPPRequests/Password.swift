package import Sodium

/// An account's password for the time that a connection begins, shared by the caller's task and the connection's
/// thread.
///
/// To log in, it never leaves this memory: SCRAM is computed here, and only its proof is sent. Libstrophe, which would
/// take the password and would also send it in the clear inside TLS if a server asked for PLAIN, never gets it.
package final class Password: Sendable {
  package static let limit = 1023

  package let bytes: SecretBytes

  /// Copies it. One that contains control characters or isn't UTF-8 is refused; letters beyond ASCII are used as they
  /// are, which is right as long as they are composed, as keyboards send them.
  package init(_ password: borrowing SecretBytes) throws(XMPPError) {
    guard password.count > 0 else { throw .invalidPassword("it is empty") }
    guard password.count <= Self.limit else { throw .invalidPassword("it is longer than \(Self.limit) bytes") }
    let hasControls = password.withUnsafeBytes { bytes in
      bytes.contains { $0 < 0x20 || $0 == 0x7F }
    }
    guard !hasControls else { throw .invalidPassword("it has a control character") }
    do throws(SodiumError) { bytes = try password.duplicate() } catch { throw .noResources }
  }

  /// A stanza that gives the password to the server, between `head` and `tail`: to make an account or to change its
  /// password there is no other way.
  ///
  /// A new password has to be printable ASCII, so that every program prepares it alike. Each character is written as a
  /// reference, which needs no branch on what it is.
  package func stanza(head: [UInt8], tail: [UInt8]) throws(XMPPError) -> SecretStanza {
    let isPlain = bytes.withUnsafeBytes { $0.allSatisfy { (0x20...0x7E).contains($0) } }
    guard isPlain else { throw .invalidPassword("a new password can only have printable ASCII characters") }
    do throws(SodiumError) {
      return SecretStanza(
        try Self.escaped(bytes, head: [UInt8](repeating: 0x20, count: SecretStanza.lead) + head, tail: tail))
    } catch { throw .noResources }
  }

  /// Ended by a NUL, which libstrophe looks for.
  private static func escaped(
    _ password: borrowing SecretBytes, head: [UInt8], tail: [UInt8]
  ) throws(SodiumError) -> SecretBytes {
    let digits = try HexText.encode(password.bytes)
    let width = 6
    var text = try SecretBytes(zeros: head.count + password.count * width + tail.count + 1)
    text.withUnsafeMutableBytes { target in
      target.copyBytes(from: head)
      digits.withUnsafeBytes { digits in
        for place in 0..<(digits.count / 2) {
          let start = head.count + place * width
          target[start] = UInt8(ascii: "&")
          target[start + 1] = UInt8(ascii: "#")
          target[start + 2] = UInt8(ascii: "x")
          target[start + 3] = digits[place * 2]
          target[start + 4] = digits[place * 2 + 1]
          target[start + 5] = UInt8(ascii: ";")
        }
      }
      UnsafeMutableRawBufferPointer(rebasing: target[(target.count - 1 - tail.count)...]).copyBytes(from: tail)
    }
    return text
  }
}

/// A stanza that contains a password.
///
/// What remains outside of secret memory, for the moment of sending: libstrophe's copy in its queue and the one in its
/// debug message, which nobody reads; both are in memory that is wiped when it is given back. OpenSSL's copy is
/// encrypted where it lies. The server gets the password itself. Libstrophe also writes the first 1023 bytes of a debug
/// message to its stack, so the stanza begins with blanks, which XML allows there and which are all that comes to lie
/// on the stack.
package final class SecretStanza: Sendable {
  package static let lead = 1100
  package let bytes: SecretBytes
  package init(_ bytes: consuming SecretBytes) { self.bytes = bytes }
}
