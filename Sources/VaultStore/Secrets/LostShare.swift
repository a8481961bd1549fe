import GRDB
package import ShamirKit

/// A share, or a whole fragment, that this vault has on its disk and can't serve.
package struct LostShare: Hashable, Sendable {
  package enum Reason: String, Hashable, Sendable {
    /// A fragment is there, and nothing says what it belongs to.
    case recordsLost = "records-lost"
    /// What would say so is damaged.
    case recordsDamaged = "records-damaged"
    /// The share is there, and its fragment isn't, or not whole.
    case fragmentLost = "fragment-lost"
  }

  package let secretID: SecretID
  package let description: String?
  package let reason: Reason
}

/// An item that this vault has on its disk and can't show.
package struct LostItem: Hashable, Sendable {
  package enum Reason: String, Hashable, Sendable {
    /// Its file is there, and what says that it counts isn't, or is damaged.
    case recordsLost = "records-lost"
    /// It is listed, and its file isn't there, or not whole.
    case fileLost = "file-lost"
  }

  package let id: [UInt8]
  package let reason: Reason
}

extension VaultDatabase {
  // MARK: - What can't be

  /// Shares and fragments that are on the disk and can't be served, to be named to the user: nothing of them is swept up.
  package func lostShares() throws(StoreError) -> [LostShare] {
    let there = try companions.names().ids
    let names = try FileNames.list(folders.fragmentsPath)
    let unsound = try knownUnsound()
    let (rows, broken, gone, partial, complete) = try read { db in
      (
        Set(try Self.ids("SELECT id FROM secrets", db)), try Self.ids(Self.brokenQuery, db),
        Set(try Self.ids("SELECT secret_id FROM tombstones", db)),
        Set(try Self.ids("SELECT secret_id FROM fragments WHERE complete = 0", db)), try Self.ownFragments(db)
      )
    }
    var lost: [LostShare] = []
    func add(_ id: SecretID, _ description: String?, _ reason: LostShare.Reason) {
      lost.append(LostShare(secretID: id, description: description, reason: reason))
    }
    for id in there.subtracting(rows).subtracting(gone) {
      switch try? companions.read(id) {
      case .secret(let companion): add(id, companion.secret.description, .fragmentLost)
      case .deleted, .trust: continue
      case nil: add(id, nil, .recordsDamaged)
      }
    }
    for id in Set(names.compactMap { FragmentStore.fragment(named: $0)?.secretID })
    where !rows.contains(id) && !gone.contains(id) && !there.contains(id) && !partial.contains(id) {
      add(id, nil, .recordsLost)
    }
    for id in broken {
      add(id, (try? secret(id))?.description, companions.has(.secret(id)) ? .fragmentLost : .recordsLost)
    }
    for (fragment, description) in complete where try !fragments.isWhole(fragment) {
      add(fragment.secretID, description, .fragmentLost)
    }
    for id in unsound.subtracting(gone).subtracting(lost.map(\.secretID)) {
      add(id, (try? companions.readSecret(id))?.secret.description, .recordsDamaged)
    }
    return lost.sorted { $0.secretID < $1.secretID }
  }

  /// The fragments that belong to shares of this device, with the descriptions of their secrets.
  private static func ownFragments(_ db: Database) throws -> [(FragmentRecord, String?)] {
    try db.rows(
      """
      SELECT f.secret_id, f.fragment_index, f.byte_count, f.trailer_byte_count, f.pieces, f.complete, f.expires_at,
        f.header_digest, f.source, s.description
      FROM secrets s JOIN fragments f ON f.secret_id = s.id AND f.fragment_index = s.own_index WHERE f.complete = 1
      """
    )
    .map { row in
      (try decodeFragment(row), try StoredRow(row: row, what: "a secret").optionalText("description"))
    }
  }
}
