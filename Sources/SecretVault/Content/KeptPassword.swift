import Sodium
import Synchronization

/// The password that has opened something, for what takes its place: its second encryption is not to get lost on the way.
final class KeptPassword: Sendable {
  private struct Given: ~Copyable {
    let password: SecretBytes
    let logarithm: Int
  }
  private let given = Mutex<Given?>(nil)

  /// Keeps a copy of the last answer. A wrong one is followed by another, or by a failure of the whole.
  func keep(_ answer: consuming SecretBytes?, _ attempt: PasswordAttempt) throws -> SecretBytes? {
    guard let answer else { return nil }
    let copy: SecretBytes
    do { copy = try answer.duplicate() } catch { throw VaultError(.other, "no memory is left for the password") }
    let fresh = Given(password: copy, logarithm: attempt.logarithm)
    put(fresh)
    return answer
  }

  private func put(_ fresh: consuming sending Given) {
    var fresh: Given? = fresh
    given.withLock { $0 = fresh.take() }
  }

  /// The password layer of what is new, if the old one had one.
  func again() throws -> SharePassword? {
    guard let kept = given.withLock({ $0.take() }) else { return nil }
    let logarithm = kept.logarithm
    return try SharePassword(try copy(kept), logarithm: logarithm)
  }

  private func copy(_ kept: borrowing Given) throws -> SecretBytes {
    do { return try kept.password.duplicate() } catch { throw VaultError(.other, "no memory is left for the password") }
  }
}
