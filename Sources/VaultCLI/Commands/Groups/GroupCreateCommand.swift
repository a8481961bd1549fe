import ArgumentParser
import Grouper
import SecretVault
import Synchronization
import VaultGroups

struct GroupCreateCommand: OpenedCommand {
  static let configuration = CommandConfiguration(
    commandName: "create",
    abstract: "Make a group, of which you are the owner.",
    discussion: """
      On all servers or on none. Take servers of different people: any K of them that
      work together with a member's key can read what is sent, fewer can't; and the
      group goes on while S of them can be reached. 'vault-server' is such a server;
      anybody can run one.

      --ttl says how long servers keep a message, from 60s to 30d; a device that was
      away for longer gets it from other members. Where a server's operator demands a
      token, put it into a file and name the server with it.

      Example: vault group create Family --server https://s1.example.org \\
        --server https://s2.example.net --server https://s3.example.com \\
        --token-file https://s3.example.com=token.txt
      """)

  @Argument(help: "What to call it.")
  var name: String

  @OptionGroup var servers: GroupServerOptions

  @Option(help: ArgumentHelp("How long servers keep messages (default: 1d).", valueName: "duration"))
  var ttl = "1d"

  @OptionGroup var card: GroupCardOptions
  @OptionGroup var global: GlobalOptions
  @OptionGroup var unlock: UnlockOptions

  func validate() throws {
    try servers.check()
    guard let seconds, (60...2_592_000).contains(seconds) else {
      throw ValidationError("--ttl takes a time from 60s to 30d, such as 1d.")
    }
  }

  private var seconds: Int? { DurationText.milliseconds(ttl).map { Int($0 / 1000) } }

  func run(_ vault: Vault, _ console: Console) async throws {
    let plan = GroupPlan(
      name: name, servers: try servers.choices(console), threshold: servers.threshold,
      sufficient: servers.sufficient, ttl: seconds ?? 86_400, email: card.email, userName: card.userName)
    let made = try await Interruptible.run { () async throws in
      try await VaultGroups(vault).create(plan)
    }
    console.note(
      "made the group \(made.name) on \(made.servers) servers: any \(made.threshold) of them are enough to read, "
        + "\(made.sufficient) to send")
    console.note("invite a peer: \(GroupText.inviting(made.name)) PEER")
    try console.result([made.id], json: made.json)
  }
}

/// How this device's user is called in a group.
struct GroupCardOptions: ParsableArguments {
  @Option(help: ArgumentHelp("Your e-mail address, for the other members.", valueName: "address"))
  var email = ""

  @Option(help: ArgumentHelp("Your name there, instead of that on your card.", valueName: "name"))
  var userName: String?

  func validate() throws {
    guard email.utf8.count <= 254, (userName ?? "-").utf8.count <= 64, userName != "" else {
      throw ValidationError("A name has 1 to 64 bytes, an address at most 254.")
    }
  }
}

struct GroupServerOptions: ParsableArguments {
  @Option(
    name: .customLong("server"),
    help: ArgumentHelp("A server's address; given for each, at least twice.", valueName: "url"))
  var servers: [String] = []

  @Option(name: .customShort("k"), help: ArgumentHelp("Servers that it takes to read (default: 2).", valueName: "k"))
  var threshold: Int?

  @Option(
    name: .customShort("s"),
    help: ArgumentHelp("Servers that make a message count as sent (default: all but one).", valueName: "s"))
  var sufficient: Int?

  @Option(
    name: .customLong("token-file"),
    help: ArgumentHelp("What a server demands from who makes a group there.", valueName: "url=file"))
  var tokens: [String] = []

  func check() throws {
    guard servers.count >= 2 else { throw ValidationError("Name at least two servers, each by --server URL.") }
    guard servers.count <= 64 else { throw ValidationError("A group has at most 64 servers.") }
    if let threshold, !(2...servers.count).contains(threshold) {
      throw ValidationError("-k takes a number from 2 to the number of servers, \(servers.count).")
    }
    if let sufficient, !((threshold ?? 2)...servers.count).contains(sufficient) {
      throw ValidationError("-s takes a number from K, \(threshold ?? 2), to the number of servers, \(servers.count).")
    }
    for token in tokens where file(of: token) == nil {
      throw ValidationError("--token-file takes the address of one of the servers, =, and a file: URL=FILE.")
    }
  }

  /// Which server a token is for, and where it is.
  private func file(of token: String) -> (server: String, path: String)? {
    servers.filter { token.hasPrefix($0 + "=") && token.utf8.count > $0.utf8.count + 1 }
      .max { $0.utf8.count < $1.utf8.count }.map { ($0, String(token.dropFirst($0.count + 1))) }
  }

  func choices(_ console: Console) throws -> [ServerChoice] {
    var tokensByServer: [String: CreationToken] = [:]
    for token in tokens {
      guard let (server, path) = file(of: token) else { continue }
      let secret = try Passphrase.read(fileAt: path, noun: "token", console)
      tokensByServer[server] = CreationToken(secret)
    }
    let choices = try servers.map { try VaultGroups.choice($0, token: tokensByServer[$0]) }
    guard Set(choices.map(\.address)).count == choices.count else {
      throw VaultError(.usage, "a server is named twice", hint: "servers of different providers are what makes it safe")
    }
    return choices
  }
}

/// Work that Ctrl-C calls off in order; a second one ends the program.
enum Interruptible {
  static func run<Value: Sendable>(_ body: @escaping @Sendable () async throws -> Value) async throws -> Value {
    let state = Ending()
    // Before the work begins: what ends the program in its first moments would leave half of it.
    Interruption.redirect { _ in if !state.begin() { Interruption.end() } }
    defer { Interruption.redirect(to: nil) }
    let task = Task { try await body() }
    state.call(off: { task.cancel() })
    return try await task.value
  }

  private final class Ending: Sendable {
    private struct State {
      var hasBegun = false
      var callOff: (@Sendable () -> Void)?
    }

    private let state = Mutex(State())

    /// Calls the work off; false if that was done before.
    func begin() -> Bool {
      let (isFirst, callOff) = state.withLock { state in
        defer { state.hasBegun = true }
        return (!state.hasBegun, state.callOff)
      }
      if isFirst { callOff?() }
      return isFirst
    }

    /// Says how the work is called off, which may be due already.
    func call(off callOff: @escaping @Sendable () -> Void) {
      let isDue = state.withLock { state in
        state.callOff = callOff
        return state.hasBegun
      }
      if isDue { callOff() }
    }
  }
}
