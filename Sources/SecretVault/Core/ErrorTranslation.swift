import Dispatch
import ShamirKit
import Sodium
package import VaultStore

/// An error of another floor that says itself what it is in the words of a vault.
package protocol VaultErrorConvertible: Error {
  var vaultError: VaultError { get }
}

extension VaultError {
  /// Any error in the words of a vault: what floors below throw becomes a vault's error here and nowhere else.
  package init(_ error: any Error) { self = VaultError(known: error) ?? VaultError(.other, "\(error)") }

  /// The same; nil if the error says nothing to a user.
  package init?(known error: any Error) {
    switch error {
    case let error as VaultError: self = error
    case let error as StoreError: self.init(error)
    case let error as ShamirError: self.init(.other, "the shares can't be computed: \(error)")
    case is CancellationError: self.init(.interrupted, "interrupted")
    case let error as any VaultErrorConvertible: self = error.vaultError
    default: return nil
    }
  }

  package init(_ error: StoreError) {
    switch error {
    case .damaged:
      self.init(
        .damaged, error.description,
        hint: "nothing was changed; restore the vault's folders from a backup of this device if there is one")
    case .damagedSettings, .lostSettings:
      self.init(
        .damaged, error.description,
        hint: "put it back from a copy; or, if every setting may have its default, say `vault settings reset`, and set "
          + "anew what was set. Until then this device releases no share and takes none")
    case .unknownRecipient:
      self.init(.refused, error.description, hint: "was the peer removed meanwhile? see `vault peer list`")
    case .notFound: self.init(.notFound, error.description)
    case .alreadyExists, .sodium: self.init(.other, error.description)
    case .invalid: self.init(.usage, error.description)
    case .passphraseRequired, .wrongPassphrase: self.init(.wrongPassphrase, error.description)
    case .wrongDevice:
      self.init(
        .damaged, error.description,
        hint:
          "if this is the device, put device.key back from a copy of its state folder, or from its recovery kit with "
          + "`vault backup restore --kit KIT`: without it no share that is here can be opened. Else recover and share the secrets again from the old device: a share lives on one device only"
      )
    case .tooOpen, .notOwned, .permissions, .readOnly, .diskFull, .busy, .inputOutput:
      self.init(.inputOutput, error.description)
    case .notInMemory:
      self.init(
        .inputOutput, error.description, hint: "a tmpfs on /dev/shm will do, or hand in the text by - or a file")
    case .tooNew: self.init(.other, error.description, hint: "update vault on this device")
    }
  }

  /// A failed link as the outcome of a command about one peer.
  init(_ failure: LinkFailure, peer: String) {
    let code: Code =
      switch failure.kind {
      case .unreachable, .cutOff, .slow: .unreachable
      case .unknownHere, .refused: .refused
      case .misbehaved: .damaged
      case .local: .other
      }
    self.init(code, "\(peer) \(failure.reason)", hint: failure.hint)
  }

  /// The same error once a part of the file has gone to a pipe or terminal.
  var afterOutput: VaultError {
    let untrue = "nothing was written"
    let fact = "what was written so far is incomplete"
    return VaultError(code, reason.replacing(untrue, with: fact), hint: hint?.replacing(untrue, with: fact))
  }
}

/// Runs blocking work on a thread of its own kind: the tasks' threads are as few as the processors.
func offPool<Value: Sendable>(_ work: @escaping @Sendable () throws -> Value) async throws -> Value {
  try await withCheckedThrowingContinuation { continuation in
    DispatchQueue.global().async { continuation.resume(with: Result(catching: work)) }
  }
}

func freshSecret(_ count: Int) throws -> SecretBytes {
  do { return try SecretBytes(random: count) } catch {
    throw VaultError(.other, "no secret memory is left on this device")
  }
}
