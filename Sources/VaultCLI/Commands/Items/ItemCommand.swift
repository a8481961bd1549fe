import ArgumentParser
import SecretVault
import Synchronization

struct ItemCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "item",
    abstract: "Encrypt, open and exchange items under shared keys.",
    discussion: """
      An item is a file, note, password or contact under a shared key. Whoever holds
      a share of the key can open it once enough holders have answered. An item is
      named by its id, the beginning of it, or its name.

      Example: vault item add family photo.jpg
               vault item list family
               vault item show photo.jpg -o copy.jpg
      """,
    subcommands: [
      ItemAddCommand.self, ItemListCommand.self, ItemShowCommand.self, ItemExportCommand.self, ItemImportCommand.self,
      ItemAcceptCommand.self, ItemSendCommand.self, ItemCopyCommand.self, ItemEditCommand.self, ItemQRCommand.self,
      ItemDeleteCommand.self, AllItemsCommand.self,
    ],
    defaultSubcommand: AllItemsCommand.self)
}

/// What every command that opens items tells the user meanwhile.
struct ItemReporter: Sendable {
  private let recovery: RecoveryReporter
  private let progress: ProgressLine

  /// `verb` is what the command does: `encrypting`, `decrypting`, …
  init(_ console: Console, verb: String) {
    recovery = RecoveryReporter(console)
    progress = ProgressLine(verb, console)
  }

  func access(passwords: @escaping PasswordSource = Recovering.noPassword, patience: KeyPatience? = nil) -> ItemAccess {
    let keys = Mutex<Set<String>>([])
    let isAgain = Atomic(false)
    return ItemAccess(
      passwords: passwords,
      recovering: { event in
        if case .started(let key) = event {
          isAgain.store(!keys.withLock { $0.insert(key.id).inserted }, ordering: .relaxed)
        }
        recovery.show(event, isFirst: !isAgain.load(ordering: .relaxed))
      },
      progress: { done, total in progress.update(done: done, total: total) }, patience: patience)
  }
}
