package import SealedPayload
package import ShamirKit
package import Sodium
import Synchronization
package import WireCodec

/// Something to share that lies in memory only: a note, a password, a contact, a key.
///
/// It is taken by the one request that shares it, so that nothing of it is left in memory while shares are delivered.
package final class SecretContent: Sendable {
  /// Makes what stands in the clear beside the secret, from its id and its body.
  package typealias HeaderExtensions = @Sendable (SecretID, borrowing SecretBytes) throws -> Extensions

  struct Parts: ~Copyable, Sendable {
    let header: PayloadHeader
    let body: SecretBytes
    let extensions: HeaderExtensions?
  }

  private let parts: Mutex<Parts?>

  /// `extensions` is asked for entries in the public, signed header of the secret.
  package init(header: consuming PayloadHeader, body: consuming SecretBytes, extensions: HeaderExtensions? = nil) {
    parts = Mutex(Parts(header: header, body: body, extensions: extensions))
  }

  /// What is in it; once.
  func take() throws -> Parts {
    let taken = parts.withLock { $0.take() }
    guard let taken else { throw VaultError(.other, "this was shared already") }
    return taken
  }
}

/// The password of a new secret. It is taken by the one request that shares the secret.
package final class SharePassword: Sendable {
  /// log2 of scrypt's N.
  package let logarithm: Int
  private let password: Mutex<SecretBytes?>

  /// A password of at least one byte, in UTF-8, and a cost from ``Scrypt/acceptedLogarithms``.
  package init(_ password: consuming SecretBytes, logarithm: Int) throws {
    guard password.count > 0 else { throw VaultError(.usage, "an empty password protects nothing") }
    guard Scrypt.acceptedLogarithms.contains(logarithm) else {
      throw VaultError(.usage, "a password costs 2^15 to 2^20, not 2^\(logarithm)")
    }
    self.logarithm = logarithm
    self.password = Mutex(password)
  }

  /// The layer that it makes; once.
  func layer() throws -> PasswordLayer {
    let taken = password.withLock { $0.take() }
    guard let taken else { throw VaultError(.other, "this password was used already") }
    do { return try PasswordLayer(password: taken, logarithm: logarithm) } catch {
      throw VaultError(.other, "the password can't be used: \(error)")
    }
  }
}
