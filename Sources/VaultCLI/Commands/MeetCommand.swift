import ArgumentParser
import PeerAuth
import SecretVault
import VaultDaemon

struct MeetCommand: OpenedCommand {
  static let configuration = CommandConfiguration(
    commandName: "meet",
    abstract: "Make peers of the people you are with, by a short code.",
    discussion: """
      One of you presses Enter at the question for the code, and reads the code out
      that is shown; the others type it. When everybody is here, the first presses
      Enter again: all devices show the same names and three words. Compare them
      aloud, all of them; once everybody has said yes, all are peers of one another.

      Devices find one another on the same network. Where that doesn't work, as in a
      network for guests, the others add --at with the address that the first one's
      screen shows. A code counts for five minutes, and for three wrong guesses.

      Examples: vault meet
                vault meet --at 192.168.1.5:40123
      """)

  @Option(
    help: ArgumentHelp("Join the meeting that is open at this address.", valueName: "host:port"))
  var at: String?

  @Option(
    help: ArgumentHelp("Open a meeting here, instead of at a free port of all addresses.", valueName: "host:port"))
  var listen: String?

  @OptionGroup var global: GlobalOptions
  @OptionGroup var unlock: UnlockOptions

  func validate() throws {
    guard at == nil || listen == nil else { throw ValidationError("--at joins a meeting and --listen opens one") }
    if let at, (try? PeerAddress(parsing: at)) == nil {
      throw ValidationError("--at needs HOST:PORT, as the other one's screen shows it.")
    }
    if let listen, Self.place(listen) == nil { throw ValidationError("--listen needs HOST:PORT, such as [::]:4722.") }
  }

  private static func place(_ text: String) -> (host: String, port: Int)? {
    guard case .at(let host, let port)? = ListenTarget(text) else { return nil }
    return (host, port)
  }

  func run(_ vault: Vault, _ console: Console) async throws {
    let desk = try MeetingDesk(vault, console)
    let imported =
      if let at {
        try await desk.join(at: PeerAddress(parsing: at))
      } else if let place = listen.flatMap(Self.place) {
        try await desk.open(at: place)
      } else {
        try await desk.begin()
      }
    try console.result(
      imported.additions.map { Printable.escape($0.peer.name) }, json: .array(imported.additions.map(\.json)))
    guard imported.problems.isEmpty else {
      throw VaultError(
        .other, "not all were made peers: \(imported.problems.joined(separator: "; "))",
        hint: "import their cards with `vault peer add --name`")
    }
    console.note("next: 'vault daemon --background' answers them, 'vault share' gives them shares")
    if !vault.core.usesLocalNetwork, await desk.wantsToBeFound() {
      _ = try vault.core.set(SettingKey.lan.rawValue, to: SettingKey.on)
    }
  }
}
