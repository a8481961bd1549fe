import ArgumentParser

struct LicencesCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "licences",
    abstract: "Show under which licences this program and its parts are.",
    discussion: """
      vault is free software: whoever has it may use, change and pass it on as the
      GNU General Public License says, in version 3 or a later one. It comes without
      any warranty. Its parts are others' work, under licences of their own.

      Example: vault licences
      """,
    aliases: ["licenses"])

  @OptionGroup var global: GlobalOptions

  func run() async throws {
    var table = TextTable("PART", "LICENCE", "OF", "HOME")
    for part in Component.all { table.add(part.name, part.licence, part.holder, part.home) }
    try global.console.result(table.lines, json: .array(Component.all.map(\.json)))
  }
}
