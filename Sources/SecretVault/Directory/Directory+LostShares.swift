import Sodium
package import VaultStore

extension Directory {
  /// Shares that are on this device's disk and can't be served: for `status` and `list`.
  package func lostShares() throws -> [LostShare] {
    try database.lostShares()
  }

  /// Looks at the records of each secret, unless there are very many, which the daemon does, and makes anew what can be: so that what
  /// is named as lost then is.
  package func lookClosely() {
    guard (try? database.isSmall()) == true else { return }
    note(takenUp: (try? database.takeUpLost(thoroughly: true)) ?? [])
  }

  /// Items that are on this device's disk and can't be shown.
  package func lostItems() throws -> [LostItem] {
    try database.lostItems()
  }

  /// Writes down that the database had lost secrets, which were taken up again from their files.
  func note(takenUp ids: [[UInt8]]) {
    for id in ids {
      guard let record = try? database.secret(id) else { continue }
      self.record(.takenUp, secret: try? header(of: record), detail: "the database had lost it")
    }
  }

}

extension VaultError {
  /// Most secrets that one error names.
  private static let namedLimit = 100

  /// A failure of the store; where the database is damaged, with the secrets whose shares can't be served because of it.
  init(_ error: StoreError, namingSharesIn companions: CompanionFiles) {
    let plain = VaultError(error)
    guard case .damaged = error else {
      self = plain
      return
    }
    let hint = "restore a backup with `vault backup restore`, or make the database anew with `vault rebuild`"
    let held = companions.heldSecrets()
    guard !held.isEmpty else {
      self.init(.damaged, plain.reason, hint: hint)
      return
    }
    let names = held.prefix(Self.namedLimit).map { secret in
      let id = hexadecimal(secret.id)
      return secret.description.map { "\(id) (\($0))" } ?? id
    }
    let rest = held.count > names.count ? ", and \(held.count - names.count) more" : ""
    self.init(
      .damaged,
      "\(plain.reason); until it is restored no share of these secrets can be served: "
        + names.joined(separator: ", ") + rest,
      hint: hint)
  }
}
