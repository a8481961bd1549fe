import Foundation
import Glibc
import Sodium

/// The settings: a JSON file that people can read, with a MAC so that nobody changes it behind the program's back.
///
/// The file is `{"mac": hex, "settings": {name: value, …}, "version": 1}`. Which names there are, and what their values
/// mean, is the caller's business. A missing file means no settings, unless the database knows that there were some.
package struct SettingsFile: Sendable {
  package static let byteLimit = 65_536
  private static let version = 1

  private let path: String
  private let lockPath: String
  private let keys: VaultKeys
  /// Knows whether there ever were settings.
  private let database: VaultDatabase?

  package init(_ database: VaultDatabase) {
    self.init(database.folders, keys: database.keys, database: database)
  }

  init(_ folders: VaultFolders, keys: VaultKeys, database: VaultDatabase? = nil) {
    path = folders.settingsPath
    lockPath = folders.settingsLockPath
    self.keys = keys
    self.database = database
  }

  private struct Contents: Codable {
    let version: Int
    let settings: [String: String]
    let mac: String
  }

  /// All settings. Throws ``StoreError/damagedSettings(path:)`` if the file isn't as ``save(_:)`` left it, and
  /// ``StoreError/lostSettings(path:)`` if it is gone.
  package func load() throws(StoreError) -> [String: String] {
    guard let bytes = try read() else { return [:] }
    guard let contents = try? JSONDecoder().decode(Contents.self, from: Data(bytes)) else {
      throw .damagedSettings(path: path)
    }
    guard contents.version == Self.version else { throw .tooNew(path) }
    guard let mac = Sodium.bytes(hexadecimal: contents.mac),
      macsMatch(mac, try self.mac(contents.settings))
    else { throw .damagedSettings(path: path) }
    return contents.settings
  }

  /// Nil if there never were settings.
  private func read() throws(StoreError) -> [UInt8]? {
    if let bytes = try readFile() { return bytes }
    guard let database, try database.hasHadSettings() else { return nil }
    // Another process may just have stored the first ones: the database learns of them when they are there.
    guard let bytes = try readFile() else { throw .lostSettings(path: path) }
    return bytes
  }

  private func readFile() throws(StoreError) -> [UInt8]? {
    do throws(StoreError) {
      return try AtomicFile.read(path, limit: Self.byteLimit)
    } catch .notFound {
      return nil
    } catch .damaged {
      throw .damagedSettings(path: path)
    }
  }

  /// Changes settings in one step: what another process changes meanwhile is neither lost nor overwritten. What `change`
  /// throws leaves the file as it was. Returns the settings as they are then.
  @discardableResult
  package func update(
    _ change: (inout [String: String]) throws(StoreError) -> Void
  ) throws(StoreError) -> [String: String] {
    let lock = try OpenFile.patientlyLocked(lockPath)
    defer { withExtendedLifetime(lock) {} }
    var settings = try load()
    try change(&settings)
    try write(settings)
    return settings
  }

  /// Replaces all settings, atomically, whatever became of those that there were.
  package func save(_ settings: [String: String]) throws(StoreError) {
    let lock = try OpenFile.patientlyLocked(lockPath)
    defer { withExtendedLifetime(lock) {} }
    try write(settings)
  }

  private func write(_ settings: [String: String]) throws(StoreError) {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
    let contents = Contents(version: Self.version, settings: settings, mac: hexadecimal(try mac(settings)))
    guard let json = try? encoder.encode(contents), json.count < Self.byteLimit else { throw .invalid("the settings") }
    let bytes = [UInt8](json) + [UInt8(ascii: "\n")]
    try AtomicFile.write(bytes.span.bytes, to: path, replacing: true)
    // Behind it: a database that knew of settings which never came to the disk would call them lost.
    database?.noteSettings()
    database?.tellOfSettings()
  }

  /// Over the pairs in the order of their names' UTF-8 bytes, so that the layout of the file doesn't matter.
  private func mac(_ settings: [String: String]) throws(StoreError) -> [UInt8] {
    let sorted = settings.sorted { $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) }
    return try keys.mac("vault/settings/v1") { hash in
      hash.append(UInt64(sorted.count))
      for (key, value) in sorted {
        hash.append(key)
        hash.append(value)
      }
    }
  }
}

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
