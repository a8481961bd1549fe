import SecretVault

/// The exit codes of `vault`. Scripts rely on them; a new kind of failure gets a new number, none is given twice.
enum ExitCodes {
  /// Everything was done.
  static let done: Int32 = 0
  /// A failure without a number of its own.
  static let other: Int32 = 1
  /// Shared: it can be recovered, but not every peer has its share yet.
  static let notAllDelivered: Int32 = 2
  /// Shared, but fewer shares than the threshold are where they belong.
  static let tooFewDelivered: Int32 = 3
  /// Recovery collected fewer shares than the threshold.
  static let belowThreshold: Int32 = 4
  /// A peer, or this device, said no.
  static let refused: Int32 = 5
  /// A peer could not be reached.
  static let unreachable: Int32 = 6
  /// No passphrase, or a wrong one.
  static let wrongPassphrase: Int32 = 7
  /// Stored or received data does not verify.
  static let damaged: Int32 = 8
  /// The output file is there already.
  static let outputExists: Int32 = 9
  /// No password of a secret, or a wrong one.
  static let wrongPassword: Int32 = 10
  /// Recovery waits for the word of holders' users, or for their time.
  static let awaitingConsent: Int32 = 11
  /// The command line makes no sense (EX_USAGE).
  static let usage: Int32 = 64
  /// Stopped by the user or the system, whichever signal did it.
  static let interrupted: Int32 = 130

  static func code(of code: VaultError.Code) -> Int32 {
    switch code {
    case .usage: usage
    case .noVault, .vaultExists, .notFound, .ambiguous, .inputOutput, .other: other
    case .belowThreshold: belowThreshold
    case .awaitingConsent: awaitingConsent
    case .refused: refused
    case .unreachable: unreachable
    case .wrongPassphrase: wrongPassphrase
    case .wrongPassword: wrongPassword
    case .damaged: damaged
    case .outputExists: outputExists
    case .interrupted: interrupted
    }
  }

  /// The code of a sharing that ended.
  static func code(of report: ShareReport) -> Int32 {
    if report.isFinished { return done }
    return report.hasEnoughPlaced ? notAllDelivered : tooFewDelivered
  }

  /// The code of several: the worst.
  static func code(of reports: [ShareReport]) -> Int32 {
    reports.map { code(of: $0) }.max() ?? done
  }
}
