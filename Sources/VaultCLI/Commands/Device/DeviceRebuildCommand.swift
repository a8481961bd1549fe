import ArgumentParser
import SecretVault
import VaultStore

struct DeviceRebuildCommand: AsyncParsableCommand, UnlockingCommand {
  static let configuration = CommandConfiguration(
    commandName: "rebuild",
    abstract: "Make a lost or damaged database anew from the files beside it.",
    discussion: """
      For when commands say that vault.db is damaged or missing and there is no newer
      backup. Keys, peers, shares and items are taken from their own files; what is
      nowhere else is lost: messages, requests and what you decided about them,
      accounts, the log, and which items groups keep in step. The old database is put
      aside, not deleted. Stop the daemon before.

      Example: vault device rebuild

      Exit codes: 5 the database is whole, 8 nothing says who this device is.
      """)

  @Flag(help: "Do not ask.")
  var yes = false

  @OptionGroup var global: GlobalOptions
  @OptionGroup var unlock: UnlockOptions

  func run() async throws {
    let composition = try Composition(global)
    let console = global.console
    let passphrase = unlock.passphrase
    let report = try Archive.rebuild(
      at: composition.folders, passphrase: { try passphrase.existing(console) },
      confirm: { plan in try confirm(plan, console) }, environment: composition.environment)
    console.note(
      "made anew: \(Measures.count(report.secrets.count, "secret")), \(Measures.count(report.items.count, "item")), \(Measures.count(report.peerCount, "peer"))"
    )
    if let aside = report.aside {
      console.note("the old database is \(Printable.escape(aside)); remove it when you miss nothing")
    }
    console.note("'vault status' names what can't be served")
    if console.json { try console.result(report.json) }
  }

  private func confirm(_ plan: RebuildReport, _ console: Console) throws {
    console.note(
      "this device is \(Printable.quoted(plan.label)) and has \(Measures.count(plan.peerCount, "peer")), by the files beside the database"
    )
    console.warning(
      "messages, requests and decisions, accounts, the log, and which items groups keep in step, are in the database alone, and would be LOST"
    )
    if !plan.hasSettings {
      console.warning("there is no settings file: what was set, if anything was, would have its default")
    }
    if !yes { try Question.confirm("Make the database anew?", option: "--yes") }
  }
}

extension RebuildReport {
  var json: JSONValue {
    [
      "label": .string(label), "peers": .integer(Int64(peerCount)), "secrets": JSONValue(secrets),
      "items": JSONValue(items), "oldDatabase": JSONValue(aside),
    ]
  }
}
