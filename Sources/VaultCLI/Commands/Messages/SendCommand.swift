import ArgumentParser
import Glibc
import SecretVault
import Sodium
import VaultProtocol
import VaultXMPP

struct SendCommand: OpenedCommand {
  static let configuration = CommandConfiguration(
    commandName: "send",
    abstract: "Send a peer a text, a photo or a file.",
    discussion: """
      Only the peer can read it. It goes by the first way that works: directly, over
      the network or Bluetooth; through your XMPP account; through the servers of a
      group that you are both in; or with others' devices that carry it on until they
      meet the peer. Until a receipt says that it has arrived, it waits here too, and
      'vault daemon' goes on trying, for 14 days or as long as --lifetime says. Its
      number goes to standard output; 'vault message show' tells how it stands.

      Without TEXT, or with -, the text is read from standard input: what stands on
      the command line can be seen by other users of this device while the command
      runs. Beside a photo or a file, TEXT is its caption.

      What a JPEG, PNG or WebP photo says about itself, such as where it was taken,
      is left out; with other kinds you are asked. --keep-metadata sends all of it,
      and --file everything as it is.

      --pigeons-only leaves servers out: nothing but sessions and carriers. --plain
      writes to an XMPP address without a vault: a text that its servers can read;
      not while the setting pigeons-only is on.

      Examples: vault send Bob "see you at eight"
                vault send Bob --photo beach.jpg
                vault send Bob - < letter.txt
                vault send Bob --pigeons-only "meet me at the bridge"
      """)

  /// Bytes of a text.
  static let textLimit = 65536
  /// Bytes of a caption.
  static let captionLimit = 4096
  /// Milliseconds that a message may be given.
  static let lifetimes: ClosedRange<Int64> = 3_600_000...(30 * 86_400_000)

  @Argument(help: "The peer; with --plain an address.", completion: .peers)
  var peer: String

  @Argument(help: ArgumentHelp("What to say, or - for standard input.", valueName: "text"))
  var words: [String] = []

  @Option(help: ArgumentHelp("Send this photo or video; TEXT is its caption.", valueName: "file"), completion: .file())
  var photo: String?

  @Option(help: ArgumentHelp("Send this file; TEXT is its caption.", valueName: "file"), completion: .file())
  var file: String?

  @Flag(name: .customLong("keep-metadata"), help: "Send a photo with what is said in it, such as where it was taken.")
  var keepsMetadata = false

  @Option(help: ArgumentHelp("Give it up after so long, such as 12h or 7d.", valueName: "duration"))
  var lifetime: String?

  @Flag(name: .customLong("pigeons-only"), help: "Use no server: only sessions with the peer, and carriers.")
  var pigeonsOnly = false

  @Flag(help: "Send a text, not sealed, to an XMPP address, through the account in use.")
  var plain = false

  @OptionGroup var global: GlobalOptions
  @OptionGroup var unlock: UnlockOptions

  /// Whether standard input has what is to be said.
  private var readsInput: Bool { words == ["-"] || (words.isEmpty && photo == nil && file == nil) }

  var neededStreams: Set<Int32> { readsInput ? [STDIN_FILENO] : [] }

  func validate() throws {
    if keepsMetadata, photo == nil { throw ValidationError("--keep-metadata belongs to --photo.") }
    if photo != nil, file != nil { throw ValidationError("--photo and --file exclude each other.") }
    if readsInput { try unlock.leavesStandardInput(for: "the message") }
    if plain, photo != nil || file != nil || pigeonsOnly || lifetime != nil {
      throw ValidationError("--plain sends a text, through a server: no --photo, --file, --lifetime or --pigeons-only.")
    }
    guard let lifetime else { return }
    guard let time = DurationText.milliseconds(lifetime), Self.lifetimes.contains(time) else {
      throw ValidationError("--lifetime needs a time from 1h to 30d, such as 12h or 7d.")
    }
  }

  func run(_ vault: Vault, _ console: Console) async throws {
    defer { Interruption.say(nil) }
    let sent = try plain ? keepPlain(vault, console) : keep(vault, console)
    let now = try await MessageDelivery(vault: vault, console: console).deliver(sent, pigeonsOnly: pigeonsOnly)
    try console.result(["\(now.number)"], json: now.json)
    guard now.state == "lost" else { return console.note(MessageWords.outcome(now)) }
    throw VaultError(
      .unreachable, "\(MessageWords.outcome(now)): servers say that it can't be delivered",
      hint: "is the address right? What was sent is kept as message \(now.number)")
  }

  private func keep(_ vault: Vault, _ console: Console) throws -> MessageSummary {
    // Before anything is typed.
    let message = try message(to: try vault.trust.peer(peer).name, console)
    sayKeeping()
    return try vault.messages.send(
      message, to: peer, pigeonsOnly: pigeonsOnly,
      lifetime: lifetime.flatMap { DurationText.milliseconds($0) })
  }

  /// Keeps a text for somebody without a vault.
  private func keepPlain(_ vault: Vault, _ console: Console) throws -> MessageSummary {
    guard let text = try text(to: peer, limit: Self.textLimit, console) else {
      throw VaultError(.usage, "the message is empty; nothing was sent")
    }
    sayKeeping()
    let kept = try VaultAccounts(vault).sendPlain(text, to: peer)
    console.caution("it isn't sealed: the servers on its way can read it")
    return kept
  }

  /// In this moment nobody can say whether it is kept already.
  private func sayKeeping() {
    Interruption.say {
      Interruption.Farewell(
        error: VaultError(
          .interrupted, "interrupted while the message was kept",
          hint: "'vault message outbox' shows whether it is, and goes out"))
    }
  }

  private func message(to name: String, _ console: Console) throws -> NewMessage {
    guard let path = photo ?? file else {
      guard let text = try text(to: name, limit: Self.textLimit, console) else {
        throw VaultError(.usage, "the message is empty; nothing was sent")
      }
      return .text(text)
    }
    var type = MediaType.of(path)
    if photo != nil {
      do { type = try MediaType.ofPicture(path) } catch  where VaultError(error).code == .usage {
        throw VaultError(.usage, VaultError(error).reason, hint: "send it as a file: --file")
      }
    }
    let caption = words.isEmpty ? nil : try text(to: name, limit: Self.captionLimit, console)
    guard photo != nil, !keepsMetadata else {
      return .file(try MessageFile(path: path, isPhoto: photo != nil, mediaType: type, caption: caption))
    }
    return .file(
      try MessageFile(photo: path, mediaType: type, caption: caption) { (descriptor, byteCount) throws in
        try Self.strip(descriptor, byteCount, path, console)
      })
  }

  /// What goes of a photo: not what is said in it. Where nobody here knows how to leave that out, the user decides.
  private static func strip(
    _ descriptor: Int32, _ byteCount: UInt64, _ path: String, _ console: Console
  ) throws -> [FilePiece]? {
    let found: StrippedFile?
    do {
      found = try ScanHelper.stripped(descriptor, byteCount: byteCount, named: path)
    } catch {
      let error = VaultError(error)
      throw VaultError(error.code, error.reason, hint: "--keep-metadata sends it as it is")
    }
    guard let found else {
      try Question.confirm(
        "\(path) may say where and when it was taken, and that can't be left out of files of this kind. Send it so?",
        option: "--keep-metadata")
      return nil
    }
    if found.removed > 0 {
      console.note("what the photo says about itself is left out: \(Measures.size(found.removed))")
    }
    return found.pieces
  }

  /// What was said; nil if it is nothing.
  private func text(to name: String, limit: Int, _ console: Console) throws -> HeldSecret? {
    if readsInput {
      if Console.inputIsTerminal { console.note("reading the message to \(name); Ctrl-D ends it") }
      // One more for the newline at the end.
      return try Self.held(MessageInput.read(limit: limit + 1), limit: limit)
    }
    let text = try SecretText.copy(Array(words.joined(separator: " ").utf8).span.bytes)
    return try Self.held(text, limit: limit)
  }

  private static func held(_ text: consuming SecretBytes, limit: Int) throws -> HeldSecret? {
    let text = try MessageInput.withoutLastNewline(text)
    guard text.count > 0 else { return nil }
    try MessageInput.check(text, limit: limit)
    return HeldSecret(text)
  }
}

/// Texts of messages as they come from standard input.
enum MessageInput {
  static func read(limit: Int) throws -> SecretBytes {
    do { return try SecretStream.read(STDIN_FILENO, limit: limit, name: "the message") } catch
      where VaultError(error).code == .usage
    {
      throw VaultError(.usage, VaultError(error).reason, hint: "send it as a file: --file")
    }
  }

  /// One newline at the end is the keyboard's, or `echo`'s.
  static func withoutLastNewline(_ text: consuming SecretBytes) throws -> SecretBytes {
    endsLine(text) ? try SecretText.copy(text.bytes.extracting(first: text.count - 1)) : text
  }

  private static func endsLine(_ text: borrowing SecretBytes) -> Bool {
    text.count > 0 && text.withUnsafeBytes { $0[$0.count - 1] == UInt8(ascii: "\n") }
  }

  /// Refuses what is no text, or too long.
  static func check(_ text: borrowing SecretBytes, limit: Int) throws {
    guard text.count <= limit else {
      throw VaultError(
        .usage, "the text has \(text.count) bytes, and at most \(limit) go into one message",
        hint: "send it as a file: --file")
    }
    let isText = NewContent.isText(text.bytes) && !text.withUnsafeBytes { $0.contains(0) }
    guard isText else {
      throw VaultError(.usage, "a message is text in UTF-8, and this is not", hint: "send it as a file: --file")
    }
  }
}
