import Foundation
import Glibc

/// What a running daemon says about itself.
package struct DaemonFacts: Hashable, Sendable, Codable {
  package let process: Int32
  /// When it started, in milliseconds since 1970.
  package let startedAt: Int64
  /// Where it waits for peers.
  package let listening: [String]
  /// What Bluetooth does there; nil where it is off.
  package let bluetooth: BluetoothFacts?
  /// True while it waits for the vault's passphrase, and does nothing else.
  package let locked: Bool?

  package init(
    process: Int32, startedAt: Int64, listening: [String], bluetooth: BluetoothFacts? = nil, locked: Bool? = nil
  ) {
    self.process = process
    self.startedAt = startedAt
    self.listening = listening
    self.bluetooth = bluetooth
    self.locked = locked
  }
}

/// What a running daemon says about Bluetooth.
package struct BluetoothFacts: Hashable, Sendable, Codable {
  /// By what it is used: `bluetoothd` or `the kernel`; nil if it can't be used.
  package let radio: String?
  /// The adapters at which peers are answered.
  package let adapters: [String]
  /// Those of them that show their own address, which never changes.
  package let exposed: [String]
  /// Whether peers can find this device.
  package let isShown: Bool
  /// Why something of it can't be.
  package let problem: String?

  package init(radio: String?, adapters: [String], exposed: [String], isShown: Bool, problem: String?) {
    self.radio = radio
    self.adapters = adapters
    self.exposed = exposed
    self.isShown = isShown
    self.problem = problem
  }
}

/// `daemon.lock` in the state folder: locked while a daemon runs, with a line of JSON about it. What stands there is believed
/// only while the lock is held, so that nothing a daemon leaves behind when it is killed is taken for a running one.
package final class DaemonLock: Sendable {
  static let byteLimit = 65_536
  private let file: OpenFile

  private init(file: OpenFile) { self.file = file }

  /// Takes the lock and notes the facts. Nil if another daemon of this vault holds it.
  package static func take(_ folders: VaultFolders, _ facts: DaemonFacts) throws(StoreError) -> DaemonLock? {
    guard let file = try OpenFile.lockedWithinASecond(folders.daemonLockPath) else { return nil }
    let lock = DaemonLock(file: file)
    try lock.note(facts)
    return lock
  }

  /// Notes other facts of the daemon that holds the lock.
  package func note(_ facts: DaemonFacts) throws(StoreError) {
    guard let json = try? JSONEncoder().encode(facts), json.count < Self.byteLimit else {
      throw .invalid("the daemon's facts")
    }
    let line = [UInt8](json) + [UInt8(ascii: "\n")]
    try file.truncate(to: 0)
    try file.write(line.span.bytes, at: 0)
  }

  /// What is known of the daemon that runs now; nil if none does.
  package static func running(_ folders: VaultFolders) throws(StoreError) -> Running? {
    let file: OpenFile
    do throws(StoreError) { file = try OpenFile.privateFile(folders.daemonLockPath, O_RDONLY) } catch .notFound {
      return nil
    }
    guard try !file.lock(exclusive: false, waits: false) else { return nil }
    let bytes = try file.readAll(limit: byteLimit, what: folders.daemonLockPath)
    return Running(facts: try? JSONDecoder().decode(DaemonFacts.self, from: Data(bytes)))
  }

  package struct Running: Sendable {
    /// What it says about itself; nil if it is just about to.
    package let facts: DaemonFacts?
  }
}
