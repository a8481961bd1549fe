package import AgePlugin
import ArgumentParser
import Glibc
package import SecretVault
import Sodium

/// The hidden command that this program is as a plugin of age.
struct AgePluginCommand: AsyncParsableCommand, UnlockingCommand {
  static let name = "age-plugin"
  private static let machine = "identity-v1"

  static let configuration = CommandConfiguration(
    commandName: name, abstract: "Decrypt for the program age, which starts this as its plugin.",
    discussion: """
      'age -d -i FILE' starts age-plugin-quorum for an identity that 'vault key
      identity' has printed. The vault is the one that VAULT_HOME names, else the
      usual one.

      Example: vault key identity family > family-identity.txt
      """, shouldDisplay: false)

  @Option(
    name: .customLong("age-plugin"),
    help: ArgumentHelp("What age wants of it: identity-v1, to decrypt.", valueName: "name"))
  var stateMachine: String

  @OptionGroup var global: GlobalOptions
  @OptionGroup var unlock: UnlockOptions

  var neededStreams: Set<Int32> { [STDIN_FILENO, STDOUT_FILENO] }

  func validate() throws {
    guard stateMachine == Self.machine else {
      throw ValidationError(
        "This plugin only decrypts (\(Self.machine)); to encrypt, 'vault key recipient KEY' prints a recipient.")
    }
    try unlock.leavesStandardInput(for: "what age says")
  }

  func run() async throws {
    let client = AgeClient()
    do { try await converse(client) } catch {
      try? client.tell(.fault(Self.words(of: error)))
      throw error
    }
  }

  private func converse(_ client: AgeClient) async throws {
    let keys = AgeKeys(global, unlock, client)
    defer { keys.close() }
    var machine = IdentityMachine()
    Interruption.redirect(to: Self.signal)
    while true {
      switch machine.step {
      case .read: try machine.take(client.next())
      case .say(let command): try machine.take(client.ask(command))
      case .find(let identity, let mayAsk): try await find(identity, mayAsk, keys, &machine)
      case .end: return try client.tell(.done)
      }
    }
  }

  /// age interrupts a plugin as soon as it has what it wants: the vault is closed first, or its log would lack what was done.
  /// Who has ended doesn't answer any more, which is noticed.
  private static let signal: @Sendable (Int32) -> Void = { number in
    if number != SIGINT { Interruption.end() }
  }

  private func find(
    _ identity: QuorumIdentity, _ mayAsk: Bool, _ keys: AgeKeys, _ machine: inout IdentityMachine
  ) async throws {
    Interruption.redirect(to: nil)
    defer { Interruption.redirect(to: Self.signal) }
    do {
      guard let secret = try await keys.secret(of: identity, mayAsk: mayAsk) else {
        return machine.take(try keys.question(identity))
      }
      try machine.take(secret: secret)
    } catch let error as SodiumError {
      throw error
    } catch {
      machine.take(.failed(Self.words(of: error)))
    }
  }

  /// One line, with what to do.
  private static func words(of error: any Error) -> String {
    let error = VaultError(error)
    let reason = error.recovery?.brief ?? error.reason
    return Printable.escape(error.hint.map { "\(reason); \($0)" } ?? reason)
  }
}

extension AgeError: VaultErrorConvertible {
  package var vaultError: VaultError { VaultError(.damaged, words) }
}
