/// Why something didn't work with an account of XMPP.
package enum XMPPError: Error, Hashable, Sendable {
  /// The text isn't an address that can be used: the reason in plain words.
  case invalidAddress(String)
  /// The password can't be used: the reason in plain words.
  case invalidPassword(String)
  /// What should be sent is too long or has characters that can't be sent: the reason in plain words.
  case invalidContent(String)
  /// No connection, or it broke: the reason in plain words.
  case unreachable(String)
  /// The server isn't trusted, because of its certificate or because it doesn't know the password itself: the reason.
  case untrusted(String)
  /// The server doesn't offer encryption; nothing was said to it.
  case unencrypted
  /// The server offers no way to log in without giving the password away.
  case noSafeLogin
  /// The account doesn't exist, or this isn't its password.
  case wrongPassword
  /// The server refuses, by its word for it (RFC 6120).
  case refused(XMPPCondition)
  /// The server takes no new accounts from here: the reason in plain words.
  case registrationUnavailable(String)
  case accountExists
  /// Who is at the other end broke the protocol: what is wrong.
  case malformed(String)
  /// More came at once than any use of this needs.
  case tooMuch(String)
  /// The server closed the stream, by its word for it (`conflict`, `system-shutdown`).
  case streamEnded(XMPPCondition)
  /// The connection is closed already, by this side.
  case closed
  /// More waits to be sent than the connection takes.
  case busy
  case cancelled
  /// No descriptor below 1024 is left in this program for a connection to a server.
  case tooManyFiles
  /// This machine has no memory, thread or descriptor left for a connection.
  case noResources
}

/// A server's word for what is wrong: lower-case letters and hyphens, nothing else of what it sent.
package struct XMPPCondition: Hashable, Sendable, CustomStringConvertible {
  /// `undefined-condition` if it was none.
  package let description: String

  package init(_ name: String) {
    let isWord =
      !name.isEmpty && name.utf8.count <= 48
      && name.utf8.allSatisfy { (UInt8(ascii: "a")...UInt8(ascii: "z")).contains($0) || $0 == UInt8(ascii: "-") }
    description = isWord ? name : "undefined-condition"
  }
}
