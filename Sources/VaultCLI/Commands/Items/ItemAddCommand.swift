import ArgumentParser
import Glibc
import SecretVault
import Sodium
import VaultGroups

struct ItemAddCommand: OpenedCommand {
  static let configuration = CommandConfiguration(
    commandName: "add",
    abstract: "Encrypt something under a shared key and keep it here.",
    discussion: """
      A file, of any size, or one of the templates: --note opens your editor, or
      takes the text from FILE; --contact takes a vCard, or asks; --photo FILE notes
      the media type; --password makes a password entry, as 'vault password' does.
      With anything else to encrypt, --password means a second encryption under a
      password; --password-entry always means the entry, and then --password the
      encryption.

      The key is recovered first unless it is unlocked; with --public it is encrypted
      to the key's public half, without asking anybody. The source stays where it is.
      The item's id goes to standard output.

      Examples: vault item add family video.mp4
                vault item add family --note --title "door code"
                vault item add family --password-entry --title mail --user ada
                tar c letters | vault item add family - --name letters.tar
      """)

  @Argument(help: "Name or id of the key.", completion: .keys)
  var key: String

  @Argument(help: ArgumentHelp("The file, or - for standard input.", valueName: "file"), completion: .file())
  var file: String?

  @Flag(help: "A note: from the editor, or the text in FILE.")
  var note = false

  @Flag(help: "A contact: asked for, or the vCard in FILE.")
  var contact = false

  @Flag(name: .customLong("password-entry"), help: "A password entry.")
  var passwordEntry = false

  @Option(help: ArgumentHelp("A photo or video; its media type is noted.", valueName: "file"), completion: .file())
  var photo: String?

  @Option(help: ArgumentHelp("With -: what the contents are called.", valueName: "name"))
  var name: String?

  @Option(help: ArgumentHelp("Public words about the item, in clear.", valueName: "text"))
  var description: String?

  @Flag(name: .customLong("public"), help: "Encrypt to the key's public half, without recovering it.")
  var usesPublicHalf = false

  @Option(
    help: ArgumentHelp("Keep it in step among the members of this group.", valueName: "group"), completion: .groups)
  var group: String?

  @OptionGroup var consent: ConsentOptions
  @OptionGroup var password: NewPasswordOptions
  @OptionGroup(title: "Options of a password entry, and --title of a note") var entry: EntryOptions
  @OptionGroup var global: GlobalOptions
  @OptionGroup var unlock: UnlockOptions

  /// Whether `--password` stands for the template: there is nothing else to encrypt.
  private var meansEntry: Bool {
    passwordEntry || (password.password && file == nil && photo == nil && !note && !contact)
  }
  /// Whether there is to be a second encryption.
  private var wantsPassword: Bool {
    password.isWanted
      && (passwordEntry || !meansEntry || password.given.descriptor != nil || password.given.file != nil)
  }
  private var readsInput: Bool { file == "-" || (meansEntry && entry.notes == "-") }

  var neededStreams: Set<Int32> { readsInput ? [STDIN_FILENO] : [] }
  var namedDescriptors: [(option: String, descriptor: Int32)] {
    password.given.namedDescriptors + entry.namedDescriptors
  }

  func validate() throws {
    let templates = [note, contact, meansEntry, photo != nil].count { $0 }
    guard templates <= 1 else {
      throw ValidationError("--note, --contact, --photo and a password entry exclude one another.")
    }
    guard templates == 1 || file != nil else {
      throw ValidationError("Say what to encrypt: a file, -, --note, --password, --contact or --photo FILE.")
    }
    if file != nil, photo != nil || meansEntry {
      throw ValidationError("--photo and a password entry exclude a file of their own.")
    }
    if name != nil, file != "-" || templates > 0 {
      throw ValidationError("--name belongs to -: everything else has a name of its own.")
    }
    if !meansEntry, !entry.isUntouched(but: note) {
      throw ValidationError("Options of a password entry belong to --password or --password-entry.")
    }
    try password.given.check(beside: unlock)
    try consent.check()
    try SecretInput.checkDistinct(entry.input, unlock.input, "The passphrase of the vault and the entry's password")
    try SecretInput.checkDistinct(
      entry.input, password.given.input, "The entry's password and the one that encrypts it")
    guard readsInput else { return }
    try unlock.leavesStandardInput(for: "the item")
    if password.given.input.readsStandardInput || entry.input.readsStandardInput {
      throw ValidationError("A password and the item cannot both come from standard input.")
    }
  }

  func run(_ vault: Vault, _ console: Console) async throws {
    let groups = VaultGroups(vault)
    // Before anything is asked or encrypted: that there is no such group should be known first.
    let destination: GroupFacts?
    if let group { destination = try await groups.findMember(group) } else { destination = nil }
    var entered: SecretBytes?
    let (source, mediaType) = try await source(vault, console, password: &entered)
    if destination != nil { try Self.check(source) }
    let layer = wantsPassword ? try password.layer(console) : nil
    let request = ItemRequest(
      source: source, mediaType: mediaType, password: layer, description: description, usesPublicHalf: usesPublicHalf)
    let item = try await vault.items.addItem(
      request, under: key, access: ItemReporter(console, verb: "encrypting").access(patience: consent.patience(console))
    )
    console.note("encrypted \(item.shortName) under the key \(item.key)")
    // First: whatever becomes of it in the group, it is here.
    try console.result([item.id], json: item.json)
    var failure: VaultError?
    if let destination {
      do {
        let watch = GroupWatch(item, into: [destination.name], before: "the item is here, as \(item.id.prefix(12))")
        defer { watch.end() }
        let report = try await groups.add(item.id, to: destination) { watch.note($0) }
        GroupedItems.note("it is in the group \(destination.name)", report, console)
      } catch {
        guard let error = VaultError(known: error) else { throw error }
        failure = error.whileItemStays(item)
      }
    }
    if let entered {
      do { try await entry.giveOut(entered, vault, console) } catch {
        guard let error = VaultError(known: error) else { throw error }
        try error.report(after: failure, kept: "the item is kept here nevertheless, as \(item.id.prefix(12))", console)
      }
    }
    if let failure { throw failure }
  }

  /// Before anything is encrypted: a file that is too large for a group.
  private static func check(_ source: ShareSource) throws {
    var status = stat()
    guard case .file(let path) = source, stat(path, &status) == 0, status.st_size > Items.groupItemByteLimit else {
      return
    }
    throw VaultError(
      .usage, "\(path) is larger than 64 MiB, the most that goes through a group",
      hint: "leave out --group, and send it with `vault item send`")
  }

  private func source(
    _ vault: Vault, _ console: Console, password entered: inout SecretBytes?
  ) async throws -> (ShareSource, mediaType: String) {
    if note {
      let content = try await ContentInput.note(file, title: entry.title, vault, console)
      return (.memory(content.shared()), "")
    }
    if contact {
      let content = try ContentInput.contact(file, console)
      return (.memory(content.shared()), "")
    }
    if meansEntry {
      let fields = try entry.fields(console)
      let content = try NewContent.password(fields)
      if entry.show || entry.clip { entered = .some(fields.password) }
      return (.memory(content.shared()), "")
    }
    if let photo { return (.file(path: photo), try MediaType.ofPicture(photo)) }
    guard let file, file != "-" else {
      if Console.inputIsTerminal { console.note("reading the item from the terminal; Ctrl-D ends it") }
      return (.descriptor(STDIN_FILENO, name: name ?? ""), MediaType.of(name ?? ""))
    }
    return (.file(path: file), MediaType.of(file))
  }
}

extension EntryOptions {
  /// Whether nothing was said about an entry; a note may have a title.
  func isUntouched(but hasTitle: Bool) -> Bool {
    (title == nil || hasTitle) && user == nil && url == nil && notes == nil && length == nil && alphabet == nil
      && characters == nil && !typed && descriptor == nil && file == nil && !clip && !show
  }
}
