import Foundation
import Glibc
import Testing

/// `vault` run at a terminal, with somebody at the keyboard.
final class PseudoTerminal {
  private var keyboard: Int32
  private let name: [CChar]
  private let process: pid_t
  /// Everything that was on the screen so far, escape sequences included.
  private(set) var screen = ""
  private var undecoded: [UInt8] = []

  /// Starts a program with a terminal of its own for all three standard descriptors.
  init(_ peer: Peer, _ arguments: [String], program: String = Bench.vault, isStyled: Bool = false) throws {
    let terminal = try #require(GNU.openTerminal())
    (keyboard, name) = (terminal.keyboard, terminal.name)
    var size = winsize(ws_row: 60, ws_col: 120, ws_xpixel: 0, ws_ypixel: 0)
    _ = ioctl(keyboard, UInt(TIOCSWINSZ), &size)
    _ = fcntl(keyboard, F_SETFL, O_NONBLOCK)

    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    // The first terminal that a session leader opens becomes its controlling terminal, /dev/tty.
    posix_spawn_file_actions_addopen(&actions, 0, terminal.name, O_RDWR, 0)
    posix_spawn_file_actions_adddup2(&actions, 0, 1)
    posix_spawn_file_actions_adddup2(&actions, 0, 2)
    try #require(GNU.closeFrom(&actions, 3) && GNU.changeFolder(&actions, peer.folder))
    var attributes = posix_spawnattr_t()
    posix_spawnattr_init(&attributes)
    defer { posix_spawnattr_destroy(&attributes) }
    Child.setUsualSignals(&attributes, GNU.spawnInNewSession)
    let environment = Bench.environment.merging(peer.environment) { $1 }.merging(
      ["TERM": "xterm-256color", "NO_COLOR": isStyled ? "" : "1"]
    ) { $1 }
    process = try Child.spawn(program, arguments, environment, &actions, &attributes)
  }

  deinit {
    kill(-process, SIGKILL)
    close(keyboard)
    var status: Int32 = 0
    waitpid(process, &status, WNOHANG)
  }

  /// Types.
  func type(_ text: String) {
    let bytes = Array(text.utf8)
    _ = write(keyboard, bytes, bytes.count)
  }

  /// Types Ctrl-S, and returns when the terminal takes nothing any more.
  func stopScreen() async throws {
    let screen = open(name, O_RDWR | O_NOCTTY | O_CLOEXEC)
    try #require(screen >= 0)
    defer { close(screen) }
    type("\u{13}")
    var room = pollfd(fd: screen, events: Int16(POLLOUT), revents: 0)
    while poll(&room, 1, 0) > 0 {
      try #require(room.revents == Int16(POLLOUT), "the program has ended")
      try await Task.sleep(for: .milliseconds(10))
    }
  }

  /// Hangs up, as a connection does that is lost.
  func hangUp() {
    close(keyboard)
    keyboard = -1
  }

  /// Forgets what was on the screen, so that the same words can be waited for again.
  func forgetScreen() {
    readScreen()
    undecoded = []
    screen = ""
  }

  /// Sends a signal to the program alone.
  func signal(_ number: Int32) { kill(process, number) }

  /// Waits until a text is on the screen.
  func expect(_ text: String, within limit: Double = 120, _ location: SourceLocation = #_sourceLocation) async throws {
    let end = Child.now() + limit
    while !screen.contains(text) {
      readScreen()
      if screen.contains(text) { return }
      try #require(Child.now() < end, "never saw \"\(text)\" in: \(screen)", sourceLocation: location)
      try await Task.sleep(for: .milliseconds(10))
    }
  }

  /// Waits for the end and gives the exit code.
  func end(within limit: Double = 180, _ location: SourceLocation = #_sourceLocation) async throws -> Int32 {
    let end = Child.now() + limit
    var status: Int32 = 0
    while waitpid(process, &status, WNOHANG) == 0 {
      readScreen()
      if Child.now() > end {
        kill(-process, SIGKILL)
        waitpid(process, &status, 0)
        Issue.record("took longer than \(Int(limit)) s: \(screen)", sourceLocation: location)
        break
      }
      try await Task.sleep(for: .milliseconds(10))
    }
    readScreen()
    let signal = status & 0x7F
    return signal == 0 ? (status >> 8) & 0xFF : 128 + signal
  }

  /// Takes what has been written to the screen.
  func readScreen() {
    var buffer = [UInt8](repeating: 0, count: 65536)
    while true {
      let count = read(keyboard, &buffer, buffer.count)
      guard count > 0 else { break }
      undecoded += buffer.prefix(count)
    }
    screen = String(decoding: undecoded, as: UTF8.self)
  }
}
