import AgePlugin
import SecretVault
import ShamirKit
import Sodium

/// Secret halves of shared keys for an age client, out of a vault that is opened when the first one is asked for.
final class AgeKeys {
  private let global: GlobalOptions
  private let unlock: UnlockOptions
  private let client: AgeClient
  private var opened: Result<(vault: Vault, composition: Composition), VaultError>?

  init(_ global: GlobalOptions, _ unlock: UnlockOptions, _ client: AgeClient) {
    self.global = global
    self.unlock = unlock
    self.client = client
  }

  /// Nil if people would have to be asked.
  func secret(of identity: QuorumIdentity, mayAsk: Bool) async throws -> SecretBytes? {
    let items = try vault().items
    let id = try SecretID(identity.keyID)
    guard mayAsk else { return try await items.unlockedSecretHalf(of: id) }
    let client = client
    let access = ItemAccess(recovering: { event in
      guard let words = Self.words(of: event) else { return }
      // Nobody is asked for a program that has ended.
      do { _ = try client.ask(.message(Printable.escape(words))) } catch { Interruption.end() }
    })
    return try await items.secretHalf(of: id, access)
  }

  /// What the client's user is asked before people are.
  func question(_ identity: QuorumIdentity) throws -> IdentityMachine.Absence {
    let key = try vault().items.recoverableKey(SecretID(identity.keyID))
    let name = [key.description.map { Printable.quoted($0) }, String(key.id.prefix(8))].compactMap(\.self).joined(
      separator: " ")
    return .needsPeople(
      question: "This file may be for the key \(name) or for somebody else: it doesn't say. "
        + "Ask the holders? \(key.threshold) of \(key.shareCount) shares are needed.",
      yes: "ask them", no: "leave them in peace")
  }

  func close() { if case .success(let opened) = opened { opened.composition.finish(opened.vault) } }

  /// One try: whoever can't open it for one key can't for another.
  private func vault() throws -> Vault {
    if let opened { return try opened.get().vault }
    do {
      let composition = try Composition(global)
      let vault = try composition.open(unlock, settlesClipboard: false) { [unlock, client] in
        let answer = try client.ask(
          .confirm(
            "The vault is locked, and this file may be for one of its keys. Unlock it?", yes: "unlock", no: "leave it"))
        guard answer.tag == "ok", answer.arguments == ["yes"] else {
          throw VaultError(.wrongPassphrase, "the vault is locked; unlock it before, with `vault unlock`")
        }
        return try composition.passphrase(unlock)
      }
      opened = .success((vault, composition))
      return vault
    } catch {
      let failure = VaultError(error)
      opened = .failure(failure)
      throw failure
    }
  }

  /// What the client shows while people are asked.
  static func words(of event: RecoveryEvent) -> String? {
    switch event {
    case .started(let key):
      "asking the holders of \(key.description ?? key.id): \(key.threshold) of \(key.shareCount) shares are needed"
    case .share(let peer, let have, let need): "\(peer): share verified, \(have) of \(need)"
    case .waits(let peer, let until?): "\(peer) releases it at \(Timestamp.second(until)) unless vetoed"
    case .waits(let peer, nil): "\(peer) asks its user; decrypt again later"
    default: nil
    }
  }
}
