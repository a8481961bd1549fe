import ArgumentParser
import Glibc
import SealedPayload
import SecretVault
import VaultDaemon

struct ItemShowCommand: OpenedCommand {
  static let configuration = CommandConfiguration(
    commandName: "show",
    abstract: "Decrypt an item: show a note, entry or contact, write a file.",
    discussion: """
      The key is recovered from its holders unless it is unlocked. A note, a password
      entry and a contact are shown; a password itself only with --show, and printed
      by --field password. Of a file that is shown which is known without decrypting
      it; -o FILE, FOLDER or - writes the contents, and --offset and --length a part
      of them, without reading the rest. What is written is not encrypted any more.

      A password that belongs to the item is asked for when the key is there.

      Examples: vault item show letters.tar -o .
                vault item show mail --field password --clip
                vault item show video.mp4 -o part --offset 1048576 --length 4096

      Exit codes: 4 the key could not be recovered, 8 damaged, 9 the output exists,
      10 wrong password.
      """)

  @Argument(help: "The item.")
  var item: String

  @Option(help: ArgumentHelp("Begin at this byte of the contents.", valueName: "bytes"))
  var offset: UInt64?

  @Option(help: ArgumentHelp("Write so many bytes at most.", valueName: "bytes"))
  var length: UInt64?

  @OptionGroup var view: ViewOptions
  @OptionGroup var consent: ConsentOptions
  @OptionGroup var password: PasswordOptions
  @OptionGroup var place: OutputOptions
  @OptionGroup var global: GlobalOptions
  @OptionGroup var unlock: UnlockOptions

  var neededStreams: Set<Int32> { place.output == "-" ? [STDOUT_FILENO] : [] }
  var namedDescriptors: [(option: String, descriptor: Int32)] { password.namedDescriptors }

  private var wantsPart: Bool { offset != nil || length != nil }

  func validate() throws {
    try password.check(beside: unlock)
    try consent.check()
    try place.check(json: global.json)
    if place.output == nil, wantsPart { throw ValidationError("--offset and --length belong to -o.") }
    if wantsPart, view.isUsed { throw ValidationError("--offset and --length are for whole contents, not for fields.") }
    try view.check(output: place.output)
  }

  func run(_ vault: Vault, _ console: Console) async throws {
    let destination = try place.destination(plaintext: true)
    let item = try vault.items.item(self.item)
    // What was never opened here, or is behind a password, may be of any kind.
    // No note is so large that it doesn't fit into memory.
    let mayBeShort = item.itemByteCount <= UInt64(RecoveredContent.usualLimit)
    let isShown = view.isUsed || item.kind.map { $0 != "file" } ?? (item.hasPassword == true || mayBeShort)
    guard let destination else {
      guard isShown else { return try console.result(Self.facts(item, now: Clocks.now()), json: item.json) }
      return try await showFromMemory(item, to: nil, vault, console)
    }
    if view.field != nil || (item.kind == "password" && !wantsPart) {
      return try await showFromMemory(item, to: destination, vault, console)
    }
    let range = wantsPart ? ItemRange(offset: offset ?? 0, length: length) : nil
    let report = try await vault.items.openItem(
      item.id, to: destination, range: range,
      access: ItemReporter(console, verb: "decrypting").access(
        passwords: password.source(console), patience: consent.patience(console)))
    if wantsPart { console.note("a part: what lies outside of it was not checked, only where the item ends") }
    try ViewOptions.conclude(
      report.path, at: destination, json: report.json, named: report.suggestedName, original: report.originalName,
      console)
  }

  /// Opens the item into memory and shows, copies or writes what was asked for.
  private func showFromMemory(
    _ item: ItemSummary, to destination: RecoveryDestination?, _ vault: Vault, _ console: Console
  ) async throws {
    let content = try await vault.items.itemContent(
      item.id,
      access: ItemReporter(console, verb: "decrypting").access(
        passwords: password.source(console), patience: consent.patience(console)))
    let fileName = SuggestedName.sanitised(content.header.fileName)
    let opened = try ContentView(content)
    let isPlain = opened.traits.hasFileName && destination == nil && view.field == nil && !view.fields && !view.clip
    guard !isPlain || console.json else {
      console.note("it is a file; its contents come out with -o")
      let shown = try vault.items.item(item.id)
      return try console.result(Self.facts(shown, now: Clocks.now()), json: shown.json)
    }
    let subject = ViewOptions.Subject(key: "item", json: item.json, fileName: fileName) { path, byteCount in
      ItemReport(item: item, key: item.key, path: path, suggestedName: fileName, byteCount: byteCount).json
    }
    try await view.present(opened, of: subject, to: destination, vault, console)
  }

  /// What is known without the key.
  static func facts(_ item: ItemSummary, now: Int64) -> [String] {
    let state =
      switch item.state {
      case .waiting: "waiting: accept it with 'vault item accept', or delete it"
      case .new: "new: not looked at yet"
      case .seen: "seen"
      }
    let origin =
      switch item.origin {
      case .made: "made here"
      case .imported: "imported here"
      case .sent: "sent by \(item.sender ?? "a peer")"
      case .group: "brought by a group"
      }
    let unknown = item.hasPassword == true ? "hidden by a password" : "not opened yet"
    return TextTable.facts([
      ("id", item.id), ("key", item.key), ("name", item.name ?? (item.hasPassword == false ? "none" : unknown)),
      ("kind", item.kind ?? unknown), ("media type", item.mediaType ?? "-"),
      ("size", item.byteCount.map { Measures.size($0) } ?? unknown),
      ("encrypted", Measures.size(item.itemByteCount)), ("public words", item.description ?? "none"),
      ("encrypted by", item.isSealedToPublicHalf ? "anybody who knows the key's public half" : "somebody with the key"),
      ("state", state), ("origin", origin),
      ("since", "\(Timestamp.minute(item.receivedAt)), \(Measures.ago(item.receivedAt, now: now))"),
    ])
  }
}
