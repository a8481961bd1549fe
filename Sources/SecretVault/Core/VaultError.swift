import Sodium
import VaultStore

/// What went wrong, to whom or what, and what to do next: one or two plain sentences.
///
/// `code` is stable and decides the exit code; `reason` and `hint` are for people. Neither ever holds secret bytes.
package struct VaultError: Error, Hashable, Sendable, CustomStringConvertible {
  /// Kinds of failure that a caller may want to tell apart.
  package enum Code: String, Hashable, Sendable {
    /// The request makes no sense as asked (a threshold of 1, an unknown name).
    case usage
    /// There is no vault here, or there is one already.
    case noVault, vaultExists
    /// Nothing, or more than one thing, has that name.
    case notFound, ambiguous
    /// Fewer shares than the threshold could be collected; nothing was written.
    case belowThreshold
    /// The same, and the only reason is that enough holders wait for their user's word, or for some time to pass.
    case awaitingConsent
    /// A peer, or this device, said no.
    case refused
    case unreachable
    /// The vault needs a passphrase and none was given, or the one given is wrong.
    case wrongPassphrase
    /// A secret has a password of its own and none was given, or the one given is wrong.
    case wrongPassword
    /// Stored or received data does not verify.
    case damaged
    case outputExists
    /// The user or a signal stopped it.
    case interrupted
    /// A file or folder could not be read or written, or the disk is full.
    case inputOutput
    case other
  }

  package let code: Code
  package let reason: String
  package let hint: String?
  /// Secrets among which the user has to choose.
  package var candidates: [SecretSummary] = []
  /// What each holder did, where a recovery came to nothing.
  package var recovery: FailedRecovery?

  package init(_ code: Code, _ reason: String, hint: String? = nil) {
    self.code = code
    self.reason = reason
    self.hint = hint
  }

  package var description: String { hint.map { "\(reason)\n\($0)" } ?? reason }
}

/// A recovery for which not enough came together, for who shows it line by line; ``VaultError/reason`` has all of it in a
/// sentence.
package struct FailedRecovery: Hashable, Sendable {
  /// `2 of 4 shares`
  package let brief: String
  package let holders: [HolderOutcome]

  package init(brief: String, holders: [HolderOutcome]) {
    self.brief = brief
    self.holders = holders
  }
}

extension VaultError {
  /// Most secrets that one error names.
  private static let namedLimit = 100

  /// A failure of the store; where the database is damaged, with the secrets whose shares can't be served because of it.
  init(_ error: StoreError, namingSharesIn companions: CompanionFiles) {
    let plain = VaultError(error)
    guard case .damaged = error else {
      self = plain
      return
    }
    let hint = "restore a backup with `vault backup restore`, or make the database anew with `vault device rebuild`"
    let held = companions.heldSecrets()
    guard !held.isEmpty else {
      self.init(.damaged, plain.reason, hint: hint)
      return
    }
    let names = held.prefix(Self.namedLimit).map { secret in
      let id = secret.id.description
      return secret.description.map { "\(id) (\($0))" } ?? id
    }
    let rest = held.count > names.count ? ", and \(held.count - names.count) more" : ""
    self.init(
      .damaged,
      "\(plain.reason); until it is restored no share of these secrets can be served: "
        + names.joined(separator: ", ") + rest,
      hint: hint)
  }
}
