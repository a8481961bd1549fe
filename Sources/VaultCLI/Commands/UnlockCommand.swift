import ArgumentParser
import SecretVault
import Sodium
import VaultDaemon
import VaultStore

struct UnlockCommand: AsyncParsableCommand, UnlockingCommand {
  static let configuration = CommandConfiguration(
    commandName: "unlock",
    abstract: "Recover a secret's key once and keep it for a while, or the vault's passphrase.",
    discussion: """
      With SECRET: collects shares as 'vault recover' does, and hands the key to the
      agent in 'vault daemon', which keeps it in locked memory. Until it is locked
      again 'vault recover' needs no peer for this secret. A password of the secret's
      own is asked for then, not now. Nothing is decrypted.

      Without SECRET: commands don't ask for the vault's passphrase until it is
      locked. A daemon that started locked opens the vault with it, and begins its
      work. A wrong one can be mended twice. Without a terminal the desktop asks, by
      the program pinentry or the one that VAULT_PINENTRY names.

      It is locked by 'vault lock', when it was not used for as long as the setting
      'agent-timeout' says, when the daemon ends or gets SIGHUP, and when the machine
      is suspended. Until then, whatever runs as this user can use it.

      Examples: vault unlock "house keys"
                vault unlock --list
      """)

  @Argument(help: "Id, beginning of an id, or description.", completion: .secrets)
  var secret: String?

  @Flag(help: "Show what is unlocked, and until when.")
  var list = false

  /// How often the passphrase is asked for.
  private static let tries = 3

  @OptionGroup var consent: ConsentOptions
  @OptionGroup var global: GlobalOptions
  @OptionGroup var unlock: UnlockOptions

  func validate() throws {
    try consent.check()
    if consent.wait != nil, secret == nil { throw ValidationError("--wait is for a secret: name it before --wait.") }
    if list, secret != nil { throw ValidationError("--list shows all that is unlocked; name no secret with it.") }
  }

  func run() async throws {
    let composition = try Composition(global)
    if list { return try show(composition) }
    guard let secret else { return try unlockVault(composition) }
    guard try composition.lockedDaemon() == nil else {
      throw VaultError(
        .wrongPassphrase, "the daemon is locked, and keeps nothing unlocked", hint: "unlock it first: vault unlock")
    }
    let vault = try composition.open(unlock)
    defer { composition.finish(vault) }
    try await unlockSecret(secret, vault, composition)
  }

  // MARK: - A secret

  private func unlockSecret(_ reference: String, _ vault: Vault, _ composition: Composition) async throws {
    let console = global.console
    let reporter = RecoveryReporter(console)
    let report = try await consent.run(vault, console) { (isFirst) async throws in
      try await vault.recovering.unlock(reference) { event in reporter.show(event, isFirst: isFirst) }
    }
    let status = try composition.agent.status()
    let entry = status.secrets.first { $0.id.description == report.secret.id }
    let line = UnlockedList.Line(
      id: report.secret.id, description: report.secret.description, remaining: entry?.remaining, now: Clocks.now())
    reporter.conclude(report, line.until)
    if console.json { try console.result(line.json) }
  }

  // MARK: - The vault

  private func unlockVault(_ composition: Composition) throws {
    let console = global.console
    guard try VaultCore.needsPassphrase(at: composition.folders) else {
      // One that was removed while a daemon waits for it.
      if try composition.lockedDaemon() != nil { try composition.agent.keepPassphrase(SecretText.memory(32)) }
      console.note("this vault has no passphrase: it is never locked")
      if console.json { try console.result(["vault": .null]) }
      return
    }
    // Before the question: it would be in vain without an agent.
    try composition.agent.prepare()
    let given = try stretched(composition, tries: unlock.passphrase == .terminal ? Self.tries : 1)
    guard let given else { return }
    try composition.agent.keepPassphrase(given)
    let list = UnlockedList(try composition.agent.status(), descriptions: [:], hasPassphrase: true, now: Clocks.now())
    console.note("the vault is unlocked \(list.vault?.until ?? "no more")")
    if console.json { try console.result(["vault": list.vaultJSON]) }
  }

  /// Asks again after a wrong one.
  private func stretched(_ composition: Composition, tries: Int) throws -> SecretBytes? {
    do {
      return try VaultCore.stretchedPassphrase(
        at: composition.folders,
        passphrase: {
          try composition.passphrase(
            unlock, complaint: tries == Self.tries ? nil : "That is not the passphrase.")
        })
    } catch StoreError.wrongPassphrase where tries > 1 {
      global.console.warning("that is not the passphrase; try again")
    } catch { throw error }
    return try stretched(composition, tries: tries - 1)
  }

  // MARK: - What is unlocked

  private func show(_ composition: Composition) throws {
    let needsPassphrase = try VaultCore.needsPassphrase(at: composition.folders)
    let status = try composition.agent.status()
    // Only for the descriptions: never a reason to ask.
    var descriptions: [String: String] = [:]
    let mayOpen = !needsPassphrase || status.passphrase != nil || unlock.passphrase != .terminal
    if mayOpen, !status.secrets.isEmpty {
      let vault = try composition.open(unlock)
      defer { composition.finish(vault) }
      for entry in status.secrets {
        descriptions[entry.id.description] = (try? vault.overview.secret(entry.id.description))?.summary.description
      }
    }
    let list = UnlockedList(status, descriptions: descriptions, hasPassphrase: needsPassphrase, now: Clocks.now())
    try global.console.result(list.lines, json: list.json)
  }
}
