import Concurrency
import SecretVault
import Sodium
import Synchronization

/// Where the password of a secret comes from. The vault's passphrase opens this device's vault; this one belongs to a single
/// secret, and to everybody who recovers it.
enum SecretPassword: Hashable, Sendable {
  case terminal
  case descriptor(Int32)
  case file(String)

  /// What to do where nobody can be asked.
  static let hint = "give it with --password-fd N or --password-file FILE"

  /// A password for something new: asked twice on a terminal, and never empty. Bytes count as they were typed.
  func chosen(_ console: Console) throws -> SecretBytes {
    let password: SecretBytes
    switch self {
    case .terminal:
      guard let terminal = Terminal() else {
        throw VaultError(.usage, "the secret's password is needed, and there is no terminal to ask on", hint: Self.hint)
      }
      password = try Passphrase.askTwice(terminal, noun: "password", question: "New password for this secret: ")
    case .descriptor(let descriptor):
      password = try Passphrase.read(from: descriptor, noun: "password", console)
    case .file(let path): password = try Passphrase.read(fileAt: path, noun: "password", console)
    }
    guard password.count > 0 else { throw VaultError(.usage, "an empty password protects nothing") }
    let isPlain = password.withUnsafeBytes { bytes in bytes.reduce(0) { $0 | $1 } < 0x80 }
    if !isPlain {
      console.note("the password has letters beyond ASCII: they count as the bytes that this keyboard makes of them")
    }
    return password
  }

  /// The answer to a question of a recovery; nil gives up. A descriptor or a file has one answer.
  func answer(_ attempt: PasswordAttempt, _ console: Console) async throws -> SecretBytes? {
    try PasswordCost.checkRoom(logarithm: attempt.logarithm)
    let held = try await OwnThread.run {
      let answer = try answerHere(attempt, console)
      return Held<SecretBytes>(answer)
    }
    return held.take()
  }

  private func answerHere(_ attempt: PasswordAttempt, _ console: Console) throws -> SecretBytes? {
    ProgressLine.clear()
    guard self == .terminal || attempt.number == 1 else { return nil }
    switch self {
    case .terminal:
      guard let terminal = Terminal() else {
        throw VaultError(
          .wrongPassword,
          "this secret has a password of its own, and there is no terminal to ask on; nothing was written",
          hint: Self.hint)
      }
      if attempt.number == 1 {
        console.note("the shares are in; this secret has a password of its own as well")
      } else {
        let left = PasswordAttempt.limit - attempt.number + 1
        console.warning(
          "that is not the password; \(Measures.count(left, "try").replacing("trys", with: "tries")) left")
      }
      return try terminal.secretLine("Password of this secret: ", noun: "password")
    case .descriptor(let descriptor): return try Passphrase.read(from: descriptor, noun: "password", console)
    case .file(let path): return try Passphrase.read(fileAt: path, noun: "password", console)
    }
  }
}

/// Something secret on its way from one thread to another.
final class Held<Value: ~Copyable & Sendable>: Sendable {
  private let value: Mutex<Value?>

  init(_ value: consuming Value?) { self.value = Mutex(value) }

  /// What it is; once.
  func take() -> Value? { value.withLock { $0.take() } }
}

/// Runs what waits for a person: the tasks' threads are as few as the processors.
enum OwnThread {
  static func run<Value: Sendable>(_ work: @escaping @Sendable () throws -> Value) async throws -> Value {
    let result: Result<Value, VaultError> = await withCheckedContinuation { continuation in
      let body: @Sendable () -> Void = {
        do { continuation.resume(returning: .success(try work())) } catch {
          continuation.resume(returning: .failure(VaultError(error)))
        }
      }
      if !BackgroundThread.start(body) { body() }
    }
    return try result.get()
  }
}
