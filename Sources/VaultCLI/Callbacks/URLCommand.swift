import ArgumentParser
import CallbackURL
import Glibc
import SealedPayload
import SecretVault
import Sodium

struct URLCommand: AsyncParsableCommand, UnlockingCommand {
  static let configuration = CommandConfiguration(
    commandName: "url",
    abstract: "Encrypt or decrypt for another program that asks by a URL.",
    discussion: """
      Takes coresecret://x-callback-url/encrypt?... and .../decrypt?..., as a desktop
      hands them over once vault is registered for them, asks you, and opens the URL
      that the other program wants as an answer. For an encryption you choose the
      key; for a decryption it is found, and you confirm. With - the URL is read from
      standard input, which no other process can see.

      Programs that can use pipes had better call 'vault encrypt' and 'vault
      decrypt'.

      Example: vault url 'coresecret://x-callback-url/encrypt?plaintext=abc' --print
      """)

  @Argument(help: ArgumentHelp("The request, or - for standard input.", valueName: "url"))
  var url: String

  @Option(help: ArgumentHelp("Encrypt under this key without asking for one.", valueName: "key"), completion: .keys)
  var key: String?

  @Flag(help: "Do not ask whether to go on.")
  var yes = false

  @Flag(help: "Print the answer's URL instead of opening it.")
  var print = false

  @OptionGroup var password: PasswordOptions
  @OptionGroup var global: GlobalOptions
  @OptionGroup var unlock: UnlockOptions

  var neededStreams: Set<Int32> { Set((url == "-" ? [STDIN_FILENO] : []) + (print ? [STDOUT_FILENO] : [])) }
  var namedDescriptors: [(option: String, descriptor: Int32)] { password.namedDescriptors }

  func validate() throws {
    if url == "-" { try unlock.leavesStandardInput(for: "the request") }
    try password.check(beside: unlock)
  }

  func run() async throws {
    let console = global.console
    let request = try request()
    var isAgreed = false
    do {
      let answer = try await answer(request, console, &isAgreed)
      try deliver(answer, console)
    } catch {
      try tell(VaultError(error), request.targets, isAgreed: isAgreed)
      throw error
    }
  }

  // MARK: - The request

  private func request() throws -> CallbackRequest {
    let url = try bytes()
    do {
      return try CallbackRequest(url.bytes)
    } catch {
      let failure = VaultError(.usage, "\(error)", hint: "see docs/formats/callback.md for what can be asked")
      if let targets = CallbackTargets(of: url.bytes) { try tell(failure, targets, isAgreed: false) }
      throw failure
    }
  }

  private func bytes() throws -> SecretBytes {
    if let taken = RequestArgument.url() { return taken }
    guard url == "-" else {
      throw VaultError(
        .usage, "the request doesn't begin with \(CallbackRequest.prefix)",
        hint: "see docs/formats/callback.md for what can be asked")
    }
    let text = try SecretStream.read(STDIN_FILENO, limit: CallbackRequest.byteLimit, name: "the request", hint: nil)
    return try MessageInput.withoutLastNewline(text)
  }

  // MARK: - The answer

  /// The URL to open; nil if nobody wants one. `isAgreed` tells whether the user's yes came before a failure.
  private func answer(
    _ request: borrowing CallbackRequest, _ console: Console, _ isAgreed: inout Bool
  ) async throws -> SecretBytes? {
    let composition = try Composition(global)
    let vault = try composition.open(unlock)
    defer { composition.finish(vault) }
    switch request.action {
    case .encrypt: return try await encrypted(request, vault, console, &isAgreed)
    case .decrypt: return try await decrypted(request, vault, console, &isAgreed)
    }
  }

  private func encrypted(
    _ request: borrowing CallbackRequest, _ vault: Vault, _ console: Console, _ isAgreed: inout Bool
  ) async throws -> SecretBytes? {
    console.note(RequestWords.announcement(request))
    let key = try chosenKey(request, vault)
    isAgreed = true
    let layer = try passwordLayer(request, console)
    let item = ItemRequest(
      source: .memory(try Self.content(request)), password: layer, description: request.description)
    let access = ItemReporter(console, verb: "encrypting").access()
    let bytes = try await vault.items.encryptInMemory(item, under: key.id, keeps: request.isStored, access: access)
    guard let target = request.targets.success else { return nil }
    return try Self.written { () throws(CallbackError) in try target.answer(encryptedData: bytes.span.bytes) }
  }

  private func decrypted(
    _ request: borrowing CallbackRequest, _ vault: Vault, _ console: Console, _ isAgreed: inout Bool
  ) async throws -> SecretBytes? {
    console.note(RequestWords.announcement(request))
    let bytes = request.content.withUnsafeBytes { Array($0) }
    let facts = try vault.items.itemFacts(bytes)
    if !yes { try Question.confirm(RequestWords.decryption(request, facts.key), option: "--yes") }
    isAgreed = true
    let access = ItemReporter(console, verb: "decrypting").access(passwords: password.source(console))
    let content = try await vault.items.decryptInMemory(bytes, keeps: request.isStored, access: access)
    guard let target = request.targets.success else { return nil }
    let fileName = try Self.fileName(content)
    let description = facts.description
    return try Self.written { () throws(CallbackError) in
      try target.answer(plaintext: content.body.bytes, fileName: fileName, description: description)
    }
  }

  /// The name under which the content of a file is handed over; nil for a note.
  private static func fileName(_ content: borrowing RecoveredContent) throws -> SecretBytes? {
    switch content.kind.traits.handover {
    case .text: return nil
    case .file: return try SecretText.copy(content.header.fileName)
    case .never:
      throw VaultError(
        .refused, "this item is neither a text nor a file, and can't be handed over by a URL",
        hint: "import it with `vault item import`, and look at it with `vault item show`")
    }
  }

  private static func content(_ request: borrowing CallbackRequest) throws -> SecretContent {
    do {
      let body = try request.content.duplicate()
      switch request.fileName {
      case .some(let name):
        let header = try PayloadHeader(kind: .file, fileName: name.bytes)
        return SecretContent(header: header, body: body)
      case .none:
        let header = try PayloadHeader(kind: .note, mediaType: "text/plain")
        return SecretContent(header: header, body: body)
      }
    } catch {
      throw SecretText.noMemory
    }
  }

  private func chosenKey(_ request: borrowing CallbackRequest, _ vault: Vault) throws -> SecretSummary {
    if let key { return try vault.items.encryptionKey(key) }
    let keys = try vault.items.encryptionKeys().filter { $0.secret.ownIndex != nil }.map(\.secret)
    guard !keys.isEmpty else {
      throw VaultError(.notFound, "there is no key here to encrypt under", hint: "make one with `vault key create`")
    }
    guard Question.isPossible else {
      throw VaultError(.usage, "which key to encrypt under is not clear", hint: "say --key NAME")
    }
    let lines = keys.map { RequestWords.key($0) }
    return keys[try Question.choose(RequestWords.encryption(request), among: lines)]
  }

  private func passwordLayer(_ request: borrowing CallbackRequest, _ console: Console) throws -> SharePassword? {
    guard request.addsPassword else { return nil }
    let logarithm = try request.scryptLogarithm ?? chosenCost(console)
    try PasswordCost.checkRoom(logarithm: logarithm)
    console.note(try PasswordCost.explanation(logarithm: logarithm))
    let chosen = try password.place.chosen(console)
    return try SharePassword(chosen, logarithm: logarithm)
  }

  /// The request leaves scrypt's cost to the user.
  private func chosenCost(_ console: Console) throws -> Int {
    guard Question.isPossible else { return PasswordCost.usualLogarithm }
    let costs = Array(15...20)
    let smallest = try PasswordCost.measure()
    let lines = costs.map { PasswordCost.line(logarithm: $0, smallest: smallest) }
    return costs[try Question.choose("How costly shall each try of the password be?", among: lines)]
  }

  // MARK: - Handing over

  private func deliver(_ answer: borrowing SecretBytes?, _ console: Console) throws {
    switch answer {
    case .some(let answer): try hand(answer)
    case .none: console.note("the request named no URL for an answer")
    }
  }

  private func hand(_ answer: borrowing SecretBytes) throws {
    guard print else { return try CallbackOpener.open(answer) }
    try Console.write(answer.bytes, to: STDOUT_FILENO)
    try Console.write("\n", to: STDOUT_FILENO)
  }

  /// Tells the other program that it failed, or that the user said no. That this fails is no news: the error that comes
  /// behind it is what the user should see, and it alone gives reasons.
  private func tell(_ error: VaultError, _ targets: CallbackTargets, isAgreed: Bool) throws {
    let isCancelled = error.code == .interrupted
    guard let target = isCancelled ? targets.cancel : targets.failure else { return }
    let failure = isAgreed ? ToldFailure(error.code) : .beforeConsent
    let answer = try Self.written { () throws(CallbackError) in
      isCancelled ? try target.answer() : try target.answer(errorCode: failure.code, message: failure.words)
    }
    do { try hand(answer) } catch { global.console.warning(VaultError(error).reason) }
  }

  private static func written(_ answer: () throws(CallbackError) -> SecretBytes) throws -> SecretBytes {
    do { return try answer() } catch {
      throw VaultError(.other, "the answer can't be written: \(error)")
    }
  }
}
