import ShamirKit
package import VaultStore

extension Directory {
  /// Shares that are on this device's disk and can't be served: for `status` and `list`.
  package func lostShares() throws -> [LostShare] { try database.lostShares() }

  /// Looks at the records of each secret and makes anew what can be, so that what is named as lost then is. The daemon does it where there are
  /// very many.
  package func lookClosely() {
    guard (try? database.isSmall()) == true else { return }
    note(takenUp: (try? database.takeUpLost(thoroughly: true)) ?? [])
  }

  /// Items that are on this device's disk and can't be shown.
  package func lostItems() throws -> [LostItem] { try database.lostItems() }

  /// Logs that the database had lost secrets, which were taken up again from their files.
  func note(takenUp ids: [SecretID]) {
    for id in ids {
      guard let record = try? database.secret(id) else { continue }
      self.record(.takenUp, secret: try? header(of: record), detail: "the database had lost it")
    }
  }
}
