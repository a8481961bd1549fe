import ArgumentParser
import Glibc
import SecretVault

struct ItemEditCommand: OpenedCommand {
  static let configuration = CommandConfiguration(
    commandName: "edit",
    abstract: "Change an item, in your editor or by another file.",
    discussion: """
      Notes, contacts, password entries and text files open in your editor, in memory
      only. With --from, FILE takes the place of what the item had, whatever it is;
      with --from - it stays what it is, under the name that it has, unless --name
      makes it a file of another: a note takes a text, a contact a vCard, a password
      entry the lines that its editor shows.
      The key is recovered first unless it is unlocked. What is changed is encrypted
      anew, as another item under the same key, in the old one's place; a password of
      the item's own and its public words stay. The new id goes to standard output.

      Where a group keeps the item in step, the change comes to all its members.
      Copies that were exported or sent stay as they were.

      Examples: vault item edit "door code"
                vault item edit photo.jpg --from better.jpg
                date | vault item edit "door code" --from -
      """)

  @Argument(help: "The item.")
  var item: String

  @Option(help: ArgumentHelp("What it is to hold from now on, or -.", valueName: "file"), completion: .file())
  var from: String?

  @Option(help: ArgumentHelp("With --from -: make it a file of this name.", valueName: "name"))
  var name: String?

  @OptionGroup var consent: ConsentOptions
  @OptionGroup var password: PasswordOptions
  @OptionGroup var global: GlobalOptions
  @OptionGroup var unlock: UnlockOptions

  var neededStreams: Set<Int32> { from == "-" ? [STDIN_FILENO] : [] }
  var namedDescriptors: [(option: String, descriptor: Int32)] { password.namedDescriptors }

  func validate() throws {
    try password.check(beside: unlock)
    try consent.check()
    if name != nil, from != "-" {
      throw ValidationError("--name belongs to --from -: everything else has a name of its own.")
    }
    if from == "-" { try unlock.leavesStandardInput(for: "the item") }
  }

  func run(_ vault: Vault, _ console: Console) async throws {
    let before = try vault.items.item(item)
    let access = ItemReporter(console, verb: "encrypting").access(
      passwords: password.source(console), patience: consent.patience(console))
    let change = try await vault.items.changeItem(before.id, try edit(vault, console), access: access)
    console.note("changed \(change.old.shortName), under the key \(change.new.key)")
    // First: whatever becomes of it in groups, it is here.
    try console.result([change.new.id], json: change.new.json)
    do { try await GroupedItems.replace(change, vault, console) } catch {
      throw VaultError(error).whileItemStays(change.new)
    }
  }

  private static let nothing = "the item stays as it is"

  private func edit(_ vault: Vault, _ console: Console) throws -> ItemEdit {
    guard let from else {
      let editor = ContentEditor(
        editor: try Editor(), vault: vault, console: console, mayStay: false, nothing: Self.nothing,
        otherwise: "write it to a file with `vault item show -o`, change that, and put it back with --from")
      return .contents { (content) async throws in try await editor.editApart(content) }
    }
    if from == "-" {
      if Console.inputIsTerminal { console.note("reading the item from the terminal; Ctrl-D ends it") }
      guard let name else {
        return .contentsFrom(STDIN_FILENO) { header in
          try ContentEditor.piped(replacing: header, nothing: Self.nothing)
        }
      }
      return .source(ItemRequest(source: .descriptor(STDIN_FILENO, name: name), mediaType: MediaType.of(name)))
    }
    return .source(ItemRequest(source: .file(path: from), mediaType: MediaType.of(from)))
  }
}
