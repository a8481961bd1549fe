import Dispatch
import GRDB
import GRDBSQLite
import Glibc
import ShamirKit
import Sodium
import Synchronization

/// Reads the rows of ``VaultDatabase/listing()`` as SQLite has them in memory: a value of its own for each column of each
/// row would take several times as long as all the rest.
struct SecretScan {
  private static let chunkRowCount = 2048

  var listing = SecretListing()
  /// Ids of rows that are nothing sensible, where somebody wants to go on without them.
  private(set) var senseless: [SecretID] = []
  private let checks: RowChecks?
  private let skips: Bool
  private var chunk = RowChecks.Chunk()
  private var dealerPlaces: [[UInt8]: Int] = [:]
  /// Where the last dealer was found whose digest begins with a byte; -1 for none yet.
  private var lastDealers = [Int](repeating: -1, count: 256)

  /// With `skipping` a row that is nothing sensible is left out; otherwise it ends the scan.
  init(_ checks: RowChecks?, skipping: Bool = false) {
    self.checks = checks
    skips = skipping
  }

  mutating func run(_ statement: OpaquePointer) throws {
    defer { sqlite3_reset(statement) }
    while true {
      let code = sqlite3_step(statement)
      if code == SQLITE_DONE { break }
      guard code == SQLITE_ROW else { throw DatabaseError(resultCode: ResultCode(rawValue: code)) }
      try take(statement)
    }
    checks?.check(chunk)
    chunk = RowChecks.Chunk()
  }

  private mutating func take(_ row: OpaquePointer) throws(StoreError) {
    let idBytes = Self.blob(row, 0)
    guard let id = SecretID(idBytes) else {
      if skips { return }
      throw .damaged("a secret")
    }
    let digest = Self.blob(row, 1)
    let dealer = Self.blob(row, 2)
    let mac = Self.blob(row, 12)
    guard digest.count == Digest.byteCount, dealer.count == Digest.byteCount, mac.count == Digest.byteCount,
      let values = Self.values(row)
    else {
      if skips { return senseless.append(id) }
      throw .damaged("secret \(id)")
    }
    let text = sqlite3_column_type(row, 3) == SQLITE_NULL ? nil : Self.blob(row, 3)
    let start = listing.texts.count
    if let text { listing.texts.append(contentsOf: text) }
    listing.lines.append(
      SecretListing.Line(
        id: id, dealer: try place(of: dealer), description: text == nil ? nil : start..<listing.texts.count,
        kind: values.kind, origin: values.origin, threshold: values.threshold, shareCount: values.shareCount,
        ownIndex: values.ownIndex, createdAt: values.createdAt))
    guard let checks else { return }
    values.append(to: &chunk.parts, id: idBytes, headerDigest: digest, dealer: dealer, description: text)
    chunk.end(with: mac)
    if chunk.rowCount == Self.chunkRowCount {
      checks.check(chunk)
      chunk = RowChecks.Chunk()
    }
  }

  private static func blob(_ row: OpaquePointer, _ column: Int32) -> UnsafeRawBufferPointer {
    // In this order: asking for the bytes may convert the value, and then change its length.
    let start = sqlite3_column_blob(row, column)
    return UnsafeRawBufferPointer(start: start, count: start == nil ? 0 : Int(sqlite3_column_bytes(row, column)))
  }

  private static func values(_ row: OpaquePointer) -> SecretRow? {
    guard let kind = byte(row, 4), let threshold = byte(row, 5), threshold > 0, let shareCount = byte(row, 6),
      shareCount > 0, let ownIndex = byte(row, 7)
    else { return nil }
    let (originWord, stateWord) = (blob(row, 10), blob(row, 11))
    let origin: SecretRecord.Origin? = isSame(originWord, "held") ? .held : isSame(originWord, "dealt") ? .dealt : nil
    let state: SecretRecord.State? =
      isSame(stateWord, "active") ? .active : isSame(stateWord, "disputed") ? .disputed : nil
    guard let origin, let state else { return nil }
    return SecretRow(
      kind: kind, threshold: threshold, shareCount: shareCount, ownIndex: ownIndex, origin: origin, state: state,
      createdAt: sqlite3_column_int64(row, 8), receivedAt: sqlite3_column_int64(row, 9))
  }

  private static func isSame(_ bytes: UnsafeRawBufferPointer, _ word: StaticString) -> Bool {
    word.withUTF8Buffer { isSame(bytes, UnsafeRawBufferPointer($0)) }
  }

  /// Of public bytes: takes as long as they are alike.
  private static func isSame(_ bytes: UnsafeRawBufferPointer, _ others: UnsafeRawBufferPointer) -> Bool {
    guard bytes.count == others.count else { return false }
    guard let start = bytes.baseAddress, let other = others.baseAddress else { return true }
    return memcmp(start, other, bytes.count) == 0
  }

  private static func byte(_ row: OpaquePointer, _ column: Int32) -> UInt8? {
    UInt8(exactly: sqlite3_column_int64(row, column))
  }

  private mutating func place(of dealer: UnsafeRawBufferPointer) throws(StoreError) -> Int {
    let first = Int(dealer[0])
    let last = lastDealers[first]
    if last >= 0, listing.dealers[last].bytes.withUnsafeBytes({ Self.isSame($0, dealer) }) { return last }
    let bytes = Array(dealer)
    let place = dealerPlaces[bytes] ?? listing.dealers.count
    if place == listing.dealers.count {
      listing.dealers.append(try withSodium(try Digest(bytes)))
      dealerPlaces[bytes] = place
    }
    lastDealers[first] = place
    return place
  }
}

/// Checks the MACs of many rows on other threads.
final class RowChecks: Sendable {
  /// Some rows: the input of each one's MAC, and the MAC.
  struct Chunk: Sendable {
    var parts = HashParts()
    private(set) var macs: [UInt8] = []
    private(set) var ends: [Int] = []

    var rowCount: Int { ends.count }

    mutating func end(with mac: UnsafeRawBufferPointer) {
      macs.append(contentsOf: mac)
      ends.append(parts.byteCount)
    }
  }

  private let keys: VaultKeys
  private let group = DispatchGroup()
  private let damaged = Mutex<[SecretID]>([])

  init(keys: VaultKeys) { self.keys = keys }

  func check(_ chunk: Chunk) {
    DispatchQueue.global(qos: .userInitiated).async(group: group) { [self] in
      let found = Self.damaged(chunk, keys)
      if !found.isEmpty { damaged.withLock { $0 += found } }
    }
  }

  /// Waits for all. The ids of rows that didn't verify.
  func finish() -> [SecretID] {
    group.wait()
    return damaged.withLock { $0 }
  }

  private static func damaged(_ chunk: Chunk, _ keys: VaultKeys) -> [SecretID] {
    let hash = try? keys.prepareMAC(SecretRow.macLabel)
    return chunk.parts.withUnsafeBytes { parts in
      chunk.macs.withUnsafeBytes { macs in
        var damaged: [SecretID] = []
        var start = 0
        for (row, end) in chunk.ends.enumerated() {
          let mac = UnsafeRawBufferPointer(rebasing: macs[(row * Digest.byteCount)..<((row + 1) * Digest.byteCount)])
          if hash?.matches(UnsafeRawBufferPointer(rebasing: parts[start..<end]), mac) != true {
            // The id is the first part, behind its length.
            let id = SecretID(UnsafeRawBufferPointer(rebasing: parts[(start + 8)..<(start + 8 + SecretID.byteCount)]))
            if let id { damaged.append(id) }
          }
          start = end
        }
        return damaged
      }
    }
  }
}
