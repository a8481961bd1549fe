import ArgumentParser
import Glibc
import SecretVault

/// `vault item show`
struct ItemShowCommand: OpenedCommand {
  static let configuration = CommandConfiguration(
    commandName: "show",
    abstract: "Decrypt an item, and write it to a file.",
    discussion: """
      The key is recovered from its holders unless it is unlocked. Without -o what is
      known about the item is shown, and nothing is decrypted. With -o FILE, FOLDER or -
      the contents are written; --offset and --length read a part of them, without
      reading the rest. A written file is an ordinary, unencrypted one.

      Example: vault item show photo.jpg -o .
               vault item show backup.tar -o - --offset 1048576 --length 4096

      Exit codes: 4 the key could not be recovered, 8 damaged, 9 the output exists,
      10 wrong password.
      """)

  @Argument(help: "The item.")
  var item: String

  @Option(help: ArgumentHelp("Begin at this byte of the contents.", valueName: "bytes"))
  var offset: UInt64?

  @Option(help: ArgumentHelp("Write so many bytes at most.", valueName: "bytes"))
  var length: UInt64?

  @OptionGroup var place: OutputOptions
  @OptionGroup var global: GlobalOptions
  @OptionGroup var unlock: UnlockOptions

  var neededStreams: Set<Int32> { place.output == "-" ? [STDOUT_FILENO] : [] }

  func validate() throws {
    if place.output == "-", global.json { throw ValidationError("--json and -o - both want standard output.") }
    if place.output == nil, offset != nil || length != nil {
      throw ValidationError("--offset and --length belong to -o.")
    }
  }

  func run(_ vault: Vault, _ console: Console) async throws {
    guard let destination = try place.destination(plaintext: true) else {
      let item = try vault.item(self.item)
      return try console.result(Self.facts(item, now: Clocks.now()), json: item.json)
    }
    let isPart = offset != nil || length != nil
    let range = isPart ? ItemRange(offset: offset ?? 0, length: length) : nil
    let report = try await vault.openItem(
      item, to: destination, range: range, access: ItemReporter(console, verb: "decrypting").access())
    if isPart { console.note("a part: what lies outside of it was not checked, only where the item ends") }
    guard let path = report.path else { return }
    console.note("warning: \(path) is not encrypted any more")
    try console.result([Console.outputIsTerminal ? Printable.escape(path) : path], json: report.json)
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
      }
    let unknown = item.hasPassword == true ? "hidden by a password" : "not opened yet"
    return TextTable.facts([
      ("id", item.id), ("key", item.key), ("name", item.name ?? (item.hasPassword == false ? "none" : unknown)),
      ("kind", item.kind ?? unknown), ("media type", item.mediaType ?? "-"),
      ("size", item.byteCount.map { Measures.size($0) } ?? unknown),
      ("encrypted", Measures.size(item.itemByteCount)), ("public words", item.description ?? "none"),
      ("encrypted by", item.isSealedToPublicHalf ? "anybody who knows the key's public half" : "somebody with the key"),
      ("state", state), ("origin", origin),
      ("since", "\(Timestamp.minute(item.receivedAt)) UTC, \(Measures.ago(item.receivedAt, now: now))"),
    ])
  }
}
