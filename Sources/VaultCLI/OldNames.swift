/// Names that commands had before. They work for one version: a line with one is rewritten before anything else looks
/// at it, and a note says so.
enum OldNames {
  static let table: [(old: String, new: String)] = [
    ("info", "secret show"), ("retry", "secret deliver"), ("delete", "secret delete"), ("reshare", "secret reshare"),
    ("policy", "secret policy"), ("scan", "peer scan"), ("messages", "message"), ("inbox", "message inbox"),
    ("outbox", "message outbox"), ("friend", "account friend"), ("passphrase", "device passphrase"),
    ("log", "device log"), ("rebuild", "device rebuild"),
  ]

  /// A line as it is meant now, and what to tell who typed it.
  struct Line {
    var words: [String]
    var note: String?
  }

  static func line(_ words: [String]) -> Line {
    guard let place = commandPlace(words), let name = table.first(where: { $0.old == words[place] }) else {
      return Line(words: words)
    }
    let new = name.new.split(separator: " ").map(String.init)
    return Line(
      words: Array(words[..<place]) + new + words[(place + 1)...],
      note: "note: 'vault \(name.old)' is now 'vault \(name.new)'; the old name goes with the next version")
  }

  /// Where the command's name is, behind options and `help`; nil if there is none.
  private static func commandPlace(_ words: [String]) -> Int? {
    var isValue = false
    var isHelp = false
    for (place, word) in words.enumerated() {
      // Shells that ask for completions hand on what is being typed.
      if word == "--" || word == "---completion" { return nil }
      if isValue || word.hasPrefix("-") {
        // The only option with a value that may stand before a command.
        isValue = !isValue && word == "--home"
      } else if word == "help", !isHelp {
        isHelp = true
      } else {
        return place
      }
    }
    return nil
  }
}
