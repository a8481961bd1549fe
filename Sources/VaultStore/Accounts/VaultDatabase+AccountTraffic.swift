import GRDB
import Sodium

/// What has gone and come by an account from this device.
package struct AccountTraffic: Hashable, Sendable {
  /// What went one way.
  package struct Flow: Hashable, Sendable {
    package var parcels: Int64 = 0
    /// Plain texts.
    package var texts: Int64 = 0
    /// Bytes of both.
    package var bytes: Int64 = 0

    package init() {}

    var isNothing: Bool { self == Flow() }
  }

  /// When it was begun to count, in milliseconds since 1970.
  package var since: Int64
  /// What its server has taken.
  package var sent = Flow()
  /// What came by it and was kept.
  package var taken = Flow()
  /// Texts that came and weren't kept.
  package var passedOver: Int64 = 0

  package init(since: Int64) { self.since = since }

  package var isNothing: Bool { sent.isNothing && taken.isNothing && passedOver == 0 }
}

/// As it is kept: the byte 1 and eight numbers of 8 bytes.
extension AccountTraffic {
  private static let byteCount = 1 + 8 * 8

  private var numbers: [Int64] {
    [since, sent.parcels, sent.texts, sent.bytes, taken.parcels, taken.texts, taken.bytes, passedOver]
  }

  private init(_ numbers: [Int64]) {
    since = numbers[0]
    (sent.parcels, sent.texts, sent.bytes) = (numbers[1], numbers[2], numbers[3])
    (taken.parcels, taken.texts, taken.bytes) = (numbers[4], numbers[5], numbers[6])
    passedOver = numbers[7]
  }

  var encoded: [UInt8] {
    [1] + numbers.flatMap { bytes(of: $0) }
  }

  /// Nil for what is none.
  init?(_ bytes: [UInt8]) {
    guard bytes.count == Self.byteCount, bytes[0] == 1 else { return nil }
    let numbers = (0..<8).map { place in
      Int64(bitPattern: number(of: bytes[(1 + 8 * place)..<(9 + 8 * place)]))
    }
    guard numbers.allSatisfy({ $0 >= 0 }) else { return nil }
    self.init(numbers)
  }

  /// With what has come to it. Numbers that would be too large stay as they are, and none is less than nothing.
  func adding(_ more: AccountTraffic) -> AccountTraffic {
    AccountTraffic(
      zip(numbers, more.numbers).enumerated().map { place, pair in
        let (sum, overflow) = pair.0.addingReportingOverflow(pair.1)
        return place == 0 || overflow ? pair.0 : max(0, sum)
      })
  }
}

extension VaultDatabase {
  private static func trafficKey(_ account: [UInt8]) -> String { "user.account-traffic-" + hexadecimal(account) }
  private static func passedKey(_ account: [UInt8]) -> String { "user.account-passed-" + hexadecimal(account) }

  /// What has gone and come by an account; nil if nothing was counted.
  package func accountTraffic(_ account: [UInt8]) throws(StoreError) -> AccountTraffic? {
    try read { db in try Meta.value(Self.trafficKey(account), db).flatMap { AccountTraffic($0) } }
  }

  /// Counts what has gone and come by an account, if that is here, and keeps the marks of texts that weren't kept, if there are any.
  package func addAccountTraffic(
    _ account: [UInt8], _ more: AccountTraffic, passed: [UInt64]? = nil
  ) throws(StoreError) {
    try write { db in
      guard try db.has("accounts WHERE id = ?", [account.blob]) else { return }
      let before = try Meta.value(Self.trafficKey(account), db).flatMap { AccountTraffic($0) }
      let sum = (before ?? AccountTraffic(since: more.since)).adding(more)
      if before != nil || !sum.isNothing { try Meta.set(Self.trafficKey(account), to: sum.encoded, db) }
      guard let passed else { return }
      try Meta.set(Self.passedKey(account), to: passed.flatMap { bytes(of: $0) }, db)
    }
  }

  /// Marks of an account's texts that weren't kept and are counted, the latest last.
  package func passedTexts(_ account: [UInt8]) throws(StoreError) -> [UInt64] {
    let bytes = try read { db in try Meta.value(Self.passedKey(account), db) } ?? []
    return (0..<(bytes.count / 8)).map { number(of: bytes[(8 * $0)..<(8 * $0 + 8)]) }
  }

  static func forgetTraffic(_ account: [UInt8], _ db: Database) throws {
    try db.run("DELETE FROM meta WHERE key IN (?, ?)", [trafficKey(account), passedKey(account)])
  }
}
