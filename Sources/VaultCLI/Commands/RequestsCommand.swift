import ArgumentParser
import SecretVault

struct RequestsCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "requests",
    abstract: "Show what peers ask for and you decide about; approve or refuse it.",
    discussion: """
      Without a command, the requests are listed: who asks, with the fingerprint to
      compare with the peer's own 'vault id', for which secret, and until when.

      A 'release' is a peer that has proved that it holds a share and wants yours,
      where 'vault secret policy' says ask or delay. A 'deposit' is a share that a
      peer wants to leave here, while the setting 'confirm-sharing' is on; its sender
      waits. A 'change' is one of who holds a secret: its sentence says who leaves,
      who comes, and who can open it from then on.

      Examples: vault requests
                vault requests approve 3
                vault requests refuse 4
      """,
    subcommands: [RequestsListCommand.self, RequestsApproveCommand.self, RequestsRefuseCommand.self],
    defaultSubcommand: RequestsListCommand.self)
}

struct RequestsListCommand: OpenedCommand {
  static let configuration = CommandConfiguration(
    commandName: "list", abstract: "List the requests, oldest first.", discussion: "Example: vault requests list --json"
  )

  @OptionGroup var global: GlobalOptions
  @OptionGroup var unlock: UnlockOptions

  func run(_ vault: Vault, _ console: Console) async throws {
    try await vault.changing.lookAtRequests()
    let requests = try vault.consent.requests()
    if requests.isEmpty { console.note("nobody asks for anything") }
    var lines = requests.isEmpty ? [] : Self.table(requests).lines
    for request in requests {
      guard let change = request.change else { continue }
      lines.append("\(request.id): \(Printable.escape(change.sentence))")
    }
    try console.result(lines, json: .array(requests.map(\.json)))
  }

  static func table(_ requests: [VaultRequest]) -> TextTable {
    var table = TextTable("ID", "WANTS", "PEER", "FINGERPRINT", "SECRET", "ASKED", "STATE")
    for request in requests {
      table.add(
        "\(request.id)", wish(request), request.peer, request.fingerprint,
        ShareReporter.name(request.description, id: request.secret), Timestamp.minute(request.askedAt),
        state(request))
    }
    return table
  }

  static func wish(_ request: VaultRequest) -> String {
    switch request.kind {
    case .release: "your share"
    case .deposit: "to leave a share" + (request.byteCount.map { " (\(Measures.size($0)))" } ?? "")
    case .change where request.change == nil:
      "you to hold a share" + (request.byteCount.map { " (\(Measures.size($0)))" } ?? "")
    case .change: request.change?.isMade == true ? "your older share erased" : "other holders"
    }
  }

  static func state(_ request: VaultRequest) -> String {
    switch request.state {
    case .waiting:
      request.releasesAt.map { "released at \(Timestamp.second($0)) unless refused" }
        ?? "waits until \(Timestamp.second(request.endsAt))"
    case .approved: "approved until \(Timestamp.second(request.endsAt))"
    case .refused: "refused until \(Timestamp.second(request.endsAt))"
    case .arriving: "approved, arriving"
    }
  }
}

struct RequestsApproveCommand: OpenedCommand {
  static let configuration = CommandConfiguration(
    commandName: "approve",
    abstract: "Say yes to a request.",
    discussion: """
      A release: this peer gets your share of this secret whenever it proves that it
      holds one, for 24 hours or as long as --for says; other peers and other secrets
      are not meant. Make sure that it really is the peer who asks: call, and compare
      the fingerprint. A deposit: the share is kept. A change: your device deals its
      share to the new holders, and erases its older one once enough have theirs.

      Example: vault requests approve 3 --for 2h
      """)

  @Argument(help: "The request's number.")
  var id: Int64

  @OptionGroup var validity: DecisionOptions
  @OptionGroup var global: GlobalOptions
  @OptionGroup var unlock: UnlockOptions

  func validate() throws { try validity.check() }

  func run(_ vault: Vault, _ console: Console) async throws {
    let request = try await vault.consent.approveRequest(id, for: validity.milliseconds)
    switch request.kind {
    case .release:
      console.note(
        "\(request.peer) (\(request.fingerprint)) gets your share of "
          + "\(ShareReporter.name(request.description, id: request.secret)) until \(Timestamp.second(request.endsAt))")
    case .deposit: console.note("the share of \(request.peer) (\(request.fingerprint)) is kept")
    case .change:
      if let change = request.change {
        console.note(change.sentence)
      } else {
        console.note("this device takes a share once enough of those who hold one agree")
      }
      guard let status = try await vault.changing.agreed(request) else { break }
      for line in ChangeText.lines(status) { console.note(line) }
    }
    if console.json { try console.result(request.json) }
  }
}

struct RequestsRefuseCommand: OpenedCommand {
  static let configuration = CommandConfiguration(
    commandName: "refuse",
    abstract: "Say no to a request, or take back a yes.",
    discussion: """
      A release: this peer doesn't get your share of this secret for 24 hours, or as
      long as --for says, whatever the policy; also if it would be released after its
      delay. A deposit: the share is refused and discarded. A change: your device
      deals nothing and keeps its share.

      Example: vault requests refuse 3 --for 4w
      """)

  @Argument(help: "The request's number.")
  var id: Int64

  @OptionGroup var validity: DecisionOptions
  @OptionGroup var global: GlobalOptions
  @OptionGroup var unlock: UnlockOptions

  func validate() throws { try validity.check() }

  func run(_ vault: Vault, _ console: Console) async throws {
    let request = try vault.consent.refuseRequest(id, for: validity.milliseconds)
    switch request.kind {
    case .release:
      console.note(
        "\(request.peer) doesn't get your share of \(ShareReporter.name(request.description, id: request.secret)) "
          + "before \(Timestamp.second(request.endsAt))")
    case .deposit: console.note("the share of \(request.peer) is refused")
    case .change:
      console.note(
        request.change == nil
          ? "this device takes no share of it" : "this device keeps its share as it is, and deals nothing")
    }
    if console.json { try console.result(request.json) }
  }
}

struct DecisionOptions: ParsableArguments {
  @Option(
    name: .customLong("for"),
    help: ArgumentHelp("How long this holds for a release, such as 30m, 24h or 7d.", valueName: "duration"))
  var duration: String?

  var milliseconds: Int64? { duration.flatMap { DurationText.milliseconds($0) } }

  func check() throws {
    guard duration != nil else { return }
    guard let milliseconds, (1000...Consent.longestDecision).contains(milliseconds) else {
      throw ValidationError("--for needs a time from 1s to 365d, such as 30m, 24h or 7d.")
    }
  }
}
