import ArgumentParser
import Foundation
import Testing

@testable import VaultCLI

@Suite("Names of commands")
struct NamesTests {
  @Test(
    "an old name still works, and a note says the new one",
    arguments: [
      ("info keys", "secret show keys", "info", "secret show"),
      ("--home info info --json", "--home info secret show --json", "info", "secret show"),
      ("help retry", "help secret deliver", "retry", "secret deliver"),
      ("messages show 12", "message show 12", "messages", "message"),
      (
        "friend add bob@example.net --peer Bob", "account friend add bob@example.net --peer Bob", "friend",
        "account friend"
      ),
    ])
  func oldName(typed: String, meant: String, old: String, new: String) {
    let line = OldNames.line(words(typed))
    #expect(line.words == words(meant))
    #expect(line.note == "note: 'vault \(old)' is now 'vault \(new)'; the old name goes with the next version")
  }

  @Test(
    "what only looks like an old name is left as it is",
    arguments: ["", "secret delete info", "--home retry", "-- info", "---completion info -- positional@0", "share log"])
  func noOldName(line: String) {
    let result = OldNames.line(words(line))
    #expect(result.words == words(line))
    #expect(result.note == nil)
  }

  @Test("each old name leads to a command, and is none itself") func table() {
    for (old, new) in OldNames.table {
      #expect(command(words(new)) != nil, "\(new)")
      #expect(command([old]) == nil, "\(old)")
      #expect(NamedCommand(in: [old]).isUnknown, "\(old)")
    }
  }

  @Test(
    "a noun alone lists",
    arguments: [
      ("peer", PeerListCommand.self), ("secret", ListCommand.self), ("key", KeyListCommand.self),
      ("item", AllItemsCommand.self), ("message", MessageListCommand.self), ("account", AccountListCommand.self),
      ("account friend", FriendListCommand.self), ("group", GroupListCommand.self), ("device", DeviceShowCommand.self),
      ("settings", SettingsListCommand.self), ("requests", RequestsListCommand.self),
    ] as [(String, any ParsableCommand.Type)])
  func noun(line: String, listing: any ParsableCommand.Type) throws {
    for options in ["", " --json --home /h"] {
      let command = try Root.parseAsRoot(words(line + options))
      #expect(type(of: command) == listing, "\(command)")
    }
  }

  @Test(
    "what is listed, shown, added and removed is so by the same verbs",
    arguments: [
      "peer list", "peer show x", "peer add x", "peer remove x", "peer rename x y", "secret list", "secret show x",
      "secret add x y", "secret remove x y", "message list", "message show 1", "message remove 1", "account list",
      "account add a@example.org", "account remove", "account friend list", "account friend add a@example.org",
      "account friend remove a@example.org", "group list", "group show", "group add x", "group remove x", "key list",
      "key show x", "key add x --threshold 2", "item list", "item show x", "item add x y", "item remove x",
      "device show",
    ])
  func verbs(line: String) throws {
    _ = try Root.parseAsRoot(words(line))
  }

  @Test("no text of ours names a command by its old name") func texts() throws {
    let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent()
    let old = OldNames.table.map(\.old).joined(separator: "|")
    let pattern = try Regex("vault (\(old))($|[^a-z-])")
    var count = 0
    for folder in ["Sources", "docs", "README.md", "CONTRIBUTING.md", "scripts", "packaging", "debian"] {
      for file in try files(below: root.appendingPathComponent(folder)) {
        guard let text = try? String(contentsOf: file, encoding: .utf8) else { continue }
        count += 1
        for line in text.split(separator: "\n") where line.contains(pattern) { Issue.record("\(file.path): \(line)") }
      }
    }
    #expect(count > 500)
  }

  private func files(below place: URL) throws -> [URL] {
    guard let found = FileManager.default.enumerator(at: place, includingPropertiesForKeys: [.isRegularFileKey]) else {
      return []
    }
    let files = found.compactMap { $0 as? URL }
      .filter { (try? $0.resourceValues(forKeys: [.isRegularFileKey]).isRegularFile) == true }
    return files.isEmpty ? [place] : files
  }

  private func command(_ words: [String]) -> (any ParsableCommand.Type)? {
    var command: any ParsableCommand.Type = Root.self
    for word in words {
      guard let next = command.configuration.subcommands.first(where: { NamedCommand.names($0).contains(word) }) else {
        return nil
      }
      command = next
    }
    return command
  }

  private func words(_ line: String) -> [String] { line.split(separator: " ").map(String.init) }
}

@Suite("The first screen")
struct FirstScreenTests {
  @Test("fits on 24 lines of 80 columns, with a line for the next command") func size() {
    let lines = FirstScreen.text.split(separator: "\n", omittingEmptySubsequences: false)
    #expect(lines.count <= 23)
    for line in lines { #expect(line.count <= 80, "\(line)") }
  }

  @Test("has the commands that most people need, and says how to see all") func commands() throws {
    let text = FirstScreen.text
    let names = text.split(separator: "\n").filter { $0.hasPrefix("  ") }.compactMap { $0.split(separator: " ").first }
    let most = ["init", "share", "recover", "list", "status", "check", "help"]
    #expect(names.filter { $0 != "meet" }.prefix(most.count).map(String.init) == most)
    #expect(text.hasSuffix("vault help --all"))
    let others = ["secret", "peer", "daemon"]
    #expect(others.allSatisfy { !names.contains(Substring($0)) })
    let all = try #require(FirstScreen.answer(to: ["help", "--all"]))
    #expect((most.dropLast() + others).allSatisfy { all.contains("\n  \($0) ") }, "\(all)")
  }

  @Test(
    "is the answer to a line that wants help about nothing else",
    arguments: ["", "help", "--help", "-h", "--json", "--home h", "--home=h help", "--quiet --verbose --help"])
  func isShown(line: String) {
    #expect(FirstScreen.answer(to: words(line)) == FirstScreen.text)
  }

  @Test(
    "is none to any other line",
    arguments: [
      "help share", "share --help", "share", "--frob", "--version", "--home", "--home=", "--all", "help --al",
      "help all",
    ])
  func isNotShown(line: String) {
    #expect(FirstScreen.answer(to: words(line)) == nil)
  }

  private func words(_ line: String) -> [String] { line.split(separator: " ").map(String.init) }
}
