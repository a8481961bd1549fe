import SecretVault

/// What another program is told of a failure: a code and a sentence that goes with it, never the reason, in which names of
/// peers, of keys and of folders may stand.
struct ToldFailure: Hashable, Sendable {
  /// An exit code.
  let code: Int32
  let words: String

  /// Whatever fails before the user's yes. Whoever asks could otherwise learn, without anybody's leave, which keys are here.
  static let beforeConsent = ToldFailure(code: ExitCodes.other, words: "the request was not carried out")
}

extension ToldFailure {
  /// A failure behind the user's yes.
  init(_ code: VaultError.Code) {
    let words =
      switch code {
      case .usage: "the request makes no sense"
      case .belowThreshold: "too few shares of the key could be collected"
      case .awaitingConsent: "holders of the key have yet to consent"
      case .refused: "it was refused"
      case .unreachable: "a device could not be reached"
      case .wrongPassphrase: "the passphrase was missing or wrong"
      case .wrongPassword: "the password was missing or wrong"
      case .damaged: "the data is damaged"
      case .outputExists: "the output is there already"
      case .interrupted: "the user said no"
      case .noVault, .vaultExists, .notFound, .ambiguous, .inputOutput, .other: "it failed"
      }
    self.init(code: ExitCodes.code(of: code), words: words)
  }
}
