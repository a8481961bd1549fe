package import Sodium

/// A question for the password of a secret.
package struct PasswordAttempt: Hashable, Sendable {
  /// Wrong passwords after which recovering is given up.
  package static let limit = 3

  /// Which attempt this is, from 1 to ``limit``.
  package let number: Int
  /// log2 of scrypt's N, to tell the user how long a try takes.
  package let logarithm: Int

  var unanswered: VaultError {
    number > 1
      ? Self.allWrong
      : VaultError(
        .wrongPassword, "this secret has a password of its own as well, and none was given; nothing was written",
        hint: Self.hint)
  }

  static var allWrong: VaultError {
    VaultError(.wrongPassword, "that is not the password of this secret; nothing was written", hint: hint)
  }

  var outOfMemory: VaultError {
    VaultError(
      .other,
      "this secret's password takes \(Scrypt.memoryByteCount(logarithm: logarithm) >> 20) MiB of memory to try, and they can't be had",
      hint: "end other programs, or recover it on another holder's device; nothing was written")
  }

  private static let hint = "it is not the passphrase of the vault; whoever shared the secret chose it"
}

/// Answers the question for a secret's password, in UTF-8; nil gives up.
package typealias PasswordSource = @Sendable (PasswordAttempt) async throws -> SecretBytes?
