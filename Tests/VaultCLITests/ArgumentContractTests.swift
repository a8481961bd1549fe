import ArgumentParser
import Glibc
import SecretVault
import Testing

@testable import VaultCLI

@Suite("The command line is a contract")
struct ArgumentContractTests {
  @Test(arguments: [
    "init --label Alice", "init --label Alice --no-passphrase", "init --label Alice --address a:1 --address b:2",
    "init --label Alice --passphrase-fd 3", "init --label Alice --passphrase-file f",
    "id", "id --text", "id --png f", "id --svg f", "id --address a:1", "id --png f --address a:1 --address b:2",
    "peer add vaultpeer1qqq", "peer add VAULTPEER1QQQ", "peer add bob.png", "peer add -", "peer add bob.png --name Bob",
    "peer list", "peer show Bob", "peer rename Bob Robert", "peer address Bob a:1", "peer address Bob a:1 b:2",
    "peer remove Bob", "peer remove Bob --yes", "peer ping Bob", "peer replace Bob new.png --yes",
    "peer replace Bob --undo", "peer replace Bob --camera", "init --label a --replaces", "init --replaces",
    "secret replace Bob Carol keys", "secret replace Bob Carol --all", "secret add Dan keys notes",
    "secret remove Bob --all --leave-out-absent", "secret threshold keys 3", "secret threshold --all 3",
    "secret refresh keys", "secret refresh --all", "secret cancel keys",
    "peer accept Carol", "peer accept Carol --name C --yes", "peer list --introduced", "peer scan photo.jpg",
    "peer scan -",
    "daemon", "daemon --listen 127.0.0.1:0", "daemon --listen [::1]:4721", "daemon --verbose",
    "daemon --locked", "daemon --background --locked --listen off",
    "share f --threshold 2", "share - --threshold 2", "share f --threshold 255", "share --threshold 2 f",
    "share f --threshold 2 --to Bob --to Carol", "share f --threshold 2 --description text",
    "share f --threshold 2 --no-labels --no-own-share --remove-source",
    "list", "secret show SECRET", "secret deliver", "secret deliver SECRET", "secret delete SECRET",
    "secret delete SECRET --yes", "device log", "device log --limit 5",
    "settings get listen", "settings set listen 127.0.0.1:0", "settings list", "settings reset --yes",
    "recover", "recover SECRET", "recover -o f", "recover SECRET -o -", "recover SECRET -o f --force",
    "recover SECRET --output f", "check", "check SECRET", "check SECRET --pieces 1", "check --pieces 4096",
    "check --repair", "status",
    "recover SECRET --output f", "recover SECRET --wait", "recover --wait 30m SECRET", "recover --wait --force",
    "recover SECRET --wait=2d",
    "recover --wait", "recover --wait -o f", "daemon --listen off", "settings set listen off",
    "requests", "requests list", "requests --json", "requests approve 3", "requests approve 3 --for 2h",
    "requests refuse 3",
    "secret policy SECRET", "secret policy SECRET auto", "secret policy SECRET ask", "secret policy SECRET delay:2d",
    "secret policy SECRET default",
    "recover SECRET --field user", "recover SECRET --fields", "recover SECRET --clip",
    "recover SECRET --field user --clip", "recover SECRET --show", "recover SECRET --field user -o -",
    "recover SECRET --password-fd 3", "recover SECRET --password-file f",
    "share f --threshold 2 --password", "share f --threshold 2 --password --password-cost 20",
    "share f --threshold 2 --password-fd 3 --password-cost 15", "share f --threshold 2 --password-file f",
    "note --threshold 2", "note - --threshold 2 --title t", "note f --threshold 2 --to Bob --password",
    "password --threshold 2", "password --threshold 2 --title t --user u --url l --notes f",
    "password --threshold 2 --length 6 --alphabet digits --show --clip", "password --threshold 2 --characters ab",
    "password --threshold 2 --typed", "password --threshold 2 --from-fd 3", "password --threshold 2 --from-file f",
    "contact --threshold 2", "contact f --threshold 2", "contact - --threshold 2 --description d",
    "unlock", "unlock SECRET", "unlock --list", "lock", "lock SECRET",
    "send Bob hello", "send Bob see you", "send Bob -", "send Bob", "send Bob -- -x", "send Bob --photo f",
    "send Bob --file f caption", "send Bob --pigeons-only hello", "send Bob hello --lifetime 12h",
    "send eve@example.org hello --plain",
    "message inbox", "message inbox --limit 5 --mark-read", "message inbox --new",
    "message", "message Bob", "message --search word", "message Bob --limit 3", "message list show",
    "message show 12", "message show 12 --mark-read", "message save 12", "message save 12 f --force",
    "message save 12 -", "message delete 12", "message delete 12 13 --yes", "message outbox",
    "backup create f", "backup kit", "backup kit -", "backup kit f --svg g --force --kit-passphrase-file p",
    "backup restore f", "backup restore f --force --yes", "backup restore f --kit k --yes", "backup restore --kit -",
    "backup restore --kit k --kit-passphrase-fd 3 --passphrase-fd 4 --force",
    "device passphrase", "device passphrase --remove", "device passphrase --remove --passphrase-fd 3",
    "device passphrase --new-passphrase-fd 3 --passphrase-fd 4",
    "device passphrase --new-passphrase-file f --passphrase-file f",
    "carry", "carry status", "carry status --diagnostics", "carry status --diagnostics --all",
    "carry on", "carry off", "carry limits",
    "carry limits --bytes 32M --day 64M --peer 8M --battery 50 --fair-share 256M/200",
  ])
  func isAccepted(line: String) throws {
    _ = try Root.parseAsRoot(words(line))
  }

  @Test(arguments: [
    "init --label", "init --label A --no-passphrase --passphrase-fd 3", "frob", "id --text --png f",
    "id --png f --svg g", "peer frob", "peer add", "peer show", "peer rename Bob", "peer address Bob", "peer remove",
    "peer accept", "peer list --introduced --near",
    "peer ping", "peer replace Bob", "peer replace Bob x --undo", "secret add Dan", "secret add Dan a --all",
    "secret threshold keys", "secret threshold 3", "secret refresh", "secret cancel", "peer scan", "daemon --listen",
    "daemon --listen nowhere", "daemon --listen a:99999", "share",
    "daemon --listen ::1:4799",
    "share f --threshold 0", "share f --threshold 1", "share f --threshold 256", "share f --threshold two",
    "share f --threshold 3 --to Bob", "share f --threshold 2 --to Bob --no-own-share",
    "share - --threshold 2 --remove-source", "secret show", "secret delete", "device log --limit 0", "settings get",
    "settings set listen",
    "recover a b", "recover --json -o -", "list --passphrase-fd 3 --passphrase-file f", "list --passphrase-fd -1",
    "list --home", "list --frob",
    "share - --threshold 2 --passphrase-fd 0", "peer add - --passphrase-fd 0", "peer scan - --passphrase-fd 0",
    "id --png=", "id --svg=", "check a b", "check --pieces 0", "check --pieces 4097", "status x",
    "id --png=", "id --svg=", "recover --wait soon", "recover --wait SECRET", "recover --wait=0s", "requests approve",
    "requests approve x", "requests refuse 3 --for never", "requests approve 3 --for 400d", "secret policy",
    "secret policy SECRET never", "secret policy SECRET delay:0s",
    "share f --threshold 2 --password-cost 16", "share f --threshold 2 --password --password-cost 14",
    "share f --threshold 2 --password --password-cost 21", "share f --threshold 2 --password-fd 3 --password-file f",
    "share - --threshold 2 --password-fd 0", "share f --threshold 2 --password-fd 3 --passphrase-fd 3",
    "recover --password-fd 3 --passphrase-fd 3", "recover --fields --field x", "recover --fields -o f",
    "recover --clip -o f", "recover --clip --show", "recover --show -o f",
    "note - --threshold 2 --password-fd 0",
    "note f g --threshold 2", "password --threshold 2 --typed --from-fd 3",
    "password --threshold 2 --typed --length 9", "password --threshold 2 --length 3",
    "password --threshold 2 --alphabet runes", "password --threshold 2 --characters aa",
    "password --threshold 2 --notes - --from-fd 0", "password --threshold 2 --from-fd 3 --password-fd 3",
    "contact f --threshold 1",
    "unlock --list SECRET", "unlock a b", "lock a b",
    "send", "send Bob --photo f --file g", "send Bob x --lifetime soon", "send e@x.org x --plain --pigeons-only",
    "send e@x.org --file f --plain", "send Bob x --lifetime 1s",
    "send Bob x --lifetime 40d", "send Bob - --passphrase-fd 0", "message inbox x", "message inbox --limit 0",
    "message show",
    "message show x", "message --search=", "message --limit 0", "message a b", "message save",
    "message save 1 -  --json",
    "backup restore", "backup restore f --kit-passphrase-fd 3", "backup restore f --kit k --force",
    "backup restore f --kit - --passphrase-fd 0", "backup restore --kit - --kit-passphrase-fd 0",
    "backup kit - --json", "backup kit f --kit-passphrase-fd 3 --passphrase-fd 3", "backup kit --svg=",
    "backup kit a b",
    "backup kit --kit-passphrase-fd 3 --kit-passphrase-file f",
    "daemon --locked --passphrase-fd 3", "daemon --locked --passphrase-file f", "device passphrase word",
    "device passphrase --remove --new-passphrase-fd 3", "device passphrase --new-passphrase-fd -1",
    "device passphrase --new-passphrase-fd 3 --passphrase-fd 3",
    "device passphrase --new-passphrase-fd 3 --new-passphrase-file f",
    "init --label \u{A0}", "message delete", "message outbox x", "carry x", "carry status --all",
    "carry limits --bytes",
  ])
  func isAUsageError(line: String) {
    let error = #expect(throws: (any Error).self) { try Root.parseAsRoot(words(line)) }
    if let error { #expect(Root.exitCode(for: error).rawValue == ExitCodes.usage) }
  }

  @Test(arguments: [
    "id", "peer add x", "peer list", "peer show x", "peer rename x y", "peer address x a:1", "peer remove x",
    "peer accept x", "peer ping x", "daemon", "share f --threshold 2", "list", "secret show x", "secret deliver",
    "secret delete x", "device log",
    "settings get listen", "settings set listen a:1", "settings list", "recover", "init --label A", "peer scan f",
    "check",
    "status", "unlock", "lock",
    "settings get listen", "settings set listen a:1", "settings list", "recover", "init --label A", "peer scan f",
    "requests list", "requests approve 3", "requests refuse 3", "secret policy SECRET",
    "note --threshold 2", "password --threshold 2", "contact --threshold 2",
    "send x y", "message inbox", "message list", "message show 1", "message save 1", "message delete 1",
    "message outbox",
    "carry status", "carry on", "carry off", "carry limits",
  ])
  func everyCommandTakesTheCommonOptions(line: String) throws {
    let common = words("--home /h --json --quiet --passphrase-file f")
    let behind = try Root.parseAsRoot(words(line) + common)
    #expect(common.count == 6)
    let options = try #require(self.options(of: behind))
    #expect(options.global.home == "/h" && options.global.json && options.global.quiet)
    #expect(options.unlock.passphrase == .file("f"))

    let before = try #require(self.options(of: try Root.parseAsRoot(words("--home /h --json --quiet " + line))))
    #expect(before.global.home == "/h" && before.global.json && before.global.quiet)
  }

  @Test func aThresholdOfOneIsExplained() throws {
    let error = try #require(throws: (any Error).self) { try Root.parseAsRoot(words("share f --threshold 1")) }
    let complaint = Invocation.usageError(
      message: Root.message(for: error), full: Root.fullMessage(for: error), words: [])
    #expect(complaint.reason.contains("everybody who holds a share read the secret alone"))
    #expect(complaint.reason.first?.isLowercase == true)
    #expect(complaint.hint == "see 'vault share --help'")
  }

  @Test(
    arguments: [
      ("frobnicate", "there is no command 'frobnicate'", "vault help --all"),
      ("--home h frobnicate", "there is no command 'frobnicate'", "vault help --all"),
      ("peer frobnicate", "there is no command 'peer frobnicate'", "vault peer --help"),
      ("settings --json frobnicate more", "there is no command 'settings frobnicate'", "vault settings --help"),
      ("list surplus", "unexpected argument 'surplus'", "vault list --help"),
      ("list --zzzzzzzz", "unknown option '--zzzzzzzz'", "vault list --help"),
    ])
  func whatIsNoCommandIsCalledThat(line: String, reason: String, help: String) throws {
    let error = try #require(throws: (any Error).self) { try Root.parseAsRoot(words(line)) }
    let complaint = Invocation.usageError(
      message: Root.message(for: error), full: Root.fullMessage(for: error), words: words(line))
    #expect(complaint.reason == reason)
    #expect(complaint.hint == "see '\(help)'")
  }

  @Test(
    arguments: [
      ("rm", "vault secret delete"), ("get", "vault recover"), ("peers", "vault peer"), ("ls", "vault list"),
      ("statsu", "vault status"), ("peer delete", "vault peer remove"), ("peer lsit", "vault peer list"),
      ("item rm", "vault item delete"), ("requests aprove", "vault requests approve"),
    ])
  func whatWasMeantIsProposed(line: String, command: String) throws {
    let error = try #require(throws: (any Error).self) {
      var command = try Root.parseAsRoot(words(line))
      try command.run()
    }
    let complaint = Invocation.usageError(
      message: Root.message(for: error), full: Root.fullMessage(for: error), words: words(line))
    #expect(complaint.reason == "there is no command '\(line)'")
    #expect(complaint.hint?.hasPrefix("did you mean '\(command)'") == true, "\(complaint)")
    #expect(throws: complaint) { try Invocation.checkHelp(words(line + " --help")) }
  }

  @Test(
    arguments: [
      ("list --jsno", "unknown option '--jsno'; did you mean '--json'?"),
      ("peer rename --nmae Bob", "unknown option '--nmae'"),
      ("secret show --passphrase-flie=f", "unknown option '--passphrase-flie'; did you mean '--passphrase-file'?"),
    ])
  func aSlipInAnOptionIsCalledThat(line: String, reason: String) throws {
    let error = try #require(throws: (any Error).self) { try Root.parseAsRoot(words(line)) }
    let complaint = Invocation.usageError(
      message: Root.message(for: error), full: Root.fullMessage(for: error), words: words(line))
    #expect(complaint.reason.hasPrefix(reason), "\(complaint)")
  }

  @Test(arguments: [(2, 2), (3, 2), (4, 3), (5, 3), (6, 4), (12, 7), (1, 2)])
  func theProposedThresholdIsMoreThanHalfOfThePeople(people: Int, threshold: Int) {
    #expect(ShareOptions.proposedThreshold(people: people, most: 255) == threshold)
  }

  @Test func theProposedDescriptionIsTheKindAndTheDayAndNoOtherSecrets() {
    let now: Int64 = 1_764_400_000_000
    let plain = ShareOptions.proposedDescription("file", at: now, besides: ["note of 2025-11-29"])
    #expect(plain == "file of 2025-11-29")
    #expect(ShareOptions.proposedDescription("file", at: now, besides: [plain]) == "file of 2025-11-29, 2")
    #expect(
      ShareOptions.proposedDescription("file", at: now, besides: [plain, plain + ", 2"]) == "file of 2025-11-29, 3")
  }

  @Test(arguments: [("backup", "create, kit, restore")])
  func aGroupWithoutACommandListsItsCommands(line: String, commands: String) throws {
    let missing = try #require(throws: MissingSubcommand.self) {
      var command = try Root.parseAsRoot(words(line))
      try command.run()
    }
    #expect(missing.error.code == .usage)
    #expect(missing.error.reason.contains(commands))
  }

  @Test func anArgumentThatIsNotUTF8IsRefused() throws {
    func arguments(_ bytes: [[UInt8]]) throws -> [String] {
      let strings = bytes.map { bytes in strdup(bytes.map { CChar(bitPattern: $0) } + [0]) }
      defer { for string in strings { free(string) } }
      return try Invocation.arguments(strings)
    }
    #expect(try arguments([Array("info".utf8), Array("häß".utf8)]) == ["info", "häß"])
    let error = try #require(throws: VaultError.self) { try arguments([Array("share".utf8), [0x62, 0xFF, 0x2E]]) }
    #expect(error.code == .usage && error.reason.contains("names must be UTF-8"))
  }

  @Test func everyRequestAmongTheArgumentsIsOverwritten() throws {
    let secrets = ["coresecret://x-callback-url/encrypt?plaintext=one", "CoreSecret:plaintext=two", "coresecret:three"]
    var strings = (["vault", "url"] + secrets).map { strdup($0) }
    defer { for string in strings { free(string) } }
    RequestArgument.take(strings.count, &strings)
    for (string, secret) in zip(strings.compactMap { $0 }.dropFirst(2), secrets) {
      #expect(String(cString: string).lowercased() == "coresecret:")
      #expect((11..<secret.utf8.count).allSatisfy { string[$0] == 0 })
    }
    if let url = RequestArgument.url() { Issue.record("one of several is carried out: \(url.count) bytes") }
  }

  @Test(arguments: ["--version", "--help", "share --help", "help share", "--generate-completion-script bash"])
  func asksForInformation(line: String) throws {
    let error = #expect(throws: (any Error).self) {
      var command = try Root.parseAsRoot(words(line))
      try command.run()
    }
    if let error {
      #expect(Root.exitCode(for: error) == .success)
      #expect(!Root.fullMessage(for: error).isEmpty)
    }
  }

  @Test func everyCommandExplainsItselfWithAnExample() {
    for command in all(Root.self).dropFirst() {
      let configuration = command.configuration
      #expect(!configuration.abstract.isEmpty)
      #expect(configuration.discussion.contains("Example"), "\(command)")
      for line in configuration.discussion.split(separator: "\n") { #expect(line.count < 80, "\(line)") }
    }
  }

  @Test func everyExampleIsACommandLineThatMakesSense() {
    var count = 0
    for command in all(Root.self).dropFirst() {
      for line in examples(in: command.configuration.discussion) {
        for arguments in commands(in: line) {
          count += 1
          #expect(throws: Never.self, "\(line)") { _ = try Root.parseAsRoot(arguments) }
        }
      }
    }
    #expect(count > 120)
  }

  /// The lines that begin with an example or belong to one.
  private func examples(in discussion: String) -> [Substring] {
    let lines = discussion.split(separator: "\n", omittingEmptySubsequences: false).drop { !$0.hasPrefix("Example") }
    return lines.prefix { !$0.isEmpty }.joined(separator: "\n").replacing(" \\\n", with: " ").split(separator: "\n")
  }

  /// The arguments of each `vault` in a line for a shell.
  private func commands(in line: Substring) -> [[String]] {
    var commands: [[String]] = [[]]
    var word: String?
    var quote: Character?
    for character in line + " " {
      if let open = quote {
        if character == open { quote = nil } else { word = (word ?? "") + String(character) }
      } else if character == "'" || character == "\"" {
        quote = character
        word = word ?? ""
      } else if character == " " || "|&;".contains(character) {
        if let word { commands[commands.count - 1].append(word) }
        word = nil
        if character != " " { commands.append([]) }
      } else {
        word = (word ?? "") + String(character)
      }
    }
    return commands.compactMap { words in
      guard let start = words.firstIndex(of: "vault") else { return nil }
      return Array(words[(start + 1)...].prefix { $0 != "<" && $0 != ">" })
    }
  }

  @Test func jsonAndQuietAreKnownEvenWhenTheLineIsWrong() {
    #expect(Invocation.console(of: ["frob", "--json"]).json)
    #expect(Invocation.console(of: ["frob", "--quiet"]).quiet)
    #expect(!Invocation.console(of: ["share", "--", "--json"]).json)
  }

  private func words(_ line: String) -> [String] { line.split(separator: " ").map(String.init) }

  private func all(_ command: any ParsableCommand.Type) -> [any ParsableCommand.Type] {
    [command] + command.configuration.subcommands.flatMap { all($0) }
  }

  private func options(of command: any ParsableCommand) -> (global: GlobalOptions, unlock: UnlockOptions)? {
    switch command {
    case let command as any OpenedCommand: (command.global, command.unlock)
    case let command as IdentityCommand: (command.global, command.unlock)
    case let command as DeviceShowCommand: (command.identity.global, command.identity.unlock)
    case let command as InitCommand: (command.global, command.unlock)
    case let command as StatusCommand: (command.global, command.unlock)
    case let command as PeerScanCommand: (command.global, command.unlock)
    case let command as DaemonCommand: (command.global, command.unlock)
    case let command as MeetCommand: (command.global, command.unlock)
    case let command as UnlockCommand: (command.global, command.unlock)
    case let command as LockCommand: (command.global, command.unlock)
    default: nil
    }
  }
}
