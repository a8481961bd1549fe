package import Sodium
package import VaultStore

/// What is about to be made anew, or was.
package struct RebuildReport: Sendable {
  package let label: String
  /// Peers that are trusted again.
  package let peerCount: Int
  /// Whether there is a settings file: the database that knew whether there should be one is gone.
  package let hasSettings: Bool
  /// Ids of secrets that were taken up; empty before.
  package internal(set) var secrets: [String] = []
  /// Ids of items that were taken up; empty before.
  package internal(set) var items: [String] = []
  /// Where the old database is; nil before, and if there was none.
  package internal(set) var aside: String?
}

extension Archive {
  /// Makes a database that is lost or damaged anew from the files beside it: identity, peers, shares and items. `confirm` is told what would be
  /// there, and stops it by throwing.
  package static func rebuild(
    at folders: VaultFolders, passphrase: () throws -> SecretBytes,
    confirm: (RebuildReport) throws -> Void, environment: VaultEnvironment
  ) throws -> RebuildReport {
    let keys = try VaultCore.unlock(folders, passphrase) { nil }
    // Until this returns nobody else may write to what is about to be put aside.
    let presence = try takeForRestoring(folders)
    defer { withExtendedLifetime(presence) {} }
    let isSound: Bool
    do {
      isSound = try VaultDatabase(folders, keys: keys, alone: presence.use).isSound()
    } catch StoreError.damaged { isSound = false } catch { throw error }
    guard !isSound else {
      throw VaultError(.refused, "the database in \(folders.data) is whole: there is nothing to make anew")
    }
    let remembered: (label: String, peerCount: Int)
    do { remembered = try VaultDatabase.remembered(in: folders, keys: keys) } catch {
      throw VaultError(
        .damaged, "\(error), and nothing else says who this device is: the database can't be made anew",
        hint: "restore a backup with `vault backup restore`")
    }
    var report = RebuildReport(
      label: remembered.label, peerCount: remembered.peerCount, hasSettings: folders.hasSettings)
    try confirm(report)
    report.aside = try VaultDatabase.rebuild(folders, keys: keys, alone: presence.use)
    let database = try VaultDatabase(folders, keys: keys, alone: presence.use)
    report.secrets = try database.takeUpLost(thoroughly: true, writingAtMost: .max).map(\.description).sorted()
    report.items = try database.takeUpLostItems(thoroughly: true, writingAtMost: .max).map { hexadecimal($0) }.sorted()
    try database.audit(
      AuditRecord(
        at: environment.now(), event: AuditEvent.rebuilt.rawValue, peer: nil, peerLabel: nil, secretID: nil,
        detail: "\(report.secrets.count) secrets, \(report.items.count) items"))
    try database.flushAudit()
    database.emptyLog()
    return report
  }
}
