import Foundation
import GRDB
import Glibc
import Synchronization
import Testing
import VaultProtocol

/// What lies in a home's database and folders, read past the program: while nothing writes it.
struct StoredHome {
  struct Secret {
    let header: SecretHeader
    let ownIndex: Int?
    /// Whether it was dealt here.
    let isDealt: Bool
  }

  struct Fragment: Hashable {
    let id: String
    let index: Int
    let byteCount: Int
    let isComplete: Bool
  }

  struct Delivery {
    let id: String
    let index: Int
    let recipient: [UInt8]
    let state: String
    let hasPayload: Bool
  }

  struct Item {
    /// Its file's name. Until it is accepted, that isn't the name it was sent under.
    let id: String
    /// The id in its header.
    let name: String
    let keyID: String
    /// Bytes of the whole file.
    let byteCount: Int
    let state: String
  }

  /// What a holder has dealt for a proposal: proposal, index and card begin it.
  struct Dealing: Hashable {
    let name: [UInt8]
    let digest: [UInt8]
  }

  /// By id.
  private(set) var secrets: [String: Secret] = [:]
  /// Indices of the sealed shares, by secret.
  private(set) var shares: [String: Int] = [:]
  /// Of which changes of its holders there are shares, by secret: 0 for the dealer's own.
  private(set) var epochs: [String: [Int]] = [:]
  private(set) var dealings: [String: [Dealing]] = [:]
  private var proposed: Set<String> = []
  private(set) var fragments: Set<Fragment> = []
  private(set) var deliveries: [Delivery] = []
  private(set) var items: [Item] = []
  private(set) var conflicts = 0
  /// Parcels of any kind, and requests among them that haven't been answered.
  private(set) var parcelCount = 0
  private(set) var waitingParcelCount = 0
  /// What SQLite finds wrong with the database.
  private(set) var faults: [String] = []
  private let folder: String

  init(_ peer: Peer) throws {
    folder = peer.home + "/data"
    var configuration = Configuration()
    configuration.readonly = true
    configuration.busyMode = .timeout(10)
    let database = try DatabaseQueue(path: folder + "/vault.db", configuration: configuration)
    defer { try? database.close() }
    try database.read { db in try read(db) }
  }

  private mutating func read(_ db: Database) throws {
    faults = try String.fetchAll(db, sql: "PRAGMA integrity_check").filter { $0 != "ok" }
    faults += try Row.fetchAll(db, sql: "PRAGMA foreign_key_check").map { "\($0)" }
    for row in try Row.fetchAll(db, sql: "SELECT id, header, header_digest, own_index, origin FROM secrets") {
      let header = try Self.header(row["header"])
      let id = Self.hexadecimal(row["id"])
      if header.id.description != id { faults.append("secret \(id) has the header of \(header.id)") }
      if header.digest.bytes != Array(row["header_digest"] as Data) { faults.append("secret \(id) has another header") }
      secrets[id] = Secret(header: header, ownIndex: row["own_index"], isDealt: row["origin"] == "dealt")
    }
    for row in try Row.fetchAll(db, sql: "SELECT secret_id, epoch, share_index FROM shares ORDER BY epoch") {
      let id = Self.hexadecimal(row["secret_id"])
      let index: Int = row["share_index"]
      if let known = shares[id], known != index { faults.append("shares of \(id) with two indices") }
      shares[id] = index
      epochs[id, default: []].append(row["epoch"])
    }
    try readChanges(db)
    for row in try Row.fetchAll(db, sql: "SELECT * FROM fragments") {
      let size: Int = row["byte_count"]
      let trailer: Int = row["trailer_byte_count"]
      fragments.insert(
        Fragment(
          id: Self.hexadecimal(row["secret_id"]), index: row["fragment_index"], byteCount: size + trailer,
          isComplete: row["complete"]))
    }
    for row in try Row.fetchAll(db, sql: "SELECT * FROM outbox ORDER BY id") {
      let payload: Data = row["payload"]
      deliveries.append(
        Delivery(
          id: Self.hexadecimal(row["secret_id"]), index: row["share_index"], recipient: Array(row["recipient"] as Data),
          state: row["state"], hasPayload: !payload.isEmpty))
    }
    for row in try Row.fetchAll(db, sql: "SELECT *, length(header) AS header_byte_count FROM items") {
      let size: Int = row["byte_count"]
      let front: Int = row["header_byte_count"]
      items.append(
        Item(
          id: Self.hexadecimal(row["id"]), name: Self.hexadecimal((row["header"] as Data).dropFirst(27).prefix(32)),
          keyID: Self.hexadecimal(row["key_id"]), byteCount: size + front,
          state: row["state"]))
    }
    conflicts = try Int.fetchOne(db, sql: "SELECT count(*) FROM evidence") ?? 0
    parcelCount = try Int.fetchOne(db, sql: "SELECT count(*) FROM parcels") ?? 0
    let waiting = "direction = 'request' AND state IN ('waiting', 'posted')"
    waitingParcelCount = try Int.fetchOne(db, sql: "SELECT count(*) FROM parcels WHERE \(waiting)") ?? 0
  }

  private mutating func readChanges(_ db: Database) throws {
    // Kinds as LifecycleRecord has them: 3 a proposal, 4 a dealing.
    for row in try Row.fetchAll(db, sql: "SELECT secret_id, kind, digest, content FROM lifecycle WHERE kind IN (3, 4)")
    {
      let id = Self.hexadecimal(row["secret_id"])
      guard (row["kind"] as Int) == 4 else {
        proposed.insert(id)
        continue
      }
      let content: Data = row["content"]
      dealings[id, default: []].append(
        Dealing(name: Array(content.dropFirst().prefix(129)), digest: Array(row["digest"] as Data)))
    }
  }

  /// Whether a change of a secret's holders is known here.
  func hasProposal(_ id: String) -> Bool { proposed.contains(id) }

  /// Whether the own share of a secret and its whole fragment are here: what makes a holder answer.
  func holds(_ id: String, index: Int) -> Bool {
    secrets[id]?.ownIndex == index && shares[id] == index
      && fragments.contains { $0.id == id && $0.index == index && $0.isComplete }
  }

  /// What doesn't fit together within this home. To be asked after cleaning.
  func contradictions() throws -> [String] {
    var found = faults
    for (id, secret) in secrets where secret.ownIndex != shares[id] { found.append("secret \(id) lacks its share") }
    for id in shares.keys where secrets[id] == nil { found.append("a share of unknown \(id)") }
    let names = Set(try FileManager.default.contentsOfDirectory(atPath: folder + "/fragments"))
    var expected: Set<String> = []
    for fragment in fragments {
      let name = "\(fragment.id).\(fragment.index)"
      guard fragment.isComplete else {
        expected.formUnion([name, name + ".part"])
        continue
      }
      expected.insert(name)
      let facts = try? FileManager.default.attributesOfItem(atPath: folder + "/fragments/" + name)
      if facts?[.size] as? Int != fragment.byteCount { found.append("fragment \(name) is not whole") }
    }
    for name in names.subtracting(expected) { found.append("\(name) belongs to no row") }
    for delivery in deliveries where delivery.state == "delivered" && delivery.hasPayload {
      found.append("a delivered share of \(delivery.id) is kept")
    }
    found += try contradictionsOfItems()
    if conflicts > 0 { found.append("\(conflicts) conflicting headers were seen") }
    for name in try FileManager.default.contentsOfDirectory(atPath: folder + "/staging") {
      found.append("staging/\(name) is left")
    }
    for name in try FileManager.default.subpathsOfDirectory(atPath: folder + "/..")
    where name.contains(".vault-temporary-") {
      found.append("\(name) is left")
    }
    return found
  }

  private func contradictionsOfItems() throws -> [String] {
    var found: [String] = []
    var expected: Set<String> = []
    for item in items {
      if secrets[item.keyID] == nil { found.append("item \(item.id) has no key here") }
      guard item.state != "arriving" else {
        expected.insert(item.id + ".part")
        continue
      }
      expected.formUnion([item.id, item.id + ".note"])
      let facts = try? FileManager.default.attributesOfItem(atPath: folder + "/items/" + item.id)
      if facts?[.size] as? Int != item.byteCount { found.append("item \(item.id) is not whole") }
    }
    let names = Set((try? FileManager.default.contentsOfDirectory(atPath: folder + "/items")) ?? [])
    for name in names.subtracting(expected) { found.append("items/\(name) belongs to no row") }
    return found
  }

  /// Headers that were read before: every look at a home meets them again.
  private static let known = Mutex<[Data: SecretHeader]>([:])

  private static func header(_ bytes: Data) throws -> SecretHeader {
    if let header = known.withLock({ $0[bytes] }) { return header }
    let header = try SecretHeader(bytes: Array(bytes))
    known.withLock { $0[bytes] = header }
    return header
  }

  private static func hexadecimal(_ bytes: Data) -> String {
    bytes.map { byte in
      let digits = String(byte, radix: 16)
      return byte < 16 ? "0" + digits : digits
    }
    .joined()
  }
}

extension Peer {
  /// Makes the next opening of this home sweep up, as the first one an hour later would.
  func makeSweepDue() throws {
    let past = [FileAttributeKey.modificationDate: Date(timeIntervalSinceNow: -7300)]
    let manager = FileManager.default
    if manager.fileExists(atPath: home + "/data/files.lock") {
      try manager.setAttributes(past, ofItemAtPath: home + "/data/files.lock")
    }
    for name in (try? manager.subpathsOfDirectory(atPath: home)) ?? [] where name.contains(".vault-temporary-") {
      try manager.setAttributes(past, ofItemAtPath: home + "/" + name)
    }
  }
}

extension Peer {
  /// Lets the daemon send now what a command has left behind, rather than when the command's lease is over.
  func makeDeliveriesDue() throws {
    try changeStore("UPDATE outbox SET next_attempt_at = 0 WHERE state = 'waiting'")
  }

  /// Changes the database behind the vault's back, beside whoever uses it.
  func changeStore(_ statement: String, _ arguments: StatementArguments = []) throws {
    var configuration = Configuration()
    configuration.busyMode = .timeout(60)
    let database = try DatabaseQueue(path: home + "/data/vault.db", configuration: configuration)
    try database.write { db in try db.execute(sql: statement, arguments: arguments) }
    try database.close()
  }
}
