import SecretVault

/// What is known of a command line before, or although, it could not be parsed.
enum Invocation {
  /// How to speak to the user, judged by the bare arguments.
  static func console(of arguments: [String]) -> Console {
    let options = arguments.prefix { $0 != "--" }
    return Console(json: options.contains("--json"), quiet: options.contains("--quiet"))
  }

  /// The argument parser's complaint in this program's form: lower case, no full stop, and where to read more.
  static func usageError(message: String, full: String) -> VaultError {
    var reason = message
    while reason.hasSuffix(".") || reason.hasSuffix("\n") { reason.removeLast() }
    if let first = reason.first, let second = reason.dropFirst().first, second.isLowercase || second == " " {
      reason = first.lowercased() + reason.dropFirst()
    }
    let more = full.split(separator: "\n").last { $0.contains("--help'") || $0.contains("-h'") }
    let command = more?.split(separator: "'").dropFirst().first
    return VaultError(.usage, reason, hint: "see '\(command ?? "vault --help")'")
  }
}
