import ArgumentParser
import SecretVault
import Synchronization

/// `--wait`: ask again until the holders have agreed.
struct ConsentOptions: ParsableArguments {
  @Option(
    defaultAsFlag: Patience.endless, parsing: .next,
    help: ArgumentHelp(
      "Keep asking until enough holders give their shares, for at most so long, such as 30m or 2d; without a time until Ctrl-C.",
      valueName: "duration"))
  var wait: Patience?

  func check() throws {
    guard case .unclear(let text)? = wait else { return }
    throw ValidationError("--wait takes a time such as 30m or 2d, not '\(text)'; a secret stands before it.")
  }

  /// Runs a recovery once, or as long as the user said; not again once `mayRepeat` says no.
  func run<Result: ~Copyable>(
    _ vault: Vault, _ console: Console, mayRepeat: () -> Bool = { true },
    _ attempt: (_ isFirst: Bool) async throws -> Result
  ) async throws -> Result {
    guard let patience = patience(console) else { return try await attempt(true) }
    var attempts = 0
    return try await vault.recovering.patiently(
      for: patience.limit, mayRepeat: mayRepeat, waits: patience.waits
    ) { () async throws -> Result in
      attempts += 1
      return try await attempt(attempts == 1)
    }
  }

  /// What was said, for a vault that asks by itself.
  func patience(_ console: Console) -> KeyPatience? {
    guard let wait else { return nil }
    let said = Mutex("")
    return KeyPatience(limit: wait.milliseconds) { pause, reason in
      // Often the same for hours.
      let isNews = said.withLock { said in
        defer { said = reason.reason }
        return said != reason.reason
      }
      guard isNews else { return }
      console.note(
        "not enough yet: \(reason.recovery?.brief ?? reason.reason); asking again in \(DurationText.words(pause)), and then more seldom"
      )
    }
  }
}

/// How long the user is willing to wait.
enum Patience: Hashable, Sendable, ExpressibleByArgument, CustomStringConvertible {
  case endless
  case limited(Int64)
  /// What stands there is no time. Said here, because the parser would take it for the secret, or for nothing.
  case unclear(String)

  init(argument: String) {
    let time = DurationText.milliseconds(argument) ?? 0
    self = time > 0 ? .limited(time) : .unclear(argument)
  }

  /// Milliseconds; nil for no end.
  var milliseconds: Int64? { if case .limited(let time) = self { time } else { nil } }

  var description: String { milliseconds.map { DurationText.text($0) } ?? "until Ctrl-C" }
}
