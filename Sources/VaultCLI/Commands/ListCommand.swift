import ArgumentParser
import Glibc
import SecretVault
import VaultDaemon

struct ListCommand: OpenedCommand {
  static let configuration = CommandConfiguration(
    commandName: "list",
    abstract: "List the secrets that this device holds a share of, or has shared.",
    discussion: "Example: vault list --json")

  @OptionGroup var global: GlobalOptions
  @OptionGroup var unlock: UnlockOptions

  func run(_ vault: Vault, _ console: Console) async throws {
    vault.directory.lookClosely()
    let (list, damaged) = try vault.overview.soundSecretList()
    if list.listing.lines.isEmpty { console.note("no secrets yet; share one with 'vault share'") }
    let text = SecretListText(list)
    for share in try vault.directory.lostShares() { console.warning(LostShareText.sentence(share)) }
    for item in try vault.directory.lostItems() { console.warning(LostItemText.sentence(item)) }
    for part in console.json ? text.json() : text.table(now: Clocks.now()) {
      try Console.write(part, to: STDOUT_FILENO)
    }
    guard damaged.isEmpty else {
      throw VaultError(
        .damaged, "left out, as they are damaged in the store: \(damaged.joined(separator: ", "))",
        hint: "restore a backup with `vault backup restore`, or make the database anew with `vault device rebuild`")
    }
  }
}

struct SecretShowCommand: OpenedCommand {
  static let configuration = CommandConfiguration(
    commandName: "show",
    abstract: "Show what is known about a secret without recovering it.",
    discussion: """
      Names of holders were written by whoever shared the secret: they are hints.

      Example: vault secret show "house keys"
      """)

  @Argument(help: "Id, beginning of an id, or description.", completion: .secrets)
  var secret: String

  @OptionGroup var global: GlobalOptions
  @OptionGroup var unlock: UnlockOptions

  func run(_ vault: Vault, _ console: Console) async throws {
    let details = try vault.overview.secret(secret)
    for peer in details.conflictingHeadersFrom {
      console.warning("\(peer) showed another header for this secret; the first one is kept")
    }
    let parcels = await ParcelText(details.deliveries, vault)
    let change = try vault.changing.status(of: secret)
    let lines = Self.lines(details, parcels, now: Clocks.now())
    try console.result(
      lines + (change.map { [""] + ChangeText.lines($0) } ?? []), json: details.json(parcels, change))
  }

  /// What is known of recovering it: that shares were delivered says nothing of it.
  private static func lastCheck(_ details: SecretDetails, now: Int64) -> String {
    guard let check = details.lastCheck else {
      return "not yet; 'vault check' asks the holders whether they could recover it"
    }
    func word(_ isRecoverable: Bool?) -> String {
      isRecoverable.map { $0 ? "recoverable" : "NOT recoverable" } ?? "not known"
    }
    let answers = "\(check.answered) of \(details.summary.shareCount) answered, \(check.needed) needed"
    return
      "\(Measures.ago(check.checkedAt, now: now)): \(word(check.isRecoverable)), \(answers); without this device: \(word(check.isRecoverableElsewhere))"
  }

  /// The facts for people, and the deliveries if there are any.
  static func lines(_ details: SecretDetails, _ parcels: ParcelText, now: Int64) -> [String] {
    let secret = details.summary
    var facts: [(name: String, value: String)] = [
      ("id", secret.id), ("description", secret.description ?? "none"), ("kind", secret.kind),
      ("from", secret.origin == .dealt ? "you" : secret.dealer),
      ("needs", "\(secret.threshold) of \(secret.shareCount) shares\(secret.isUnlocked ? "; it is unlocked" : "")"),
      ("own share", secret.ownIndex.map { "number \($0)" } ?? "none"),
      ("created", "\(Timestamp.minute(secret.createdAt)), \(Measures.ago(secret.createdAt, now: now))"),
      ("size", "\(Measures.size(details.ciphertextByteCount)) encrypted and padded"),
      ("stored here", Measures.size(details.fragmentByteCount)),
    ]
    if let holders = details.holders ?? details.labels { facts.append(("holders", holders.joined(separator: ", "))) }
    facts.append(("header", details.headerDigest))
    if !details.listensNowhere.isEmpty { facts.append(("nobody can call", MessageWords.list(details.listensNowhere))) }
    facts.append(("last check", Self.lastCheck(details, now: now)))
    var lines = TextTable.facts(facts)
    guard !details.deliveries.isEmpty else { return lines }
    var table = TextTable("SHARE", "PEER", "STATE", "REASON")
    for delivery in details.deliveries {
      let way = delivery.onItsWay.map { parcels.words($0) } ?? delivery.probe.map { parcels.probeWords($0) }
      table.add("\(delivery.index)", delivery.peer, delivery.state.rawValue, way ?? delivery.reason ?? "")
    }
    lines.append("")
    return lines + table.lines
  }
}
