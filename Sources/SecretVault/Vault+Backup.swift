public import Sodium
public import VaultStore

extension Vault {
  /// Writes everything that this vault has but the device key into one file.
  public func createBackup(to path: String, overwrites: Bool) throws(VaultError) -> BackupReport {
    do throws(StoreError) {
      let summary = try database.writeBackup(to: path, overwrites: overwrites, at: environment.now())
      record(.backedUp, detail: "\(summary.fileCount) files")
      return BackupReport(path: path, fileCount: summary.fileCount, byteCount: summary.byteCount)
    } catch .alreadyExists {
      throw VaultError(
        .outputExists, "\(path) exists already", hint: "choose another name, or overwrite it with --force")
    } catch {
      throw VaultError(error)
    }
  }

  /// Puts a backup back, whole, on the device where it was made. Everything in it is checked before anything changes. `confirm` is
  /// told what would change, and stops it by throwing.
  public static func restoreBackup(
    from path: String, at folders: VaultFolders, overwrites: Bool,
    passphrase: () throws(VaultError) -> SecretBytes, confirm: (RestorePlan) throws(VaultError) -> Void,
    environment: VaultEnvironment
  ) throws(VaultError) -> RestorePlan {
    let archive = try opened(path)
    let isThere = try stored { () throws(StoreError) in try folders.holdsVault() }
    if isThere {
      guard archive.isOf(folders) else {
        throw VaultError(
          .refused, "there is another vault in \(folders.data) than the one in this backup; it is never overwritten",
          hint: "restore it into other folders with --home")
      }
      guard overwrites else {
        throw VaultError(
          .vaultExists,
          "the vault of this backup is in \(folders.data), and restoring would put it back to what it was then",
          hint: "if that is what you want, say --force")
      }
    }
    let keys = try unlocked(archive, folders, passphrase)
    // Until this returns no daemon may begin to work on what is about to go.
    let presence = try takeForRestoring(folders)
    defer { withExtendedLifetime(presence) {} }
    try stored { () throws(StoreError) in try archive.verify(keys) }
    let restoration = try stored { () throws(StoreError) in
      try BackupRestoration(
        archive, folders, keys: keys,
        note: AuditRecord(
          at: environment.now(), event: AuditEvent.restored.rawValue, peer: nil, peerLabel: nil, secretID: nil,
          detail: "from a backup"))
    }
    let plan = plan(archive, restoration, isThere ? try? VaultDatabase(folders, keys: keys) : nil, isThere)
    try confirm(plan)
    try stored { () throws(StoreError) in try restoration.commit() }
    return plan
  }

  private static func opened(_ path: String) throws(VaultError) -> BackupArchive {
    do throws(StoreError) { return try BackupArchive(path: path) } catch .damaged(let what) {
      throw VaultError(.damaged, "\(what) is damaged or cut short; nothing was changed", hint: "use another copy of it")
    } catch {
      throw VaultError(error)
    }
  }

  private static func unlocked(
    _ archive: BackupArchive, _ folders: VaultFolders, _ passphrase: () throws(VaultError) -> SecretBytes
  ) throws(VaultError) -> VaultKeys {
    let given: SecretBytes? = archive.needsPassphrase ? try passphrase() : nil
    do throws(StoreError) { return try archive.unlock(folders, passphrase: given) } catch .wrongDevice {
      throw VaultError(
        .refused,
        "this backup was made on another device, and only that one can use it: a share must never live twice",
        hint:
          "on the old device, share its secrets anew for this one with `vault reshare SECRET --to PEER`; if it is lost, let the other holders do it"
      )
    } catch {
      throw VaultError(error)
    }
  }

  private static func takeForRestoring(_ folders: VaultFolders) throws(VaultError) -> DaemonLock {
    let lock = try stored { () throws(StoreError) in
      try DaemonLock.take(folders, DaemonFacts(process: 0, startedAt: 0, listening: []))
    }
    guard let lock else {
      throw VaultError(
        .refused, "the daemon of this vault is running", hint: "stop it, restore, and start it again")
    }
    return lock
  }

  private static func plan(
    _ archive: BackupArchive, _ restoration: BackupRestoration, _ current: VaultDatabase?, _ replaces: Bool
  ) -> RestorePlan {
    let names = { (peers: [PeerRecord], others: [PeerRecord]) in
      let known = Set(others.map(\.digest))
      return peers.filter { !known.contains($0.digest) }.map(\.name)
    }
    let references = { (secrets: [[UInt8]: String?], others: [[UInt8]: String?]) in
      secrets.filter { others[$0.key] == nil }
        .map { SecretReference(id: hexadecimal($0.key), name: $0.value ?? hexadecimal($0.key.prefix(6))) }
        .sorted { $0.id < $1.id }
    }
    let peers = try? current?.peers()
    let secrets = try? current?.descriptions()
    let (thenPeers, thenSecrets) = (restoration.peers, restoration.secrets)
    return RestorePlan(
      createdAt: archive.createdAt, replaces: replaces, isComparable: !replaces || (peers != nil && secrets != nil),
      returningPeers: peers.map { names(thenPeers, $0) } ?? [], lostPeers: peers.map { names($0, thenPeers) } ?? [],
      returningSecrets: secrets.map { references(thenSecrets, $0) } ?? [],
      lostSecrets: secrets.map { references($0, thenSecrets) } ?? [])
  }
}
