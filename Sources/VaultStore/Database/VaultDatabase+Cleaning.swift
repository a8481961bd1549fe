import GRDB
import Glibc
package import ShamirKit
import Sodium

package struct CleaningReport: Hashable, Sendable {
  /// Folders of fragments in the making whose process is gone.
  package internal(set) var stagingFolders = 0
  /// Files of fragments and items that no row names and that nobody can miss.
  package internal(set) var orphanedFiles = 0
  /// Partial fragments and items past their expiry.
  package internal(set) var expiredPartials = 0
  /// Notes of output files whose process is gone; the files went, too, or are long gone.
  package internal(set) var outputNotes = 0
  /// Temporary files of interrupted writes.
  package internal(set) var temporaryFiles = 0
  /// Lines of the audit log beyond those that are kept.
  package internal(set) var auditLines = 0
  /// Ids of secrets whose rows were lost and are there again.
  package internal(set) var takenUp: [SecretID] = []
  /// Ids of items whose rows were lost and are there again.
  package internal(set) var takenUpItems: [[UInt8]] = []
}

extension VaultDatabase {
  /// Age, in milliseconds, from which a small temporary file certainly belongs to nobody: writing one takes no time.
  static let temporaryFileAge: Int64 = 3_600_000

  /// Lines of the audit log that are kept.
  package static let auditLineLimit = 100_000
  /// Companions of older secrets that one cleaning writes.
  private static let companionLimit = 10_000
  /// Milliseconds after which files are swept even if nothing looks left behind.
  static let sweepInterval: Int64 = 3_600_000

  /// ``clean(at:)`` if there is reason to: fragments or output files in the making whose process is gone, or an hour since
  /// the last time, by any process. Cheap when there is none, so that every opening of a vault can afford it. Nil if it wasn't due.
  @discardableResult
  package func cleanIfDue(at time: Int64) throws(StoreError) -> CleaningReport? {
    var isDue = isSweepDue(at: time)
    if !isDue { isDue = try hasAbandonedStaging() }
    // To look at each of very many takes too long for a command: the daemon does it.
    return isDue ? try clean(at: time, closely: isSmall()) : nil
  }

  /// Removes what crashes left behind, partial fragments past their expiry, and the oldest lines of a long audit log. What
  /// belongs to a running process is left alone, and if others are just publishing files the sweep of files waits for
  /// another time.
  @discardableResult
  package func clean(at time: Int64, closely: Bool = true) throws(StoreError) -> CleaningReport {
    var report = CleaningReport()
    try removeExpiredPartials(at: time, &report)
    report.auditLines = try pruneAuditLog(keeping: Self.auditLineLimit)
    try removeOldMeetings(at: time)
    report.takenUp = try takeUpLost(thoroughly: true, closely: closely, writingAtMost: Self.companionLimit)
    report.takenUpItems = try takeUpLostItems(thoroughly: true, writingAtMost: Self.companionLimit)
    let lock = try OpenFile(folders.filesLockPath, O_RDWR | O_CREAT)
    defer { withExtendedLifetime(lock) {} }
    guard try lock.lock(exclusive: true, waits: false) else { return report }
    try removeNotedOutputs(at: time, &report)
    try removeStagingFolders(&report)
    BackupRestoration.sweep(folders)
    try removeOrphans(&report)
    try removeUnfinishedItems(at: time, &report)
    for folder in [folders.data, folders.companionsPath, folders.state, folders.config] {
      try removeTemporaryFiles(in: folder, at: time, &report)
    }
    let groups = GroupFolders(folders)
    // One that can't be read, or was left meanwhile, keeps nothing else from being swept.
    for name in (try? groups.names()) ?? [] { try? removeTemporaryFiles(in: groups.path(name), at: time, &report) }
    // The lock file's time is that of the last sweep.
    let stamp = timespec(tv_sec: Int(time / 1000), tv_nsec: Int(time % 1000) * 1_000_000)
    futimens(lock.descriptor, [stamp, stamp])
    return report
  }

  private func isSweepDue(at time: Int64) -> Bool {
    var status = stat()
    guard lstat(folders.filesLockPath, &status) == 0 else { return true }
    let last = status.changedAt
    // A clock that was set back must not put it off for ever.
    return time < last - Self.sweepInterval || time >= last + Self.sweepInterval
  }

  /// Whether there is a staging folder, or a note of an output file, that no living process holds, and that can be settled now.
  private func hasAbandonedStaging() throws(StoreError) -> Bool {
    // To look at a lock is to take it for a moment: not from somebody who has just made the file and is about to.
    let lock = try OpenFile(folders.filesLockPath, O_RDWR | O_CREAT)
    defer { withExtendedLifetime(lock) {} }
    guard try lock.lock(exclusive: true, waits: false) else { return false }
    let (folders, notes) = try stagingNames()
    for name in folders { if try lockIfAbandoned(name).isAbandoned { return true } }
    for name in notes {
      guard let note = try Self.lockIfUnused(name) else { continue }
      if name.hasSuffix(OutputNotes.folderSuffix) { return true }
      guard case .missing = OutputNotes.noted(in: note) else { return true }
    }
    return false
  }

  /// Names of the staging folders, and paths of the notes beside them.
  private func stagingNames() throws(StoreError) -> (folders: [String], notes: [String]) {
    let names = try FileNames.list(folders.stagingPath)
    let isNote = { (name: String) in
      name.hasSuffix(OutputNotes.suffix) || name.hasSuffix(OutputNotes.folderSuffix)
    }
    return (names.filter { !isNote($0) }, names.filter(isNote).map { folders.stagingPath + "/" + $0 })
  }

  private func removeNotedOutputs(at time: Int64, _ report: inout CleaningReport) throws(StoreError) {
    for path in try stagingNames().notes {
      guard let note = try Self.lockIfUnused(path) else { continue }
      let isFolder = path.hasSuffix(OutputNotes.folderSuffix)
      guard try isFolder ? OutputNotes.settleFolder(note, at: time) : OutputNotes.settle(note, at: time) else {
        continue
      }
      try FileNames.remove(path)
      report.outputNotes += 1
    }
  }

  /// Whether a staging folder is nobody's, and its lock if it has one.
  private func lockIfAbandoned(_ name: String) throws(StoreError) -> (isAbandoned: Bool, lock: OpenFile?) {
    let path = folders.stagingPath + "/" + name + "/" + FragmentStaging.lockName
    let lock = try Self.lockIfUnused(path)
    return (lock != nil || access(path, F_OK) != 0, lock)
  }

  private func removeExpiredPartials(at time: Int64, _ report: inout CleaningReport) throws(StoreError) {
    for expired in try read({ db in try Self.expiredFragments(at: time, db) }) {
      // Whoever is writing it holds the lock.
      let path = try fragments.partialPath(expired.secretID, expired.index)
      let lock = try Self.lockIfUnused(path)
      if lock == nil, access(path, F_OK) == 0 { continue }
      let removed = try write { db in
        try db.changes(
          """
          DELETE FROM fragments
          WHERE secret_id = ? AND fragment_index = ? AND complete = 0 AND expires_at <= ?
          """, [expired.secretID.blob, expired.index, time])
      }
      guard removed else { continue }
      try FileNames.remove(path)
      report.expiredPartials += 1
      withExtendedLifetime(lock) {}
    }
  }

  private func removeStagingFolders(_ report: inout CleaningReport) throws(StoreError) {
    for name in try stagingNames().folders {
      let (isAbandoned, lock) = try lockIfAbandoned(name)
      guard isAbandoned else { continue }
      try removeUnnamed(notedIn: folders.stagingPath + "/" + name, &report)
      FragmentStaging.removeFolder(folders.stagingPath + "/" + name)
      report.stagingFolders += 1
      withExtendedLifetime(lock) {}
    }
  }

  /// Fragments that had got their names when their process died, and of which nothing was noted: nobody was told of them.
  private func removeUnnamed(notedIn folder: String, _ report: inout CleaningReport) throws(StoreError) {
    let note = folder + "/" + FragmentStaging.noteName
    guard let id = try? SecretID(AtomicFile.read(note, limit: SecretID.byteCount)), try secret(id) == nil,
      !companions.has(.secret(id))
    else { return }
    for name in try FileNames.list(folders.fragmentsPath) where FragmentStore.fragment(named: name)?.secretID == id {
      try FileNames.remove(folders.fragmentsPath + "/" + name)
      report.orphanedFiles += 1
    }
  }

  /// Whether a whole fragment that no row names is nobody's loss: its secret was deleted, or it is delivered.
  private func isSettled(_ fragment: (secretID: SecretID, index: Int)) throws(StoreError) -> Bool {
    if try tombstone(fragment.secretID) != nil { return true }
    return try readOne { db in
      try db.has(
        "outbox WHERE secret_id = ? AND share_index = ? AND state IN ('delivered', 'cancelled') AND \(Self.isShare)",
        [fragment.secretID.blob, fragment.index])
    }
  }

  /// Nobody is between renaming files and committing their rows while the files lock is held exclusively, except
  /// writers of partial fragments, who hold a lock on the file itself. Whole fragments stay: the database may have lost their rows.
  private func removeOrphans(_ report: inout CleaningReport) throws(StoreError) {
    // Files first, rows second: a row committed in between keeps its file.
    let names = try FileNames.list(folders.fragmentsPath)
    let rows = try read { db in
      try db.rows("SELECT secret_id, fragment_index, complete FROM fragments").map { row in
        let columns = StoredRow(row: row, what: "a fragment")
        let id = try columns.secretID("secret_id")
        return (
          "\(id).\(try columns.number("fragment_index", in: 1...255))", try columns.flag("complete")
        )
      }
    }
    let isComplete = Dictionary(rows) { first, _ in first }
    for name in names {
      let isPartial = name.hasSuffix(FragmentStore.partialSuffix)
      let key = isPartial ? String(name.dropLast(FragmentStore.partialSuffix.utf8.count)) : name
      // A whole file beside an incomplete row may still be taken up; a partial one beside a complete row may not.
      if let complete = isComplete[key], !(isPartial && complete) { continue }
      if let fragment = FragmentStore.fragment(named: name), try !isSettled(fragment) { continue }
      let path = folders.fragmentsPath + "/" + name
      if try Self.removeIfUnused(path) { report.orphanedFiles += 1 }
    }
  }

  private func removeTemporaryFiles(
    in folder: String, at time: Int64, _ report: inout CleaningReport
  ) throws(StoreError) {
    for name in try FileNames.list(folder) where name.hasPrefix(FileNames.temporaryPrefix) {
      var status = stat()
      let path = folder + "/" + name
      guard lstat(path, &status) == 0, status.isRegularFile else { continue }
      guard time - status.changedAt >= Self.temporaryFileAge else { continue }
      try FileNames.remove(path)
      report.temporaryFiles += 1
    }
  }

  /// Whether nobody is using a file, so that it is gone now.
  static func removeIfUnused(_ path: String) throws(StoreError) -> Bool {
    guard let lock = try lockIfUnused(path) else { return false }
    defer { withExtendedLifetime(lock) {} }
    try FileNames.remove(path)
    return true
  }

  /// The file with its lock, or nil if it isn't there, isn't ours to touch, or somebody is using it.
  static func lockIfUnused(_ path: String) throws(StoreError) -> OpenFile? {
    guard let file = try? OpenFile.privateFile(path, O_RDWR) else { return nil }
    return try file.lock(exclusive: true, waits: false) ? file : nil
  }
}
