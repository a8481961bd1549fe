import Glibc

/// What the database knows of the settings: that there are some. Their file alone could be lost without a word, and every policy with it.
extension VaultDatabase {
  private static let settingsKey = "settings"

  /// Whether settings were ever stored in this vault, so far as it knows.
  func hasHadSettings() throws(StoreError) -> Bool {
    try readOne { db in try Meta.value(Self.settingsKey, db) != nil }
  }

  /// Notes that there are settings, if there are: from then on a missing file is damage. Also for a vault of an older version, or
  /// one that was made anew or put back. What can't be noted, on a full disk for example, is at the next opening.
  package func noteSettings() {
    guard folders.hasSettings, (try? hasHadSettings()) == false else { return }
    _ = try? write { db in try Meta.set(Self.settingsKey, to: [1], db) }
  }
}

extension VaultFolders {
  /// Whether there is a settings file, sound or not.
  package var hasSettings: Bool { access(settingsPath, F_OK) == 0 }
}
