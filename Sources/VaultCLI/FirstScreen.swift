import ArgumentParser

/// What `vault` alone, `vault help` and `vault --help` show: what it is, and the few commands that most people need. It
/// fits on 24 lines of 80 columns; `vault help --all` shows the rest.
enum FirstScreen {
  /// Those of them that there are are shown.
  private static let commands = ["init", "meet", "share", "recover", "list", "status", "check"]

  static var text: String {
    let known = commands.compactMap { name in Root.command(name).map { (name, $0.configuration.abstract) } }
    return """
      Keep a secret with your people: it is encrypted and split into shares, one for
      each of them. Any threshold of the shares brings it back; fewer tell nothing.

      USAGE: vault [options] <command>

      \(rows(known + [("help", "Show how a command is used, with examples: vault help share")]))

      OPTIONS:
      \(rows([
        ("--home <dir>", "Folder of the vault, instead of $VAULT_HOME or the usual ones."),
        ("--json", "Print results and errors as JSON."),
        ("--quiet", "Leave out notes and progress; errors and warnings stay."),
        ("--verbose", "Name everybody where a number would do; log details."),
        ("--version", "Show the version."),
        ("-h, --help", "Show help information."),
      ]))

      All commands: vault help --all
      """
  }

  private static func rows(_ rows: [(name: String, words: String)]) -> String {
    let width = rows.map(\.name.count).max() ?? 0
    return rows.map { row in
      "  " + row.name + String(repeating: " ", count: width - row.name.count + 2) + row.words
    }.joined(separator: "\n")
  }

  /// What to show to a line that wants help, and names no command to be helped with. Nil for any other line.
  static func answer(to words: [String]) -> String? {
    var isHelp = words.isEmpty
    var wantsAll = false
    var isValue = false
    for word in words {
      if isValue {
        guard !word.isEmpty else { return nil }
        isValue = false
        continue
      }
      switch word {
      case "help", "--help", "-h": isHelp = true
      case "--all": wantsAll = true
      case "--home": isValue = true
      case "--json", "--quiet", "--verbose": break
      default:
        guard word.hasPrefix("--home="), word != "--home=" else { return nil }
      }
    }
    guard !isValue, isHelp || !wantsAll else { return nil }
    return wantsAll ? Root.helpMessage() : text
  }
}

/// Help that was asked for, in the place of a command that is run.
struct WantedHelp: Error {
  let text: String
}
