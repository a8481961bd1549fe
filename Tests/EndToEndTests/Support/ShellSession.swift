import Foundation
import Testing

/// A shell with job control on a terminal, and somebody who types commands and answers what is asked.
final class ShellSession {
  let terminal: PseudoTerminal
  private let peer: Peer

  /// Starts it where `vault` is the program under test; its daemon listens at `place`, as several people share this machine.
  init(_ peer: Peer, listening place: String) async throws {
    self.peer = peer
    let tools = try peer.makeFolder("tools")
    try Self.script(
      tools + "/vault",
      """
      #!/bin/sh
      case "$*" in daemon|"daemon --background") set -- "$@" --listen \(place) ;; esac
      exec "$VAULT" "$@"
      """)
    terminal = try PseudoTerminal(peer, ["--norc", "--noprofile", "-i"], program: "/bin/bash")
    try await type("HISTFILE=$HOME/history PATH='\(tools)':$PATH PS1='[ended $?] '")
  }

  /// Makes a program of a text.
  static func script(_ path: String, _ text: String) throws {
    try Data(text.utf8).write(to: URL(fileURLWithPath: path))
    try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: path)
  }

  /// What a command came to.
  struct Result: CustomStringConvertible {
    let command: String
    let status: Int
    let screen: String

    var description: String { "\(command): \(status)\n\(screen)" }
  }

  /// Types a command, answers each question with what stands beside it, as often as it comes, and waits for the shell.
  @discardableResult
  func type(
    _ command: String, answers: [(question: String, answer: String)] = [], within limit: Double = 240,
    _ location: SourceLocation = #_sourceLocation
  ) async throws -> Result {
    terminal.forgetScreen()
    terminal.type(command + "\n")
    var answered = [Int](repeating: 0, count: answers.count)
    let end = Child.now() + limit
    while true {
      terminal.readScreen()
      if let match = terminal.screen.firstMatch(of: #/\[ended ([0-9]+)\] /#) {
        return Result(command: command, status: Int(match.1) ?? -1, screen: terminal.screen)
      }
      for (number, entry) in answers.enumerated() {
        let count = terminal.screen.components(separatedBy: entry.question).count - 1
        guard count > answered[number] else { continue }
        answered[number] += 1
        terminal.type(entry.answer)
      }
      try #require(
        Child.now() < end, "\(peer.name): \(command) never ended: \(terminal.screen)", sourceLocation: location)
      try await Task.sleep(for: .milliseconds(10))
    }
  }
}
