package import ShamirKit
import Sodium
import VaultProtocol
import VaultStore

package struct UnlockReport: Sendable {
  package let secret: SecretSummary
  /// Bytes of ciphertext that are kept.
  package let ciphertextByteCount: UInt64
  /// Those that were asked; none if it was unlocked already.
  package let holders: [HolderOutcome]
}

extension Recovering {
  /// Collects the key and the ciphertext of a secret and hands both to ``VaultEnvironment/unlocked``. Nothing is decrypted: the secret's own
  /// password is asked for when it is used. One that is unlocked already stays so for longer.
  package func unlock(
    _ reference: String, events: @escaping @Sendable (RecoveryEvent) -> Void
  ) async throws -> UnlockReport {
    let record = try directory.resolve(reference)
    let header = try directory.header(of: record)
    var summary = try circles.current(directory.summary(record, names: directory.peerNames()), of: record)
    summary.isUnlocked = true
    let byteCount = header.dispersal.byteCount
    try environment.unlocked.prepare()
    if try environment.unlocked.fileKey(of: header.id) != nil {
      return UnlockReport(secret: summary, ciphertextByteCount: byteCount, holders: [])
    }
    let file = try CiphertextFile(in: folders)
    let holders = try await collect(record, header, summary, events) { recovery in
      let collected = try await recovery.unlock(into: file)
      let holders = collected.holders
      try environment.unlocked.keep(collected.secret, as: header.id)
      return holders
    }
    self.record(.unlocked, secret: header)
    return UnlockReport(secret: summary, ciphertextByteCount: byteCount, holders: holders)
  }

  package func secretID(_ reference: String) throws -> SecretID {
    try directory.resolve(reference).id
  }

  /// The contents of a secret that is unlocked; nil if it isn't. Asks no peer.
  func unlockedContent(
    of record: SecretRecord, limit: Int, events: @escaping @Sendable (RecoveryEvent) -> Void
  ) async throws -> RecoveredContent? {
    let header = try directory.header(of: record)
    guard let unlocked = try environment.unlocked.secret(header.id) else { return nil }
    let summary = try circles.current(directory.summary(record, names: directory.peerNames()), of: record)
    return try await recover(unlocked, header, summary, .memory(limit: limit), Self.noPassword, events).wholeContent()
  }

  /// Asks no peer.
  func recover(
    _ unlocked: consuming UnlockedSecret, _ header: SecretHeader, _ known: SecretSummary,
    _ destination: RecoveredOutput.Destination, _ passwords: @escaping PasswordSource,
    _ events: @escaping @Sendable (RecoveryEvent) -> Void
  ) async throws -> Recovery.Recovered {
    var summary = known
    summary.isUnlocked = true
    events(.unlocked(summary))
    let file = unlocked.ciphertext
    let key: SecretBytes
    do { key = try unlocked.key.duplicate() } catch { throw VaultError(.other, "no secret memory is left") }
    let total = header.dispersal.byteCount
    do {
      let output = RecoveredOutput(destination, kind: header.kind, OutputNotes(folders))
      var sink = try PlaintextSink(
        key: key, byteCount: total, output: output, passwords: passwords, damaged: Self.damagedCopy)
      do {
        try await sink.takeAll(of: file, byteCount: total) { events(.progress(done: $0, total: total)) }
      } catch {
        throw sink.output.hasLeaked ? VaultError(error).afterOutput : error
      }
      let written = try sink.output.commit()
      self.record(.recovered, secret: header, detail: "it was unlocked")
      return Recovery.Recovered(report: written.report(summary, holders: []), content: sink.output.takeContent())
    } catch {
      self.record(.recoveryFailed, secret: header, detail: VaultError(error).reason)
      throw error
    }
  }

  private static let damagedCopy = VaultError(
    .damaged, "the unlocked copy of this secret is damaged; nothing was written",
    hint: "lock it with `vault lock`, and recover it from its holders")
}
