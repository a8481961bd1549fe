import ArgumentParser
import SecretVault

struct SecretDeleteCommand: OpenedCommand {
  static let configuration = CommandConfiguration(
    commandName: "delete",
    abstract: "Delete this device's share of a secret for good.",
    discussion: """
      Says what it means and asks; --yes answers. Only you can delete a share of
      yours, and nobody can bring it back: too many deletions lose the secret.

      Example: vault secret delete photos --yes
      """)

  @Argument(help: "Id, beginning of an id, or description.", completion: .secrets)
  var secret: String

  @Flag(help: "Do not ask.")
  var yes = false

  @OptionGroup var global: GlobalOptions
  @OptionGroup var unlock: UnlockOptions

  func run(_ vault: Vault, _ console: Console) async throws {
    let consequence = try vault.overview.consequenceOfDeleting(secret)
    if consequence.makesUnrecoverable {
      console.warning(consequence.explanation)
    } else {
      console.note(consequence.explanation)
    }
    Self.warn(about: consequence.items, console)
    for delivery in consequence.waitingDeliveries { console.warning("still waiting and destroyed too: \(delivery)") }
    if !yes {
      let name = consequence.secret.description ?? consequence.secret.id
      try Question.confirm("Delete the share of \(name)?", option: "--yes")
    }
    // By id: a description could have come to mean another secret while the question stood.
    let done = try vault.overview.delete(consequence.secret.id)
    console.note("deleted the share of \(done.secret.id)")
    if console.json { try console.result(done.json) }
  }

  /// Names the items that go with a key, as many as one can read.
  private static func warn(about items: [ItemSummary], _ console: Console) {
    guard !items.isEmpty else { return }
    console.warning("\(Measures.count(items.count, "item")) under this key will be deleted from this device too:")
    for item in items.prefix(20) { console.warning("  \(item.shortName) (\(item.id.prefix(12)))") }
    if items.count > 20 { console.warning("  and \(items.count - 20) more; see 'vault item list'") }
  }
}
