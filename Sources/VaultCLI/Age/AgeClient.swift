import AgePlugin
import Glibc
import SecretVault
import Synchronization
import VaultDaemon

/// The program that has started this one as its plugin, at standard input and output.
final class AgeClient: Sendable {
  private let reader = Mutex(StanzaReader())

  func next() throws -> AgeStanza { try reader.withLock { try Self.next(&$0) } }

  /// Returns what it answers. Callers of several threads wait for one another.
  func ask(_ command: PluginCommand) throws -> AgeStanza {
    try reader.withLock { reader in
      try Self.write(command)
      return try Self.next(&reader)
    }
  }

  func tell(_ command: PluginCommand) throws { try reader.withLock { _ in try Self.write(command) } }

  private static func write(_ command: PluginCommand) throws {
    let text = try command.text()
    try Console.write(text.bytes, to: STDOUT_FILENO)
  }

  private static func next(_ reader: inout StanzaReader) throws -> AgeStanza {
    while true {
      if let stanza = try reader.next() { return stanza }
      var buffer = [UInt8](repeating: 0, count: 4096)
      let count = read(STDIN_FILENO, &buffer, buffer.count)
      if count < 0, errno == EINTR { continue }
      guard count > 0 else { throw VaultError(.interrupted, "the program that had started this plugin has ended") }
      reader.append(buffer[..<count])
    }
  }
}
